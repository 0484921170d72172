package app

import (
	"testing"

	"cligate/internal/chat"
	"cligate/internal/web/api"
)

func TestDoctorTellsWhoMayTalk(t *testing.T) {
	t.Parallel()
	gs := []chat.Grant{
		{Account: "bot", Person: "1", Role: chat.RoleOwner}, {Account: "bot", Person: "2", Role: chat.RoleMember},
		{Account: "bot", Chat: "-100", Person: "2", Role: chat.RoleMember}, {Account: "other", Person: "3", Role: chat.RoleMember},
	}
	for _, c := range []struct {
		b    bot
		gs   []chat.Grant
		want string
	}{
		{bot{account: "bot"}, nil, "nobody may talk to it"},
		{bot{account: "bot", owners: []string{"1"}}, gs, "2 may talk to it directly, 1 in a group, nobody else"},
		{bot{account: "other"}, gs, "1 may talk to it directly, 0 in a group, nobody else"},
	} {
		if got := admits(c.b, c.gs); got != c.want {
			t.Errorf("%s: %q, want %q", c.b.account, got, c.want)
		}
	}
}

func TestAPairingCodeNeedsABot(t *testing.T) {
	t.Parallel()
	p := &pairing{bots: []bot{{account: WebAccount, kind: WebAccount}}}
	for _, account := range []string{"", WebAccount, "nope"} {
		if _, err := p.Invite(t.Context(), api.InviteAsk{Account: account}, "owner"); chat.CodeOf(err) != chat.Invalid || chat.DetailOf(err) == "" {
			t.Errorf("%q: %v", account, err)
		}
	}
}

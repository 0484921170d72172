package app

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"slices"
	"time"

	"cligate/internal/chat"
	"cligate/internal/store"
	"cligate/internal/web/api"
)

// pairingLife is how long a pairing code can be used.
const pairingLife = 10 * time.Minute

// strangersShown bounds the list of people who ask to be let in.
const strangersShown = 50

// pairing lets people in; it implements web.Pairing over the ledger.
type pairing struct {
	people  store.People
	bots    []bot
	changed func(account string) // somebody's role there is another; nil = nobody is told
}

func (p *pairing) tell(account string) {
	if p.changed != nil {
		p.changed(account)
	}
}

// newCode makes a code of 50 bits that people can type: ABCDE-FGHIJ.
func newCode() string {
	b := make([]byte, 7)
	_, _ = rand.Read(b) // never fails
	s := base32.StdEncoding.EncodeToString(b)[:10]
	return s[:5] + "-" + s[5:]
}

// Invite implements web.Pairing.
func (p *pairing) Invite(ctx context.Context, ask api.InviteAsk, by string) (api.Invite, error) {
	if ask.Role == chat.RoleNone {
		ask.Role = chat.RoleMember
	}
	if !ask.Role.Covers(chat.RoleViewer) {
		return api.Invite{}, chat.E(chat.Invalid, "role: owner, operator, member or viewer", nil)
	}
	switch takes := func(b bot) bool { return b.kind != WebAccount && (ask.Account == "" || ask.Account == b.account) }; {
	case slices.ContainsFunc(p.bots, takes):
	case ask.Account != "":
		return api.Invite{}, chat.E(chat.Invalid, "there is no bot named "+ask.Account, nil)
	default:
		return api.Invite{}, chat.E(chat.Invalid, "there is no bot to pair with; configure one first, say with CLIGATE_TELEGRAM_TOKEN", nil)
	}
	inv := api.Invite{Code: newCode(), Expires: time.Now().Add(pairingLife)}
	if err := p.people.NewPairing(ctx, store.Pairing{Code: inv.Code, Account: ask.Account, Role: ask.Role, By: by, Expires: inv.Expires}); err != nil {
		return api.Invite{}, fmt.Errorf("store a pairing code: %w", err)
	}
	for _, b := range p.bots {
		if ask.Account != "" && b.account != ask.Account {
			continue
		}
		if l := b.link(inv.Code); l != "" {
			inv.Links = append(inv.Links, l)
		}
	}
	return inv, nil
}

// Pairs implements web.Pairing.
func (p *pairing) Pairs(ctx context.Context) (api.Pairs, error) {
	ss, err := p.people.Strangers(ctx, strangersShown)
	if err != nil {
		return api.Pairs{}, fmt.Errorf("list strangers: %w", err)
	}
	gs, err := p.people.Grants(ctx)
	if err != nil {
		return api.Pairs{}, fmt.Errorf("list grants: %w", err)
	}
	return api.Pairs{Strangers: ss, Grants: gs}, nil
}

// Approve implements web.Pairing. The grant holds where the stranger wrote:
// in direct chats, or in that one group.
func (p *pairing) Approve(ctx context.Context, a api.Approval, by string) error {
	ss, err := p.people.Strangers(ctx, strangersShown)
	if err != nil {
		return fmt.Errorf("list strangers: %w", err)
	}
	i := slices.IndexFunc(ss, func(s chat.Stranger) bool { return s.ID == a.Stranger })
	if i < 0 {
		return chat.E(chat.Missing, "nobody with that number asks to be let in", nil)
	}
	if a.Role == chat.RoleNone {
		a.Role = chat.RoleMember
	}
	g := chat.Grant{Account: ss[i].Account, Person: ss[i].Person.ID, Role: a.Role, By: by}
	if !ss[i].Direct {
		g.Chat = ss[i].Chat
	}
	if _, err := p.people.Grant(ctx, g); err != nil {
		return fmt.Errorf("grant: %w", err)
	}
	p.tell(g.Account)
	return nil
}

// Revoke implements web.Pairing.
func (p *pairing) Revoke(ctx context.Context, grant int64, by string) error {
	if err := p.people.Revoke(ctx, grant, by); err != nil {
		return err
	}
	p.tell("")
	return nil
}

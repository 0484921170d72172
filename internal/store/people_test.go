package store

import (
	"context"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
)

func TestRoleHoldsWhereItWasGranted(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	for _, g := range []chat.Grant{
		{Account: "bot", Person: "ann", Role: chat.RoleOwner, By: "config"},
		{Account: "bot", Chat: "g", Person: "*", Role: chat.RoleMember, By: "ann"},
		{Account: "bot", Chat: "g", Person: "bob", Role: chat.RoleViewer, By: "ann"},
	} {
		ok[chat.Grant](t)(l.People().Grant(ctx, g))
	}
	for _, c := range []struct {
		account, chat string
		direct        bool
		person        string
		want          chat.Role
	}{
		{"bot", "ann's chat", true, "ann", chat.RoleOwner},
		{"bot", "g", false, "ann", chat.RoleMember}, // what is granted in direct chats holds there only
		{"bot", "g", false, "bob", chat.RoleViewer}, // one person's grant comes before everybody's
		{"bot", "g", false, "eve", chat.RoleMember},
		{"bot", "g", true, "eve", chat.RoleNone},
		{"bot", "h", false, "ann", chat.RoleNone},
		{"bot2", "ann's chat", true, "ann", chat.RoleNone},
	} {
		if got := ok[chat.Role](t)(l.People().Role(ctx, c.account, c.chat, c.direct, c.person)); got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
	_, err := l.People().Grant(ctx, chat.Grant{Account: "bot", Person: "eve", Role: "king"})
	wantCode(t, err, chat.Invalid)
	_, err = l.People().Grant(ctx, chat.Grant{Account: "bot", Role: chat.RoleOwner})
	wantCode(t, err, chat.Invalid)
}

func TestRevokedGrantStaysRevoked(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	g := chat.Grant{Account: "bot", Person: "ann", Role: chat.RoleMember, By: "x"}
	first := ok[chat.Grant](t)(l.People().Grant(ctx, g))
	if same := ok[chat.Grant](t)(l.People().Grant(ctx, g)); same.ID != first.ID {
		t.Error("the same grant was made twice")
	}
	must(t, l.People().Revoke(ctx, first.ID, "x"))
	wantCode(t, l.People().Revoke(ctx, first.ID, "x"), chat.Missing)
	if r := ok[chat.Role](t)(l.People().Role(ctx, "bot", "c", true, "ann")); r != chat.RoleNone {
		t.Errorf("role %q", r)
	}
	second := ok[chat.Grant](t)(l.People().Grant(ctx, g))
	g.Role = chat.RoleOperator
	third := ok[chat.Grant](t)(l.People().Grant(ctx, g))
	gs := ok[[]chat.Grant](t)(l.People().Grants(ctx))
	if second.ID == first.ID || len(gs) != 1 || gs[0].ID != third.ID || gs[0].Role != chat.RoleOperator {
		t.Errorf("grants %+v", gs)
	}
	if es := ok[[]Entry](t)(l.Books().Trail(ctx, 10)); len(es) != 5 || es[0].Action != "grant" {
		t.Errorf("trail %+v", es)
	}
}

func pairing(code string, expires time.Time) Pairing {
	return Pairing{Code: code, Role: chat.RoleOwner, By: "cli", Expires: expires}
}

func TestCodeIsUsedByOnePerson(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	now := time.Now()
	must(t, l.People().NewPairing(ctx, pairing("ABCD-1234", now.Add(10*time.Minute))))
	if r := ok[chat.Role](t)(l.People().Redeem(ctx, "bot", ann, " abcd 1234 ", now)); r != chat.RoleOwner {
		t.Fatalf("role %q", r)
	}
	if r := ok[chat.Role](t)(l.People().Role(ctx, "bot", "c", true, "ann")); r != chat.RoleOwner {
		t.Errorf("role %q", r)
	}
	ok[chat.Role](t)(l.People().Redeem(ctx, "bot", ann, "ABCD1234", now)) // redelivered
	_, err := l.People().Redeem(ctx, "bot", chat.Person{ID: "eve"}, "ABCD1234", now)
	wantCode(t, err, chat.Denied)
	bob := ok[chat.Grant](t)(l.People().Grant(ctx, chat.Grant{Account: "bot", Person: "bob", Role: chat.RoleMember, By: "x"}))
	_, err = l.People().Redeem(ctx, "bot", chat.Person{ID: "bob"}, "ABCD1234", now)
	wantCode(t, err, chat.Denied)
	must(t, l.People().Revoke(ctx, bob.ID, "x"))
	_, err = l.People().Redeem(ctx, "bot2", ann, "ABCD1234", now)
	wantCode(t, err, chat.Denied)
	gs := ok[[]chat.Grant](t)(l.People().Grants(ctx))
	if len(gs) != 1 {
		t.Fatalf("grants %+v", gs)
	}
	must(t, l.People().Revoke(ctx, gs[0].ID, "x"))
	_, err = l.People().Redeem(ctx, "bot", ann, "ABCD1234", now)
	wantCode(t, err, chat.Denied)
	if err := l.read(ctx, func(ctx context.Context, h handle) error {
		all, err := list(ctx, h, value[string], `SELECT hash FROM pairing UNION ALL SELECT detail FROM audit`)
		if strings.Contains(strings.ToUpper(strings.Join(all, " ")), "ABCD") {
			t.Errorf("the code is stored: %q", all)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func TestCodeExpiresAndKeepsToItsAccount(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	now := time.Now()
	must(t, l.People().NewPairing(ctx, pairing("old", now.Add(10*time.Minute))))
	_, err := l.People().Redeem(ctx, "bot", ann, "old", now.Add(10*time.Minute))
	wantCode(t, err, chat.Expired)
	p := pairing("mine", now.Add(time.Hour))
	p.Account = "bot"
	must(t, l.People().NewPairing(ctx, p))
	_, err = l.People().Redeem(ctx, "bot2", ann, "mine", now)
	wantCode(t, err, chat.Denied)
	ok[chat.Role](t)(l.People().Redeem(ctx, "bot", ann, "mine", now))
	wantCode(t, l.People().NewPairing(ctx, pairing(" - ", now)), chat.Invalid)
}

func TestGuessingEnds(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	now := time.Now()
	must(t, l.People().NewPairing(ctx, pairing("right", now.Add(time.Hour))))
	for range 5 {
		_, err := l.People().Redeem(ctx, "bot", ann, "wrong", now)
		wantCode(t, err, chat.Denied)
	}
	_, err := l.People().Redeem(ctx, "bot", ann, "right", now.Add(9*time.Minute))
	wantCode(t, err, chat.Full)
	ok[chat.Role](t)(l.People().Redeem(ctx, "bot", ann, "right", now.Add(10*time.Minute)))
	for range 4 { // success starts the count anew
		_, err := l.People().Redeem(ctx, "bot", ann, "wrong", now.Add(11*time.Minute))
		wantCode(t, err, chat.Denied)
	}
	_, err = l.People().Redeem(ctx, "bot", ann, "wrong", now.Add(11*time.Minute))
	wantCode(t, err, chat.Denied)
	_, err = l.People().Redeem(ctx, "bot", ann, "wrong", now.Add(11*time.Minute))
	wantCode(t, err, chat.Full)
}

func TestCodeTakesNoRightsAway(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	ok[chat.Grant](t)(l.People().Grant(ctx, chat.Grant{Account: "bot", Person: "ann", Role: chat.RoleOwner, By: "config"}))
	p := pairing("low", time.Now().Add(time.Hour))
	p.Role = chat.RoleMember
	must(t, l.People().NewPairing(ctx, p))
	if r := ok[chat.Role](t)(l.People().Redeem(ctx, "bot", ann, "low", time.Now())); r != chat.RoleOwner {
		t.Errorf("role %q", r)
	}
}

func TestStrangerIsToldOncePerQuietTime(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	now := time.Now()
	m := message(1).Message
	for _, c := range []struct {
		after time.Duration
		tell  bool
	}{{0, true}, {time.Minute, false}, {59 * time.Minute, false}, {time.Hour, true}, {time.Hour + 1, false}} {
		if tell := ok[bool](t)(l.People().Stranger(ctx, m, now.Add(c.after), time.Hour)); tell != c.tell {
			t.Errorf("after %s: tell %v", c.after, tell)
		}
	}
	ss := ok[[]chat.Stranger](t)(l.People().Strangers(ctx, 10))
	if len(ss) != 1 || ss[0].Count != 5 || ss[0].Person.Name != "Ann" || !ss[0].Direct || !ss[0].FirstAt.Before(ss[0].LastAt) {
		t.Fatalf("strangers %+v", ss)
	}
	ok[chat.Grant](t)(l.People().Grant(ctx, chat.Grant{Account: "bot", Person: "ann", Role: chat.RoleMember, By: "x"}))
	if ss := ok[[]chat.Stranger](t)(l.People().Strangers(ctx, 10)); len(ss) != 0 {
		t.Errorf("still a stranger: %+v", ss)
	}
}

func TestStrangersDoNotFillTheDisk(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	now := time.Now()
	must(t, l.write(ctx, func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 1200)
INSERT INTO stranger (account, chat, person, first_at, last_at) SELECT 'bot', 'c', 'p' || i, i, i FROM n`)
		return err
	}))
	ok[bool](t)(l.People().Stranger(ctx, message(1).Message, now, time.Hour))
	ss := ok[[]chat.Stranger](t)(l.People().Strangers(ctx, 5000))
	if len(ss) != strangerLimit || ss[0].Person.ID != "ann" || ss[1].Person.ID != "p1200" {
		t.Errorf("%d strangers, first %+v", len(ss), ss[0])
	}
}

func TestOwnersAreReachedInTheirDirectChats(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	ok[chat.Grant](t)(l.People().Grant(ctx, chat.Grant{Account: "bot", Person: "ann", Role: chat.RoleOwner, By: "x"}))
	if ps := ok[[]chat.Place](t)(l.People().OwnerPlaces(ctx)); len(ps) != 0 {
		t.Errorf("places %+v", ps)
	}
	m := l.say(1)[0]
	group := message(2)
	group.Place.Chat, group.Place.Direct = "g", false
	ok[[]chat.Recorded](t)(l.Inbox().Record(ctx, "bot", "", []chat.Inbound{group}))
	ps := ok[[]chat.Place](t)(l.People().OwnerPlaces(ctx))
	if len(ps) != 1 || ps[0] != m.Place {
		t.Errorf("places %+v", ps)
	}
	if p := ok[chat.Place](t)(l.People().DirectPlace(ctx, "bot", "ann")); p != m.Place {
		t.Errorf("direct chat %+v", p)
	}
	_, err := l.People().DirectPlace(ctx, "bot", "bob")
	wantCode(t, err, chat.Missing)
	p := ok[chat.Person](t)(l.People().Person(ctx, "bot", "ann"))
	if p.Name != "Ann" || p.Lang != "en" {
		t.Errorf("person %+v", p)
	}
}

package receive_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cligate/internal/chat"
	"cligate/internal/platform"
	"cligate/internal/receive"
	"cligate/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// door is a gate over a real ledger.
type door struct {
	t     *testing.T
	db    *store.DB
	gate  *receive.Gate
	voice *voice
	board *board
	wakes atomic.Int64
	keys  atomic.Int64
}

func open(t *testing.T, change ...func(*receive.Deps)) *door {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), Ballast: -1})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	d := &door{t: t, db: db, voice: &voice{}, board: &board{}}
	deps := receive.Deps{
		Inbox: db.Inbox(), Access: db.People(), Places: db.Places(), Rooms: db.Places(), Voice: d.voice,
		Clicks: receive.NewClicks(db.Asks(), d.board, faces{}, nil), Wake: func() { d.wakes.Add(1) },
	}
	for _, f := range change {
		f(&deps)
	}
	d.gate, err = receive.New(deps, receive.Config{Owners: map[string][]string{"bot": {"100"}}, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	return d
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type voice struct {
	mu    sync.Mutex
	keys  []string
	said  []string
	woken []string
}

func (v *voice) Wake(p chat.Place) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.woken = append(v.woken, p.Channel())
}

func (v *voice) Say(_ context.Context, p chat.Place, key string, rs ...chat.Reply) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if p.ID == 0 {
		return errors.New("the place has no row")
	}
	if !slices.Contains(v.keys, key) {
		v.keys, v.said = append(v.keys, key), append(v.said, rs[0].Markdown)
	}
	return nil
}

// faces says how an ask stands.
type faces struct{}

func (faces) Face(_ context.Context, a chat.Ask) (chat.Reply, error) {
	return chat.Reply{Kind: chat.ReplyAsk, Markdown: fmt.Sprintf("%s by %s: %s %s %v", a.State, a.Decider(), a.Answer.Effect, a.Answer.Text, a.Answer.Values)}, nil
}

type board struct{ n atomic.Int64 }

func (b *board) Decided(chat.Ask) { b.n.Add(1) }

var (
	direct = chat.Place{Platform: "test", Account: "bot", Chat: "c1", Direct: true}
	group  = chat.Place{Platform: "test", Account: "bot", Chat: "g1"}

	owner    = chat.Person{ID: "100", Name: "Olga"}
	member   = chat.Person{ID: "200", Name: "Mia"}
	stranger = chat.Person{ID: "300", Name: "Sam"}
)

func (d *door) message(kind chat.MessageKind, p chat.Place, who chat.Person) chat.Message {
	n := d.keys.Add(1)
	return chat.Message{
		Key: fmt.Sprint("k", n), Kind: kind, Place: p, Sender: who, Addressed: true, Text: "hello", Data: "stop:1",
		Ref: chat.Ref{ID: fmt.Sprint("m", n)}, SentAt: time.Now(),
	}
}

func (d *door) receive(ms ...chat.Message) []chat.Ack {
	d.t.Helper()
	acks, err := d.gate.Receive(d.t.Context(), platform.Batch{Account: "bot", Messages: ms})
	must(d.t, err)
	if len(acks) != len(ms) {
		d.t.Fatalf("%d acks for %d messages", len(acks), len(ms))
	}
	return acks
}

func (d *door) stored() []chat.Inbound {
	d.t.Helper()
	ins, err := d.db.Inbox().Unrouted(d.t.Context(), 1000)
	must(d.t, err)
	return ins
}

// kinds are all kinds of events but gestures, which mean nothing without the
// message that they are made on; the test below keeps the list complete.
var kinds = append([]chat.MessageKind{chat.KindText, chat.KindEdit, chat.KindClick, chat.KindRecall, chat.KindJoined, chat.KindLeft}, unsaid...)

// unsaid are those that nobody says: they are noted and not stored.
var unsaid = []chat.MessageKind{chat.KindRenamed, chat.KindReopened, chat.KindMoved}

func TestEveryKindOfEventIsKnownToTheGate(t *testing.T) {
	t.Parallel()
	f, err := parser.ParseFile(token.NewFileSet(), "../chat/message.go", nil, 0)
	must(t, err)
	n := 0
	ast.Inspect(f, func(node ast.Node) bool {
		if v, ok := node.(*ast.ValueSpec); ok {
			if id, ok := v.Type.(*ast.Ident); ok && id.Name == "MessageKind" {
				n++
			}
		}
		return true
	})
	if n != len(kinds)+1 {
		t.Fatalf("there are %d kinds of messages and the gate's tests know %d", n, len(kinds)+1)
	}
	d := open(t)
	for _, k := range kinds {
		before := len(d.stored())
		d.receive(d.message(k, direct, owner))
		if said := !slices.Contains(unsaid, k); (len(d.stored()) == before+1) != said {
			t.Errorf("%s: stored is not %v", k, said)
		}
	}
	d.receive(d.message("unheard-of", direct, owner))
	if len(d.stored()) != len(kinds)-len(unsaid) {
		t.Error("an event of an unknown kind was stored")
	}
}

func TestOnlyPeopleWithARoleCauseAnything(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		for _, c := range []struct {
			name  string
			place chat.Place
			who   chat.Person
			role  chat.Role // that is stored; empty = nothing is
		}{
			{"stranger, direct", direct, stranger, ""},
			{"stranger, group", group, stranger, ""},
			{"member, direct", direct, member, chat.RoleMember},
			{"member, group without a grant", group, member, ""},
			{"member, other group", chat.Place{Platform: "test", Chat: "g2"}, member, chat.RoleViewer},
			{"owner, direct", direct, owner, chat.RoleOwner},
			{"owner, group", group, owner, chat.RoleOwner},
			{"bot with an owner's id", direct, chat.Person{ID: "100", Bot: true}, ""},
			{"no id", direct, chat.Person{}, ""},
			{"wildcard", chat.Place{Platform: "test", Chat: "open"}, chat.Person{ID: "*"}, ""},
			{"anybody, open group", chat.Place{Platform: "test", Chat: "open"}, stranger, chat.RoleMember},
		} {
			t.Run(string(kind)+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				d := open(t)
				for _, g := range []chat.Grant{
					{Account: "bot", Person: "200", Role: chat.RoleMember},
					{Account: "bot", Chat: "g2", Person: "200", Role: chat.RoleViewer},
					{Account: "bot", Chat: "open", Person: "*", Role: chat.RoleMember},
					{Account: "other", Person: "300", Role: chat.RoleOwner},
				} {
					g.By = "test"
					_, err := d.db.People().Grant(t.Context(), g)
					must(t, err)
				}
				ack := d.receive(d.message(kind, c.place, c.who))[0]
				rows := d.stored()
				if c.role == "" || slices.Contains(unsaid, kind) {
					want := chat.Ack{}
					if kind == chat.KindClick && (c.who.ID == stranger.ID || c.who.ID == member.ID) {
						want = chat.Ack{Alert: true, Toast: "This button is for people whom the owner of this bot has let in."}
					}
					if len(rows) != 0 || ack != want || d.wakes.Load() != 0 {
						t.Errorf("stored %d, ack %+v, woke %d times", len(rows), ack, d.wakes.Load())
					}
					return
				}
				if len(rows) != 1 || rows[0].Role != c.role || ack.Inbound != rows[0].ID || !ack.Fresh || d.wakes.Load() != 1 {
					t.Errorf("stored %+v, ack %+v, woke %d times", rows, ack, d.wakes.Load())
				}
			})
		}
	}
}

func TestIdsAreMatchedExactly(t *testing.T) {
	t.Parallel()
	d := open(t)
	for _, id := range []string{
		"", " 100", "100 ", "0100", "+100", "-100", "100.0", "1e2", "1", "10", "1000", "00", "0", "100\n", "100\x00", "１００", "100", strings.Repeat("9", 400),
		"*", "%", "100%", "' OR 1=1 --", "100;",
	} {
		if id == "100" {
			continue
		}
		d.receive(d.message(chat.KindText, direct, chat.Person{ID: id, Name: "100"}))
	}
	if n := len(d.stored()); n != 0 {
		t.Errorf("%d messages were let in", n)
	}
}

func TestStrangerLearnsTheirOwnIDAndNothingElse(t *testing.T) {
	t.Parallel()
	d := open(t)
	for range 100 {
		for _, k := range kinds {
			d.receive(d.message(k, direct, stranger), d.message(k, group, stranger))
		}
	}
	if len(d.voice.said) != 1 || !strings.Contains(d.voice.said[0], "300") {
		t.Fatalf("said %q", d.voice.said)
	}
	for _, word := range []string{"agent", "pair", "code", "claude", "/"} {
		if strings.Contains(strings.ToLower(d.voice.said[0]), word) {
			t.Errorf("%q speaks of %q", d.voice.said[0], word)
		}
	}
	ss, err := d.db.People().Strangers(t.Context(), 10)
	must(t, err)
	if len(ss) != 2 || len(d.stored()) != 0 {
		t.Errorf("noted %+v", ss)
	}
}

// TestNamesCannotPretend: they are shown beside ids to those who let people in,
// and to agents beside what their owner says.
func TestNamesCannotPretend(t *testing.T) {
	t.Parallel()
	d := open(t)
	eve, mallory := stranger, owner
	eve.Name = "Eve\u202e\nowner: yes"
	mallory.Name = "M\x1b[2J\u2066"
	p := group
	p.Title = "team\u202e\n"
	d.receive(d.message(chat.KindText, direct, eve), d.message(chat.KindText, p, mallory))
	ss, err := d.db.People().Strangers(t.Context(), 10)
	if err != nil || len(ss) != 1 || ss[0].Person.Name != "Eve owner: yes" {
		t.Errorf("strangers %+v, %v", ss, err)
	}
	ins, err := d.db.Inbox().Unrouted(t.Context(), 10)
	if err != nil || len(ins) != 1 || ins[0].Sender.Name != "M[2J" || ins[0].Place.Title != "team" {
		t.Errorf("stored %+v, %v", ins, err)
	}
}

func TestCursorAdvancesPastWhatWasNotAdmitted(t *testing.T) {
	t.Parallel()
	d := open(t)
	_, err := d.gate.Receive(t.Context(), platform.Batch{Account: "bot", Cursor: "7", Messages: []chat.Message{d.message(chat.KindText, group, stranger)}})
	must(t, err)
	if c, err := d.gate.Cursor(t.Context(), "bot"); c != "7" || err != nil {
		t.Errorf("cursor %q, %v", c, err)
	}
	_, err = d.gate.Receive(t.Context(), platform.Batch{Account: "bot", Cursor: "8"})
	must(t, err)
	if c, _ := d.gate.Cursor(t.Context(), "bot"); c != "8" {
		t.Errorf("cursor %q", c)
	}
}

func TestRedeliveredEventIsStoredOnce(t *testing.T) {
	t.Parallel()
	d := open(t)
	m := d.message(chat.KindText, direct, owner)
	first, second := d.receive(m)[0], d.receive(m)[0]
	if !first.Fresh || second.Fresh || first.Inbound != second.Inbound || len(d.stored()) != 1 {
		t.Errorf("acks %+v, %+v", first, second)
	}
	same := d.receive(d.message(chat.KindText, direct, owner), m)
	if same[1].Fresh || !same[0].Fresh {
		t.Errorf("acks %+v", same)
	}
}

func TestTalkInAGroupThatIsNotAddressedIsNotKept(t *testing.T) {
	t.Parallel()
	d := open(t)
	for _, k := range []chat.MessageKind{chat.KindText, chat.KindEdit} {
		m := d.message(k, group, owner)
		m.Addressed = false
		d.receive(m)
	}
	empty := d.message(chat.KindText, direct, owner)
	empty.Text = ""
	d.receive(empty)
	if n := len(d.stored()); n != 0 {
		t.Errorf("%d messages were kept", n)
	}
}

type brokenInbox struct {
	receive.Inbox
	err error
}

func (b brokenInbox) Record(context.Context, string, string, []chat.Inbound) ([]chat.Recorded, error) {
	return nil, b.err
}

func (b brokenInbox) Keep(context.Context, string, []chat.Unread) error { return b.err }

func TestWhatIsNotUnderstoodIsKeptBeforeItIsAcknowledged(t *testing.T) {
	t.Parallel()
	b := platform.Batch{Account: "bot", Cursor: "9", Unread: []chat.Unread{{Raw: []byte("7"), Why: "odd"}}}
	d := open(t)
	if _, err := d.gate.Receive(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if c, _ := d.gate.Cursor(t.Context(), "bot"); c != "9" {
		t.Errorf("the cursor is %q", c)
	}
	full := open(t, func(x *receive.Deps) { x.Inbox = brokenInbox{x.Inbox, chat.E(chat.Unavailable, "disk full", nil)} })
	if _, err := full.gate.Receive(t.Context(), b); err == nil {
		t.Error("acknowledged without being kept")
	}
	if c, _ := full.gate.Cursor(t.Context(), "bot"); c != "" {
		t.Errorf("the cursor moved to %q", c)
	}
}

type brokenAccess struct{ receive.Access }

func (brokenAccess) Role(context.Context, string, string, bool, string) (chat.Role, error) {
	return "", errors.New("unreadable")
}

func TestNothingIsAcknowledgedThatCouldNotBeStored(t *testing.T) {
	t.Parallel()
	full := chat.E(chat.Unavailable, "disk full", nil)
	for name, break_ := range map[string]func(*receive.Deps){
		"disk full":        func(x *receive.Deps) { x.Inbox = brokenInbox{x.Inbox, full} },
		"roles unreadable": func(x *receive.Deps) { x.Access = brokenAccess{x.Access} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t, break_)
			who := owner
			if name != "disk full" {
				who = member
			}
			acks, err := d.gate.Receive(t.Context(), platform.Batch{Account: "bot", Cursor: "9", Messages: []chat.Message{d.message(chat.KindText, direct, who)}})
			if err == nil || acks != nil || d.wakes.Load() != 0 {
				t.Errorf("acks %v, err %v", acks, err)
			}
			if c, _ := d.gate.Cursor(t.Context(), "bot"); c != "" {
				t.Errorf("the cursor moved to %q", c)
			}
		})
	}
}

func (d *door) pair(p chat.Place, who chat.Person, code string) string {
	d.t.Helper()
	m := d.message(chat.KindText, p, who)
	m.Pairing, m.Text = code, "/start "+code
	before := len(d.voice.said)
	d.receive(m)
	if len(d.voice.said) == before {
		return ""
	}
	return d.voice.said[len(d.voice.said)-1]
}

func TestPairingCodeLetsOnePersonInOnce(t *testing.T) {
	t.Parallel()
	d := open(t)
	code := func(c string, life time.Duration) {
		must(t, d.db.People().NewPairing(t.Context(), store.Pairing{Code: c, Account: "bot", Role: chat.RoleMember, By: "test", Expires: time.Now().Add(life)}))
	}
	code("AAAAA-BBBBB", time.Hour)
	code("CCCCC-DDDDD", -time.Hour)
	code("EEEEE-FFFFF", time.Hour)
	for _, step := range []struct {
		who  chat.Person
		at   chat.Place
		code string
		want string
	}{
		{stranger, group, "AAAAA-BBBBB", ""}, // others can read it there
		{stranger, direct, "WRONG-WRONG", "not valid"},
		{stranger, direct, "CCCCC-DDDDD", "expired"},
		{stranger, direct, "AAAAA-BBBBB", "role is member"},
		{chat.Person{ID: "400"}, direct, "AAAAA-BBBBB", "not valid"},
		{owner, direct, "EEEEE-FFFFF", "paired already"}, // and the code stays good
		{member, direct, "EEEEE-FFFFF", "role is member"},
		{chat.Person{ID: "100", Bot: true}, direct, "EEEEE-FFFFF", ""},
	} {
		if got := d.pair(step.at, step.who, step.code); !strings.Contains(got, step.want) || (step.want == "") != (got == "") {
			t.Errorf("%s with %s: said %q, want %q", step.who.ID, step.code, got, step.want)
		}
	}
	if n := len(d.stored()); n != 0 {
		t.Errorf("%d messages with codes were stored", n)
	}
	d.receive(d.message(chat.KindText, direct, stranger))
	if len(d.stored()) != 1 {
		t.Error("who was paired may not speak")
	}
	d.receive(d.message(chat.KindText, group, stranger))
	if len(d.stored()) != 1 {
		t.Error("a pairing in a direct chat opened a group")
	}
}

func TestGuessingCodesEnds(t *testing.T) {
	t.Parallel()
	d := open(t)
	must(t, d.db.People().NewPairing(t.Context(), store.Pairing{Code: "AAAAA-BBBBB", Account: "bot", Role: chat.RoleOwner, By: "test", Expires: time.Now().Add(time.Hour)}))
	for i := range 5 {
		d.pair(direct, stranger, fmt.Sprintf("WRONG-%05d", i))
	}
	if got := d.pair(direct, stranger, "AAAAA-BBBBB"); !strings.Contains(got, "Too many") {
		t.Errorf("said %q", got)
	}
	if got := d.pair(direct, member, "AAAAA-BBBBB"); !strings.Contains(got, "owner") {
		t.Errorf("somebody else was told %q", got)
	}
}

func TestConfigurationWithNamesInsteadOfIdsIsRefused(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "*", "0", "An Na", "名字"} {
		if err := (receive.Config{Owners: map[string][]string{"bot": {id}}}).Validate(); err == nil {
			t.Errorf("owner %q was accepted", id)
		}
	}
}

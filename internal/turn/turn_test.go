package turn_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"cligate/internal/chat"
	"cligate/internal/session"
	"cligate/internal/store"
	"cligate/internal/turn"
	"cligate/internal/worker"
	"cligate/internal/worker/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ann = chat.Person{ID: "ann", Name: "Ann", Lang: "en"}

// house is a runner with its neighbours: the real ledger and session manager,
// a scripted agent, and a voice that writes to the real outbox.
type house struct {
	*turn.Runner
	t     *testing.T
	db    *store.DB
	board *turn.Board
	mgr   *session.Manager
	agent *fake.Driver
	voice *voice
	cfg   turn.Config
	books turn.Books

	place   chat.Place
	session chat.Session
	natives []worker.Native // what the agent's own list says; nil = it keeps none
	events  int             // messages so far
	sent    int             // platform messages so far

	mu     sync.Mutex
	ended  []chat.Turn
	inputs []chat.Input // of all prompts
}

func build(t *testing.T, cfg turn.Config) *house {
	t.Helper()
	h := &house{t: t, agent: fake.New(), cfg: cfg}
	var err error
	if h.db, err = store.Open(t.Context(), store.Config{Dir: t.TempDir(), Ballast: -1}); err != nil {
		t.Fatal(err)
	}
	h.voice = &voice{out: h.db.Outbox()}
	h.books = turn.Books{
		Ledger: h.db.Runs(), Recovery: h.db.Runs(), Asks: h.db.Asks(), Threads: h.db.Sessions(),
		History: h.db.History(), Outbox: h.db.Outbox(), Queue: h.db.Turns(), Spending: h.db.Books(),
	}
	h.start()
	m := h.record("hello")
	h.place = m.Place
	h.session, err = h.db.Sessions().StartSession(t.Context(),
		chat.NewSession{Conversation: m.Conversation, Agent: "fake", Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.down()
		if o := h.agent.Overlaps(); len(o) > 0 {
			t.Errorf("the agent was misused: %q", o)
		}
		if err := h.db.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// lister is the agent with a list of its own sessions.
type lister struct {
	*fake.Driver
	h *house
}

func (l lister) Sessions(context.Context, string) ([]worker.Native, error) {
	if l.h.natives == nil {
		return nil, chat.E(chat.Unsupported, "", nil)
	}
	return l.h.natives, nil
}

// Open implements worker.Driver.
func (l lister) Open(ctx context.Context, s worker.Spec) (worker.Worker, error) {
	w, err := l.Driver.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	return listener{w, l.h}, nil
}

// listener is a worker whose inputs are kept.
type listener struct {
	worker.Worker
	h *house
}

func (l listener) Prompt(ctx context.Context, in chat.Input, host worker.Host) error {
	l.h.mu.Lock()
	l.h.inputs = append(l.h.inputs, in)
	l.h.mu.Unlock()
	return l.Worker.Prompt(ctx, in, host)
}

// Replace implements worker.Replacer, for agents that do.
func (l listener) Replace(ctx context.Context, in chat.Input) error {
	return l.Worker.(worker.Replacer).Replace(ctx, in)
}

// start makes what a start of the daemon makes.
func (h *house) start() {
	h.board = &turn.Board{}
	h.mgr = session.New(h.db.Sessions(), map[string]worker.Driver{"fake": lister{h.agent, h}}, session.Config{
		Uninvited: func(id int64) func(context.Context) (worker.Host, func(error)) { return h.Uninvited(id) },
	})
	cfg := h.cfg
	cfg.Ended = func(t chat.Turn) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.ended = append(h.ended, t)
	}
	h.Runner = turn.New(h.books, h.mgr, h.voice, h.board, cfg)
}

func (h *house) down() {
	h.Close()
	h.mgr.Close()
}

// crash is a kill -9 of the daemon and its workers, and a new start.
func (h *house) crash() {
	h.down()
	h.start()
}

func (h *house) record(text string) chat.Inbound {
	h.t.Helper()
	time.Sleep(time.Second) // tests run under a fake clock; nothing is said at the same time
	h.events++
	m := chat.Inbound{Message: chat.Message{
		Key: fmt.Sprint("e", h.events), Kind: chat.KindText, Text: text, Sender: ann, Addressed: true,
		Place: chat.Place{Platform: "web", Account: "web", Chat: "c", Direct: true}, Ref: chat.Ref{ID: fmt.Sprint("m", h.events)},
	}, Role: chat.RoleOwner}
	ms := []chat.Inbound{m}
	if _, err := h.db.Inbox().Record(h.t.Context(), "web", "", ms); err != nil {
		h.t.Fatal(err)
	}
	return ms[0]
}

// queue stores a turn with the given prompt.
func (h *house) queue(text string, change ...func(*chat.NewTurn)) chat.Turn {
	h.t.Helper()
	m := h.record(text)
	s := h.current()
	n := chat.NewTurn{
		Conversation: s.Conversation, Session: s.ID, Place: h.place, Origin: chat.OriginUser,
		Input: chat.Input{Pieces: []chat.Piece{{Inbound: m.ID, Text: text}}}, Inbound: []int64{m.ID},
		By: ann, ReplyTo: m.Ref,
	}
	for _, f := range change {
		f(&n)
	}
	t, err := h.db.Turns().NewTurn(h.t.Context(), n)
	if err != nil {
		h.t.Fatal(err)
	}
	return t
}

// current is the conversation's current session, as it is now.
func (h *house) current() chat.Session {
	h.t.Helper()
	c, err := h.db.Sessions().ConversationByID(h.t.Context(), h.session.Conversation)
	if err != nil {
		h.t.Fatal(err)
	}
	s, err := h.db.Sessions().SessionByID(h.t.Context(), c.Session)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

func (h *house) turnOf(id int64) chat.Turn {
	h.t.Helper()
	t, err := h.db.Turns().TurnByID(h.t.Context(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	return t
}

// say runs a turn to its end and returns it and what was sent since.
func (h *house) say(text string) (chat.Turn, []chat.Out) {
	h.t.Helper()
	t := h.queue(text)
	h.Run(h.t.Context(), t)
	return h.turnOf(t.ID), h.deliver()
}

// deliver sends what waits in the outbox, and returns it.
func (h *house) deliver() []chat.Out {
	h.t.Helper()
	var outs []chat.Out
	box := h.db.Outbox()
	for {
		o, err := box.NextOut(h.t.Context(), h.place.Channel())
		if chat.CodeOf(err) == chat.Missing {
			return outs
		}
		if err != nil {
			h.t.Fatal(err)
		}
		if _, err := box.Sending(h.t.Context(), o.ID); err != nil {
			h.t.Fatal(err)
		}
		ref := o.Target
		if o.Op == chat.OpPost {
			h.sent++
			ref = chat.Ref{ID: fmt.Sprint("b", h.sent)}
		}
		if err := box.Sent(h.t.Context(), o.ID, ref); err != nil {
			h.t.Fatal(err)
		}
		outs = append(outs, o)
	}
}

// texts is what outs say.
func texts(outs []chat.Out) string {
	var b strings.Builder
	for _, o := range outs {
		fmt.Fprintf(&b, "%s %s: %s\n", o.Class, o.Op, o.Part.Text)
	}
	return b.String()
}

// buttons is the data of all buttons of outs.
func buttons(outs []chat.Out) []string {
	var ds []string
	for _, o := range outs {
		for _, row := range o.Part.Buttons {
			for _, b := range row {
				ds = append(ds, b.Data)
			}
		}
	}
	return ds
}

func (h *house) wantState(t chat.Turn, s chat.TurnState, reason chat.Code) {
	h.t.Helper()
	if now := h.turnOf(t.ID); now.State != s || now.Reason != reason {
		h.t.Errorf("turn is %s (%s), want %s (%s)", now.State, now.Reason, s, reason)
	}
}

// wantSaid checks that exactly these finals of a turn say these things.
func wantSaid(t *testing.T, outs []chat.Out, parts ...string) {
	t.Helper()
	var finals []chat.Out
	for _, o := range outs {
		if o.Class == chat.OutFinal {
			finals = append(finals, o)
		}
	}
	if len(finals) != len(parts) {
		t.Fatalf("said %q, want %d messages", texts(outs), len(parts))
	}
	for i, p := range parts {
		if !strings.Contains(finals[i].Part.Text, p) {
			t.Errorf("message %d is %q, want it to say %q", i, finals[i].Part.Text, p)
		}
	}
}

// plum checks that the session still knows what it was told.
func (h *house) plum() {
	h.t.Helper()
	_, outs := h.say("what was the word?")
	wantSaid(h.t, outs, "the word was plum")
}

// voice is a plain speaker: one message for each reply.
type voice struct {
	out store.Outbox

	mu    sync.Mutex
	wakes int
	lives []*live
	fail  error // of Say
	signs []string
}

func (v *voice) Compose(p chat.Place, id int64, key string, class chat.OutClass, rs ...chat.Reply) []chat.Out {
	var outs []chat.Out
	for i, r := range rs {
		text := r.Markdown
		if r.Footer != "" {
			text += "\n" + r.Footer
		}
		o := chat.Out{
			Key: fmt.Sprintf("%s/%d", key, i+1), Place: p, Turn: id, Class: class, Op: chat.OpPost,
			Part: chat.Part{Text: text, Buttons: r.Buttons, Form: r.Form, ReplyTo: r.ReplyTo, File: r.File},
		}
		if id > 0 {
			o.Seq = i + 1
		}
		outs = append(outs, o)
	}
	return outs
}

func (v *voice) Wake(chat.Place) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wakes++
}

func (v *voice) Say(ctx context.Context, p chat.Place, key string, rs ...chat.Reply) error {
	v.mu.Lock()
	err := v.fail
	v.mu.Unlock()
	if err != nil {
		return err
	}
	return v.out.Enqueue(ctx, v.Compose(p, 0, key, chat.OutNotice, rs...))
}

func (v *voice) Sign(t chat.Turn, s chat.Sign, _ func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.signs = append(v.signs, fmt.Sprintf("%d %s", t.ID, s))
}

func (v *voice) Begin(t chat.Turn, look chat.Look) turn.Live {
	v.mu.Lock()
	defer v.mu.Unlock()
	l := &live{turn: t.ID, look: look}
	v.lives = append(v.lives, l)
	return l
}

func (v *voice) last() *live {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.lives[len(v.lives)-1]
}

// live remembers what it was told.
type live struct {
	turn int64
	look chat.Look

	mu      sync.Mutex
	text    string
	events  []chat.Event
	waiting []bool
	ends    []string
	signs   []chat.Sign
}

func (l *live) Event(e chat.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ends) > 0 {
		panic("an event after the end")
	}
	l.events = append(l.events, e)
	if e.Kind == chat.EventText {
		l.text += e.Text
	}
}

func (l *live) Waiting(w bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, w)
}

func (l *live) End(line string, s chat.Sign) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends, l.signs = append(l.ends, line), append(l.signs, s)
}

func (l *live) Text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text
}

func (l *live) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ends
}

// bubble runs f under a fake clock.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

func itoa(n int64) string { return fmt.Sprint(n) }

// wait lets time pass.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

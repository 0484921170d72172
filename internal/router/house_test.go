package router_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"cligate/internal/chat"
	"cligate/internal/command"
	"cligate/internal/platform"
	"cligate/internal/receive"
	"cligate/internal/router"
	"cligate/internal/store"
	"cligate/internal/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is everything between an adapter and a worker: the real ledger, gate
// and router, with a runner, workers and a voice of the test's.
type house struct {
	t       *testing.T
	db      *store.DB
	gate    *receive.Gate
	router  *router.Router
	runner  *runner
	workers *workers
	voice   *voice
	signals *signals
	board   *board
	agents  *agents
	keys    atomic.Int64
	stop    func()
}

// setup is what a test may change before the house is built.
type setup struct {
	cfg      router.Config
	dir      string
	idle     bool // the router is not started
	access   receive.Access
	incoming router.Incoming
	files    command.Files
	inbox    func(router.Inbox) router.Inbox
	turns    func(router.Turns) router.Turns
}

var owner = chat.Person{ID: "1", Name: "Ann", Lang: "en"}

func open(t *testing.T, change func(*setup)) *house {
	t.Helper()
	s := setup{dir: t.TempDir(), cfg: router.Config{
		Agent: "demo", Burst: 0, Album: 1500 * time.Millisecond, Age: 6 * time.Hour, QueueMax: 50,
		Commands: command.Config{Workspaces: []command.Workspace{{Name: "main", Path: "/w/main"}, {Name: "shop", Path: "/w/shop"}}},
		Log:      slog.New(slog.DiscardHandler),
	}}
	if change != nil {
		change(&s)
	}
	db, err := store.Open(t.Context(), store.Config{Dir: s.dir, Ballast: -1})
	must(t, err)
	h := &house{t: t, db: db, board: &board{}, agents: &agents{}, signals: &signals{}, workers: &workers{live: map[int64]worker.Info{}, wish: db.Sessions().Wish}}
	h.voice = &voice{outbox: db.Outbox()}
	h.runner = &runner{db: db, voice: h.voice, hold: map[string]bool{}, gates: map[int64]chan chat.TurnState{}}
	var inbox router.Inbox = db.Inbox()
	if s.inbox != nil {
		inbox = s.inbox(inbox)
	}
	var turns router.Turns = db.Turns()
	if s.turns != nil {
		turns = s.turns(turns)
	}
	clicks := receive.NewClicks(db.Asks(), h.board, faces{}, nil)
	h.router, err = router.New(t.Context(), router.Deps{
		Ledger: router.Ledger{
			Inbox: inbox, Turns: turns, Control: db.Turns(), Conversations: db.Sessions(),
			Asks: db.Asks(), Rules: db.Rules(), Spending: db.Books(), History: db.History(), Endings: db.Runs(),
			Places: db.Places(), Rooms: db.Places(),
		},
		Runner: h.runner, Workers: h.workers, Agents: h.agents, Clicks: clicks, Board: h.board,
		Voice: h.voice, Signals: h.signals, Titles: h.signals, Incoming: s.incoming, Files: s.files,
	}, s.cfg)
	must(t, err)
	if s.access == nil {
		s.access = db.People()
	}
	h.gate, err = receive.New(receive.Deps{
		Inbox: db.Inbox(), Access: s.access, Places: db.Places(), Rooms: db.Places(), Voice: h.voice, Clicks: clicks, Presses: h.router.Presses(), Wake: h.router.Wake,
	}, receive.Config{Owners: map[string][]string{"bot": {owner.ID}}})
	must(t, err)
	h.start(s.idle)
	return h
}

func (h *house) start(idle bool) {
	ctx, cancel := context.WithCancel(h.t.Context())
	var wg sync.WaitGroup
	if !idle {
		wg.Go(func() { _ = h.router.Run(ctx) })
	}
	h.stop = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		h.router.Lanes().Drain(0)
		if err := h.db.Close(); err != nil {
			h.t.Error(err)
		}
	})
	h.t.Cleanup(h.stop)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// direct is the owner's private chat; team is a group.
var (
	direct = chat.Place{Platform: "test", Account: "bot", Chat: "c1", Direct: true}
	team   = chat.Place{Platform: "test", Account: "bot", Chat: "g1"}
)

// message is a new text of the owner in their private chat, changed by change.
func (h *house) message(text string, change ...func(*chat.Message)) chat.Message {
	n := h.keys.Add(1)
	m := chat.Message{
		Key: fmt.Sprintf("u%d", n), Kind: chat.KindText, Place: direct, Sender: owner, Addressed: true,
		Text: text, SentAt: time.Now(), Ref: chat.Ref{ID: fmt.Sprintf("m%d", n), Num: n},
	}
	for _, f := range change {
		f(&m)
	}
	return m
}

func (h *house) receive(ms ...chat.Message) []chat.Ack {
	h.t.Helper()
	acks, err := h.gate.Receive(h.t.Context(), platform.Batch{Account: "bot", Messages: ms})
	must(h.t, err)
	return acks
}

// say sends a text and waits until everything has come to rest.
func (h *house) say(text string, change ...func(*chat.Message)) chat.Message {
	h.t.Helper()
	m := h.message(text, change...)
	h.receive(m)
	synctest.Wait()
	return m
}

// click presses the newest button whose data begins with verb.
func (h *house) click(verb string, change ...func(*chat.Message)) chat.Ack {
	h.t.Helper()
	ref, data := h.voice.button(verb)
	if data == "" {
		h.t.Fatalf("no button %s in %q", verb, h.voice.texts())
	}
	return h.press(ref, data, change...)
}

func (h *house) press(ref chat.Ref, data string, change ...func(*chat.Message)) chat.Ack {
	h.t.Helper()
	m := h.message("", append([]func(*chat.Message){func(m *chat.Message) { m.Kind, m.Data, m.Ref = chat.KindClick, data, ref }}, change...)...)
	ack := h.receive(m)[0]
	synctest.Wait()
	return ack
}

func from(p chat.Person) func(*chat.Message) { return func(m *chat.Message) { m.Sender = p } }
func in(p chat.Place) func(*chat.Message)    { return func(m *chat.Message) { m.Place = p } }
func replyTo(r chat.Ref) func(*chat.Message) { return func(m *chat.Message) { m.Reply = r } }
func album(id string) func(*chat.Message)    { return func(m *chat.Message) { m.Group = id } }
func sentAgo(d time.Duration) func(*chat.Message) {
	return func(m *chat.Message) { m.SentAt = time.Now().Add(-d) }
}

// conv is the conversation of the owner's private chat.
func (h *house) conv() chat.Conversation {
	h.t.Helper()
	_, id, err := h.db.Places().Ensure(h.t.Context(), direct)
	must(h.t, err)
	c, err := h.db.Sessions().ConversationByID(h.t.Context(), id)
	must(h.t, err)
	return c
}

func (h *house) turn(id int64) chat.Turn {
	h.t.Helper()
	q, err := h.db.Turns().TurnByID(h.t.Context(), id)
	must(h.t, err)
	return q
}

// prompts checks what the agent was asked so far, in order.
func (h *house) prompts(want ...string) {
	h.t.Helper()
	if got := h.runner.prompts(); !slices.Equal(got, want) {
		h.t.Fatalf("prompts = %q, want %q", got, want)
	}
}

// told checks that the newest of our words contain each of want.
func (h *house) told(want ...string) {
	h.t.Helper()
	all := h.voice.texts()
	last := ""
	if len(all) > 0 {
		last = all[len(all)-1]
	}
	for _, w := range want {
		if !strings.Contains(last, w) {
			h.t.Fatalf("last words %q do not contain %q; all: %q", last, w, all)
		}
	}
}

// settleDown waits until retries are over.
func (h *house) settleDown() {
	h.t.Helper()
	time.Sleep(time.Minute)
	synctest.Wait()
}

// heard checks that one of our words contains each of want.
func (h *house) heard(want ...string) {
	h.t.Helper()
	for _, text := range h.voice.texts() {
		if !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(text, w) }) {
			return
		}
	}
	h.t.Fatalf("nobody said %q: %q", want, h.voice.texts())
}

// unrouted counts the messages that nobody has dealt with.
func (h *house) unrouted() int {
	h.t.Helper()
	ins, err := h.db.Inbox().Unrouted(h.t.Context(), 1000)
	must(h.t, err)
	return len(ins)
}

// runner runs turns as a worker would: it claims, works until the test lets go
// (for texts that the test holds) or the turn is stopped, and finishes.
type runner struct {
	db    *store.DB
	voice *voice

	mu     sync.Mutex
	hold   map[string]bool
	ran    []chat.Turn
	gates  map[int64]chan chat.TurnState
	causes []chat.Code
	alone  map[int64]bool // sessions that the agent works in by itself
	busy   map[int64]int
	clash  bool
	panics int
	usage  chat.Usage // of every turn
	steer  func(ctx context.Context, turn int64, in chat.Input) error
	swap   func(in chat.Input) error // of Replace
}

func (r *runner) Steer(ctx context.Context, turn int64, in chat.Input) error {
	r.mu.Lock()
	steer := r.steer
	r.mu.Unlock()
	if steer == nil {
		return chat.E(chat.Conflict, "", nil)
	}
	return steer(ctx, turn, in)
}

func (r *runner) Replace(_ context.Context, _ int64, in chat.Input) error {
	r.mu.Lock()
	swap := r.swap
	r.mu.Unlock()
	if swap == nil {
		return chat.E(chat.Conflict, "", nil)
	}
	return swap(in)
}

func (r *runner) Run(ctx context.Context, t chat.Turn) {
	runs := r.db.Runs()
	a, err := runs.Claim(context.WithoutCancel(ctx), t.ID, chat.AttemptClaimed)
	if err != nil {
		return
	}
	if a.Notices {
		r.voice.Wake(t.Place)
	}
	r.mu.Lock()
	if r.busy == nil {
		r.busy = map[int64]int{}
	}
	if r.busy[t.Session]++; r.busy[t.Session] > 1 {
		r.clash = true
	}
	r.ran = append(r.ran, t)
	gate := make(chan chat.TurnState, 1)
	held := r.hold[t.Input.Text()]
	r.gates[t.ID] = gate
	bad := r.panics > 0
	r.panics--
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.busy[t.Session]--
		r.mu.Unlock()
	}()
	if bad {
		panic("a defect")
	}
	end := chat.Ending{Turn: t.ID, State: chat.TurnSucceeded, Usage: r.usage}
	if held {
		select {
		case end.State = <-gate:
		case <-ctx.Done():
			end.State, end.Reason = chat.TurnStopped, chat.CodeOf(context.Cause(ctx))
			if end.Reason == chat.Shutdown {
				end.State = chat.TurnInterrupted
			}
			r.mu.Lock()
			r.causes = append(r.causes, end.Reason)
			r.mu.Unlock()
		}
	}
	rs := chat.Reply{Kind: chat.ReplyAnswer, Markdown: "answer: " + t.Input.Text() + " " + string(end.State)}
	if end.State == chat.TurnInterrupted || end.State == chat.TurnFailed {
		rs.Buttons = [][]chat.Button{{
			{Label: "Continue", Data: fmt.Sprintf("cont:%d", t.ID)},
			{Label: "Retry", Data: fmt.Sprintf("retry:%d", t.ID)},
			{Label: "Drop", Data: fmt.Sprintf("drop:%d", t.ID)},
		}}
	}
	end.Outs = r.voice.Compose(t.Place, t.ID, fmt.Sprintf("turn/%d", t.ID), chat.OutFinal, rs)
	if err := runs.Finish(context.WithoutCancel(ctx), end); err != nil {
		return
	}
	r.voice.Wake(t.Place)
}

func (r *runner) Stop(session int64, _ chat.Code) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.alone[session]
}

func (r *runner) prompts() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, t := range r.ran {
		out = append(out, t.Input.Text())
	}
	return out
}

func (r *runner) last() chat.Turn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ran[len(r.ran)-1]
}

// holds makes turns with these inputs run until end is called.
func (r *runner) holds(texts ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range texts {
		r.hold[x] = true
	}
}

func (r *runner) end(turn int64, s chat.TurnState) {
	r.mu.Lock()
	gate := r.gates[turn]
	r.mu.Unlock()
	gate <- s
	synctest.Wait()
}

// voice composes plain parts and sends everything at once.
type voice struct {
	outbox store.Outbox
	mu     sync.Mutex
	n      int
	sent   []chat.Out
	refs   []chat.Ref
}

func (v *voice) Compose(p chat.Place, turn int64, key string, class chat.OutClass, rs ...chat.Reply) []chat.Out {
	var outs []chat.Out
	for i, r := range rs {
		o := chat.Out{
			Key: fmt.Sprintf("%s/%d", key, i), Place: p, Turn: turn, Class: class, Op: chat.OpPost,
			Part: chat.Part{Text: r.Markdown, Buttons: r.Buttons, ReplyTo: r.ReplyTo},
		}
		if turn > 0 {
			o.Seq = i + 1
		}
		if r.Waits != 0 {
			o.Part.Waits = &chat.Waiting{Turn: r.Waits}
			if r.Over != "" {
				o.Part.Waits.Over = &chat.Part{Text: r.Over}
			}
		}
		outs = append(outs, o)
	}
	return outs
}

func (v *voice) Say(ctx context.Context, p chat.Place, key string, rs ...chat.Reply) error {
	if err := v.outbox.Enqueue(ctx, v.Compose(p, 0, key, chat.OutNotice, rs...)); err != nil {
		return err
	}
	v.Wake(p)
	return nil
}

func (v *voice) Wake(p chat.Place) {
	v.mu.Lock()
	defer v.mu.Unlock()
	ctx := context.Background()
	for {
		o, err := v.outbox.NextOut(ctx, p.Channel())
		if err != nil {
			return
		}
		if _, err := v.outbox.Sending(ctx, o.ID); err != nil {
			return
		}
		v.n++
		ref := o.Target
		if o.Op == chat.OpPost {
			ref = chat.Ref{ID: fmt.Sprintf("b%d", v.n), Num: int64(10000 + v.n)}
		}
		if err := v.outbox.Sent(ctx, o.ID, ref); err != nil {
			return
		}
		v.sent, v.refs = append(v.sent, o), append(v.refs, ref)
	}
}

// texts are the messages that were posted.
func (v *voice) texts() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var out []string
	for _, o := range v.sent {
		if o.Op == chat.OpPost {
			out = append(out, o.Part.Text)
		}
	}
	return out
}

// button finds the newest button whose data begins with verb.
func (v *voice) button(verb string) (chat.Ref, string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := len(v.sent) - 1; i >= 0; i-- {
		for _, row := range v.sent[i].Part.Buttons {
			for _, b := range row {
				if strings.HasPrefix(b.Data, verb) {
					return v.refs[i], b.Data
				}
			}
		}
	}
	return chat.Ref{}, ""
}

// edits are the messages that were changed.
func (v *voice) edits() []chat.Out {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(v.sent), func(o chat.Out) bool { return o.Op != chat.OpEdit })
}

type board struct {
	mu   sync.Mutex
	asks []chat.Ask
}

func (b *board) Decided(a chat.Ask) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asks = append(b.asks, a)
}

func (b *board) decided() []chat.Ask {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.asks)
}

type signals struct {
	mu    sync.Mutex
	no    bool
	marks []string
	names []string
}

func (s *signals) Title(_ context.Context, p chat.Place, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.no {
		return chat.E(chat.Unsupported, "", nil)
	}
	s.names = append(s.names, p.Thread+" "+name)
	return nil
}

func (s *signals) Sign(t chat.Turn, sign chat.Sign, failed func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.no && failed != nil {
		go failed() // ends by itself
	}
	if !s.no {
		s.marks = append(s.marks, t.ReplyTo.ID+sign.Emoji())
	}
}

type workers struct {
	wish    func(ctx context.Context, session int64, k chat.Setting, value string) error
	mu      sync.Mutex
	live    map[int64]worker.Info
	set     []chat.Settings
	setErr  error
	applied chat.Applied
	forgot  []int64
	warmed  []int64
}

// change changes what the workers do while a router may be asking them.
func (w *workers) change(f func(w *workers)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(w)
}

func (w *workers) Live(session int64) (worker.Info, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, ok := w.live[session]
	return i, ok
}

func (w *workers) Set(ctx context.Context, session int64, k chat.Setting, value string) (chat.Applied, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.set = append(w.set, chat.Settings{}.With(k, value))
	if w.setErr != nil {
		return "", w.setErr
	}
	return cmp.Or(w.applied, chat.AppliedReopen), w.wish(ctx, session, k, value)
}

func (w *workers) Forget(session int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgot = append(w.forgot, session)
}

func (w *workers) Warm(_ context.Context, s chat.Session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.warmed = append(w.warmed, s.ID)
}

// agents are the configured ones.
type agents struct {
	mu         sync.Mutex
	can        worker.Abilities // of the demo agent
	info       worker.Info
	unattended bool
	natives    []worker.Native
}

func (a *agents) change(f func(a *agents)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f(a)
}

func (a *agents) List() []command.Agent {
	a.mu.Lock()
	defer a.mu.Unlock()
	info := a.info
	if info.Models == nil {
		info.Models = []string{"small", "large"}
	}
	return []command.Agent{
		{Name: "demo", Title: "Demo", Ready: true, Info: info, Can: a.can, Unattended: a.unattended},
		{Name: "claude", Title: "Claude", Ready: true},
		{Name: "codex", Title: "Codex", Hint: "log in first"},
		{Name: "wild", Title: "Wild", Ready: true, Can: worker.Abilities{worker.Resume}},
	}
}

func (a *agents) Commands(agent string, _ int64) []worker.Command {
	if agent == "demo" {
		return []worker.Command{{Name: "compact"}, {Name: "review"}}
	}
	return nil
}

func (a *agents) Natives(_ context.Context, agent, _ string) ([]worker.Native, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if agent != "demo" {
		return nil, chat.E(chat.Unsupported, "", nil)
	}
	return a.natives, nil
}

func (a *agents) Terminal(agent, native string) []string {
	if agent != "demo" {
		return nil
	}
	return []string{"demo", "--resume", native}
}

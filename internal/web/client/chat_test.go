package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cligate/internal/chat"
	"cligate/internal/platform"
	platformweb "cligate/internal/platform/web"
	"cligate/internal/store"
	"cligate/internal/web"
	"cligate/internal/web/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// daemon is the real server, web platform and ledger; the rest is a script.
type daemon struct {
	t       *testing.T
	dir     string
	db      *store.DB
	adapter *platformweb.Adapter
	mu      sync.Mutex
	n       int
	session chat.Session
	turn    chat.Turn
	got     []string // what people wrote and pressed
	stop    func()
}

func serve(t *testing.T) *daemon {
	t.Helper()
	d := &daemon{t: t, dir: t.TempDir()}
	d.start()
	t.Cleanup(func() { d.stop() })
	return d
}

func (d *daemon) socket() string { return filepath.Join(d.dir, api.SocketName) }

func (d *daemon) start() {
	d.t.Helper()
	log := slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(context.WithoutCancel(d.t.Context()))
	db, err := store.Open(ctx, store.Config{Dir: d.dir, Ballast: -1, Log: log})
	d.must(err)
	d.db = db
	d.adapter, err = platformweb.New(db.WebChats(), platformweb.Config{Account: "web", Who: web.Who, Streams: 8}, log)
	d.must(err)
	srv, err := web.Open(ctx, web.Parts{Logins: db.Logins(), Pairing: doorman{}, Status: fine{}, Chats: d.adapter.Handler()},
		web.Config{Addr: "127.0.0.1:0", Socket: d.socket()}, log)
	d.must(err)
	var wg sync.WaitGroup
	wg.Go(func() { d.must(srv.Run(ctx)) })
	wg.Go(func() { d.must(d.adapter.Run(ctx, d)) })
	d.stop = sync.OnceFunc(func() { cancel(); wg.Wait(); d.must(db.Close()) })
}

func (d *daemon) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Error(err)
	}
}

func (d *daemon) Cursor(context.Context, string) (string, error) { return "", nil }

// Receive implements platform.Inbound.
func (d *daemon) Receive(ctx context.Context, b platform.Batch) ([]chat.Ack, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := b.Messages[0]
	in := []chat.Inbound{{Message: m, Role: chat.RoleOwner, State: chat.InboundNew}}
	rs, err := d.db.Inbox().Record(ctx, b.Account, "", in)
	if err != nil {
		return nil, err
	}
	ack := chat.Ack{Inbound: rs[0].ID, Fresh: rs[0].Fresh}
	if !ack.Fresh {
		return []chat.Ack{ack}, nil
	}
	in[0].ID = rs[0].ID
	d.got = append(d.got, strings.TrimSpace(m.Text+m.Data))
	if m.Kind == chat.KindClick {
		d.clicked(ctx, m, &ack)
	} else {
		d.text(ctx, in[0])
	}
	return []chat.Ack{ack}, nil
}

func (d *daemon) text(ctx context.Context, in chat.Inbound) {
	switch {
	case in.Text == "/stop":
		d.settle(ctx, in, "")
		d.finish(ctx, chat.TurnStopped, "Stopped.")
	case strings.HasPrefix(in.Text, "/"):
		d.settle(ctx, in, "This is "+in.Text)
	case d.turn.ID != 0: // an answer in words
		d.settle(ctx, in, "")
		d.finish(ctx, chat.TurnSucceeded, "You answered "+in.Text)
	default:
		d.begin(ctx, in)
		switch in.Text {
		case "ask":
			d.post(ctx, chat.OutAsk, chat.Reply{Kind: chat.ReplyAsk, Markdown: "May I?", Buttons: [][]chat.Button{
				{{Label: "Allow", Data: "ask:1:0", Style: "primary"}, {Label: "Allow in this session", Data: "ask:1:1"}},
				{{Label: "Deny", Data: "ask:1:2", Style: "danger"}}}})
		case "choose":
			d.post(ctx, chat.OutAsk, chat.Reply{Kind: chat.ReplyAsk, Markdown: "Which?", Buttons: [][]chat.Button{{{Label: "red", Data: "ask:1:0"}, {Label: "blue", Data: "ask:1:1"}}}})
		case "words":
			d.post(ctx, chat.OutAsk, chat.Reply{Kind: chat.ReplyAsk, Markdown: "What name?"})
		case "hang":
			d.post(ctx, chat.OutProgress, chat.Reply{Kind: chat.ReplyProgress, Markdown: "first line\nthinking \x1b[2Jhard", Buttons: [][]chat.Button{{{Label: "Stop", Data: "stop:1"}}}})
		case "fail":
			d.finish(ctx, chat.TurnFailed, "It failed.")
		default:
			d.finish(ctx, chat.TurnSucceeded, "You said "+in.Text)
		}
	}
}

func (d *daemon) clicked(ctx context.Context, m chat.Message, ack *chat.Ack) {
	what := map[string]string{"ask:1:0": "first", "ask:1:1": "second", "ask:1:2": "third"}[m.Data]
	ack.Replace = &chat.Reply{Kind: chat.ReplyAsk, Markdown: "Decided: " + what}
	d.finish(ctx, chat.TurnSucceeded, "Went on with "+what)
}

func (d *daemon) settle(ctx context.Context, in chat.Inbound, reply string) {
	d.must(d.db.Inbox().Settle(ctx, []int64{in.ID}, chat.InboundDone, "", nil))
	if reply != "" {
		d.turn.Place = in.Place
		d.post(ctx, chat.OutNotice, chat.Reply{Kind: chat.ReplyNotice, Markdown: reply})
	}
}

func (d *daemon) begin(ctx context.Context, in chat.Inbound) {
	var err error
	if d.session.ID == 0 {
		d.session, err = d.db.Sessions().StartSession(ctx, chat.NewSession{Conversation: in.Conversation, Agent: "demo", Workspace: "/w"})
		d.must(err)
	}
	d.turn, err = d.db.Turns().NewTurn(ctx, chat.NewTurn{Conversation: in.Conversation, Session: d.session.ID, Place: in.Place, Origin: chat.OriginUser,
		Inbound: []int64{in.ID}, By: in.Sender, Input: chat.Input{Pieces: []chat.Piece{{Inbound: in.ID, Text: in.Text}}}})
	d.must(err)
	_, err = d.db.Runs().Claim(ctx, d.turn.ID, chat.AttemptSent)
	d.must(err)
}

func (d *daemon) finish(ctx context.Context, s chat.TurnState, final string) {
	if d.turn.ID == 0 {
		return
	}
	d.must(d.db.Runs().Finish(ctx, chat.Ending{Turn: d.turn.ID, State: s}))
	d.post(ctx, chat.OutFinal, chat.Reply{Kind: chat.ReplyAnswer, Markdown: final})
	d.turn.ID = 0
}

func (d *daemon) post(ctx context.Context, class chat.OutClass, r chat.Reply) {
	d.n++
	o := chat.Out{Key: fmt.Sprintf("%d/%d", time.Now().UnixNano(), d.n), Place: d.turn.Place, Class: class, Op: chat.OpPost, Part: d.adapter.Render(r)[0]}
	d.must(d.db.Outbox().Enqueue(ctx, []chat.Out{o}))
	o, err := d.db.Outbox().NextOut(ctx, o.Place.Channel())
	d.must(err)
	ref, err := d.adapter.Send(ctx, o)
	d.must(err)
	d.must(d.db.Outbox().Sent(ctx, o.ID, ref))
}

func (d *daemon) received() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.got, "; ")
}

type doorman struct{}

func (doorman) Invite(context.Context, api.InviteAsk, string) (api.Invite, error) {
	return api.Invite{Code: "PLUM"}, nil
}

func (doorman) Pairs(context.Context) (api.Pairs, error) {
	return api.Pairs{Strangers: []chat.Stranger{{ID: 7}}}, nil
}

func (doorman) Approve(_ context.Context, a api.Approval, _ string) error {
	if a.Stranger != 7 {
		return chat.E(chat.Missing, "", nil)
	}
	return nil
}

func (doorman) Revoke(context.Context, int64, string) error { return nil }

type fine struct{}

func (fine) Status(context.Context) (api.Status, error) { return api.Status{Agent: "demo"}, nil }
func (fine) Doctor(context.Context) (api.Report, error) {
	return api.Report{Checks: []api.Check{{Name: "database", OK: true}}}, nil
}
func (fine) Healthy(context.Context) error { return nil }

func (d *daemon) dial() *Client {
	d.t.Helper()
	c, err := Dial(d.t.Context(), d.socket(), "en")
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(c.Close)
	return c
}

// pipe runs a chat with the lines as a script's input.
func (d *daemon) pipe(lines ...string) (string, error) {
	d.t.Helper()
	var out bytes.Buffer
	err := d.dial().Chat(d.t.Context(), strings.NewReader(strings.Join(lines, "\n")+"\n"), &out, Options{})
	return out.String(), err
}

func TestEachPipedLineIsAnsweredBeforeTheNext(t *testing.T) {
	t.Parallel()
	d := serve(t)
	out, err := d.pipe("remember plum", "", "/status", "what was it")
	if err != nil {
		t.Error(err)
	}
	if out != "You said remember plum\nThis is /status\nYou said what was it\n" {
		t.Errorf("output:\n%s", out)
	}
	if got := d.received(); got != "remember plum; /status; what was it" {
		t.Errorf("received: %s", got)
	}
}

func TestEarlierTalkIsNotRepeated(t *testing.T) {
	t.Parallel()
	d := serve(t)
	if _, err := d.pipe("first"); err != nil {
		t.Fatal(err)
	}
	d.stop()
	d.start()
	if out, err := d.pipe("second"); err != nil || out != "You said second\n" {
		t.Errorf("%v, output:\n%s", err, out)
	}
}

func TestWhatCameToNothingIsTold(t *testing.T) {
	t.Parallel()
	d := serve(t)
	out, err := d.pipe("fail", "go on")
	if !errors.Is(err, ErrUnanswered) || out != "It failed.\nYou said go on\n" {
		t.Errorf("%v, output:\n%s", err, out)
	}
}

func TestARequestIsAnsweredByTheNextLine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{"1": "first", "y": "first", "Y": "first", "2": "second", "a": "second", "3": "third", "n": "third", "deny": "third"} {
		d := serve(t)
		out, err := d.pipe("ask", line, "go on")
		if err != nil || !strings.Contains(out, "? May I?\n  1) Allow   2) Allow in this session   3) Deny\n-- Answer with 1, 2, 3, y, a, n.\n") ||
			!strings.Contains(out, "Decided: "+want) || !strings.HasSuffix(out, "Went on with "+want+"\nYou said go on\n") {
			t.Errorf("%s: %v, output:\n%s", line, err, out)
		}
	}
}

func TestARequestNobodyCanAnswerIsDenied(t *testing.T) {
	t.Parallel()
	d := serve(t)
	out, err := d.pipe("ask")
	if err != nil || !strings.Contains(out, "so it was denied") || !strings.Contains(out, "Went on with third") {
		t.Errorf("%v, output:\n%s", err, out)
	}
}

func TestAQuestionNobodyCanAnswerEndsTheTurn(t *testing.T) {
	t.Parallel()
	for _, q := range []string{"choose", "words"} {
		d := serve(t)
		out, err := d.pipe(q)
		if !errors.Is(err, ErrUnanswered) || !strings.Contains(out, "Stopped.") {
			t.Errorf("%s: %v, output:\n%s", q, err, out)
		}
	}
}

func TestAQuestionTakesWords(t *testing.T) {
	t.Parallel()
	d := serve(t)
	out, err := d.pipe("words", "y")
	if err != nil || !strings.HasSuffix(out, "You answered y\n") {
		t.Errorf("%v, output:\n%s", err, out)
	}
	if out, err = d.pipe("choose", "BLUE"); err != nil || !strings.HasSuffix(out, "Went on with second\n") {
		t.Errorf("%v, output:\n%s", err, out)
	}
}

// terminal is a person at a terminal: types, reads, presses ctrl-c.
type terminal struct {
	t    *testing.T
	in   *io.PipeWriter
	stop chan struct{}
	mu   sync.Mutex
	out  strings.Builder
	news chan struct{}
	end  chan error
}

func (x *terminal) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.out.Write(p)
	select {
	case x.news <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (d *daemon) terminal() *terminal {
	d.t.Helper()
	r, w := io.Pipe()
	x := &terminal{t: d.t, in: w, stop: make(chan struct{}), news: make(chan struct{}, 1), end: make(chan error, 1)}
	c := d.dial()
	ctx, cancel := context.WithCancel(d.t.Context())
	go func() { x.end <- c.Chat(ctx, r, x, Options{TTY: true, Width: 40, Stop: x.stop}) }() // ends with the test
	d.t.Cleanup(func() { cancel(); _ = w.Close(); _ = r.Close() })
	return x
}

// until waits for words on the screen.
func (x *terminal) until(words string) string {
	x.t.Helper()
	limit := time.After(20 * time.Second)
	for {
		x.mu.Lock()
		out := x.out.String()
		x.mu.Unlock()
		if strings.Contains(out, words) {
			return out
		}
		select {
		case <-x.news:
		case <-limit:
			x.t.Fatalf("no %q on the screen:\n%q", words, out)
		}
	}
}

func (x *terminal) say(line string) {
	x.t.Helper()
	if _, err := io.WriteString(x.in, line+"\n"); err != nil {
		x.t.Fatal(err)
	}
}

func TestAPersonSeesProgressAndStopsIt(t *testing.T) {
	t.Parallel()
	d := serve(t)
	x := d.terminal()
	x.until("Chat “terminal”")
	x.say("hang")
	if out := x.until("thinking"); strings.Contains(out, "\x1b[2J") {
		t.Errorf("an agent steers the terminal: %q", out)
	}
	x.stop <- struct{}{}
	x.until("Stopped.")
	x.say("ask")
	x.until("Answer with 1, 2, 3, y, a, n.")
	x.say("y")
	x.until("Went on with first")
	x.say("hang")
	x.until("stopping")
	x.stop <- struct{}{}
	if err := <-x.end; err != nil {
		t.Errorf("left with %v", err)
	}
}

func TestTheEndOfTheInputLeaves(t *testing.T) {
	t.Parallel()
	d := serve(t)
	x := d.terminal()
	x.until("Chat")
	x.say("hang")
	x.until("thinking")
	_ = x.in.Close()
	if err := <-x.end; err != nil {
		t.Errorf("left with %v", err)
	}
}

func TestALostConnectionIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	d := serve(t)
	x := d.terminal()
	x.until("Chat")
	x.say("one")
	x.until("You said one")
	d.stop()
	x.until("connection lost")
	go func() { _, _ = io.WriteString(x.in, "two\n") }() // ends when the daemon is back
	d.start()
	x.until("connected again")
	out := x.until("You said two")
	if n := strings.Count(out, "You said one"); n != 1 {
		t.Errorf("the first answer is shown %d times:\n%s", n, out)
	}
	if got := d.received(); got != "one; two" {
		t.Errorf("received: %s", got)
	}
}

func TestAMessageThatIsNotTakenCanBeGivenUp(t *testing.T) {
	t.Parallel()
	d := serve(t)
	x := d.terminal()
	x.until("Chat")
	d.stop()
	x.until("connection lost")
	x.say("two")
	x.until("not taken yet (no answer from the daemon)")
	x.stop <- struct{}{}
	x.until("could not be delivered: no answer from the daemon")
	x.stop <- struct{}{} // tries to stop what may run, which nobody takes either
	x.until("stopping")
	x.stop <- struct{}{}
	if err := <-x.end; err != nil {
		t.Errorf("left with %v", err)
	}
}

func TestANameThatIsNoneIsOneClearSentence(t *testing.T) {
	t.Parallel()
	d := serve(t)
	err := d.dial().Chat(t.Context(), strings.NewReader(""), io.Discard, Options{Chat: "../x"})
	if chat.CodeOf(err) != chat.Invalid || !strings.Contains(chat.DetailOf(err), "“../x” cannot name a chat") {
		t.Errorf("%v", err)
	}
}

func TestControlCalls(t *testing.T) {
	t.Parallel()
	d := serve(t)
	c, ctx := d.dial(), t.Context()
	if s, err := c.Status(ctx); err != nil || s.Agent != "demo" {
		t.Errorf("%+v, %v", s, err)
	}
	if r, err := c.Doctor(ctx); err != nil || len(r.Checks) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if l, err := c.Login(ctx); err != nil || !strings.Contains(l.URL, "/login#token=") || time.Until(l.Expires) > 11*time.Minute {
		t.Errorf("%+v, %v", l, err)
	}
	if i, err := c.Invite(ctx, api.InviteAsk{Role: chat.RoleMember}); err != nil || i.Code != "PLUM" {
		t.Errorf("%+v, %v", i, err)
	}
	if p, err := c.Pairs(ctx); err != nil || len(p.Strangers) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	if err := c.Approve(ctx, api.Approval{Stranger: 7, Role: chat.RoleMember}); err != nil {
		t.Error(err)
	}
	if err := c.Approve(ctx, api.Approval{Stranger: 8, Role: chat.RoleMember}); chat.CodeOf(err) != chat.Missing || chat.DetailOf(err) == "" {
		t.Errorf("%v", err)
	}
	if err := c.Revoke(ctx, 1); err != nil {
		t.Error(err)
	}
}

func TestNoDaemonIsOneClearSentence(t *testing.T) {
	t.Parallel()
	_, err := Dial(t.Context(), filepath.Join(t.TempDir(), api.SocketName), "en")
	if chat.CodeOf(err) != chat.Unavailable || !strings.Contains(chat.DetailOf(err), "cligate serve") {
		t.Errorf("%v", err)
	}
}

func TestTheSocketOfAnotherUserIsOneClearSentence(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		return // root may open every door
	}
	dir := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(dir, 0); err != nil {
		t.Fatal(err)
	}
	_, err := Dial(t.Context(), filepath.Join(dir, api.SocketName), "en")
	if chat.CodeOf(err) != chat.Denied || !strings.Contains(chat.DetailOf(err), "another user") {
		t.Errorf("%v", err)
	}
}

func TestLinesAreCutByColumns(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"short": "short", "exactly 10": "exactly 10", "more than 10": "more than…", "长长长长长长": "长长长长…", "": ""} {
		if got := cut(in, 10); got != want {
			t.Errorf("cut(%q) = %q, want %q", in, got, want)
		}
	}
	if got := plain("a\x1b[31m\u202eb\r\n\tc"); strings.ContainsAny(got, "\x1b\r\u202e") || !strings.Contains(got, "\n\tc") {
		t.Errorf("plain = %q", got)
	}
}

package telegram

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
	"cligate/internal/reply"
	fakebot "cligate/internal/sim/telegram"
	"cligate/internal/store"
)

// near is the strict server without a network: a way there and a way back, on
// each of which a call may be given up.
type near struct {
	server http.Handler
	way    time.Duration
}

func (n near) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if err := n.travel(r.Context()); err != nil {
		return nil, err
	}
	if tr := httptrace.ContextClientTrace(r.Context()); tr != nil && tr.WroteHeaders != nil {
		tr.WroteHeaders()
	}
	again := httptest.NewRequestWithContext(r.Context(), r.Method, r.URL.Path, bytes.NewReader(body))
	again.Header = r.Header
	w := httptest.NewRecorder()
	defer func() {
		if recover() != nil { // the server cut the connection
			resp, err = nil, io.ErrUnexpectedEOF
		}
	}()
	n.server.ServeHTTP(w, again)
	if err := n.travel(r.Context()); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

func (n near) travel(ctx context.Context) error {
	t := time.NewTimer(n.way)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// storm is many chats at once on the strict server, in fake time.
type storm struct {
	t     *testing.T
	db    *store.DB
	srv   *fakebot.Server
	voice *reply.Voice
	kill  func()
	cfg   Config
	rand  *rand.Rand

	mu    sync.Mutex
	said  map[int64][]string // finals by chat, in order
	turns int64
}

// inStorm runs f in a bubble.
func inStorm(t *testing.T, cfg Config, f func(s *storm)) {
	t.Helper()
	t.Parallel()
	srv, err := fakebot.New()
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	srv.AddBot(testToken, botName, false)
	srv.EnforceRates(true)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db, err := store.Open(t.Context(), store.Config{Dir: dir, Ballast: -1})
		if err != nil {
			t.Fatal(err)
		}
		s := &storm{t: t, db: db, srv: srv, cfg: cfg, said: map[int64][]string{}, rand: rand.New(rand.NewPCG(3, 4))}
		s.begin()
		f(s)
		s.kill()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}

// begin is a new life of the process: nothing of an earlier one but the ledger.
func (s *storm) begin() {
	s.t.Helper()
	cfg := s.cfg
	cfg.Account, cfg.Token = "main", testToken
	a, err := Open(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		s.t.Fatal(err)
	}
	a.wire.client.Transport = near{fakebot.Handler(s.srv), 40 * time.Millisecond}
	s.voice, err = reply.New(s.db.Outbox(), map[string]platform.Adapter{"main": a}, reply.Config{Drain: time.Millisecond})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.t.Context()))
	done := make(chan struct{})
	v := s.voice
	go func() { // ends with kill
		defer close(done)
		_ = v.Run(ctx)
	}()
	s.kill = sync.OnceFunc(func() {
		cancel()
		<-done
	})
}

// turn is a new turn of a chat: somebody says something there.
func (s *storm) turn(chatID int64) chat.Turn {
	s.t.Helper()
	s.mu.Lock()
	s.turns++
	id := s.turns
	s.mu.Unlock()
	msg := s.srv.Say(testToken, fakebot.Say{Chat: chatID, From: ann, Text: "do it"})
	direct := chatID > 0
	space := "bot"
	if !direct {
		space = strconv.FormatInt(chatID, 10)
	}
	ms := []chat.Inbound{{Message: chat.Message{
		Key: fmt.Sprintf("in/%d", id), Kind: chat.KindText, Text: "do it", Sender: chat.Person{ID: strconv.FormatInt(ann, 10)},
		Place: chat.Place{Platform: Name, Account: "main", Chat: strconv.FormatInt(chatID, 10), Direct: direct, Space: space},
		Ref:   chat.Ref{ID: strconv.FormatInt(msg, 10), Chat: strconv.FormatInt(chatID, 10), Num: msg},
	}, Role: chat.RoleOwner}}
	if _, err := s.db.Inbox().Record(s.t.Context(), "main", "", ms); err != nil {
		s.t.Fatal(err)
	}
	return chat.Turn{ID: id, Place: ms[0].Place, ReplyTo: ms[0].Ref, State: chat.TurnRunning, CreatedAt: time.Now()}
}

// run plays a turn of that length.
func (s *storm) run(t chat.Turn, length time.Duration) {
	s.mu.Lock()
	r := rand.New(rand.NewPCG(s.rand.Uint64(), 1))
	s.mu.Unlock()
	l := s.voice.Begin(t, chat.Look{Lang: "en", Agent: "demo", Verbosity: chat.VerbosityAll})
	l.Event(chat.Event{Kind: chat.EventSent})
	for i, until := 0, time.Now().Add(length); time.Now().Before(until); i++ {
		switch r.IntN(20) {
		case 0:
			l.Event(chat.Event{Kind: chat.EventTool, Tool: &chat.Tool{ID: fmt.Sprint(i), Name: "Bash", Title: "go test ./...", State: chat.ToolRunning}})
		case 1:
			l.Event(chat.Event{Kind: chat.EventThought, Text: fmt.Sprintf("thought %d\n", i)})
		case 2:
			l.Waiting(r.IntN(2) == 0)
		default:
			l.Event(chat.Event{Kind: chat.EventText, Text: fmt.Sprintf("word%d and more words ", i)})
		}
		time.Sleep(time.Duration(20+r.IntN(60)) * time.Millisecond)
	}
	l.End("done · 3s", chat.SignDone)
	s.final(t, fmt.Sprintf("answer of turn %d\n\n%s\n\nend of turn %d", t.ID, strings.Repeat("A sentence of some length. ", 20+r.IntN(200)), t.ID))
}

// final is the last word of a turn, as the end of the turn commits it.
func (s *storm) final(t chat.Turn, text string) {
	outs := s.voice.Compose(t.Place, t.ID, fmt.Sprintf("final/%d", t.ID), chat.OutFinal, chat.Reply{Kind: chat.ReplyAnswer, Markdown: text, ReplyTo: t.ReplyTo})
	id, _ := strconv.ParseInt(t.Place.Chat, 10, 64)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.db.Outbox().Enqueue(context.Background(), outs); err != nil {
		s.t.Error(err)
	}
	s.said[id] = append(s.said[id], fmt.Sprintf("turn %d", t.ID))
	s.voice.Wake(t.Place)
}

// judge looks at what the readers have: every final once, whole and in order,
// and no call beyond the rates.
func (s *storm) judge() {
	s.t.Helper()
	for id, finals := range s.said {
		var all strings.Builder
		for _, m := range s.srv.Visible(testToken, id) {
			if !strings.Contains(m.Text, "word") { // a live message that was cut off
				all.WriteString(m.Text + "\n" + string(m.FileBody) + "\n")
			}
		}
		at := -1
		for _, f := range finals {
			for _, mark := range []string{"answer of " + f + "\n", "end of " + f + "\n"} {
				next := strings.Index(all.String(), mark)
				if n := strings.Count(all.String(), mark); n != 1 || next < at {
					s.t.Errorf("chat %d shows %q %d times, at %d after %d", id, mark, n, next, at)
				}
				at = next
			}
		}
	}
	bad := s.srv.Violations()
	for _, v := range bad[:min(len(bad), 10)] {
		s.t.Errorf("%s in chat %d at %s: %s", v.Method, v.Chat, v.At.Format("05.000"), v.Why)
	}
	if len(bad) > 0 {
		s.t.Errorf("%d calls beyond the rates", len(bad))
	}
	changes := map[string]int{}
	for _, c := range s.srv.Calls() {
		if c.Method == "setMessageReaction" {
			changes[fmt.Sprint(c.Chat, " ", c.Params["message_id"])]++
		}
	}
	for m, n := range changes {
		if n > 3 {
			s.t.Errorf("%d signs on message %s", n, m)
		}
	}
}

// crowd makes n chats, every fifth a group.
func (s *storm) crowd(n int) []int64 {
	var ids []int64
	for i := range n {
		id := int64(1000 + i)
		kind := fakebot.Private
		if i%5 == 4 {
			id, kind = -1_000_000_000_000-id, fakebot.Supergroup
		}
		s.srv.AddChat(id, kind, fmt.Sprintf("chat %d", i))
		ids = append(ids, id)
	}
	return ids
}

// all plays one turn in each chat at the same time.
func (s *storm) all(chats []int64, length func() time.Duration) {
	var wg sync.WaitGroup
	for _, id := range chats {
		t, d := s.turn(id), length()
		wg.Go(func() { s.run(t, d) })
	}
	wg.Wait()
}

func (s *storm) between(a, b time.Duration) func() time.Duration {
	return func() time.Duration {
		s.mu.Lock()
		defer s.mu.Unlock()
		return a + time.Duration(s.rand.Int64N(int64(b-a)))
	}
}

func TestThirtyChatsThatStreamAtOnceKeepTheLimits(t *testing.T) {
	inStorm(t, Config{}, func(s *storm) {
		chats := s.crowd(30)
		s.all(chats, s.between(8*time.Second, 20*time.Second))
		time.Sleep(2 * time.Minute)
		s.judge()
	})
}

func TestAStormOfFiftyChatsLosesNothingAndKeepsTheLimits(t *testing.T) {
	inStorm(t, Config{}, func(s *storm) {
		chats := s.crowd(50)
		for range 2 {
			s.all(chats, s.between(time.Millisecond, 6*time.Second))
		}
		time.Sleep(5 * time.Minute)
		s.judge()
	})
}

// A process that is killed takes all it knew about what it had sent with it.
func TestAStormAcrossKillsLosesNothingAndKeepsTheLimits(t *testing.T) {
	inStorm(t, Config{}, func(s *storm) {
		chats := s.crowd(50)
		time.Sleep(time.Minute) // the first process may use all budgets at once
		for range 2 {
			var cut []chat.Turn
			var wg sync.WaitGroup
			for i, id := range chats {
				t := s.turn(id)
				if i%3 == 0 { // ends before the kill, or as it comes
					d := s.between(time.Millisecond, 5*time.Second)()
					wg.Go(func() { s.run(t, d) })
					continue
				}
				cut = append(cut, t)
				l := s.voice.Begin(t, chat.Look{Lang: "en", Agent: "demo"})
				l.Event(chat.Event{Kind: chat.EventText, Text: "a word of a turn that is cut off"})
			}
			wg.Wait()
			s.kill()
			s.begin()
			for _, t := range cut {
				s.final(t, fmt.Sprintf("answer of turn %d\n\ninterrupted\n\nend of turn %d", t.ID, t.ID))
				s.voice.Sign(t, chat.SignFailed, nil)
			}
			time.Sleep(s.between(time.Millisecond, 10*time.Second)())
		}
		time.Sleep(5 * time.Minute)
		s.judge()
	})
}

// The server would notice: without a budget of our own it sees offences.
func TestAStormWithoutABudgetIsNoticed(t *testing.T) {
	inStorm(t, Config{Unpaced: true}, func(s *storm) {
		chats := s.crowd(20)
		for range 3 {
			s.all(chats, s.between(time.Millisecond, time.Second))
		}
		time.Sleep(5 * time.Minute)
		if len(s.srv.Violations()) == 0 {
			t.Error("no offence")
		}
	})
}

// The minute of a group is the tightest budget: it is used up when the process
// dies, and the next one does not know.
func TestAGroupKeepsItsMinuteAcrossKills(t *testing.T) {
	inStorm(t, Config{}, func(s *storm) {
		group := s.crowd(5)[4]
		time.Sleep(time.Minute) // the first process may use all of it
		for range 60 {
			tn := s.turn(group)
			s.final(tn, fmt.Sprintf("answer of turn %d\n\nend of turn %d\n", tn.ID, tn.ID))
		}
		for range 30 { // it dies, and dies again
			time.Sleep(time.Second)
			s.kill()
			s.begin()
		}
		time.Sleep(10 * time.Minute)
		s.judge()
	})
}

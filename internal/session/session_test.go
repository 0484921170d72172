package session_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/session"
	"cligate/internal/store"
	"cligate/internal/worker"
	"cligate/internal/worker/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a manager over a real ledger and a scripted agent.
type bench struct {
	*session.Manager
	t       *testing.T
	db      *store.DB
	agent   *fake.Driver
	waiting chan int64
}

func setup(t *testing.T, cfg session.Config) *bench {
	t.Helper()
	b := &bench{t: t, agent: fake.New(), waiting: make(chan int64, 100)}
	var err error
	if b.db, err = store.Open(t.Context(), store.Config{Dir: t.TempDir(), Ballast: -1}); err != nil {
		t.Fatal(err)
	}
	cfg.Waiting = func(id int64) { b.waiting <- id }
	b.Manager = session.New(b.db.Sessions(), map[string]worker.Driver{"fake": b.agent}, cfg)
	t.Cleanup(func() {
		b.Close()
		if now, _ := b.agent.Live(); now != 0 {
			t.Errorf("%d processes are left after Close", now)
		}
		if o := b.agent.Overlaps(); len(o) > 0 {
			t.Errorf("the agent was misused: %q", o)
		}
		if err := b.db.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// session makes a session in a new conversation.
func (b *bench) session() chat.Session {
	b.t.Helper()
	return b.in(b.t.TempDir(), "fake")
}

func (b *bench) in(workspace, agent string) chat.Session {
	b.t.Helper()
	p := chat.Place{Platform: "web", Account: "web", Chat: fmt.Sprint(time.Now().UnixNano(), workspace, agent), Direct: true}
	_, conversation, err := b.db.Places().Ensure(b.t.Context(), p)
	if err != nil {
		b.t.Fatal(err)
	}
	s, err := b.db.Sessions().StartSession(b.t.Context(),
		chat.NewSession{Conversation: conversation, Agent: agent, Workspace: workspace})
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *bench) row(s chat.Session) chat.Session {
	b.t.Helper()
	s, err := b.db.Sessions().SessionByID(b.t.Context(), s.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *bench) acquire(s chat.Session) worker.Worker {
	b.t.Helper()
	w, err := b.Acquire(b.t.Context(), s)
	if err != nil {
		b.t.Fatal(err)
	}
	return w
}

// host takes events and remembers the text.
type host struct{ text string }

func (h *host) Emit(_ context.Context, e chat.Event) error {
	if e.Kind == chat.EventText {
		h.text += e.Text
	}
	return nil
}

func (h *host) Ask(context.Context, chat.Question) (chat.Answer, error) {
	return chat.Answer{}, errors.New("nobody is here")
}

// say runs a turn as the turn station would.
func (b *bench) say(s chat.Session, text string) string {
	b.t.Helper()
	w := b.acquire(s)
	defer b.Release(s.ID)
	var h host
	if err := w.Prompt(b.t.Context(), chat.Input{Pieces: []chat.Piece{{Text: text}}}, &h); err != nil {
		b.t.Fatal(err)
	}
	return h.text
}

func (b *bench) wantOpens(n int) []worker.Spec {
	b.t.Helper()
	opens := b.agent.Opens()
	if len(opens) != n {
		b.t.Fatalf("%d workers were opened, want %d", len(opens), n)
	}
	return opens
}

func wantCode(t *testing.T, err error, code chat.Code) {
	t.Helper()
	if got := chat.CodeOf(err); got != code {
		t.Fatalf("got code %q (%v), want %q", got, err, code)
	}
}

func TestLiveWorkerIsReused(t *testing.T) {
	t.Parallel()
	b := setup(t, session.Config{})
	s := b.session()
	b.say(s, "remember the word plum")
	if got := b.say(s, "what was the word?"); got != "the word was plum" {
		t.Errorf("got %q", got)
	}
	b.wantOpens(1)
}

func TestDeadWorkerIsResumedWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, session.Config{})
		s := b.session()
		b.say(s, "remember the word plum")
		b.agent.Worker(s.ID).Kill()
		synctest.Wait()
		if _, live := b.Live(s.ID); live {
			t.Error("a dead worker counts as live")
		}
		if all, _ := b.Count(); all != 0 {
			t.Errorf("%d processes are counted, want 0", all)
		}
		if got := b.say(s, "what was the word?"); got != "the word was plum" {
			t.Errorf("got %q", got)
		}
		opens := b.wantOpens(2)
		if id := b.row(s).NativeID; id == "" || opens[1].NativeID != id {
			t.Errorf("resumed %q, the session's id is %q", opens[1].NativeID, id)
		}
	})
}

func TestSessionOutlivesItsManager(t *testing.T) {
	t.Parallel()
	b := setup(t, session.Config{})
	s := b.session()
	b.say(s, "remember the word plum")
	b.Close()
	b.Manager = session.New(b.db.Sessions(), map[string]worker.Driver{"fake": b.agent}, session.Config{})
	if got := b.say(s, "what was the word?"); got != "the word was plum" {
		t.Errorf("got %q", got)
	}
}

// nosy looks at the ledger when it is opened.
type nosy struct {
	worker.Driver
	look func()
}

func (n nosy) Open(ctx context.Context, s worker.Spec) (worker.Worker, error) {
	n.look()
	return n.Driver.Open(ctx, s)
}

func TestSeedIsNotedBeforeTheAgentCanSeeIt(t *testing.T) {
	t.Parallel()
	b := setup(t, session.Config{})
	s := b.session()
	begun := false
	m := session.New(b.db.Sessions(), map[string]worker.Driver{
		"fake": nosy{Driver: b.agent, look: func() { begun = b.row(s).Begun }},
	}, session.Config{})
	defer m.Close()
	b.agent.Refuse(chat.E(chat.Network, "", nil))
	_, err := m.Acquire(t.Context(), s)
	wantCode(t, err, chat.Network)
	if !begun {
		t.Error("the driver was called before the seed was noted")
	}
	if _, err := m.Acquire(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	m.Release(s.ID)
	opens := b.wantOpens(2)
	if opens[0].Begun || !opens[1].Begun || opens[0].Seed != opens[1].Seed || opens[0].Seed == "" {
		t.Errorf("opened with %+v, then %+v", opens[0], opens[1])
	}
}

func TestOnlyTheAgentsWordMakesASessionLost(t *testing.T) {
	t.Parallel()
	for _, code := range []chat.Code{
		chat.LoggedOut, chat.Network, chat.Quota, chat.Overloaded, chat.Protocol, chat.AgentError, chat.Internal,
	} {
		b := setup(t, session.Config{})
		s := b.session()
		b.say(s, "remember the word plum")
		before := b.row(s)
		b.Forget(s.ID)
		b.agent.Refuse(chat.E(code, "no", nil))
		_, err := b.Acquire(t.Context(), s)
		wantCode(t, err, code)
		if now := b.row(s); now.NativeID != before.NativeID || now.State != chat.SessionOpen {
			t.Errorf("after %s the session is %+v", code, now)
		}
		if got := b.say(s, "what was the word?"); got != "the word was plum" {
			t.Errorf("after %s: got %q", code, got)
		}
	}
}

func TestResumeOfAnUnknownIDReportsTheLoss(t *testing.T) {
	t.Parallel()
	b := setup(t, session.Config{})
	s := b.session()
	b.say(s, "hello")
	b.Forget(s.ID)
	b.agent.Lose(b.row(s).NativeID)
	_, err := b.Acquire(t.Context(), s)
	wantCode(t, err, chat.NoSession)
	if b.row(s).State != chat.SessionOpen {
		t.Error("the manager itself declared the session lost")
	}
}

func TestNewSessionCannotBeLost(t *testing.T) {
	t.Parallel()
	b := setup(t, session.Config{})
	b.agent.Refuse(chat.E(chat.NoSession, "nonsense", nil))
	_, err := b.Acquire(t.Context(), b.session())
	wantCode(t, err, chat.AgentError)
}

func TestOpeningHasADeadlineAndTheSessionIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, session.Config{StartTimeout: 30 * time.Second, LoadTimeout: 90 * time.Second, MaxWorkers: 1})
		s := b.session()
		hang := make(chan struct{})
		b.agent.HoldOpens(hang)
		start := time.Now()
		_, err := b.Acquire(t.Context(), s)
		wantCode(t, err, chat.StartTimeout)
		if d := time.Since(start); d != 30*time.Second {
			t.Errorf("gave up after %v", d)
		}
		b.agent.HoldOpens(nil)
		b.say(s, "remember the word plum") // the slot is free again
		b.Forget(s.ID)

		b.agent.HoldOpens(hang)
		start = time.Now()
		_, err = b.Acquire(t.Context(), s)
		wantCode(t, err, chat.LoadTimeout)
		if d := time.Since(start); d != 90*time.Second {
			t.Errorf("gave up after %v", d)
		}
		b.agent.HoldOpens(nil)
		if got := b.say(s, "what was the word?"); got != "the word was plum" {
			t.Errorf("got %q", got)
		}
	})
}

func TestWorkspaceMustBeThere(t *testing.T) {
	t.Parallel()
	b := setup(t, session.Config{})
	file := t.TempDir() + "/file"
	writeFile(t, file)
	for _, ws := range []string{"", "relative/dir", t.TempDir() + "/missing", file} {
		_, err := b.Acquire(t.Context(), b.in(ws, "fake"))
		wantCode(t, err, chat.Unavailable)
		if d := i18n.Detail("zh", err); !strings.HasPrefix(d, "工作目录") {
			t.Errorf("%q: no word about the workspace", ws)
		}
	}
	_, err := b.Acquire(t.Context(), b.in(t.TempDir(), "no-such-agent"))
	wantCode(t, err, chat.NotInstalled)
	b.wantOpens(0)
}

func TestDefectInADriverStaysInItsSession(t *testing.T) {
	t.Parallel()
	b := setup(t, session.Config{})
	s := b.session()
	m := session.New(b.db.Sessions(), map[string]worker.Driver{
		"fake": nosy{Driver: b.agent, look: func() { panic("a defect") }},
	}, session.Config{MaxWorkers: 1})
	defer m.Close()
	for range 3 { // the slot and the session stay usable
		_, err := m.Acquire(t.Context(), s)
		wantCode(t, err, chat.Internal)
	}
}

func TestNegativeLimitsAreRefused(t *testing.T) {
	t.Parallel()
	if err := (session.Config{WorkerIdle: -1}).Validate(); err == nil {
		t.Error("a negative idle time is accepted")
	}
	if err := (session.Config{}).Validate(); err != nil {
		t.Error(err)
	}
}

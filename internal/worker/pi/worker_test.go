package pi

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

func TestTheAgentIsSaidToAskNobody(t *testing.T) {
	t.Parallel()
	tr, err := newWorld(t).Probe(t.Context())
	if err != nil || tr.Can.Has(worker.Approvals) || tr.Can.Has(worker.Modes) {
		t.Errorf("%+v, %v", tr, err)
	}
}

func TestASessionWhoseFileIsGoneIsLostAndNotBegunAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.open(t, worker.Spec{})
	if s.NativeID() != "" {
		t.Errorf("nothing was said, and the session is %q", s.NativeID())
	}
	say(t, s, "say hi", nil)
	id := s.NativeID()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(id); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Open(t.Context(), worker.Spec{Workspace: t.TempDir(), NativeID: id}); chat.CodeOf(err) != chat.NoSession {
		t.Errorf("opened with %v", err)
	}
	for _, bad := range []string{"x.jsonl", "/a/../b.jsonl", "/etc/passwd", "--help"} {
		if _, err := w.Open(t.Context(), worker.Spec{Workspace: t.TempDir(), NativeID: bad}); chat.CodeOf(err) != chat.Invalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestASessionLiesWhereTheAgentLooksForIt(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]string{
		"HOME=/home/ann":                        "/home/ann/.pi/agent/sessions/",
		"PI_CODING_AGENT_DIR=/etc/pi":           "/etc/pi/sessions/",
		"PI_CODING_AGENT_SESSION_DIR=/var/sess": "/var/sess",
	} {
		dir := t.TempDir()
		got, err := Config{Env: []string{env}}.folder(dir)
		if strings.HasSuffix(want, "/") {
			want += "--" + strings.ReplaceAll(strings.TrimPrefix(dir, "/"), "/", "-") + "--"
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", env, got, err, want)
		}
	}
}

func TestATurnThatIsRepeatedIsNotOverBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.open(t, worker.Spec{})
	h := say(t, s, "fail once\nsay at last", nil)
	if h.Text() != "at last" || len(h.Of(chat.EventRetry)) != 1 {
		t.Errorf("%q, told %v", h.Text(), h.Of(chat.EventRetry))
	}
	say(t, s, "say next", nil)
}

func TestATurnIsStoppedWhileItWaitsToRepeat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.open(t, worker.Spec{})
	h := workertest.NewHost(nil)
	stop, result := workertest.Begin(t, s, "fail 529", h)
	h.Await(t, "retry", func(es []chat.Event) bool { return holds(es, chat.EventRetry) })
	because := errors.New("a person said stop")
	stop(because)
	if err := <-result; !errors.Is(err, because) {
		t.Errorf("ended with %v", err)
	}
	say(t, s, "say next", nil)
}

func TestWordsThatComeTooLateReachNoOtherTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := t.TempDir()
	s := w.open(t, worker.Spec{Workspace: dir})
	say(t, s, "remember the word plum", nil)
	h := workertest.NewHost(nil)
	stop, result := workertest.Begin(t, s, "tool 60000", h)
	h.Await(t, "tool", func(es []chat.Event) bool { return holds(es, chat.EventTool) })
	steered := make(chan error, 1)
	go func() { steered <- s.Steer(t.Context(), workertest.Input("say stale")) }() // ends with the turn
	// The agent has them before it is told to stop: both go the same way.
	until(t, func() bool { return keeps(s) > 0 })
	stop(errors.New("a person said stop"))
	<-result
	if err := <-steered; chat.CodeOf(err) != chat.Conflict {
		t.Errorf("steered: %v", err)
	}
	<-s.Done() // it could not be told to forget them
	again := w.open(t, worker.Spec{Workspace: dir, NativeID: s.NativeID()})
	if h := say(t, again, "what was the word?", nil); h.Text() != "the word was plum" {
		t.Errorf("said %q", h.Text())
	}
}

func holds(es []chat.Event, k chat.EventKind) bool {
	return slices.ContainsFunc(es, func(e chat.Event) bool { return e.Kind == k })
}

// keeps is how many words the running turn was given and has not used.
func keeps(w *Worker) int {
	w.mu.Lock()
	t := w.turn
	w.mu.Unlock()
	t.steered.mu.Lock()
	defer t.steered.mu.Unlock()
	return t.steered.kept
}

// until waits until ok.
func until(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("it does not come")
		}
	}
}

func TestWordsAreTakenWhenTheAgentSaysSo(t *testing.T) {
	t.Parallel()
	s := newSteered()
	first, _ := s.add()
	s.left(1)
	second, _ := s.add()
	s.left(0) // the first; the second is on its way
	if err := <-first; err != nil {
		t.Error(err)
	}
	select {
	case err := <-second:
		t.Fatalf("words that the agent has not got are taken: %v", err)
	default:
	}
	s.left(1)
	s.left(0)
	if err := <-second; err != nil || s.end() != 0 {
		t.Errorf("the second: %v", err)
	}
	if _, ok := s.add(); ok {
		t.Error("a turn that is over takes words")
	}
}

func TestAnExtensionMayAskAPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.open(t, worker.Spec{})
	for method, c := range map[string]struct {
		answer workertest.Answer
		kind   chat.AskKind
		want   string
	}{
		"select":  {workertest.Say(chat.Answer{Values: map[string][]string{"0": {"blue"}}}), chat.AskChoice, "answered blue<nil><nil>"},
		"confirm": {workertest.Allow, chat.AskApproval, "answered <nil>true<nil>"},
		"input":   {workertest.Say(chat.Answer{Text: "my words"}), chat.AskText, "answered my words<nil><nil>"},
		"editor":  {workertest.Nobody, chat.AskText, "answered <nil><nil>true"},
	} {
		h := say(t, s, "dialog "+method, c.answer)
		if got := strings.ReplaceAll(h.Text(), " <nil>", "<nil>"); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(c.want, " ", "") || h.Asked()[0].Kind != c.kind {
			t.Errorf("%s: %q, asked %+v", method, h.Text(), h.Asked())
		}
	}
	if h := say(t, s, "dialog notify", nil); h.Text() != "told" || len(h.Asked()) != 0 {
		t.Errorf("said %q, asked %+v", h.Text(), h.Asked())
	}
}

func TestACommandThatAnExtensionHandlesAloneEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if h := say(t, w.open(t, worker.Spec{}), "/hello", nil); h.Text() != "" {
		t.Errorf("said %q", h.Text())
	}
}

func TestAMissingKeyIsALoginToMake(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeKeyed+"=1")
	if _, err := workertest.Prompt(t, w.open(t, worker.Spec{}), "hello", nil); chat.CodeOf(err) != chat.LoggedOut {
		t.Errorf("failed with %v", err)
	}
	w = newWorld(t, fakeLeaves+"=1")
	if _, err := w.Open(t.Context(), worker.Spec{Workspace: t.TempDir()}); chat.CodeOf(err) != chat.LoggedOut {
		t.Errorf("opened with %v", err)
	}
}

func TestALongAnswerIsReadOnceAndWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.MaxLine = 16 << 10
	h := say(t, w.open(t, worker.Spec{}), "burst 3000", nil)
	if n := strings.Count(h.Text(), "tick "); n != 3000 {
		t.Errorf("%d of 3000 pieces were read", n)
	}
}

func TestOfAPieceOnlyTheBeginningIsRead(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]update{
		`{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":2,"delta":"a\"bé","partial":{"x`: {"text_delta", 2, `a"bé`},
		`{"type":"message_update","assistantMessageEvent":{"type":"text_end","contentIndex":0,"content":"all`:                  {"text_end", 0, ""},
	} {
		m, ok := read([]byte(line), true)
		if !ok || m.Event != want {
			t.Errorf("%s: %+v, %v", line, m.Event, ok)
		}
	}
	if _, ok := read([]byte(`{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"half`), true); ok {
		t.Error("half a piece was read")
	}
}

func TestSessionsOfOtherFoldersAreNotListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := t.TempDir()
	s := w.open(t, worker.Spec{Workspace: dir})
	say(t, s, "say my title", nil)
	folder := filepath.Dir(s.NativeID())
	for name, text := range map[string]string{
		"other.jsonl": `{"type":"session","cwd":"/elsewhere"}` + "\n" + `{"type":"message","message":{"role":"user","content":"hi"}}`,
		"empty.jsonl": "", "broken.jsonl": "{", "silent.jsonl": `{"type":"session","cwd":"` + dir + `"}` + "\n", "x.txt": "x",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := w.Sessions(t.Context(), dir)
	if err != nil || len(all) != 1 || all[0].Title != "say my title" {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestAnAgentThatIsTooOldIsToldWithBothVersions(t *testing.T) {
	t.Parallel()
	tr, err := newWorld(t, "FAKE_PI_VERSION=0.52.1").Probe(t.Context())
	if chat.CodeOf(err) != chat.TooOld || tr.Version != "0.52.1" || !strings.Contains(chat.DetailOf(err), oldest) {
		t.Errorf("%+v, %v", tr, err)
	}
}

package turn_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/files"
	"cligate/internal/turn"
	"cligate/internal/worker/fake"
)

// boxed is a real box as turns want it.
type boxed struct {
	*files.Box
	spool *files.Spool
	dir   string
}

// Collect implements turn.Files.
func (b boxed) Collect(t chat.Turn, s chat.Session, lang string) []chat.Reply {
	return b.Box.Collect(s, t.ID, lang, 0)
}

func (b boxed) spooled(t *testing.T) int {
	t.Helper()
	es, err := os.ReadDir(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(es)
}

func withFiles(t *testing.T, cfg turn.Config) (*house, boxed) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "spool")
	s, err := files.OpenSpool(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	b := boxed{files.NewBox(s, nil, files.Config{}), s, dir}
	cfg.Files = b
	return build(t, cfg), b
}

// folders are those of the session's turns, as an agent finds them.
func (h *house) folders(s chat.Session) string {
	all, err := filepath.Glob(filepath.Join(s.Workspace, ".cligate", "out", "*"))
	if err != nil || len(all) == 0 {
		h.t.Fatalf("no folder: %v", err)
	}
	for _, p := range all {
		if strings.HasPrefix(strings.ReplaceAll(s.Seed, "-", ""), filepath.Base(p)) {
			return p
		}
	}
	h.t.Fatalf("%q: none of session %s", all, s.Seed)
	return ""
}

// put writes a file into the newest folder of the session.
func (h *house) put(name, body string) fake.Step {
	return fake.Do(func(context.Context, *fake.Running) error {
		own := h.folders(h.current())
		es, err := os.ReadDir(own)
		if err != nil {
			return err
		}
		newest := 0
		for _, e := range es {
			if n, err := strconv.Atoi(e.Name()); err == nil {
				newest = max(newest, n)
			}
		}
		return os.WriteFile(filepath.Join(own, strconv.Itoa(newest), name), []byte(body), 0o600)
	})
}

func names(outs []chat.Out) string {
	var all []string
	for _, o := range outs {
		if o.Part.File != nil {
			all = append(all, o.Part.File.Name)
		}
	}
	return strings.Join(all, " ")
}

func TestFilesOfATurnFollowItsAnswerInOneTransaction(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, b := withFiles(t, turn.Config{})
		h.agent.Script(fake.Text("here you are"), h.put("b.txt", "2"), h.put("a.txt", "1"))
		tn, outs := h.say("send me both")
		h.wantState(tn, chat.TurnSucceeded, "")
		wantSaid(t, outs, "here you are", "a.txt", "b.txt")
		if names(outs) != "a.txt b.txt" || b.spooled(t) != 2 {
			t.Errorf("sent %q, %d in the spool", names(outs), b.spooled(t))
		}
		for _, o := range outs[1:] {
			if o.Turn != tn.ID || o.Class != chat.OutFinal {
				t.Errorf("row %+v", o)
			}
		}
		h.agent.Script(fake.Text("nothing to send"))
		if _, outs := h.say("and now?"); names(outs) != "" {
			t.Errorf("sent again: %q", names(outs))
		}
	})
}

func TestFilesNeedNoWordsBesideThem(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, _ := withFiles(t, turn.Config{})
		h.agent.Script(h.put("plot.png", "x"))
		_, outs := h.say("draw it")
		wantSaid(t, outs, "plot.png")
	})
}

func TestLateFileOfAStoppedTurnGoesNowhere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, _ := withFiles(t, turn.Config{})
		h.agent.Script(fake.Text("half"), h.put("early.txt", "x"), fake.Wait(nil))
		ctx, cancel := context.WithCancelCause(t.Context())
		tn, done := h.run(ctx, "first")
		cancel(stop(chat.Stopped))
		<-done
		h.wantState(tn, chat.TurnStopped, chat.Stopped)
		if outs := h.deliver(); names(outs) != "early.txt" {
			t.Errorf("the stopped turn sends %q", names(outs))
		}
		late := filepath.Join(h.folders(h.current()), strconv.FormatInt(tn.ID, 10))
		h.agent.Script(fake.Do(func(context.Context, *fake.Running) error {
			return os.WriteFile(filepath.Join(late, "late.txt"), []byte("x"), 0o600)
		}), fake.Text("done"), h.put("mine.txt", "x"))
		_, outs := h.say("second")
		if names(outs) != "mine.txt" {
			t.Errorf("the second turn sends %q", names(outs))
		}
	})
}

func TestAgentIsToldOnceWhereFilesGo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, _ := withFiles(t, turn.Config{})
		told := func(text string) bool {
			h.agent.Script(fake.Text("ok " + text))
			h.say(text)
			in := h.inputs[len(h.inputs)-1]
			return in.Brief != "" && strings.HasSuffix(in.Text(), "\n\n"+in.Brief)
		}
		if told("/status of the agent") {
			t.Error("a command of the agent's own gets words beside it")
		}
		if !told("one") || told("two") {
			t.Error("not told once")
		}
		h.crash()
		if told("three") {
			t.Error("told again after a restart")
		}
		if told("/compact"); !told("four") {
			t.Error("not told again after its memory was shortened")
		}
		full := fake.Emit(chat.Event{Kind: chat.EventUsage, Usage: &chat.Usage{Used: 150_000, Window: 200_000}})
		short := fake.Emit(chat.Event{Kind: chat.EventUsage, Usage: &chat.Usage{Used: 20_000, Window: 200_000}})
		h.agent.Script(fake.Text("long"), full)
		h.say("five")
		h.agent.Script(fake.Text("shortened by itself"), short)
		h.say("six")
		if !told("seven") {
			t.Error("not told again after the agent shortened its memory")
		}
	})
}

func TestLostSessionIsToldAnewAndHasItsOwnFolder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, _ := withFiles(t, turn.Config{})
		h.agent.Script(fake.Text("ok"))
		h.say("one")
		old := h.folders(h.current())
		h.agent.Lose(h.current().NativeID)
		h.crash()
		h.agent.Script(fake.Text("ok"), h.put("new.txt", "x"))
		_, outs := h.say("two")
		in := h.inputs[len(h.inputs)-1]
		if in.Brief == "" || in.Recap == "" || h.folders(h.current()) == old {
			t.Errorf("the new session is told %q, in %s", in.Brief, h.folders(h.current()))
		}
		if names(outs) != "new.txt" {
			t.Errorf("sent %q", names(outs))
		}
	})
}

func TestWorkspaceThatCannotBeWrittenCostsOnlyTheFiles(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, _ := withFiles(t, turn.Config{})
		if err := os.WriteFile(filepath.Join(h.session.Workspace, ".cligate"), []byte("in the way"), 0o600); err != nil {
			t.Fatal(err)
		}
		h.agent.Script(fake.Text("fine"))
		tn, outs := h.say("hello")
		h.wantState(tn, chat.TurnSucceeded, "")
		if !strings.Contains(texts(outs), "fine") || h.inputs[len(h.inputs)-1].Brief != "" {
			t.Errorf("said %q", texts(outs))
		}
	})
}

func TestFilesOfATurnThatIsNotWrittenLeaveTheSpool(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, b := withFiles(t, turn.Config{})
		h.books.Ledger = taken{h.books.Ledger}
		h.crash()
		h.agent.Script(fake.Text("here"), h.put("a.txt", "1"))
		h.say("send it")
		if n := b.spooled(t); n != 0 {
			t.Errorf("%d files stay in the spool", n)
		}
	})
}

// taken is a ledger in which somebody else ends every turn first.
type taken struct{ turn.Ledger }

func (taken) Finish(context.Context, chat.Ending) error { return chat.E(chat.Conflict, "", nil) }

// unsure is a ledger that writes an end, reports an error, and then finds that
// the turn has ended.
type unsure struct {
	turn.Ledger
	tries *atomic.Int32
}

func (u unsure) Finish(ctx context.Context, e chat.Ending) error {
	err := u.Ledger.Finish(ctx, e)
	if u.tries.Add(1) == 1 && err == nil {
		return chat.E(chat.Unavailable, "the disk was slow", nil)
	}
	return err
}

func TestFilesOfAnEndThatWasWrittenAfterAllStayInTheSpool(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, b := withFiles(t, turn.Config{})
		var tries atomic.Int32
		h.books.Ledger = unsure{h.books.Ledger, &tries}
		h.crash()
		h.agent.Script(fake.Text("here"), h.put("a.txt", "1"))
		tn, outs := h.say("send it")
		h.wantState(tn, chat.TurnSucceeded, "")
		if tries.Load() < 2 || names(outs) != "a.txt" || b.spooled(t) != 1 {
			t.Errorf("after %d tries %q is sent, %d files are in the spool", tries.Load(), names(outs), b.spooled(t))
		}
	})
}

func TestFilesOfATurnThatADeathCutOffAreNamedNotSent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, b := withFiles(t, turn.Config{})
		tn := h.queue("make it")
		if _, err := h.db.Runs().Claim(t.Context(), tn.ID, chat.AttemptIntent); err != nil {
			t.Fatal(err)
		}
		s := h.current()
		if _, err := b.Begin(s, tn.ID); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(h.folders(s), strconv.FormatInt(tn.ID, 10), "half.zip")
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := h.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		outs := h.deliver()
		if names(outs) != "" || !strings.Contains(texts(outs), ".cligate/out/"+filepath.Base(filepath.Dir(filepath.Dir(path)))) {
			t.Errorf("sent %q: %s", names(outs), texts(outs))
		}
	})
}

package agents

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

// subject is what the conversation is held with.
type subject struct {
	driver worker.Driver
	// mark is a NAME=value in the environment of the agent and of nobody else.
	mark string
}

// converse is the conversation. The subject must understand package script.
func converse(t *testing.T, s subject) { //nolint:thelper // it is the test
	c := &talk{subject: s, work: t.TempDir()}
	c.spec = worker.Spec{Session: 1, Workspace: c.work, Seed: uuid.NewString()}
	traits, err := s.driver.Probe(t.Context())
	if err != nil || traits.Version == "" || !traits.LoggedIn {
		t.Fatalf("probe: %+v, %v", traits, err)
	}
	c.open(t)
	c.twoTurns(t)
	c.interrupt(t)
	c.kill(t)
	c.approvals(t)
	c.questions(t)
	c.refusedLogin(t)
	c.steer(t)
	if err := c.w.Close(); err != nil {
		t.Error(err)
	}
	c.spec.NativeID = uuid.NewString() // only what the agent does not know is lost
	if _, err := s.driver.Open(t.Context(), c.spec); chat.CodeOf(err) != chat.NoSession {
		t.Errorf("unknown session: %v", err)
	}
}

// talk is a conversation under way.
type talk struct {
	subject
	work string
	spec worker.Spec
	w    worker.Worker
}

var errStop = chat.E(chat.Stopped, "", nil)

func (c *talk) open(t *testing.T) {
	t.Helper()
	w, err := c.driver.Open(t.Context(), c.spec)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	c.w = w
}

// say prompts and wants some text in the answer, once.
func (c *talk) say(t *testing.T, text, want string, answer workertest.Answer) *workertest.Host {
	t.Helper()
	a, err := workertest.Prompt(t, c.w, text, answer)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if n := strings.Count(a.Blocks(), want); want != "" && n != 1 {
		t.Errorf("%q was answered %q, want %q in it once", text, a.Blocks(), want)
	}
	return a
}

func (c *talk) twoTurns(t *testing.T) {
	t.Helper()
	c.say(t, "remember the word plum", "plum", nil)
	pid := c.pid(t)
	a := c.say(t, "what was the word?", "the word was plum", nil)
	if c.pid(t) != pid {
		t.Error("the second turn has a process of its own")
	}
	if u := a.Of(chat.EventUsage); len(u) == 0 || !whole(*u[len(u)-1].Usage) {
		t.Errorf("usage = %+v", u)
	}
	if c.spec.NativeID, c.spec.Begun = c.w.NativeID(), true; c.spec.NativeID == "" {
		t.Fatal("no session id")
	}
}

// whole reports whether figures lack nothing.
func whole(u chat.Usage) bool { return u.CostUSD > 0 && u.Window > 0 && u.Model != "" }

// interrupt: it ends the turn, not the process.
func (c *talk) interrupt(t *testing.T) {
	t.Helper()
	pid := c.pid(t)
	a := workertest.NewHost(nil)
	cancel, result := workertest.Begin(t, c.w, "stream 200 50", a)
	a.AwaitText(t, "tick 3")
	cancel(errStop)
	if err := <-result; chat.CodeOf(err) != chat.Stopped {
		t.Errorf("interrupted: %v", err)
	}
	c.say(t, "say alive", "alive", nil)
	if c.pid(t) != pid {
		t.Error("the interrupt ended the process")
	}
}

// kill: kill -9 in the middle of an answer, and the session goes on.
func (c *talk) kill(t *testing.T) {
	t.Helper()
	a := workertest.NewHost(nil)
	_, result := workertest.Begin(t, c.w, "stream 200 50", a)
	a.AwaitText(t, "tick 3")
	if err := syscall.Kill(c.pid(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-result; chat.CodeOf(err) != chat.Crashed {
		t.Errorf("killed: %v", err)
	}
	<-c.w.Done()
	if err := c.w.Close(); err != nil {
		t.Error(err)
	}
	c.open(t)
	c.say(t, "what was the word?", "the word was plum", nil)
	if id := c.w.NativeID(); id != c.spec.NativeID {
		t.Errorf("the session has another id: %q, was %q", id, c.spec.NativeID)
	}
}

func (c *talk) approvals(t *testing.T) {
	t.Helper()
	file := filepath.Join(c.work, "file")
	a := c.say(t, "run touch "+file, "", workertest.Say(chat.Answer{Effect: chat.EffectDeny, Text: "not today"}))
	if _, err := os.Stat(file); err == nil {
		t.Error("a denied command ran")
	}
	if q := a.Asked(); len(q) != 1 || q[0].Detail != "touch "+file || q[0].Kind != chat.AskApproval {
		t.Errorf("asked %+v", q)
	}
	c.say(t, "run touch "+file, "", workertest.Allow)
	if _, err := os.Stat(file); err != nil {
		t.Error("an allowed command did not run")
	}

	a = workertest.NewHost(func(ctx context.Context, _ chat.Question) (chat.Answer, error) {
		<-ctx.Done() // an interrupt withdraws the question
		return chat.Answer{}, ctx.Err()
	})
	cancel, result := workertest.Begin(t, c.w, "run touch never", a)
	a.AwaitQuestions(t, 1)
	cancel(errStop)
	if err := <-result; chat.CodeOf(err) != chat.Stopped {
		t.Errorf("interrupted: %v", err)
	}
}

func (c *talk) questions(t *testing.T) {
	t.Helper()
	a := c.say(t, "ask", "blue", workertest.Say(chat.Answer{Values: map[string][]string{"0": {"blue"}}}))
	if q := a.Asked()[0]; q.Kind != chat.AskChoice || len(q.Queries) != 1 || len(q.Queries[0].Options) != 2 {
		t.Errorf("asked %+v", q)
	}
}

// refusedLogin: it is told at once, and the agent lives on.
func (c *talk) refusedLogin(t *testing.T) {
	t.Helper()
	began := time.Now()
	if _, err := workertest.Prompt(t, c.w, "fail 401", nil); chat.CodeOf(err) != chat.LoggedOut {
		t.Errorf("refused login: %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v to tell", took)
	}
	c.say(t, "say alive again", "alive again", nil)
}

func (c *talk) steer(t *testing.T) {
	t.Helper()
	a := workertest.NewHost(workertest.Allow)
	_, result := workertest.Begin(t, c.w, "run python3 -c 'import time; time.sleep(1)' || sleep 1", a)
	a.AwaitQuestions(t, 1)
	if err := c.w.Steer(t.Context(), workertest.Input("say steered")); err != nil {
		t.Errorf("steer: %v", err)
	}
	if err := <-result; err != nil || !strings.Contains(a.Blocks(), "steered") {
		t.Errorf("steered: %q, %v", a.Blocks(), err)
	}
}

// pid finds the agent's process: the youngest with the mark that was started
// for a session.
func (s subject) pid(t *testing.T) int {
	t.Helper()
	found, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range found {
		env, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(env, []byte(s.mark)) {
			continue
		}
		args, err := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		if err != nil || !bytes.Contains(args, []byte("--session-id=")) && !bytes.Contains(args, []byte("--resume=")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	t.Fatal("no process of the agent")
	return 0
}

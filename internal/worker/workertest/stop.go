package workertest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// wantStopped checks a turn that was interrupted, and that the session goes on.
func (k Kit) wantStopped(t *testing.T, w worker.Worker, r *turn) {
	t.Helper()
	began := time.Now()
	r.stop(errStopped)
	if err := r.wait(t); !errors.Is(err, errStopped) {
		t.Errorf("the turn ended with %v, want the cause of the stop", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	wantAlive(t, w)
	if got := say(t, w, k.Say[Recall]); got == "" {
		t.Error("no answer after the interrupt")
	}
}

func interruptText(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	say(t, w, k.Say[Remember])
	h := NewHost(nil)
	r := prompt(t, w, k.Say[Stream], h)
	h.AwaitText(t, "")
	k.wantStopped(t, w, r)
	k.wantWord(t, w)
}

func stoppedRemembered(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	h := NewHost(nil)
	r := prompt(t, w, k.Say[Halfway], h)
	h.AwaitText(t, "")
	k.wantStopped(t, w, r)
	k.wantWord(t, w)
}

func interruptAtOnce(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	h := NewHost(nil)
	r := prompt(t, w, k.Say[Stream], h)
	h.Await(t, "event", func(es []chat.Event) bool { return len(es) > 0 })
	k.wantStopped(t, w, r)

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStopped) // before it began
	if err := w.Prompt(ctx, Input("hello"), NewHost(nil)); !errors.Is(err, errStopped) {
		t.Errorf("a prompt whose ctx had ended: %v", err)
	}
}

// interruptTool stops a turn whose tool is at work. The tool must be gone soon,
// although agents run it where killing their process does not reach it.
func interruptTool(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	say(t, w, k.Say[Remember])
	before := k.left()
	h := NewHost(Allow)
	r := prompt(t, w, k.Say[LongTool], h)
	h.Await(t, "tool", func(es []chat.Event) bool {
		return slices.ContainsFunc(es, func(e chat.Event) bool { return e.Kind == chat.EventTool && e.Tool.State == chat.ToolRunning })
	})
	// The tool of a stand-in may be no process.
	eventually(min(3*time.Second, patience()), func() bool { return k.Left == nil || len(more(k.left(), before)) > 0 })
	k.wantStopped(t, w, r)
	var tools []string
	if !eventually(2*time.Second, func() bool { tools = more(k.left(), before); return len(tools) == 0 }) {
		t.Errorf("the tool is still there: %q", tools)
	}
	if running := unfinished(h.Events()); len(running) > 0 {
		t.Errorf("tools are shown as running: %q", running)
	}
	k.wantWord(t, w)
}

// unfinished are the tools that a turn left without an end.
func unfinished(events []chat.Event) (ids []string) {
	state := map[string]chat.ToolState{}
	for _, e := range events {
		if e.Kind == chat.EventTool {
			state[e.Tool.ID] = e.Tool.State
		}
	}
	for id, s := range state {
		if s == chat.ToolRunning {
			ids = append(ids, id)
		}
	}
	return ids
}

func (k Kit) left() []string {
	if k.Left == nil {
		return nil
	}
	return k.Left()
}

// more is what a has beyond b.
func more(a, b []string) []string {
	return slices.DeleteFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

func interruptApproval(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	h := NewHost(Undecided)
	r := prompt(t, w, k.Say[Approval], h)
	h.AwaitQuestions(t, 1)
	k.wantStopped(t, w, r)
	if h.Withdrawn() != 1 {
		t.Error("the question was not withdrawn")
	}
}

func deaf(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	h := NewHost(nil)
	r := prompt(t, w, k.Say[Deaf], h)
	h.AwaitText(t, "")
	r.stop(errStopped)
	if err := r.wait(t); !errors.Is(err, errStopped) {
		t.Errorf("the turn ended with %v, want the cause of the stop", err)
	}
	wantDone(t, w)
}

func closeInTurn(t *testing.T, k Kit) {
	w := k.open(t, k.Driver(t), "")
	h := NewHost(nil)
	r := prompt(t, w, k.Say[Stream], h)
	h.AwaitText(t, "")
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := r.wait(t); err == nil {
		t.Error("the turn succeeded")
	}
	wantDone(t, w)
}

//go:build agents

package agents

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"cligate/internal/chat"
	"cligate/internal/sim/agents/lab"
	"cligate/internal/worker"
	"cligate/internal/worker/claude"
	"cligate/internal/worker/workertest"
)

// realClaude returns the installed CLI, pointed at a model server of its own.
func realClaude(t *testing.T) subject {
	t.Helper()
	l := lab.New(t, "claude")
	return newClaude(t, l.Command, l.Env...)
}

func TestTheRealClaudeHoldsTheConversation(t *testing.T) {
	t.Parallel()
	converse(t, realClaude(t))
}

func TestTheRealClaudeIsCancelledAtAnyMoment(t *testing.T) {
	t.Parallel()
	cancelAtAnyMoment(t, realClaude(t), 40)
}

func TestTheRealClaudeGoesOnByItself(t *testing.T) {
	t.Parallel()
	s := realClaude(t)
	extra, ended := workertest.NewHost(workertest.Allow), make(chan error, 1)
	w, err := s.driver.Open(t.Context(), worker.Spec{
		Session: 1, Workspace: t.TempDir(), Seed: uuid.NewString(),
		Uninvited: func(context.Context) (worker.Host, func(error)) { return extra, func(err error) { ended <- err } },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := workertest.Prompt(t, w, "background python3 -c 'import time; time.sleep(1)'", workertest.Allow); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil || extra.Blocks() != "the background task is done|" {
			t.Errorf("%q, %v", extra.Blocks(), err)
		}
	case <-time.After(20 * time.Second):
		t.Error("nothing came")
	}
}

func TestTheRealClaudeShowsItsPlan(t *testing.T) {
	t.Parallel()
	s := realClaude(t)
	w, err := s.driver.Open(t.Context(), worker.Spec{Session: 1, Workspace: t.TempDir(), Seed: uuid.NewString(), Mode: "plan"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	a, err := workertest.Prompt(t, w, "plan\nsay on we go", workertest.Allow)
	if err != nil || a.Blocks() != "on we go|" {
		t.Fatalf("%q, %v", a.Blocks(), err)
	}
	if q := a.Asked(); len(q) != 1 || q[0].Kind != chat.AskPlan || q[0].Detail != "1. look\n2. leap" {
		t.Errorf("asked %+v", q)
	}
}

func TestTheRealClaudeKeepsTheContract(t *testing.T) { //nolint:paralleltest // the agents are heavy
	l := lab.New(t, "claude")
	k := l.Kit(uuid.NewString(), func(*testing.T) worker.Driver {
		return claude.New(claude.Config{Command: l.Command, Env: append(l.Env, "CLAUDE_CODE_MAX_RETRIES=1")}, l.Starter, l.Log)
	})
	k.Other.Mode, k.Other.Effort = "acceptEdits", "low"
	conform(t, "claude", k)
}

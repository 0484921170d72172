package claude

import (
	"context"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

// figures are what was told last about the use of a turn.
func figures(t *testing.T, h *workertest.Host) chat.Usage {
	t.Helper()
	told := h.Of(chat.EventUsage)
	if len(told) == 0 {
		t.Fatal("no figures")
	}
	return *told[len(told)-1].Usage
}

// grown waits until a running turn is said to have used that many tokens.
func grown(t *testing.T, h *workertest.Host, tokens int64) {
	t.Helper()
	h.Await(t, "figures", func(es []chat.Event) bool {
		for _, e := range es {
			if e.Kind == chat.EventUsage && e.Usage.In+e.Usage.Out >= tokens {
				return true
			}
		}
		return false
	})
}

func TestATurnTellsWhatItHasUsedWhileItRuns(t *testing.T) {
	t.Parallel()
	agent := newWorld(t, nil).open(t, nil)
	for range 2 { // what an earlier turn took is none of the next one's
		h := workertest.NewHost(nil)
		cancel, result := workertest.Begin(t, agent, "tool 2\nsay three\nhang", h)
		grown(t, h, 3*130)
		cancel(errStop)
		wantCode(t, <-result, chat.Stopped)
		if u := figures(t, h); u.In != 3*120 || u.Out != 3*10 || u.CostUSD <= 0 {
			t.Errorf("at the end: %+v", u)
		}
	}
}

func TestTheCallsOfASubAgentCount(t *testing.T) {
	t.Parallel()
	agent := newWorld(t, nil).open(t, nil)
	h := workertest.NewHost(nil)
	cancel, result := workertest.Begin(t, agent, "task of a helper\nhang", h)
	grown(t, h, 3*130)
	cancel(errStop)
	wantCode(t, <-result, chat.Stopped)
	h, err := workertest.Prompt(t, agent, "task of a helper\nsay done", nil)
	if err != nil || h.Blocks() != "done|" {
		t.Errorf("%q, %v", h.Blocks(), err)
	}
	if u := figures(t, h); u.In != 4*120 || u.Out != 4*10 {
		t.Errorf("two calls of the agent and two of its helper are %+v", u)
	}
}

func TestRunsOfOneTurnAreAddedUp(t *testing.T) {
	t.Parallel()
	p, w, h, id, result := working(t)
	call := `{"type":"stream_event","session_id":"s","event":{"type":"message_start","message":{"id":"m1","model":"m","usage":{"input_tokens":7,"output_tokens":1}}}}`
	p.says(t, call)
	grown(t, h, 8)
	replaced := make(chan error, 1)
	go func() { replaced <- w.Replace(t.Context(), workertest.Input("other")) }()
	m := p.hears(t)
	p.says(t, life(m.UUID, "queued"), `{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","session_id":"s"}`,
		life(id, "cancelled"), life(m.UUID, "started"), initLine, call)
	grown(t, h, 16)
	p.says(t, says("m9", "other"), resultLine)
	if err := <-replaced; err != nil {
		t.Error(err)
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
	if u := figures(t, h); u.In != 14 || u.Out != 2 {
		t.Errorf("both runs took %+v", u)
	}
}

func TestWhatTheAgentDoesUnaskedHasItsFiguresWhileItRuns(t *testing.T) {
	t.Parallel()
	p := newPuppet(t)
	h := workertest.NewHost(nil)
	ended := make(chan error, 1)
	p.play(t, func(s *worker.Spec) {
		s.Uninvited = func(context.Context) (worker.Host, func(error)) { return h, func(err error) { ended <- err } }
	})
	p.says(t, initLine, `{"type":"stream_event","session_id":"s","event":{"type":"message_start","message":{"id":"m1","model":"m","usage":{"input_tokens":7,"output_tokens":1}}}}`)
	grown(t, h, 8)
	p.says(t, resultLine)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

package codex

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

// forgetful is an agent that does its work and never tells the end of a turn.
type forgetful struct {
	*puppet
	status string       // how turns end, when it is asked
	runs   atomic.Int64 // how often it says before that it is at work
	asked  atomic.Int64
}

// perform answers what it is asked until the driver leaves.
func (f *forgetful) perform() {
	for {
		raw, err := f.in.ReadBytes('\n')
		if err != nil {
			_ = f.out.Close()
			return
		}
		var m struct {
			ID     json.Number `json:"id"`
			Method string      `json:"method"`
		}
		if json.Unmarshal(raw, &m) != nil || m.ID == "" {
			continue
		}
		result, after := f.answer(m.Method)
		if _, err := io.WriteString(f.out, fmt.Sprintf("{\"id\":%s,\"result\":%s}\n%s", m.ID, result, after)); err != nil {
			return
		}
	}
}

func (f *forgetful) answer(method string) (result, after string) {
	switch method {
	case doInitialize:
		return `{"userAgent":"cligate/0.171.0 (x)"}`, ""
	case doStart:
		return `{"thread":{"id":"t1"},"model":"m"}`, ""
	case doTurn:
		return `{"turn":{"id":"u1","status":"inProgress"}}`,
			`{"method":"turn/started","params":{"threadId":"t1","turn":{"id":"u1","status":"inProgress"}}}` + "\n" +
				`{"method":"item/agentMessage/delta","params":{"threadId":"t1","turnId":"u1","itemId":"i","delta":"all done"}}` + "\n"
	case doRead:
		f.asked.Add(1)
		state := "idle"
		if f.runs.Add(-1) >= 0 {
			state = "active"
		}
		return fmt.Sprintf(`{"thread":{"id":"t1","status":{"type":%q}}}`, state), ""
	case doTurns:
		return fmt.Sprintf(`{"data":[{"id":"u1","status":%q,"error":{"message":"it broke"}},{"id":"u0","status":"completed"}]}`, f.status), ""
	}
	return "{}", ""
}

func TestTheEndThatWasNotToldIsLookedUp(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]chat.Code{"completed": chat.CodeNone, "failed": chat.AgentError, "interrupted": chat.Stopped} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			f := &forgetful{puppet: newPuppet(t), status: status}
			f.runs.Store(2)
			var played sync.WaitGroup
			played.Go(f.perform)
			srv := newServer(t.Context(), Config{Silence: 20 * time.Millisecond}.withDefaults(), "/", f, slog.New(slog.DiscardHandler))
			if err := srv.greet(t.Context()); err != nil {
				t.Fatal(err)
			}
			w, err := openThread(t.Context(), srv, worker.Spec{Session: 1, Workspace: "/"})
			if err != nil {
				t.Fatal(err)
			}
			w.release = func() error { return nil }
			h, err := workertest.Prompt(t, w, "work", nil)
			if chat.CodeOf(err) != want || h.Text() != "all done" {
				t.Errorf("%q, %v", h.Text(), err)
			}
			if n := f.asked.Load(); n != 3 {
				t.Errorf("asked %d times; a turn that runs is not over", n)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			if err := srv.close(); err != nil {
				t.Error(err)
			}
			played.Wait()
		})
	}
}

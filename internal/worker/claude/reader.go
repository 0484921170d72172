package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"cligate/internal/worker/proc"
)

// decode reads a message. A field of a type that we do not know costs that
// field, not the message.
func decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return nil
	}
	return err
}

// reader follows the agent's output and turns it into events. Nothing else
// touches its fields.
type reader struct {
	*Worker
	run     *run    // what the agent does now; nil = nothing
	cost    float64 // money since the session began, as last reported
	counted bool    // cost is known; else the worker's beginning tells
	skipped bool    // a line was over the cap since the run began
}

// read takes the agent's output until it ends. It never waits for a person.
func (rd *reader) read() {
	defer close(rd.gone)
	lines := proc.NewLineReader(rd.proc, rd.cfg.MaxLine)
	for {
		l, err := lines.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) && !rd.closing.Load() {
				rd.log.WarnContext(rd.life, "output of the agent ended badly", "err", err)
			}
			break
		}
		if l.Cut {
			rd.oversize(l)
			continue
		}
		rd.line(l.Data)
	}
	if err := rd.proc.Close(); err != nil { // whoever closed the output is to be gone too
		rd.log.ErrorContext(rd.life, "agent not ended", "err", err)
	}
	rd.cancel()
	if r := rd.run; r != nil {
		r.closeTools()
		if r.end != nil {
			r.end(rd.crash())
		}
	}
	rd.run = nil
}

// oversize takes a line over the cap. What it said is lost, but a run that it
// ended has ended, and what the user gets anyway is not missed.
func (rd *reader) oversize(l proc.Line) {
	rd.log.WarnContext(rd.life, "line of the agent skipped", "bytes", l.Size)
	if looksLikeResult(l.Data) {
		rd.result(resultMsg{Cost: rd.total(), Failed: strings.Contains(string(l.Data), `"is_error":true`)})
		return
	}
	if rd.run != nil && rd.run.frame(l.Data) {
		return
	}
	rd.skipped = true
	rd.notice("claude.skipped", "size", fmt.Sprintf("%d MiB", l.Size>>20))
}

// line takes one message. What is no message, or one of a type that we do not
// know, is skipped.
func (rd *reader) line(data []byte) {
	h, ok := glance(data)
	if !ok {
		ok = decode(data, &h) == nil && h.Type != ""
	}
	if !ok {
		if len(strings.TrimSpace(string(data))) > 0 {
			rd.log.DebugContext(rd.life, "line of the agent is no message", "bytes", len(data))
		}
		return
	}
	var err error
	switch h.Type {
	case typeStream:
		err = with(data, func(m streamMsg) {
			if rd.run != nil && h.Parent == "" {
				rd.run.stream(m.Event)
				rd.follow(m.Event)
			}
		})
	case typeAssistant:
		err = with(data, func(m chatMsg) { rd.assistant(m, h.Parent) })
	case typeUser:
		if rd.run != nil {
			rd.run.user(results(data))
		}
	case typeResult:
		err = with(data, func(m resultMsg) { rd.ended(h.Subtype, m) })
	case typeSystem:
		err = rd.system(h, data)
	case typeLife:
		err = with(data, rd.lifecycle)
	case typeRequest:
		err = with(data, rd.request)
	case typeCancel:
		err = with(data, func(m requestMsg) { rd.asks.withdraw(m.ID) })
	case typeResponse:
		err = with(data, func(m responseMsg) {
			if !rd.link.answered(m) {
				rd.log.DebugContext(rd.life, "answer that nobody waits for")
			}
		})
	case typeReset:
		rd.notice("claude.cleared")
	case typeLimit:
		err = with(data, rd.limit)
	default:
		rd.log.DebugContext(rd.life, "message of an unknown type", "type", h.Type)
	}
	if err != nil {
		rd.log.DebugContext(rd.life, "message not understood", "type", h.Type, "err", err)
	}
}

// with decodes a message and hands it to f.
func with[M any](data []byte, f func(M)) error {
	var m M
	if err := decode(data, &m); err != nil {
		return err
	}
	f(m)
	return nil
}

func (rd *reader) system(h head, data []byte) error {
	switch h.Subtype {
	case "init":
		return with(data, func(m initMsg) { rd.began(h.Session, m) })
	case "api_retry":
		return with(data, func(m retryMsg) {
			if rd.run != nil {
				rd.giveUp(rd.run, rd.run.retry(m))
			}
		})
	case "compact_boundary":
		return with(data, rd.compacted)
	case "status":
		return with(data, func(m statusMsg) { rd.known.observe(m.Mode) })
	case "task_started":
		return with(data, func(m taskMsg) {
			if rd.run != nil && rd.run.turn != nil && m.Background {
				rd.run.turn.task(m.ID, true)
			}
		})
	case "task_notification":
		return with(data, func(m taskMsg) {
			if t := rd.known.current(); t != nil {
				t.task(m.ID, false)
			}
		})
	}
	return nil
}

// request takes something that the agent asks of us.
func (rd *reader) request(m requestMsg) {
	if m.Request.Subtype != "can_use_tool" {
		rd.log.InfoContext(rd.life, "unknown request of the agent refused", "subtype", m.Request.Subtype)
		rd.tasks.Go(func() { rd.asks.refuse(rd.life, m.ID, "unsupported request: "+m.Request.Subtype) })
		return
	}
	if rd.run != nil {
		m.Request.plan = rd.run.plan
	}
	if t := rd.known.current(); t != nil {
		if !t.admit() {
			rd.tasks.Go(func() { rd.asks.reply(rd.life, m.ID, denyAll()) })
			return
		}
		rd.tasks.Go(func() {
			defer t.asks.Done()
			rd.asks.ask(t.ctx, m, t.host)
		})
		return
	}
	if r := rd.run; r != nil {
		host := r.host // the run may become a turn's while the question is open
		rd.tasks.Go(func() { rd.asks.ask(rd.life, m, host) })
		return
	}
	r := rd.uninvited(nil) // work in the background asks between turns
	rd.tasks.Go(func() {
		rd.asks.ask(rd.life, m, r.host)
		if r.end != nil {
			r.end(nil)
		}
	})
}

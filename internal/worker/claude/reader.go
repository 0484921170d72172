package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/worker"
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

// notice tells something in our own words. It is the answer, too, where there
// will be no other.
func (rd *reader) notice(key string, args ...any) {
	if rd.run == nil {
		return
	}
	text := i18n.T(i18n.Default, key, args...)
	rd.run.emit(chat.Event{Kind: chat.EventNotice, Text: text})
	rd.run.unsigned = text
}

// compacted tells that the conversation is shorter now.
func (rd *reader) compacted(m compactMsg) {
	if m.Data.Before == 0 || m.Data.After == 0 {
		rd.notice("claude.compacted")
		return
	}
	rd.notice("claude.compacted_from", "before", m.Data.Before, "after", m.Data.After)
	if rd.run != nil {
		rd.run.usage.Used = m.Data.After
	}
}

// giveUp ends a run that has no hope: the agent would go on trying.
func (rd *reader) giveUp(r *run, err error) {
	switch {
	case err == nil:
	case r.turn != nil:
		r.turn.giveUp(err)
	default:
		rd.tasks.Go(func() { rd.link.try(rd.life, interrupt()) })
	}
}

// lifecycle takes what becomes of a message that we sent.
func (rd *reader) lifecycle(m lifeMsg) {
	rd.tells.Store(true)
	t := rd.known.current()
	if t == nil || !t.owns(m.ID) {
		return
	}
	switch s := lifeState(m.State); s {
	case lifeStarted:
		<-t.sent // the agent read all of it: the writer is about to say so
		t.mark(m.ID, s)
		rd.bind(t)
	case lifeCompleted, lifeCancelled:
		if t.mark(m.ID, s) == lifeStarted && rd.skipped && rd.run != nil && rd.run.turn == t {
			rd.result(resultMsg{Cost: rd.total(), Failed: s == lifeCancelled}) // its result was too long to read
		}
	default: // queued: it has it
	}
}

// bind makes the run that begins, or the one that took the message in, a run
// of t.
func (rd *reader) bind(t *turn) {
	r := rd.run
	if r == nil {
		r = newRun(t.ctx, t.host, rd.log)
		rd.run, rd.skipped = r, false
	}
	if r.turn == t {
		return
	}
	if r.end != nil {
		r.end(nil)
		r.end = nil
	}
	r.ctx, r.host, r.quiet, r.turn = t.ctx, t.host, &t.quiet, t
}

// began takes the beginning of a run.
func (rd *reader) began(session string, m initMsg) {
	changed := rd.known.identify(session, m.Model)
	rd.known.observe(m.Mode)
	t := rd.known.current()
	switch {
	case rd.run != nil:
	case t != nil && !rd.tells.Load(): // an agent that does not tell: it must be ours
		<-t.sent
		t.startAll()
		rd.bind(t)
	default:
		rd.run, rd.skipped = rd.uninvited(t), false
	}
	if changed {
		rd.run.emit(chat.Event{Kind: chat.EventSession, Text: session})
	}
}

// uninvited is a run that nobody asked for. While a prompt of the user waits
// for the agent, what comes belongs to that turn.
func (rd *reader) uninvited(t *turn) *run {
	if t != nil {
		r := newRun(t.ctx, t.host, rd.log)
		r.quiet = &t.quiet
		return r
	}
	if rd.spec.Uninvited == nil {
		rd.log.InfoContext(rd.life, "the agent works unasked; dropped")
		return newRun(rd.life, nowhere{}, rd.log)
	}
	host, end := rd.spec.Uninvited(rd.life)
	if host == nil { // there is nobody to tell
		host = nowhere{}
	}
	r := newRun(rd.life, host, rd.log)
	r.end = end
	return r
}

// assistant takes a finished block. Text outside any run is told as a turn of
// its own.
func (rd *reader) assistant(m chatMsg, parent string) {
	if rd.run != nil {
		rd.run.assistant(m, parent)
		if t := rd.run.turn; t != nil && parent == "" && m.has("tool_use") {
			t.enter(phaseTools)
		}
		return
	}
	if parent != "" || m.Message.Model == synthetic || !m.hasText() {
		return
	}
	r := rd.uninvited(rd.known.current())
	r.assistant(m, "")
	if r.end != nil {
		r.end(nil)
	}
}

func (m chatMsg) has(kind string) bool {
	return slices.ContainsFunc(m.Message.Content, func(b block) bool { return b.Type == kind })
}

func (m chatMsg) hasText() bool {
	for _, b := range m.Message.Content {
		if b.Type == "text" && strings.TrimSpace(b.Text) != "" {
			return true
		}
	}
	return false
}

// ended takes a result message. Only success and errors end a run; other
// subtypes report on the way.
func (rd *reader) ended(subtype string, m resultMsg) {
	if subtype != "success" && !strings.HasPrefix(subtype, "error") {
		rd.log.DebugContext(rd.life, "result that ends nothing", "subtype", subtype)
		return
	}
	rd.result(m)
}

func (rd *reader) result(m resultMsg) {
	cost := rd.price(m.Cost)
	r := rd.run
	rd.run = nil
	if r == nil {
		if m.Failed {
			rd.known.say(m.text())
		}
		rd.log.InfoContext(rd.life, "result without a run", "failed", m.Failed)
		return
	}
	err := r.finish(m, cost, time.Now())
	switch {
	case r.turn != nil:
		rd.takeBack(r.turn.ran(r.usage, err))
	case r.end != nil:
		u := r.usage
		r.emit(chat.Event{Kind: chat.EventUsage, Usage: &u})
		r.end(err)
	}
}

// total is the money spent so far, for a run whose own figure was not read.
func (rd *reader) total() float64 {
	if rd.counted {
		return rd.cost
	}
	spent, _ := rd.known.spent()
	return spent
}

// price is what the run cost that ends with a total.
func (rd *reader) price(total float64) float64 {
	before := rd.cost
	if !rd.counted {
		var ok bool
		if before, ok = rd.known.spent(); !ok { // nobody knows: no figure is better than a wrong one
			before = total
		}
	}
	rd.cost, rd.counted = total, true
	if total < before { // the agent began to count anew
		return total
	}
	return total - before
}

// limit notes when the account's limit ends.
func (rd *reader) limit(m limitMsg) {
	if rd.run != nil && m.Info.ResetsAt > 0 && m.Info.Status != "allowed" {
		rd.run.resets = time.Unix(m.Info.ResetsAt, 0)
	}
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
			rd.tasks.Go(func() { rd.asks.reply(rd.life, m.ID, deny(saysUndecided)) })
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

// nowhere is the host of a run that nobody wants to hear of.
type nowhere struct{}

var _ worker.Host = nowhere{}

func (nowhere) Emit(context.Context, chat.Event) error { return nil }

func (nowhere) Ask(context.Context, chat.Question) (chat.Answer, error) {
	return chat.Answer{}, chat.E(chat.Missing, "no turn runs", nil)
}

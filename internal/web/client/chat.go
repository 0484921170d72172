package client

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/web/api"
)

// ErrUnanswered means that a message was not answered: its turn failed, was
// stopped or interrupted, or it was not taken. What happened has been written.
var ErrUnanswered = errors.New("not every message was answered")

// Options of a terminal chat.
type Options struct {
	Chat  string          // name of the chat; empty = terminal
	TTY   bool            // a person sits there: prompt, progress, no waiting for the end
	Width int             // columns of the terminal
	Stop  <-chan struct{} // one per ctrl-c: the first stops the running turn, the next leaves
}

// Times of a terminal chat.
const (
	lookEvery = 500 * time.Millisecond // how often a message's fate is asked for while nothing else tells
	lateLimit = 3 * time.Second        // how long the words of a finished command may come after it
	twiceIn   = 3 * time.Second        // two ctrl-c within this leave
	postLimit = 2 * time.Minute        // how long a message is tried to be delivered
	maxLine   = 1 << 20
)

// Chat talks in the terminal until the input ends or ctx does. Input that is no
// terminal is taken line by line: each line is sent when the one before it has
// been answered, or it answers what the agent asked; a request that is still
// open when the input ends is denied. The error is ErrUnanswered where a
// message came to nothing.
func (c *Client) Chat(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	if o.Chat == "" {
		o.Chat = "terminal"
	}
	if !api.ValidChat(o.Chat) {
		return chat.E(chat.Invalid, i18n.T(c.lang, "web.cli_bad_chat", "chat", o.Chat), nil)
	}
	ctx, cancel := context.WithCancel(ctx)
	events, state := make(chan api.Event), make(chan bool)
	f := &feed{c: c, chat: o.Chat, events: events, state: state}
	var wg sync.WaitGroup
	wg.Go(func() { f.run(ctx) })
	defer wg.Wait()
	defer cancel()
	t := &talk{
		o: o, events: events, state: state, lines: readLines(ctx, in), seen: map[string]bool{},
		s: screen{out: out, tty: o.TTY, width: o.Width, lang: c.lang}, desk: desk{c: c, chat: o.Chat, heard: true, giveUp: o.Stop},
	}
	t.desk.trying = func(err error) { t.s.note("cli_retry", "reason", t.why(err)) }
	return t.run(ctx)
}

// readLines reads in the background: a blocked read cannot be ended, so the
// goroutine may outlive the chat by one line.
func readLines(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() { // ends with its input, or with the first line after ctx
		defer close(lines)
		sc := bufio.NewScanner(in)
		sc.Buffer(nil, maxLine)
		for sc.Scan() {
			select {
			case lines <- strings.ToValidUTF8(sc.Text(), "\uFFFD"):
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

// talk is one terminal chat. One goroutine owns it.
type talk struct {
	o       Options
	s       screen
	desk    desk
	asks    requests
	offered api.Message // the newest message with buttons that is no request
	events  <-chan api.Event
	state   <-chan bool
	lines   <-chan string // nil when the input has ended

	ready   bool            // the history is read: what comes now is news
	seen    map[string]bool // messages that were written
	stopped time.Time       // when ctrl-c was pressed last
}

func (t *talk) run(ctx context.Context) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for t.s.err == nil {
		lines := t.lines
		if !t.mayRead() {
			lines = nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-t.events:
			t.event(e)
			if e.Message != nil && e.Message.Class == chat.OutFinal {
				t.look(ctx)
			}
		case up := <-t.state:
			t.connected(up)
		case <-t.o.Stop:
			if t.interrupt(ctx) {
				return t.end()
			}
		case line, more := <-lines:
			if !more {
				t.lines = nil
				break
			}
			if err := t.line(ctx, line); err != nil {
				return err
			}
		case <-look.C:
			t.look(ctx)
		}
		if done, err := t.finished(ctx); done || err != nil {
			return errors.Join(err, t.end())
		}
	}
	return fmt.Errorf("write: %w", t.s.err)
}

func (t *talk) end() error {
	t.s.clear()
	if t.desk.failed && !t.o.TTY {
		return ErrUnanswered
	}
	return nil
}

// mayRead reports whether the next line may be taken: a person may type at any
// time, a script's line waits for the answer to the one before.
func (t *talk) mayRead() bool {
	return t.lines != nil && t.ready && (t.o.TTY || t.desk.idle() || len(t.asks.open) > 0)
}

// finished reports whether the input has ended and nothing is left to wait for.
func (t *talk) finished(ctx context.Context) (bool, error) {
	switch {
	case t.lines != nil || !t.ready:
		return false, nil
	case t.o.TTY, t.desk.idle():
		return true, nil
	case len(t.asks.open) > 0:
		return false, t.deny(ctx)
	}
	return false, nil
}

// deny answers an open request that nobody can answer any more.
func (t *talk) deny(ctx context.Context) error {
	m := t.asks.open[0]
	for _, b := range flat(m) {
		if b.Style == "danger" {
			t.s.note("cli_denied")
			return t.press(ctx, m.ID, b)
		}
	}
	t.s.note("cli_undecided")
	t.asks.drop(m.ID)
	return t.undelivered(ctx, t.desk.post(ctx, "/stop"))
}

func (t *talk) connected(up bool) {
	switch {
	case !up:
		t.s.note("cli_lost")
	case t.ready:
		t.s.note("cli_back")
	default:
		t.ready = true
		if t.o.TTY {
			t.s.note("cli_hello", "chat", t.o.Chat)
			t.s.prompt()
		}
	}
}

func (t *talk) event(e api.Event) {
	switch e.Kind {
	case api.EventMessage:
		t.message(*e.Message)
	case api.EventRemove:
		t.asks.drop(e.ID)
	case api.EventTyping:
		if t.ready {
			t.s.working("")
		}
	case api.EventMark, api.EventReset, api.EventReady, api.EventChats:
		// A page shows them; here there is no place for them.
	}
}

// message shows what is new. The first look at the history only notes what is
// old, and what is still open.
func (t *talk) message(m api.Message) {
	old := t.seen[m.ID]
	t.seen[m.ID] = true
	isAsk := m.Kind == string(chat.ReplyAsk) && m.File == nil
	switch {
	case m.Mine:
		return
	case m.Kind == string(chat.ReplyProgress):
		if t.ready && len(flat(m)) > 0 {
			t.s.working(m.Text)
		}
		return
	case isAsk && old:
		t.resolved(m)
		return
	case isAsk && (t.ready || len(flat(m)) > 0):
		t.asks.put(m)
	case !t.ready && t.o.TTY && pending(m): // a person can still choose
		t.s.message(m)
		return
	case !t.ready || old:
		return
	}
	if !isAsk && len(flat(m)) > 0 {
		t.offered = m
	}
	t.desk.heard = true
	t.s.message(m)
	if isAsk && len(flat(m)) > 0 {
		t.s.note("cli_choose", "choices", choices(m))
	}
	t.s.prompt()
}

// resolved shows how a request was decided.
func (t *talk) resolved(m api.Message) {
	if !t.asks.drop(m.ID) {
		return
	}
	if len(flat(m)) > 0 { // one of several questions is answered
		t.asks.put(m)
	}
	t.s.message(m)
	t.s.prompt()
}

// line takes what was typed: the answer to an open request, or a message.
func (t *talk) line(ctx context.Context, line string) error {
	line = strings.TrimSpace(line)
	if line == "" {
		t.s.prompt()
		return nil
	}
	if len(t.asks.open) > 0 {
		m := t.asks.open[0]
		if b, ok := choice(m, line); ok {
			return t.press(ctx, m.ID, b)
		}
		if len(flat(m)) == 0 { // it asks for words: these are they
			t.asks.drop(m.ID)
		}
	}
	if b, ok := numbered(t.offered, line); ok {
		return t.press(ctx, t.offered.ID, b)
	}
	return t.undelivered(ctx, t.desk.post(ctx, line))
}

func (t *talk) press(ctx context.Context, id string, b chat.Button) error {
	var taken api.Taken
	click := api.Click{Key: newKey(), Message: id, Data: b.Data}
	if err := t.desk.deliver(ctx, "clicks", click, &taken); err != nil {
		return t.undelivered(ctx, err)
	}
	if taken.Toast != "" {
		t.s.say("-- " + taken.Toast)
	}
	if taken.Message == nil {
		t.asks.drop(id)
	} else {
		t.resolved(*taken.Message)
	}
	return nil
}

// undelivered tells why something was not taken; only the end of ctx ends the
// chat.
func (t *talk) undelivered(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	t.desk.failed = true
	t.s.note("cli_unsent", "reason", t.why(err))
	t.s.prompt()
	return nil
}

// why is the daemon's word for why it took nothing; without one it is not there.
func (t *talk) why(err error) string {
	return cmp.Or(chat.DetailOf(err), i18n.T(t.s.lang, "web.cli_silent"))
}

// interrupt handles ctrl-c: the first stops the running turn, one more soon
// after it leaves.
func (t *talk) interrupt(ctx context.Context) (leave bool) {
	now := time.Now()
	if now.Sub(t.stopped) < twiceIn || !t.ready {
		return true
	}
	t.stopped = now
	t.s.note("cli_stopping")
	if err := t.desk.post(ctx, "/stop"); err != nil {
		return true
	}
	if !t.o.TTY {
		t.desk.failed, t.lines = true, nil
	}
	return false
}

// look shows what the ledger has of messages that have come to their end.
func (t *talk) look(ctx context.Context) {
	if !t.ready {
		return
	}
	for _, m := range t.desk.look(ctx) {
		if !t.seen[m.ID] {
			t.message(m)
		}
	}
}

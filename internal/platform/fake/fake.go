// Package fake is a chat service inside the process, for tests: strict about
// what it is sent, scripted in how it fails. It keeps what every reader of a
// chat would see, and complains to the test about what a real service would
// punish: calls beyond the budget, oversized or empty messages, two calls for
// one chat at a time.
package fake

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
	"cligate/internal/render"
)

// Limit is the longest text of a message, in UTF-16 units.
const Limit = 4096

// Complainer is the part of a test that the service complains to.
type Complainer interface {
	Helper()
	Errorf(format string, args ...any)
}

// Outcome is what a script decides about one call.
type Outcome struct {
	Err     error         // answered instead of success
	Arrives bool          // it is carried out although Err is answered
	Delay   time.Duration // before anything happens
	Hang    bool          // it is carried out, and the answer never comes
}

// Call is one call that reached the service.
type Call struct {
	At  time.Time
	Out chat.Out
	Ref chat.Ref // zero when it was refused
	Err error
}

// Message is a message as the readers of a chat see it.
type Message struct {
	ID      int64
	Key     string // of the row that posted it
	Chat    string
	Thread  string
	Turn    int64
	Class   chat.OutClass
	Part    chat.Part
	Edits   int
	Removed bool
}

// Service is one account on the fake platform. It implements platform.Adapter.
type Service struct {
	traits platform.Traits
	test   Complainer

	mu       sync.Mutex
	script   func(o chat.Out) Outcome
	calls    []Call
	signals  []Call
	messages []*Message
	next     int64
	busy     map[string]bool
	budget   map[string]*tokens
	inbound  platform.Inbound
	running  chan struct{}
}

var _ platform.Adapter = (*Service)(nil)

// New makes a service with these abilities and budgets.
func New(test Complainer, t platform.Traits) *Service {
	return &Service{
		traits: t, test: test, next: 100, busy: map[string]bool{}, budget: map[string]*tokens{}, running: make(chan struct{}),
	}
}

// Script sets what decides about calls to come; nil = all succeed. It may
// block.
func (s *Service) Script(f func(o chat.Out) Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = f
}

// Traits implements platform.Adapter.
func (s *Service) Traits() platform.Traits { return s.traits }

// Run implements platform.Adapter.
func (s *Service) Run(ctx context.Context, in platform.Inbound) error {
	s.mu.Lock()
	s.inbound = in
	close(s.running)
	s.mu.Unlock()
	<-ctx.Done()
	return nil
}

// Say is what people do: it hands messages to the gateway, as one batch, once
// Run has begun.
func (s *Service) Say(ctx context.Context, account string, ms ...chat.Message) ([]chat.Ack, error) {
	select {
	case <-s.running:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.inbound.Receive(ctx, platform.Batch{Account: account, Messages: ms})
}

// Render implements platform.Adapter.
func (s *Service) Render(r chat.Reply) []chat.Part {
	var parts []chat.Part
	for _, bs := range render.Split(render.Parse(r.Markdown), render.Limits{Units: Limit - 200}) {
		t := render.Flatten(bs)
		p := chat.Part{Text: t.Plain, Silent: r.Silent || len(parts) > 0}
		if len(t.Spans) > 0 {
			p.Format = []byte(fmt.Sprintf(`{"spans":%d}`, len(t.Spans)))
		}
		parts = append(parts, p)
	}
	if len(parts) == 0 && r.Status+r.Footer != "" {
		parts = []chat.Part{{Silent: r.Silent}}
	}
	if n := len(parts); n > 0 {
		if r.Status != "" {
			parts[n-1].Text = strings.Trim(parts[n-1].Text+"\n\n"+r.Status, "\n")
		}
		for _, p := range r.Details {
			parts[n-1].Text += "\n\npanel " + p.Title + ": " + strings.Join(p.Lines, "|")
		}
		if r.Footer != "" {
			parts[n-1].Text = strings.Trim(parts[n-1].Text+"\n\n"+r.Footer, "\n")
		}
		parts[0].ReplyTo, parts[n-1].Buttons = r.ReplyTo, r.Buttons
	}
	if r.File != nil {
		parts = append(parts, chat.Part{File: r.File, Silent: true})
	}
	return parts
}

// Send implements platform.Adapter.
func (s *Service) Send(ctx context.Context, o chat.Out) (chat.Ref, error) {
	if err := ctx.Err(); err != nil {
		return chat.Ref{}, chat.E(chat.Network, "", err)
	}
	s.enter(o)
	defer s.leave(o)
	s.mu.Lock()
	script := s.script
	s.mu.Unlock()
	var oc Outcome
	if script != nil {
		oc = script(o)
	}
	if oc.Delay > 0 {
		select {
		case <-time.After(oc.Delay):
		case <-ctx.Done():
			return chat.Ref{}, chat.E(chat.Network, "", ctx.Err())
		}
	}
	var ref chat.Ref
	err := oc.Err
	if err == nil || oc.Arrives || oc.Hang {
		ref, err = s.carryOut(o)
	}
	if oc.Hang {
		<-ctx.Done()
		return chat.Ref{}, ctx.Err()
	}
	if oc.Err != nil {
		ref, err = chat.Ref{}, oc.Err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, Call{At: time.Now(), Out: o, Ref: ref, Err: err})
	return ref, err
}

// enter checks what no caller may do.
func (s *Service) enter(o chat.Out) {
	s.test.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := o.Place.Channel()
	if s.busy[ch] {
		s.test.Errorf("two calls for %s at a time", ch)
	}
	s.busy[ch] = true
	rate := s.traits.PerGroup
	if o.Place.Direct {
		rate = s.traits.PerChat
	}
	for key, r := range map[string]platform.Rate{"chat " + ch: rate, "account " + o.Place.Account: s.traits.PerAccount} {
		if s.budget[key] == nil {
			s.budget[key] = &tokens{left: float64(r.Burst), at: time.Now()}
		}
		if !s.budget[key].take(r, time.Now()) {
			s.test.Errorf("%s: more than %d calls at once and one per %v (%s %s)", key, r.Burst, r.Every, o.Op, o.Class)
		}
	}
	switch {
	case o.Op == chat.OpRemove || o.Op == chat.OpTopic || o.Part.File != nil:
	case strings.TrimSpace(o.Part.Text) == "":
		s.test.Errorf("an empty message for %s", ch)
	case render.Units(o.Part.Text) > Limit:
		s.test.Errorf("a message of %d units for %s", render.Units(o.Part.Text), ch)
	}
}

func (s *Service) leave(o chat.Out) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, o.Place.Channel())
}

func (s *Service) carryOut(o chat.Out) (chat.Ref, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.Op == chat.OpTopic {
		s.next++
		return chat.Ref{ID: strconv.FormatInt(s.next, 10), Chat: o.Place.Chat, Num: s.next}, nil
	}
	if o.Op == chat.OpPost {
		if o.Unsure != nil {
			if !s.traits.Settles {
				return chat.Ref{}, chat.E(chat.Uncertain, "it cannot be found out", nil)
			}
			for _, m := range s.messages {
				if m.Key == o.Key && !m.Removed {
					return m.ref(), nil
				}
			}
		}
		s.next++
		m := &Message{ID: s.next, Key: o.Key, Chat: o.Place.Chat, Thread: o.Place.Thread, Turn: o.Turn, Class: o.Class, Part: o.Part}
		s.messages = append(s.messages, m)
		return m.ref(), nil
	}
	for _, m := range s.messages {
		if m.ref().ID != o.Target.ID || m.Removed {
			continue
		}
		if o.Op == chat.OpRemove {
			m.Removed = true
			return m.ref(), nil
		}
		if m.Part.Text == o.Part.Text && len(m.Part.Buttons) == len(o.Part.Buttons) && o.ID == 0 {
			s.test.Errorf("an edit that changes nothing: %.40q", o.Part.Text)
		}
		m.Part = o.Part
		m.Edits++
		return m.ref(), nil
	}
	return chat.Ref{}, chat.E(chat.Gone, "message not found", nil)
}

func (m *Message) ref() chat.Ref {
	return chat.Ref{ID: strconv.FormatInt(m.ID, 10), Chat: m.Chat, Num: m.ID}
}

// Signal implements platform.Adapter.
func (s *Service) Signal(_ context.Context, to chat.Place, ref chat.Ref, sig chat.Signal) error {
	s.mu.Lock()
	script := s.script
	s.signals = append(s.signals, Call{At: time.Now(), Out: chat.Out{Place: to, Target: ref, Part: chat.Part{Text: string(sig.Kind) + sig.Emoji}}})
	s.mu.Unlock()
	if script != nil {
		return script(chat.Out{Place: to, Part: chat.Part{Text: string(sig.Kind)}}).Err
	}
	return nil
}

// Fetch implements platform.Adapter: the content of every file is its id.
func (s *Service) Fetch(ctx context.Context, f chat.FileRef, w io.Writer) error {
	if err := ctx.Err(); err != nil {
		return chat.E(chat.Network, "", err)
	}
	_, err := io.WriteString(w, f.ID)
	return err
}

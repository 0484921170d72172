package fake

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Step is one thing that the agent does in a turn. An error ends the turn with
// that error.
type Step func(ctx context.Context, r *Running) error

// Running is the turn as its steps see it.
type Running struct {
	worker.Host
	In      chat.Input
	Prompt  string
	Answers []chat.Answer // to the asks so far
	Errs    []error       // of the asks so far
	worker  *Worker
}

// ErrDied is what a dying worker's prompt returns: no code, as when a pipe
// breaks.
var ErrDied = errors.New("read: the pipe is broken")

// Emit reports one event.
func Emit(e chat.Event) Step {
	return func(ctx context.Context, r *Running) error { return r.Emit(ctx, e) }
}

// Text streams s as a piece of the answer. "{answer}" becomes the option or
// text of the last ask.
func Text(s string) Step {
	return func(ctx context.Context, r *Running) error {
		if n := len(r.Answers); n > 0 {
			s = strings.ReplaceAll(s, "{answer}", r.Answers[n-1].Option+r.Answers[n-1].Text)
		}
		return r.Emit(ctx, chat.Event{Kind: chat.EventText, Text: s})
	}
}

// Tool reports a tool call in the given state; the same id updates it.
func Tool(id, name string, s chat.ToolState) Step {
	return Emit(chat.Event{Kind: chat.EventTool, Tool: &chat.Tool{ID: id, Name: name, Title: name + " " + id, State: s}})
}

// Mode has the agent change its permission mode by itself.
func Mode(name string) Step {
	return func(_ context.Context, r *Running) error {
		r.worker.mu.Lock()
		defer r.worker.mu.Unlock()
		r.worker.now.Mode = name
		return nil
	}
}

// Ask asks and waits for the answer; a refusal does not end the turn.
func Ask(q chat.Question) Step {
	return func(ctx context.Context, r *Running) error {
		a, err := r.Ask(ctx, q)
		r.Answers, r.Errs = append(r.Answers, a), append(r.Errs, err)
		return nil
	}
}

// Withdraw asks and takes the question back when ch is closed.
func Withdraw(q chat.Question, ch <-chan struct{}) Step {
	return func(ctx context.Context, r *Running) error {
		asking, cancel := context.WithCancel(ctx)
		defer cancel()
		stop := make(chan struct{})
		defer close(stop)
		go func() { // ends with the step
			select {
			case <-ch:
				cancel()
			case <-stop:
			}
		}()
		a, err := r.Ask(asking, q)
		r.Answers, r.Errs = append(r.Answers, a), append(r.Errs, err)
		return nil
	}
}

// Both runs two steps at once and waits for both.
func Both(a, b Step) Step {
	return func(ctx context.Context, r *Running) error {
		other := &Running{Host: r.Host, In: r.In, Prompt: r.Prompt, worker: r.worker}
		res := make(chan error)
		go func() { res <- b(ctx, other) }() // received below
		err := a(ctx, r)
		err = errors.Join(err, <-res)
		r.Answers, r.Errs = append(r.Answers, other.Answers...), append(r.Errs, other.Errs...)
		return err
	}
}

// Wait waits until ch is closed; it obeys a cancel.
func Wait(ch <-chan struct{}) Step {
	return func(ctx context.Context, _ *Running) error {
		select {
		case <-ch:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Stubborn waits until ch is closed and does not obey a cancel; the worker
// kills itself after grace, as the contract wants.
func Stubborn(ch <-chan struct{}, grace time.Duration) Step {
	return func(ctx context.Context, r *Running) error {
		select {
		case <-ch:
			return nil
		case <-ctx.Done():
		}
		select {
		case <-ch:
		case <-r.worker.done:
		case <-time.After(grace):
			r.worker.Kill()
		}
		return ctx.Err()
	}
}

// Pause lets time pass.
func Pause(d time.Duration) Step {
	return func(ctx context.Context, _ *Running) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Fail ends the turn with a classified error.
func Fail(code chat.Code, detail string) Step {
	return func(context.Context, *Running) error { return chat.E(code, detail, nil) }
}

// Die kills the process in the middle of the turn.
func Die() Step {
	return func(_ context.Context, r *Running) error {
		r.worker.Kill()
		return ErrDied
	}
}

// Panic is a driver with a defect.
func Panic() Step {
	return func(context.Context, *Running) error { panic("a defect in a driver") }
}

// Garbage reports events that make no sense.
func Garbage() Step {
	return func(ctx context.Context, r *Running) error {
		for _, e := range []chat.Event{
			{}, {Kind: "no-such-kind", Text: "\x00\xff"}, {Kind: chat.EventTool}, {Kind: chat.EventUsage},
			{Kind: chat.EventSession}, {Kind: chat.EventPlan}, {Kind: chat.EventBreak},
			{Kind: chat.EventTool, Tool: &chat.Tool{State: "no-such-state"}},
		} {
			if err := r.Emit(ctx, e); err != nil {
				return err
			}
		}
		return nil
	}
}

// Do is any other step.
func Do(f func(ctx context.Context, r *Running) error) Step { return f }

const (
	learn = "remember the word "
	ask   = "what was the word?"
)

// recall is the answer of an agent without a script. A recap in the prompt is
// as good as a memory.
func recall(before []string, prompt string) string {
	if !strings.Contains(prompt, ask) {
		if _, word, ok := strings.Cut(prompt, learn); ok {
			return "I will remember " + word
		}
		return "you said: " + prompt
	}
	for _, p := range slices.Backward(append(slices.Clone(before), prompt)) {
		if _, word, ok := strings.Cut(p, learn); ok {
			word, _, _ = strings.Cut(word, "\n")
			return "the word was " + word
		}
	}
	return "I know no word"
}

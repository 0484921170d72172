package opencode

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

// tools waits until a turn has begun n tools.
func tools(t *testing.T, h *workertest.Host, n int) {
	t.Helper()
	h.Await(t, "tools", func(es []chat.Event) bool {
		for _, e := range es {
			if e.Kind == chat.EventTool && e.Tool.State == chat.ToolRunning {
				n--
			}
		}
		return n <= 0
	})
}

// steer puts words in, and says later how that went.
func steer(ctx context.Context, w *Worker, text string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- w.Steer(ctx, workertest.Input(text)) }() // ends with the turn at the latest
	return done
}

func decided(t *testing.T, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("nothing became of the words")
		return nil
	}
}

// users are the user's texts that the session has.
func users(t *testing.T, w *Worker) []string {
	t.Helper()
	ms, err := w.api.messages(t.Context(), w.id, manyMessages)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range ms {
		if m.Info.Role == roleUser {
			all = append(all, m.Parts[0].Text)
		}
	}
	return all
}

func TestWordsReachTheTurnAfterItsTool(t *testing.T) {
	t.Parallel()
	s := newWorld(t).open(t, worker.Spec{})
	h := workertest.NewHost(nil)
	_, ended := workertest.Begin(t, s, "hold 2\nsay never said", h)
	tools(t, h, 1)
	one, two := steer(t.Context(), s, "say one"), steer(t.Context(), s, "say one")
	if err := errors.Join(decided(t, one), decided(t, two)); err != nil {
		t.Errorf("not taken: %v", err)
	}
	if err := <-ended; err != nil || h.Blocks() != "one|" {
		t.Errorf("%q, %v", h.Blocks(), err)
	}
	if h := say(t, s, "say after", nil); h.Blocks() != "after|" {
		t.Errorf("the next turn said %q", h.Blocks())
	}
}

func TestWordsBehindTheAnswerBelongToTheTurn(t *testing.T) {
	t.Parallel()
	s := newWorld(t).open(t, worker.Spec{})
	h := workertest.NewHost(nil)
	_, ended := workertest.Begin(t, s, "say first\nuntil 1", h)
	h.AwaitText(t, "first")
	if err := decided(t, steer(t.Context(), s, "say more")); err != nil {
		t.Errorf("not taken: %v", err)
	}
	if err := <-ended; err != nil || h.Blocks() != "first|more|" {
		t.Errorf("%q, %v", h.Blocks(), err)
	}
}

// What the agent drops when it is stopped goes back to the queue, and nothing
// of it stays in the session to be said twice.
func TestWordsToAStoppedTurnGoBack(t *testing.T) {
	t.Parallel()
	s := newWorld(t).open(t, worker.Spec{})
	h := workertest.NewHost(nil)
	stop, ended := workertest.Begin(t, s, "long 60000", h)
	tools(t, h, 1)
	words := steer(t.Context(), s, "say nudged")
	settled(t, "the words are in the session", func() bool { return slices.Contains(users(t, s), "say nudged") })
	stop(chat.E(chat.Stopped, "", nil))
	if err := decided(t, words); chat.CodeOf(err) != chat.Conflict {
		t.Errorf("the words: %v", err)
	}
	if err := <-ended; chat.CodeOf(err) != chat.Stopped {
		t.Errorf("ended with %v", err)
	}
	if got := users(t, s); !slices.Equal(got, []string{"long 60000"}) {
		t.Errorf("the session has %q", got)
	}
	if err := s.Steer(t.Context(), workertest.Input("say late")); chat.CodeOf(err) != chat.Conflict {
		t.Errorf("after the turn: %v", err)
	}
}

// A failed turn leaves unanswered what came meanwhile.
func TestWordsToAFailingTurnGoBack(t *testing.T) {
	t.Parallel()
	s := newWorld(t).open(t, worker.Spec{})
	h := workertest.NewHost(nil)
	_, ended := workertest.Begin(t, s, "fail 529", h)
	h.Await(t, "a retry", func(es []chat.Event) bool {
		return slices.ContainsFunc(es, func(e chat.Event) bool { return e.Kind == chat.EventRetry })
	})
	words := steer(t.Context(), s, "say nudged")
	if err := <-ended; chat.CodeOf(err) != chat.Overloaded {
		t.Errorf("ended with %v", err)
	}
	if err := decided(t, words); chat.CodeOf(err) != chat.Conflict {
		t.Errorf("the words: %v", err)
	}
	if got := users(t, s); slices.Contains(got, "say nudged") {
		t.Errorf("the session has %q", got)
	}
}

// Whoever stops waiting has given the words away: they are not taken back.
func TestWordsThatNobodyWaitsForAreTheAgents(t *testing.T) {
	t.Parallel()
	s := newWorld(t).open(t, worker.Spec{})
	h := workertest.NewHost(nil)
	_, ended := workertest.Begin(t, s, "hold 2", h)
	tools(t, h, 1)
	ctx, leave := context.WithCancel(t.Context())
	words := steer(ctx, s, "say nudged")
	settled(t, "the words are in the session", func() bool { return slices.Contains(users(t, s), "say nudged") })
	leave()
	if err := decided(t, words); err != nil {
		t.Errorf("the words: %v", err)
	}
	if err := decided(t, steer(t.Context(), s, "say more")); err != nil {
		t.Errorf("the next words: %v", err)
	}
	if err := <-ended; err != nil || h.Blocks() != "more|" || !slices.Contains(users(t, s), "say nudged") {
		t.Errorf("%q, %v", h.Blocks(), err)
	}
}

func TestACommandIsNotSteeredIn(t *testing.T) {
	t.Parallel()
	s := newWorld(t).open(t, worker.Spec{})
	h := workertest.NewHost(nil)
	_, ended := workertest.Begin(t, s, "long 500", h)
	tools(t, h, 1)
	if err := s.Steer(t.Context(), workertest.Input("/compact")); chat.CodeOf(err) != chat.Conflict {
		t.Errorf("steered: %v", err)
	}
	if err := <-ended; err != nil || h.Blocks() != "read it|" {
		t.Errorf("%q, %v", h.Blocks(), err)
	}
}

// At the very end of a turn words are either the turn's or go back; they never
// begin a turn that nobody has asked for.
func TestWordsAtTheEndAreNeverATurnOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := newWorld(t).open(t, worker.Spec{})
	for i := range 15 {
		h := workertest.NewHost(nil)
		_, ended := workertest.Begin(t, s, "say one", h)
		words := make(chan error, 1)
		h.AwaitText(t, "one")
		go func() {
			<-time.After(time.Duration(i) * 2 * time.Millisecond)
			words <- s.Steer(t.Context(), workertest.Input("say more"))
		}()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		want := "one|"
		if err := decided(t, words); err == nil {
			want += "more|"
		} else if chat.CodeOf(err) != chat.Conflict {
			t.Errorf("the words: %v", err)
		}
		if h.Blocks() != want {
			t.Errorf("try %d: %q, want %q", i, h.Blocks(), want)
		}
		all, err := s.api.statuses(t.Context())
		if err != nil || len(all) > 0 {
			t.Errorf("try %d: after the turn the session is %v, %v", i, all, err)
		}
	}
}

// The agent may look at words only after it has come to rest. They are the
// turn's all the same, so it waits for them.
func TestATurnDoesNotEndBeforeItsWordsHaveArrived(t *testing.T) {
	t.Parallel()
	s := newWorld(t, fakeLate+"=700ms").open(t, worker.Spec{})
	h := workertest.NewHost(nil)
	_, ended := workertest.Begin(t, s, "hold 1", h)
	tools(t, h, 1)
	if err := decided(t, steer(t.Context(), s, "say more")); err != nil {
		t.Errorf("not taken: %v", err)
	}
	if err := <-ended; err != nil || h.Blocks() != "read it|more|" {
		t.Errorf("%q, %v", h.Blocks(), err)
	}
}

// Each try of an answer that breaks off is shown as a text of its own: the
// agent does not take back what it has said.
func TestWhatCameBeforeACutStaysAsItWasShown(t *testing.T) {
	t.Parallel()
	s := newWorld(t).open(t, worker.Spec{})
	h, err := workertest.Prompt(t, s, "fail cut", nil)
	if chat.CodeOf(err) != chat.Network {
		t.Errorf("ended with %v", err)
	}
	if got := h.Blocks(); !strings.HasPrefix(got, "half of an ans|half of an ans|") {
		t.Errorf("shown was %q", got)
	}
}

// settled waits for a state.
func settled(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to that: %s", what)
		}
	}
}

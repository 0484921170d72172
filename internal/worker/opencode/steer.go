package opencode

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"cligate/internal/chat"
)

// steered are the words that were put into a running turn. The agent takes a
// prompt that comes while it works into its next call of the model: after the
// tools that run, or after the answer that is being written. Words that it has
// not taken when it rests are taken back, so that they are said once.
type steered struct {
	mu   sync.Mutex
	open bool // the turn has begun and is not being ended
	all  []*words
}

// words were sent to the agent, or are about to be.
type words struct {
	part    string     // the id that we gave them
	message string     // in which the agent has put them, once that is known
	sent    bool       // the request was answered, or will not be
	left    bool       // nobody waits for what becomes of them
	fate    chan error // has room for one
}

// errTooLate sends words back to the queue.
var errTooLate = chat.E(chat.Conflict, "", errors.New("no turn takes the words"))

// begin lets words in: the prompt is in the session, so nothing overtakes it.
func (s *steered) begin() { s.set(true) }

// stop lets no more words in.
func (s *steered) stop() { s.set(false) }

func (s *steered) set(open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = open
}

// add notes words that are about to be sent; nil when it is too late for them,
// or too early.
func (s *steered) add() *words {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open {
		return nil
	}
	x := &words{part: "prt_" + rand.Text(), fate: make(chan error, 1)}
	s.all = append(s.all, x)
	return x
}

// wasSent says that the server has the words, or may have them.
func (s *steered) wasSent(x *words) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.sent = true
}

// leave says that nobody waits any more.
func (s *steered) leave(x *words) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.left = true
}

// end decides the fate of words.
func (s *steered) end(x *words, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(x, err)
}

func (s *steered) drop(x *words, err error) {
	if i := slices.Index(s.all, x); i >= 0 {
		s.all = slices.Delete(s.all, i, i+1)
		x.fate <- err
	}
}

// found says in which message a part is.
func (s *steered) found(part, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.all {
		if x.part == part {
			x.message = message
		}
	}
}

// answered says that the model answers everything before a message.
func (s *steered) answered(message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range slices.Clone(s.all) {
		if x.message != "" && x.message < message {
			s.drop(x, nil)
		}
	}
}

// holds reports whether a message has words that nobody has answered yet.
func (s *steered) holds(message string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.all, func(x *words) bool { return x.message == message })
}

// waiting are the words that wait; when there are none, no more are let in.
func (s *steered) waiting() []words {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]words, 0, len(s.all))
	for _, x := range s.all {
		all = append(all, *x)
	}
	s.open = s.open && len(all) > 0
	return all
}

// some reports whether words wait.
func (s *steered) some() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all) > 0
}

// over gives back what is left: the turn has ended.
func (s *steered) over() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = false
	for _, x := range slices.Clone(s.all) {
		s.drop(x, errTooLate)
	}
}

// by finds words by their part.
func (s *steered) by(part string) *words {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.all, func(x *words) bool { return x.part == part }); i >= 0 {
		return s.all[i]
	}
	return nil
}

// Steer implements worker.Worker. It returns when the model is given the words,
// or when the turn ends without that.
func (w *Worker) Steer(ctx context.Context, in chat.Input) error {
	w.mu.Lock()
	t := w.turn
	w.mu.Unlock()
	if t == nil || isClosed(w.gone) {
		return errTooLate
	}
	o, err := w.order(in)
	if err != nil {
		return err
	}
	parts, ok := o.body["parts"].([]object)
	if o.whole || !ok {
		return chat.E(chat.Conflict, "", errors.New("a command cannot be steered in"))
	}
	x := t.steered.add()
	if x == nil {
		return errTooLate
	}
	parts[0]["id"] = x.part
	// The turn does not end before it is known what became of the request, so
	// nobody must break that off.
	err = w.api.quick(context.WithoutCancel(ctx), http.MethodPost, o.path, o.body, nil)
	if no := (*refusalError)(nil); errors.As(err, &no) {
		t.steered.end(x, chat.E(chat.Conflict, shorten(no.Data.Message), err))
	}
	t.steered.wasSent(x)
	select {
	case err := <-x.fate:
		return err
	case <-w.gone:
		return chat.E(chat.Conflict, "", errGone)
	case <-ctx.Done():
		t.steered.leave(x)
		return nil // the agent has the words, whatever becomes of them
	}
}

// patience is how long a session must rest before words are taken back.
func (r *run) patience(x words) time.Duration {
	switch stopping := !r.stopping.IsZero(); {
	case stopping && x.message != "":
		return 0 // the server has dropped what it was to do
	case stopping || x.message != "":
		return restAfterStop
	}
	return restAtMost
}

// holdOn reports whether a turn that seems to be over waits for words that are
// on their way, and takes back those that the agent does not take.
func (r *run) holdOn(ctx context.Context) bool {
	all := r.steered.waiting()
	if len(all) == 0 {
		return false
	}
	r.strike()
	for _, x := range all {
		if !x.sent || r.rested() < r.patience(x) {
			continue
		}
		if x.message != "" && !x.left {
			if err := r.api.forget(ctx, r.id, x.message); err != nil {
				r.Worker.log.WarnContext(ctx, "words not taken back", "err", err)
			}
		}
		if x := r.steered.by(x.part); x != nil {
			r.steered.end(x, errTooLate)
		}
	}
	return true
}

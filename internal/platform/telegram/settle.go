package telegram

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"cligate/internal/chat"
)

const (
	// tail is how many ids beyond the highest known one are looked at at
	// least: the doubtful message may be newer than everything we know.
	tail = 5
	// shortWait is the longest "too many requests" that is sat out while a
	// doubtful message is looked for.
	shortWait = 3 * time.Second
	maxSweeps = 256
)

// sweep is how far the search for one doubtful message has come, kept while
// the service makes us wait.
type sweep struct {
	next int64    // ids below it were looked at
	took chat.Ref // a message of ours that was another one and now has the content
	odd  error    // an answer that said neither yes nor no
}

// settler finds out what became of doubtful posts.
type settler struct {
	out   *courier
	log   *slog.Logger
	bound int // ids looked at

	mu   sync.Mutex
	open map[string]*sweep // by the key of the row
}

func (s *settler) begin(key string) *sweep {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.open[key]; w != nil {
		return w
	}
	if len(s.open) >= maxSweeps {
		clear(s.open) // they begin again, which only costs calls
	}
	w := &sweep{}
	s.open[key] = w
	return w
}

func (s *settler) end(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, key)
}

// settle makes sure that the chat has exactly one copy of a message that may
// have arrived earlier. It looks for the earlier copy by editing the very same
// content into the ids that it could have: only our own messages take an edit,
// and the message itself answers "not modified". docs/adr/0005 has the proof
// and its limits.
func (s *settler) settle(ctx context.Context, o chat.Out) (chat.Ref, error) {
	d, err := s.out.address(o)
	if err != nil {
		return chat.Ref{}, err
	}
	ids, over := candidates(*o.Unsure, s.bound)
	if len(ids) == 0 {
		return chat.Ref{}, chat.E(chat.Uncertain, "nothing is known about the ids of this chat", nil)
	}
	w := s.begin(o.Key)
	for _, id := range ids {
		if id < w.next {
			continue
		}
		found, err := s.look(ctx, &d, w, id)
		if err != nil {
			return chat.Ref{}, s.doubt(o.Key, d, err)
		}
		if found {
			s.end(o.Key)
			return s.found(ctx, d, w, id), nil
		}
		w.next = id + 1
	}
	s.end(o.Key)
	switch {
	case !w.took.Zero():
		return w.took, nil
	case w.odd != nil:
		return chat.Ref{}, chat.E(chat.Uncertain, "the earlier message can be neither found nor ruled out", w.odd)
	case over:
		return chat.Ref{}, chat.E(chat.Uncertain, "too many messages since then to look for the earlier one", nil)
	}
	return s.again(ctx, d, o, ids[len(ids)-1])
}

// candidates returns the ids that the doubtful message may have, in rising
// order: those above Since that are not known to be others, and some beyond
// the highest known one. over says that there are more than bound allows.
func candidates(u chat.Unsure, bound int) (ids []int64, over bool) {
	if u.Since <= 0 {
		return nil, false
	}
	known := make(map[int64]bool, len(u.Known))
	top := u.Since
	for _, n := range u.Known {
		known[n] = true
		top = max(top, n)
	}
	for n := u.Since + 1; n < top; n++ {
		if known[n] {
			continue
		}
		if len(ids) == bound {
			return ids, true
		}
		ids = append(ids, n)
	}
	for n, more := top+1, max(bound-len(ids), tail); more > 0; n, more = n+1, more-1 {
		ids = append(ids, n)
	}
	return ids, false
}

// look reports whether message id is the doubtful one. d may become simpler on
// the way, as it would have when it was posted. An error means that the search
// cannot go on now.
func (s *settler) look(ctx context.Context, d *draft, w *sweep, id int64) (bool, error) {
	num := strconv.FormatInt(id, 10)
	for waits := 0; ; {
		_, err := s.out.wire.call(ctx, d.edit(num, d.part.File != nil))
		if err == nil {
			if w.took.Zero() {
				chatID, _ := strconv.ParseInt(d.chat, 10, 64)
				w.took = ref(chatID, id)
			}
			return false, nil
		}
		if simpler, ok := s.out.classic(ctx, *d, err); ok {
			*d = simpler // as it was done when it was posted
			continue
		}
		a, _ := judge(err, false)
		switch a {
		case actDone:
			return true, nil
		case actGone:
			return false, nil
		case actOdd, actGiveUp:
			w.odd = err
			return false, nil
		case actBare, actFile:
			simpler, ok := s.out.mend(ctx, *d, err)
			if !ok {
				return false, err
			}
			*d = simpler
		case actWait:
			var r *refusal
			if !errors.As(err, &r) || r.After > shortWait || waits == 2 {
				return false, err
			}
			waits++
			if !sleep(ctx, max(r.After, time.Second)) {
				return false, err
			}
		default:
			return false, err
		}
	}
}

// doubt is the error of a search that cannot go on. Except when the form was
// refused, which proves that nothing arrived, the question stays open.
func (s *settler) doubt(key string, d draft, err error) error {
	if a, _ := judge(err, false); a == actPlain || a == actBare || a == actFile || a == actForm {
		s.end(key)
	}
	return s.out.refused(d, err, false)
}

// found ends a search: message id is the earlier copy. Another message that
// was given its content on the way is removed.
func (s *settler) found(ctx context.Context, d draft, w *sweep, id int64) chat.Ref {
	if !w.took.Zero() {
		if err := s.out.remove(ctx, d.chat, w.took); err != nil {
			s.log.WarnContext(ctx, "a second copy stays", "chat", d.chat, "msg", w.took.ID, "err", err)
		}
	}
	chatID, _ := strconv.ParseInt(d.chat, 10, 64)
	return ref(chatID, id)
}

// again posts d after the search found nothing up to id last. The new
// message's own id then tells how far the chat has really counted: ids between
// that the search did not reach are looked at now, and of two copies the newer
// one is removed.
func (s *settler) again(ctx context.Context, d draft, o chat.Out, last int64) (chat.Ref, error) {
	r, err := s.out.post(ctx, d)
	if err != nil {
		if chat.CodeOf(err) == chat.Uncertain {
			// Now there are two tries to look for. Uncertain would say that we
			// cannot tell; we can, later.
			later := chat.Recode(chat.Wait, err)
			later.After = time.Second
			return chat.Ref{}, later
		}
		return chat.Ref{}, err
	}
	var w sweep
	looked := 0
	for id := r.Num - 1; id > last && r.Chat == d.chat; id-- {
		if slices.Contains(o.Unsure.Known, id) {
			continue
		}
		if looked++; looked > s.bound {
			s.log.WarnContext(ctx, "an earlier copy cannot be ruled out", "chat", d.chat, "msg", r.ID)
			break
		}
		found, err := s.look(ctx, &d, &w, id)
		if err != nil {
			s.log.WarnContext(ctx, "an earlier copy cannot be ruled out", "chat", d.chat, "msg", r.ID, "err", err)
			break
		}
		if found {
			w.took = r
			return s.found(ctx, d, &w, id), nil
		}
		if !w.took.Zero() { // it was another message of ours, which nobody knows
			if err := s.out.remove(ctx, d.chat, w.took); err != nil {
				s.log.WarnContext(ctx, "a second copy stays", "chat", d.chat, "msg", w.took.ID, "err", err)
			}
			w.took = chat.Ref{}
		}
	}
	return r, nil
}

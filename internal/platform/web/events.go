package web

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"path"
	"time"

	"cligate/internal/chat"
	"cligate/internal/web/api"
)

// Times and sizes of event streams.
const (
	beatEvery  = 15 * time.Second // a comment, so that both ends notice a dead connection
	writeLimit = 10 * time.Second // a reader that takes longer for one write is cut off
	readAtOnce = 100              // lines per look
	maxMissed  = 400              // lines; more than that is read as history
)

// stream is one browser's connection: a reader of the ledger and of the board
// that is woken when either has news. Nothing is queued for it.
type stream struct {
	view viewer
	w    http.ResponseWriter
	rc   *http.ResponseController
	sub  *sub
	at   cursor
}

// events serves a chat's event stream.
func (a *Adapter) events(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("chat")
	sub, ok := a.board.join(id, a.cfg.Streams)
	if !ok {
		return chat.E(chat.Unavailable, "too many open pages", nil)
	}
	defer a.board.leave(sub)
	s := &stream{view: viewer{a, id, api.Lang(r)}, w: w, rc: http.NewResponseController(w), sub: sub}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return nil
	}
	_ = s.rc.SetReadDeadline(time.Time{}) // the server's limit is for requests; a stream has none
	from := r.Header.Get("Last-Event-ID")
	if from == "" {
		from = r.URL.Query().Get("after")
	}
	if err := s.run(r, from); err != nil && r.Context().Err() == nil {
		a.log.DebugContext(r.Context(), "event stream ended", "err", err)
	}
	return nil // the answer has begun: nothing can be added to it
}

func (s *stream) run(r *http.Request, from string) error {
	at, ok := parseCursor(from)
	if !ok || at.boot != s.view.a.boot {
		return s.reset()
	}
	s.at = at
	if err := s.catchUp(r); err != nil {
		return err
	}
	if err := s.say(api.Event{Kind: api.EventReady}); err != nil {
		return err
	}
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		select {
		case <-r.Context().Done():
			return nil
		case <-s.sub.wake:
		case <-beat.C:
			if err := s.beat(r); err != nil {
				return err
			}
		}
		if err := s.catchUp(r); err != nil {
			return err
		}
	}
}

// catchUp says everything that is new since the stream's point.
func (s *stream) catchUp(r *http.Request) error {
	c := s.view.a.board.since(s.sub, s.at.rev)
	if c.gap {
		return s.reset()
	}
	if c.lines {
		if err := s.lines(r); err != nil {
			return err
		}
	}
	for i := range c.events {
		if err := s.say(c.events[i]); err != nil {
			return err
		}
	}
	s.at.rev = c.rev
	if len(c.events) > 0 { // the point moves only when all changes before it are said
		if err := s.write("id: %s\n\n", s.at); err != nil {
			return err
		}
	}
	return s.passing(c)
}

// lines says the ledger's new lines.
func (s *stream) lines(r *http.Request) error {
	for missed := 0; ; missed += readAtOnce {
		if missed >= maxMissed {
			return s.reset()
		}
		ls, err := s.view.a.history.Since(r.Context(), s.view.a.cfg.Account, s.view.chat, s.at.mark, readAtOnce)
		if err != nil {
			return fmt.Errorf("read new lines: %w", err)
		}
		for i := range ls {
			if err := s.line(r, ls[i]); err != nil {
				return err
			}
		}
		if len(ls) < readAtOnce {
			return nil
		}
	}
}

// line says one line. What the board has a form of is said as a change.
func (s *stream) line(r *http.Request, l chat.Line) error {
	s.at.mark = advance(s.at.mark, []chat.Line{l})
	if _, changed := s.view.a.board.form(s.view.chat, l.Key); changed {
		return nil
	}
	ms, err := s.view.lines(r.Context(), []chat.Line{l})
	if err != nil {
		return err
	}
	for i := range ms {
		if err := s.say(api.Event{Kind: api.EventMessage, Message: &ms[i]}); err != nil {
			return err
		}
	}
	return nil
}

// passing says what is worth nothing later.
func (s *stream) passing(c changes) error {
	if c.typing {
		if err := s.say(api.Event{Kind: api.EventTyping}); err != nil {
			return err
		}
	}
	for _, id := range c.other {
		if err := s.say(api.Event{Kind: api.EventChats, Chat: id}); err != nil {
			return err
		}
	}
	return nil
}

// reset tells the reader to read the history again, and ends the stream.
func (s *stream) reset() error {
	if err := s.say(api.Event{Kind: api.EventReset}); err != nil {
		return err
	}
	return errReset
}

var errReset = chat.E(chat.Expired, "the reader knows too little to go on", nil)

// say writes one event. Its id is the point up to which everything is said.
func (s *stream) say(ev api.Event) error {
	body, err := json.Marshal(ev)
	if err != nil {
		return fmt.Errorf("encode an event: %w", err)
	}
	if ev.Kind == api.EventReset {
		return s.write("data: %s\n\n", body)
	}
	return s.write("id: %s\ndata: %s\n\n", s.at, body)
}

// beat also looks for lines that nobody woke the stream for.
func (s *stream) beat(r *http.Request) error {
	if err := s.write(":\n\n"); err != nil {
		return err
	}
	return s.lines(r)
}

func (s *stream) write(form string, args ...any) error {
	if err := s.rc.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return fmt.Errorf("bound a write: %w", err)
	}
	if _, err := fmt.Fprintf(s.w, form, args...); err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	if err := s.rc.Flush(); err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	return nil
}

// disposition makes a browser save a file under a harmless form of its name.
func disposition(name string) string {
	if d := mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(path.Clean("/" + name))}); d != "" {
		return d
	}
	return "attachment"
}

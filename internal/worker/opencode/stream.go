package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"cligate/internal/worker/proc"
)

const (
	silence  = 45 * time.Second // the server says something every ten
	waitMost = time.Second      // between two tries to connect
)

// follow reads the server's events until its process ends, and connects again
// when the stream breaks. What was missed then is asked for. connected is
// closed with the first event.
func (s *server) follow(connected chan struct{}) {
	wait := 20 * time.Millisecond
	first := true
	for s.life.Err() == nil {
		began := time.Now()
		err := s.stream(func() {
			if first {
				close(connected)
				first = false
				return
			}
			s.caughtUp()
		})
		if s.life.Err() != nil {
			break
		}
		s.log.WarnContext(s.life, "event stream broke", "err", err)
		if time.Since(began) > waitMost {
			wait = 20 * time.Millisecond
		}
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
		case <-s.life.Done():
			pause.Stop()
		}
		wait = min(2*wait, waitMost)
	}
	<-s.proc.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.gone:
	default:
		close(s.gone)
	}
}

// stream reads one connection to its end. begun is called when the server has
// said its first word on it: from then on nothing is missed.
func (s *server) stream(begun func()) error {
	ctx, cancel := context.WithCancel(s.life)
	defer cancel()
	req, err := s.api.request(ctx, http.MethodGet, "/event", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	resp, err := s.api.client.Do(req)
	if err != nil {
		return fmt.Errorf("open the event stream: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("open the event stream: status %d", resp.StatusCode)
	}
	lines := proc.NewLineReader(resp.Body, s.max)
	greeted := false
	for {
		l, err := lines.Next()
		if err != nil {
			return err //nolint:wrapcheck // it is logged by the caller as what it is
		}
		quiet.Reset(silence)
		data, ok := bytes.CutPrefix(l.Data, []byte("data:"))
		if !ok {
			continue
		}
		if !greeted {
			greeted = true
			begun()
		}
		s.take(bytes.TrimSpace(data), l.Cut)
	}
}

// take reads one event and hands it to the session that it belongs to. What
// nobody understands is skipped.
func (s *server) take(data []byte, cut bool) {
	var e event
	var p properties
	if cut {
		e.Type, p = glance(data)
	} else {
		if json.Unmarshal(data, &e) != nil {
			s.log.DebugContext(s.life, "no event", "bytes", len(data))
			return
		}
		if !wantedEvent[e.Type] {
			return
		}
		if err := json.Unmarshal(e.Properties, &p); err != nil {
			s.log.DebugContext(s.life, "unreadable event", "type", e.Type, "err", err)
			return
		}
	}
	if p.SessionID == "" {
		p.SessionID = p.Part.SessionID + p.Info.SessionID
	}
	if e.Type == "session.created" {
		s.adopt(p.Info.ID, p.Info.ParentID)
		return
	}
	w, child := s.owner(p.SessionID)
	if w == nil {
		if e.Type == "permission.asked" || e.Type == "question.asked" {
			s.tasks.Go(func() { s.trace(e.Type, p) })
		}
		return
	}
	w.hear(heard{kind: e.Type, properties: p, child: child})
}

// wantedEvent are the types that are looked at.
var wantedEvent = map[string]bool{
	"session.created": true, "session.status": true, "session.idle": true, "session.error": true, "session.compacted": true,
	"message.updated": true, "message.part.updated": true, "message.part.delta": true, "todo.updated": true,
	"permission.asked": true, "permission.replied": true,
	"question.asked": true, "question.replied": true, "question.rejected": true,
}

// glance reads what it can of an event whose end was skipped: enough to know
// that a tool has ended. The rest is asked for at the end of the turn.
func glance(data []byte) (kind string, p properties) {
	kind = valueOf(data, "type")
	if kind != "message.part.updated" || !bytes.Contains(data, []byte(`"type":"tool"`)) {
		return "", properties{}
	}
	p.SessionID = valueOf(data, "sessionID")
	p.Part.Type, p.Part.CallID = "tool", valueOf(data, "callID")
	p.Part.MessageID, p.Part.Tool = valueOf(data, "messageID"), valueOf(data, "tool")
	p.Part.State.Status = valueOf(data, "status")
	return kind, p
}

// valueOf is the first value of a text field in a piece of JSON that may be
// broken off; empty when there is none.
func valueOf(data []byte, key string) string {
	_, rest, ok := bytes.Cut(data, []byte(`"`+key+`":"`))
	if !ok {
		return ""
	}
	value, _, ok := bytes.Cut(rest, []byte(`"`))
	if !ok {
		return ""
	}
	return string(value)
}

// owner returns the worker of a session, or of the session whose sub-agent it
// is.
func (s *server) owner(id string) (w *Worker, child bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.workers[id]; w != nil {
		return w, false
	}
	return s.children[id], true
}

// adopt notes the session of a sub-agent.
func (s *server) adopt(id, parent string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.workers[parent]
	if w == nil {
		w = s.children[parent]
	}
	if w != nil && id != "" {
		s.children[id] = w
	}
}

// maxDepth bounds how far sub-agents of sub-agents are followed.
const maxDepth = 8

// trace finds whose sub-agent asks: an older one may be used again.
func (s *server) trace(kind string, p properties) {
	chain := []string{p.SessionID}
	for range maxDepth {
		info, err := s.api.session(s.life, chain[0])
		if err != nil || info.ParentID == "" {
			s.log.WarnContext(s.life, "question of a session that is not ours", "err", err)
			return
		}
		if w, _ := s.owner(info.ParentID); w != nil {
			for _, id := range chain {
				s.adopt(id, info.ParentID)
			}
			w.hear(heard{kind: kind, properties: p, child: true})
			return
		}
		chain = append([]string{info.ParentID}, chain...)
	}
}

// caughtUp is called when the stream is there again: every turn looks whether
// it has missed something.
func (s *server) caughtUp() {
	s.mu.Lock()
	all := make([]*Worker, 0, len(s.workers))
	for _, w := range s.workers {
		all = append(all, w)
	}
	s.mu.Unlock()
	for _, w := range all {
		w.hear(heard{kind: hearMissed})
	}
}

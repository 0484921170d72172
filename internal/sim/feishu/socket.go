package feishu

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	frames "github.com/larksuite/oapi-sdk-go/v3/ws"
)

// Mood is how a long connection behaves.
type Mood int

// Moods.
const (
	Well     Mood = iota
	HalfOpen      // nothing is answered and nothing comes; the connection stays
	Deafened      // pings are answered, events do not come
)

// conn is one long connection of an app.
type conn struct {
	d    *dispatch
	app  string
	ws   *websocket.Conn
	wmu  sync.Mutex // writes
	mu   sync.Mutex
	mood Mood
	acks map[string]chan frames.Frame
	over chan struct{} // closed when the connection is lost

	opened time.Time
}

func (d *dispatch) ticket(ticket, app string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tickets[ticket] = app
}

// Connections returns how many long connections an app has.
func (d *dispatch) Connections(app string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, c := range d.conns {
		if c.app == app {
			n++
		}
	}
	return n
}

// Opened is when an app's newest connection was made; zero when it has none.
func (d *dispatch) Opened(app string) (t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conns {
		if c.app == app && c.opened.After(t) {
			t = c.opened
		}
	}
	return t
}

// Turn changes the mood of an app's present connections; a later one is well.
func (d *dispatch) Turn(app string, m Mood) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conns {
		if c.app == app {
			c.mu.Lock()
			c.mood = m
			c.mu.Unlock()
		}
	}
}

// Disconnect cuts an app's connections.
func (d *dispatch) Disconnect(app string) {
	d.mu.Lock()
	conns := slices.Clone(d.conns)
	d.mu.Unlock()
	for _, c := range conns {
		if c.app == app {
			c.close()
		}
	}
}

// openSocket takes a long connection.
func (s *Server) openSocket(w http.ResponseWriter, r *http.Request) {
	d := s.dispatch
	ticket := r.URL.Query().Get("ticket")
	d.mu.Lock()
	id, known := d.tickets[ticket]
	delete(d.tickets, ticket) // good for one connection
	d.mu.Unlock()
	s.mu.Lock()
	var e endpoint
	if a := s.apps[id]; a != nil {
		e = a.endpoint
	}
	s.mu.Unlock()
	fail := func(status, auth int, msg string) {
		w.Header().Set(frames.HeaderHandshakeStatus, strconv.Itoa(status))
		w.Header().Set(frames.HeaderHandshakeMsg, msg)
		if auth != 0 {
			w.Header().Set(frames.HeaderHandshakeAuthErrCode, strconv.Itoa(auth))
		}
		w.WriteHeader(http.StatusForbidden)
	}
	switch {
	case !known:
		fail(frames.AuthFailed, 1000040344, "ticket is invalid")
		return
	case e.status != 0:
		fail(e.status, e.authCode, "refused")
		return
	case d.Connections(id) >= maxConns:
		fail(frames.AuthFailed, frames.ExceedConnLimit, "the number of connections exceeded the limit")
		return
	}
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &conn{d: d, app: id, ws: ws, acks: map[string]chan frames.Frame{}, over: make(chan struct{}), opened: time.Now()}
	d.mu.Lock()
	if d.over {
		d.mu.Unlock()
		_ = ws.Close()
		return
	}
	d.conns = append(d.conns, c)
	d.mu.Unlock()
	c.read()
}

// read takes what the client sends until the connection ends.
func (c *conn) read() {
	defer c.gone()
	for {
		kind, raw, err := c.ws.ReadMessage()
		if err != nil {
			return
		}
		var f frames.Frame
		if kind != websocket.BinaryMessage || f.Unmarshal(raw) != nil {
			continue // the service ignores what it does not understand
		}
		c.mu.Lock()
		mood := c.mood
		c.mu.Unlock()
		if mood == HalfOpen {
			continue
		}
		hs := frames.Headers(f.Headers)
		switch {
		case frames.FrameType(f.Method) == frames.FrameTypeControl && hs.GetString(frames.HeaderType) == string(frames.MessageTypePing):
			c.pong(f)
		case frames.FrameType(f.Method) == frames.FrameTypeData:
			c.mu.Lock()
			ch := c.acks[hs.GetString(frames.HeaderMessageID)]
			delete(c.acks, hs.GetString(frames.HeaderMessageID))
			c.mu.Unlock()
			if ch != nil {
				ch <- f
			}
		}
	}
}

func (c *conn) gone() {
	_ = c.ws.Close()
	close(c.over)
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	c.d.conns = slices.DeleteFunc(c.d.conns, func(o *conn) bool { return o == c })
}

func (c *conn) close() { _ = c.ws.Close() }

// pong answers a ping; it carries the client's configuration each time.
func (c *conn) pong(ping frames.Frame) {
	c.d.s.mu.Lock()
	cfg, _ := json.Marshal(c.d.s.apps[c.app].endpoint.config())
	c.d.s.mu.Unlock()
	hs := frames.Headers{}
	hs.Add(frames.HeaderType, string(frames.MessageTypePong))
	c.write(frames.Frame{Method: int32(frames.FrameTypeControl), Service: ping.Service, Headers: hs, Payload: cfg})
}

func (c *conn) write(f frames.Frame) {
	raw, err := f.Marshal()
	if err != nil {
		return
	}
	c.wmu.Lock()
	defer c.wmu.Unlock()
	_ = c.ws.WriteMessage(websocket.BinaryMessage, raw) // an error shows when reading
}

// event pushes a payload and waits for its acknowledgement.
func (c *conn) event(id string, payload []byte, split int, within time.Duration) (int, []byte, error) {
	c.mu.Lock()
	mood := c.mood
	ch := make(chan frames.Frame, 1)
	c.acks[id] = ch
	c.mu.Unlock()
	if mood == Well {
		parts := [][]byte{payload}
		if split > 0 {
			parts = slices.Collect(slices.Chunk(payload, split))
		}
		for i, p := range parts {
			hs := frames.Headers{}
			hs.Add(frames.HeaderType, string(frames.MessageTypeEvent))
			hs.Add(frames.HeaderMessageID, id)
			hs.Add(frames.HeaderSum, strconv.Itoa(len(parts)))
			hs.Add(frames.HeaderSeq, strconv.Itoa(i))
			hs.Add(frames.HeaderTraceID, "trace-"+id)
			c.write(frames.Frame{Method: int32(frames.FrameTypeData), Service: 7, Headers: hs, Payload: p})
		}
	}
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case f := <-ch:
		var body frames.Response
		if err := json.Unmarshal(f.Payload, &body); err != nil {
			return 0, nil, fmt.Errorf("acknowledgement of %s: %w", id, err)
		}
		return body.StatusCode, body.Data, nil
	case <-t.C:
		c.mu.Lock()
		delete(c.acks, id)
		c.mu.Unlock()
		return 0, nil, errors.New("not acknowledged in time")
	case <-c.over:
		return 0, nil, errors.New("the connection was lost")
	case <-c.d.s.closed:
		return 0, nil, errors.New("the service ends")
	}
}

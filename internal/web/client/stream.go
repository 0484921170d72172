package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/web/api"
)

// Pauses between tries to connect again.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 5 * time.Second
)

// feed follows one chat: its history's newest page first, then its events.
type feed struct {
	c      *Client
	chat   string
	cursor string
	events chan<- api.Event
	state  chan<- bool // connected or not, only changes
	last   bool
}

// run follows until ctx ends.
func (f *feed) run(ctx context.Context) {
	pause := firstPause
	for ctx.Err() == nil {
		ready, err := f.once(ctx)
		if ready {
			pause = firstPause
		}
		if err == nil && ready { // told to read the history again
			continue
		}
		f.tell(ctx, false)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
}

func (f *feed) tell(ctx context.Context, connected bool) {
	if f.last == connected {
		return
	}
	f.last = connected
	select {
	case f.state <- connected:
	case <-ctx.Done():
	}
}

// once connects and reads until the connection ends. A nil error after ready
// means that the history is to be read again.
func (f *feed) once(ctx context.Context) (ready bool, err error) {
	if f.cursor == "" {
		if err := f.history(ctx); err != nil {
			return false, err
		}
	}
	r, err := f.c.request(ctx, http.MethodGet, chatPath(f.chat)+"/events", nil)
	if err != nil {
		return false, err
	}
	r.Header.Set("Last-Event-ID", f.cursor)
	resp, err := f.c.http.Do(r)
	if err != nil {
		return false, fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // a stream: nothing to lose
	if resp.StatusCode != http.StatusOK {
		return false, chat.E(chat.Unavailable, resp.Status, nil)
	}
	in := bufio.NewReader(resp.Body)
	for {
		e, id, err := readEvent(in)
		if err != nil {
			return ready, err
		}
		if id != "" {
			f.cursor = id
		}
		if e.Kind == api.EventReset {
			f.cursor = ""
			return true, nil
		}
		if e.Kind == api.EventReady {
			ready = true
			f.tell(ctx, true)
		}
		if !f.send(ctx, e) {
			return ready, ctx.Err()
		}
	}
}

// history hands out the newest page as events.
func (f *feed) history(ctx context.Context) error {
	var page api.Lines
	if err := f.c.call(ctx, http.MethodGet, chatPath(f.chat)+"/lines", nil, &page); err != nil {
		return err
	}
	for i := range page.Lines {
		if !f.send(ctx, api.Event{Kind: api.EventMessage, Message: &page.Lines[i]}) {
			return ctx.Err()
		}
	}
	f.cursor = page.Cursor
	return nil
}

func (f *feed) send(ctx context.Context, e api.Event) bool {
	select {
	case f.events <- e:
		return true
	case <-ctx.Done():
		return false
	}
}

// readEvent reads one server-sent event. A comment is an event without a kind.
func readEvent(in *bufio.Reader) (e api.Event, id string, err error) {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return e, id, fmt.Errorf("read events: %w", err)
		}
		line = strings.TrimRight(line, "\r\n")
		field, value, _ := strings.Cut(line, ": ")
		switch field {
		case "":
			return e, id, nil
		case "id":
			id = value
		case "data":
			if err := json.Unmarshal([]byte(value), &e); err != nil {
				return e, id, fmt.Errorf("read an event: %w", err)
			}
		}
	}
}

func chatPath(id string) string { return api.Chats + "/" + url.PathEscape(id) }

package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// wire is one provider's protocol.
type wire interface {
	// read turns a request into a call. An error is meant for the client: the
	// request is malformed.
	read(r *http.Request, body []byte) (*call, error)
	// refuse is the body of an error; without a text in the usual words.
	refuse(status int, reason, text string) object
	// whole is an answer that is not streamed.
	whole(id string, c *call, rep *reply) object
	// begin starts a streamed answer.
	begin(id string, c *call, rep *reply) encoder
}

// encoder makes the events of one streamed answer, in order: start, then
// open, delta and shut of each block, then end.
type encoder interface {
	start() []event
	open(i int, b out) []event
	delta(i int, b out, piece string) []event
	shut(i int, b out) []event
	end() []event
}

// lateWire is a wire on which some errors come in the stream, after a status
// that says all is well.
type lateWire interface {
	// late returns the events of such an error; nil when it is an ordinary one.
	late(id string, c *call, f *failure) []event
}

// event is one server-sent event; without a name only data is sent.
type event struct {
	name string
	data any
}

// beforeCut is how long a stream rests before it is broken off. Some clients
// throw away what they have not handed on yet when their connection breaks, so
// an answer that is cut in the moment in which it is sent was never there.
const beforeCut = 500 * time.Millisecond

// errCut says that the stream is to be broken off.
var errCut = errors.New("stream cut as told")

// send streams rep. A client that is gone (ctx) ends it.
func send(ctx context.Context, w http.ResponseWriter, e encoder, rep *reply) error {
	w.Header().Set("Content-Type", "text/event-stream")
	if err := write(w, e.start()); err != nil {
		return err
	}
	for i, b := range rep.blocks {
		if err := sendBlock(ctx, w, e, i, b); err != nil {
			return err
		}
	}
	switch {
	case rep.cut:
		if err := wait(ctx, beforeCut); err != nil {
			return err
		}
		return errCut
	case rep.hang:
		<-ctx.Done()
		return ctx.Err()
	}
	return write(w, e.end())
}

func sendBlock(ctx context.Context, w http.ResponseWriter, e encoder, i int, b out) error {
	if err := write(w, e.open(i, b)); err != nil {
		return err
	}
	for _, p := range b.parts {
		if err := write(w, e.delta(i, b, p)); err != nil {
			return err
		}
		if err := wait(ctx, b.pause); err != nil {
			return err
		}
	}
	return write(w, e.shut(i, b))
}

func wait(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// done is the data of OpenAI's last event, which is not JSON.
const done = "[DONE]"

func write(w http.ResponseWriter, events []event) error {
	for _, e := range events {
		if e.name != "" {
			if _, err := fmt.Fprintf(w, "event: %s\n", e.name); err != nil {
				return fmt.Errorf("write %s: %w", e.name, err)
			}
		}
		body := []byte(done)
		if e.data != done {
			var err error
			if body, err = json.Marshal(e.data); err != nil {
				return fmt.Errorf("encode %s: %w", e.name, err)
			}
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", body); err != nil {
			return fmt.Errorf("write %s: %w", e.name, err)
		}
	}
	return http.NewResponseController(w).Flush()
}

// bad is a malformed request in words.
func bad(format string, args ...any) error { return fmt.Errorf(format, args...) }

// decode reads a body. What is not JSON is the client's mistake.
func decode(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return bad("the body cannot be read: %w", err)
	}
	return nil
}

// or returns the first text that is not empty.
func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

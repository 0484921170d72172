package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"

	"cligate/internal/platform/uplink"
)

// backlog is how many events may wait to be stored before reading pauses.
const backlog = 256

// stream is one long connection that is open.
type stream struct {
	log     *slog.Logger
	link    *uplink.State
	handle  handler
	ws      *websocket.Conn
	every   time.Duration // between two pings
	service int32
	events  chan frame
	pieces  pieces
	done    chan struct{}
	once    sync.Once
	err     error // why it ended; valid after done

	write sync.Mutex
	mu    sync.Mutex
	heard time.Time // of the last event
}

// writeLimit bounds one write.
const writeLimit = 10 * time.Second

// run reads, pings and hands events on until the connection ends.
func (s *stream) run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { s.ping(ctx) })
	wg.Go(func() { s.work(ctx) })
	stop := context.AfterFunc(ctx, func() { s.close(nil) })
	defer stop()
	s.close(s.read())
	wg.Wait()
}

// close ends the connection, once.
func (s *stream) close(err error) {
	s.once.Do(func() {
		s.err = err
		if s.err == nil {
			s.err = errors.New("closed")
		}
		close(s.done)
		_ = s.ws.Close()
	})
}

// touch notes that something came.
func (s *stream) touch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = time.Now()
}

// quiet is how long until the connection has been silent for limit.
func (s *stream) quiet(limit time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return limit - time.Since(s.heard)
}

// read takes frames. A connection that does not answer a ping within half an
// interval is dead: the service, and everything on the way, may have forgotten
// it without a word.
func (s *stream) read() error {
	for {
		if err := s.ws.SetReadDeadline(time.Now().Add(s.every + s.every/2)); err != nil {
			return fmt.Errorf("read: %w", err)
		}
		kind, raw, err := s.ws.ReadMessage()
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		var f frame
		if kind != websocket.BinaryMessage || f.Unmarshal(raw) != nil {
			s.log.Debug("frame not understood", "bytes", len(raw))
			continue
		}
		s.link.Alive()
		if f.control() || f.header(larkws.HeaderType) != string(larkws.MessageTypeEvent) {
			continue // a pong, and what we did not ask for
		}
		s.touch()
		select {
		case s.events <- f:
		case <-s.done:
			return nil
		}
	}
}

// happening is an event that is whole, and the frame that is acknowledged.
type happening struct {
	frame   frame
	payload []byte
}

// work takes events as they come. Presses have a lane of their own: nobody waits
// for the answer to a message, and a press that is not answered in time is lost.
func (s *stream) work(ctx context.Context) {
	messages, presses := make(chan happening, backlog), make(chan happening, backlog)
	var wg sync.WaitGroup
	wg.Go(func() { s.lane(ctx, messages) })
	wg.Go(func() { s.lane(ctx, presses) })
	defer wg.Wait()
	for {
		select {
		case <-s.done:
			return
		case f := <-s.events:
			payload, whole := s.pieces.add(f)
			if !whole {
				continue
			}
			to := messages
			if pressing(payload) {
				to = presses
			}
			select {
			case to <- happening{f, payload}:
			case <-s.done:
				return
			}
		}
	}
}

// pressing reports whether an event is a press.
func pressing(payload []byte) bool {
	var e event
	return json.Unmarshal(payload, &e) == nil && e.Header.Type == eventClick
}

// lane stores events, one after the other, and acknowledges each when it is
// durable.
func (s *stream) lane(ctx context.Context, events <-chan happening) {
	for {
		select {
		case <-s.done:
			return
		case h := <-events:
			began := time.Now()
			data, err := s.handle(ctx, h.payload)
			if ctx.Err() != nil {
				return // not acknowledged: it comes again
			}
			answer, encErr := h.frame.acknowledge(err == nil, data, time.Since(began))
			if encErr != nil {
				s.log.WarnContext(ctx, "event not acknowledged", "err", encErr)
				continue
			}
			if err := s.send(answer); err != nil {
				s.close(fmt.Errorf("acknowledge: %w", err))
				return
			}
		}
	}
}

// ping keeps the connection alive, and shows whether it is.
func (s *stream) ping(ctx context.Context) {
	t := time.NewTicker(s.every)
	defer t.Stop()
	for {
		raw, err := ping(s.service)
		if err == nil {
			err = s.send(raw)
		}
		if err != nil {
			s.close(fmt.Errorf("ping: %w", err))
			return
		}
		select {
		case <-t.C:
		case <-s.done:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (s *stream) send(raw []byte) error {
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.ws.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return err
	}
	return s.ws.WriteMessage(websocket.BinaryMessage, raw)
}

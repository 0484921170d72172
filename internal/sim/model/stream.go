package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// errCut says that the stream is to be broken off.
var errCut = errors.New("stream cut as told")

// stream writes one answer as server-sent events.
type stream struct {
	w  http.ResponseWriter
	id string
	in *request
}

// send writes rep. A client that is gone (ctx) ends it.
func (s *stream) send(ctx context.Context, rep *reply) error {
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.Header().Set("Request-Id", "req_"+s.id)
	start := rep.message(s.id, s.in)
	start["content"], start["stop_reason"] = []any{}, nil
	if err := s.event("message_start", object{"message": start}); err != nil {
		return err
	}
	for i, b := range rep.blocks {
		if err := s.block(ctx, i, b); err != nil {
			return err
		}
	}
	switch {
	case rep.cut:
		return errCut
	case rep.hang:
		<-ctx.Done()
		return ctx.Err()
	}
	err := s.event("message_delta", object{
		"delta": object{"stop_reason": rep.stop(), "stop_sequence": nil},
		"usage": object{"output_tokens": rep.size()},
	})
	if err != nil {
		return err
	}
	return s.event("message_stop", object{})
}

func (s *stream) block(ctx context.Context, i int, b out) error {
	if err := s.event("content_block_start", object{"index": i, "content_block": b.empty(s.toolID(i))}); err != nil {
		return err
	}
	for _, d := range b.deltas() {
		if err := s.event("content_block_delta", object{"index": i, "delta": d}); err != nil {
			return err
		}
		if err := wait(ctx, b.pause); err != nil {
			return err
		}
	}
	return s.event("content_block_stop", object{"index": i})
}

func (s *stream) toolID(i int) string {
	return fmt.Sprintf("toolu_%s_%d", strings.TrimPrefix(s.id, "msg_"), i)
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

func (s *stream) event(name string, data object) error {
	data["type"] = name
	body, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if _, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", name, body); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return http.NewResponseController(s.w).Flush()
}

// empty is the block as it is announced before its deltas.
func (o out) empty(id string) object {
	switch {
	case o.tool != "":
		return object{"type": "tool_use", "id": id, "name": o.tool, "input": object{}}
	case o.thinking:
		return object{"type": "thinking", "thinking": "", "signature": ""}
	default:
		return object{"type": "text", "text": ""}
	}
}

func (o out) deltas() []object {
	var ds []object
	switch {
	case o.tool != "":
		body, err := json.Marshal(o.input)
		if err != nil {
			panic("model: a tool input of our own cannot be encoded: " + err.Error())
		}
		half := len(body) / 2
		for _, p := range []string{string(body[:half]), string(body[half:])} {
			ds = append(ds, object{"type": "input_json_delta", "partial_json": p})
		}
	case o.thinking:
		ds = append(ds, object{"type": "thinking_delta", "thinking": strings.Join(o.text, "")},
			object{"type": "signature_delta", "signature": "c2lnbmF0dXJl"})
	default:
		for _, p := range o.text {
			ds = append(ds, object{"type": "text_delta", "text": p})
		}
	}
	return ds
}

// full is the finished block.
func (o out) full(id string) object {
	b := o.empty(id)
	switch {
	case o.tool != "":
		b["input"] = o.input
	case o.thinking:
		b["thinking"], b["signature"] = strings.Join(o.text, ""), "c2lnbmF0dXJl"
	default:
		b["text"] = strings.Join(o.text, "")
	}
	return b
}

// message is the whole answer, as it is sent without streaming.
func (p *reply) message(id string, in *request) object {
	blocks := make([]any, 0, len(p.blocks))
	for i, b := range p.blocks {
		blocks = append(blocks, b.full(fmt.Sprintf("toolu_%s_%d", strings.TrimPrefix(id, "msg_"), i)))
	}
	return object{
		"id": id, "type": "message", "role": "assistant", "model": in.Model,
		"content": blocks, "stop_reason": p.stop(), "stop_sequence": nil,
		"usage": object{"input_tokens": in.size(), "output_tokens": p.size()},
	}
}

func (p *reply) stop() string {
	for _, b := range p.blocks {
		if b.tool != "" {
			return "tool_use"
		}
	}
	return "end_turn"
}

// size is a rough number of output tokens.
func (p *reply) size() int {
	n := 1
	for _, b := range p.blocks {
		for _, t := range b.text {
			n += len(t) / 4
		}
	}
	return n
}

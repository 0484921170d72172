package feishu

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"
)

// frame is one message of the long connection. The SDK has its wire form; its
// client is not used (see socket.go).
type frame struct{ larkws.Frame }

func (f frame) header(key string) string { return larkws.Headers(f.Headers).GetString(key) }

func (f frame) number(key string) int { return larkws.Headers(f.Headers).GetInt(key) }

// control reports whether f is about the connection itself.
func (f frame) control() bool { return larkws.FrameType(f.Method) == larkws.FrameTypeControl }

func ping(service int32) ([]byte, error) { return larkws.NewPingFrame(service).Marshal() }

// acknowledge is the answer to a data frame: the same frame with the outcome
// as its payload. data is what a click shows at once.
func (f frame) acknowledge(ok bool, data []byte, took time.Duration) ([]byte, error) {
	resp := larkws.NewResponseByCode(http.StatusOK)
	if !ok {
		resp = larkws.NewResponseByCode(http.StatusInternalServerError)
	}
	resp.Data = data
	payload, err := json.Marshal(resp)
	if err != nil {
		return nil, fmt.Errorf("encode an acknowledgement: %w", err)
	}
	hs := larkws.Headers(f.Headers)
	hs.Add(larkws.HeaderBizRt, strconv.FormatInt(took.Milliseconds(), 10))
	f.Headers, f.Payload = hs, payload
	return f.Marshal()
}

// pieces puts events together that come in several frames. One that never gets
// whole is forgotten; the service pushes it again.
type pieces struct {
	now  func() time.Time
	open map[string]*puzzle
}

type puzzle struct {
	parts [][]byte
	have  int
	since time.Time
}

const (
	pieceLife = 10 * time.Second
	maxPieces = 1024 // of one event
	maxOpen   = 256  // events at a time
)

// add takes a frame and returns the whole event once it is there.
func (p *pieces) add(f frame) ([]byte, bool) {
	sum, seq := f.number(larkws.HeaderSum), f.number(larkws.HeaderSeq)
	if sum <= 1 {
		return f.Payload, true
	}
	id := f.header(larkws.HeaderMessageID)
	if sum > maxPieces || seq < 0 || seq >= sum || id == "" {
		return nil, false
	}
	now := p.now()
	for k, z := range p.open {
		if now.Sub(z.since) > pieceLife {
			delete(p.open, k)
		}
	}
	z := p.open[id]
	if z == nil || len(z.parts) != sum {
		if len(p.open) >= maxOpen {
			return nil, false
		}
		z = &puzzle{parts: make([][]byte, sum), since: now}
		p.open[id] = z
	}
	if z.parts[seq] == nil {
		z.have++
	}
	z.parts[seq] = append([]byte{}, f.Payload...)
	if z.have < sum {
		return nil, false
	}
	delete(p.open, id)
	var whole []byte
	for _, part := range z.parts {
		whole = append(whole, part...)
	}
	return whole, true
}

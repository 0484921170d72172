package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// message is one line in either direction. Fields that an agent adds are
// ignored, fields that it leaves out are empty.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// incoming is message as it is read.
type incoming struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

// rpcError is an error object of either side.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Codes that mean something to us.
const (
	codeNoMethod = -32601
	codeInternal = -32603
	codeAuth     = -32000
	codeNotFound = -32002
)

func (e *rpcError) Error() string {
	return fmt.Sprintf("agent error %d: %s", e.Code, e.text())
}

// text is everything that the error says, for people and for classification.
func (e *rpcError) text() string {
	var data struct {
		Details string `json:"details"`
		Message string `json:"message"`
	}
	var plain string
	if json.Unmarshal(e.Data, &data) != nil {
		_ = json.Unmarshal(e.Data, &plain)
	}
	var parts []string
	for _, s := range []string{inner(e.Message), inner(data.Details), inner(data.Message), plain} {
		if s != "" && s != "Internal error" && !strings.Contains(strings.Join(parts, " "), s) {
			parts = append(parts, s)
		}
	}
	if len(parts) == 0 {
		return e.Message
	}
	return strings.Join(parts, ": ")
}

// inner takes the message out of a text that is a model service's JSON.
func inner(s string) string {
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(s), &body) == nil && body.Error.Message != "" {
		return body.Error.Message
	}
	return s
}

// UnmarshalJSON takes any JSON value: an agent may put a bare text here.
func (e *rpcError) UnmarshalJSON(b []byte) error {
	type plain rpcError
	var p plain
	if err := json.Unmarshal(b, &p); err == nil {
		*e = rpcError(p)
		return nil
	}
	e.Code, e.Message = codeInternal, string(bytes.Trim(b, `"`))
	return nil
}

// decode reads params or results. What does not fit stays empty: an agent's
// odd field must not cost the turn.
func decode[T any](raw json.RawMessage) (T, error) {
	var v T
	if len(raw) == 0 || string(raw) == "null" {
		return v, nil
	}
	err := json.Unmarshal(raw, &v)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		err = nil
	}
	return v, err
}

var (
	headID     = regexp.MustCompile(`"id"\s*:\s*("[^"]{1,100}"|-?\d{1,18})`)
	headMethod = regexp.MustCompile(`"method"\s*:\s*"([^"]{1,100})"`)
)

// decodeHead finds out what a line was of which only the beginning was kept.
func decodeHead(head []byte) (id json.RawMessage, method string) {
	if m := headMethod.FindSubmatch(head); m != nil {
		method = string(m[1])
	}
	if m := headID.FindSubmatch(head); m != nil {
		id = bytes.Clone(m[1])
	}
	return id, method
}

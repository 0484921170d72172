package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxBody bounds one answer of the server in bytes; it may hold the output of
// many tools.
const maxBody = 64 << 20

// api is the way to a server. It never leaves the machine: no proxy is used.
type api struct {
	url      string
	password string
	client   *http.Client
	limit    time.Duration // of one request
}

// loopback is the way to a server on this machine.
func loopback() http.RoundTripper {
	return &http.Transport{Proxy: nil, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute}
}

func newAPI(url, password string, limit time.Duration, wire http.RoundTripper) *api {
	return &api{url: url, password: password, limit: limit, client: &http.Client{
		Transport: wire,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the password goes to this server only
		},
	}}
}

func (a *api) close() { a.client.CloseIdleConnections() }

func (a *api) request(ctx context.Context, method, path string, in any) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("encode a request: %w", err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.url+path, body)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.SetBasicAuth(user, a.password)
	return req, nil
}

// call sends a request and decodes the answer into out, which may be nil. It
// takes as long as ctx allows. A no of the server is a *refusalError.
func (a *api) call(ctx context.Context, method, path string, in, out any) error {
	req, err := a.request(ctx, method, path, in)
	if err != nil {
		return err
	}
	resp, err := a.client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("ask the server: %w", err)
	}
	defer resp.Body.Close()
	body := io.LimitReader(resp.Body, maxBody)
	if resp.StatusCode >= http.StatusMultipleChoices {
		r := &refusalError{status: resp.StatusCode}
		raw, _ := io.ReadAll(io.LimitReader(body, 64<<10)) // what came is all there is to say
		if json.Unmarshal(raw, &r.failure) != nil {
			r.Data.Message = string(raw)
		}
		return r
	}
	if out == nil || resp.StatusCode == http.StatusNoContent {
		_, _ = io.Copy(io.Discard, body) // so that the connection is used again
		return nil
	}
	if err := json.NewDecoder(body).Decode(out); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("read the server's answer to %s: %w", path, err)
	}
	return nil
}

// errLate says that an answer did not come in time.
var errLate = errors.New("the server did not answer in time")

// quick is a call that must be answered soon.
func (a *api) quick(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, a.limit, errLate)
	defer cancel()
	return a.call(ctx, method, path, in, out)
}

// guarded reports whether the server refuses a request without the password.
func (a *api) guarded(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, a.limit, errLate)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+"/session/status", nil)
	if err != nil {
		return false, fmt.Errorf("make a request: %w", err)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return false, fmt.Errorf("ask the server: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxBody))
	return resp.StatusCode == http.StatusUnauthorized, nil
}

// The calls.

func (a *api) create(ctx context.Context, in object) (s sessionInfo, err error) {
	return s, a.call(ctx, http.MethodPost, "/session", in, &s)
}

func (a *api) session(ctx context.Context, id string) (s sessionInfo, err error) {
	return s, a.call(ctx, http.MethodGet, "/session/"+id, nil, &s)
}

func (a *api) statuses(ctx context.Context) (all map[string]status, err error) {
	return all, a.quick(ctx, http.MethodGet, "/session/status", nil, &all)
}

// messages returns the last n messages of a session, the oldest first.
func (a *api) messages(ctx context.Context, id string, n int) (ms []message, err error) {
	return ms, a.quick(ctx, http.MethodGet, fmt.Sprintf("/session/%s/message?limit=%d", id, n), nil, &ms)
}

func (a *api) abort(ctx context.Context, id string) error {
	return a.quick(ctx, http.MethodPost, "/session/"+id+"/abort", nil, nil)
}

// forget takes a message out of a session that rests.
func (a *api) forget(ctx context.Context, id, message string) error {
	return a.quick(ctx, http.MethodDelete, "/session/"+id+"/message/"+message, nil, nil)
}

func (a *api) permit(ctx context.Context, id, reply, words string) error {
	in := object{"reply": reply}
	if words != "" {
		in["message"] = words
	}
	return a.quick(ctx, http.MethodPost, "/permission/"+id+"/reply", in, nil)
}

func (a *api) answer(ctx context.Context, id string, answers [][]string) error {
	return a.quick(ctx, http.MethodPost, "/question/"+id+"/reply", object{"answers": answers}, nil)
}

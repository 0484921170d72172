// Package client speaks to the running daemon over its unix socket. It is what
// the commands "chat", "pair", "status", "doctor" and the like are made of: the
// control API as plain calls, and a chat in the terminal that is one more
// reader of the web platform's event stream.
//
// It keeps no state of its own: what was said is read from the daemon, a
// message is posted under a key until it is answered, and a lost connection is
// taken up again where it was.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/web/api"
)

const callLimit = 30 * time.Second

// Client is a connection to the daemon.
type Client struct {
	http *http.Client
	lang string
}

// Dial connects to the daemon at the socket and makes sure that it answers. An
// error with code chat.Unavailable says that none does, one with chat.Denied
// that the socket is another user's. lang is the language in
// which the daemon answers.
func Dial(ctx context.Context, socket, lang string) (*Client, error) {
	c := New(socket, lang)
	if err := c.call(ctx, http.MethodGet, "/api/me", nil, nil); err != nil {
		c.Close()
		if errors.Is(err, fs.ErrPermission) {
			return nil, chat.E(chat.Denied, i18n.T(lang, "web.cli_foreign", "socket", socket), nil)
		}
		if errors.Is(err, errLost) {
			return nil, chat.E(chat.Unavailable, i18n.T(lang, "web.cli_down", "socket", socket), err)
		}
		return nil, err
	}
	return c, nil
}

// New is Dial without asking whether somebody answers.
func New(socket, lang string) *Client {
	var d net.Dialer
	dial := func(ctx context.Context, _, _ string) (conn net.Conn, err error) {
		err = api.ShortPath(socket, func(short string) error {
			conn, err = d.DialContext(ctx, "unix", short)
			return err
		})
		return conn, err
	}
	return &Client{http: &http.Client{Transport: &http.Transport{DialContext: dial}}, lang: lang}
}

// Close drops the connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status returns how the daemon is.
func (c *Client) Status(ctx context.Context) (s api.Status, err error) {
	return s, c.call(ctx, http.MethodGet, api.Control+"/status", nil, &s)
}

// Healthy is nil while the daemon takes messages.
func (c *Client) Healthy(ctx context.Context) error {
	r, err := c.request(ctx, http.MethodGet, "/healthz", nil)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return chat.E(chat.Unavailable, i18n.T(c.lang, "web.cli_unhealthy"), nil)
	}
	return nil
}

// Doctor returns what the running daemon found.
func (c *Client) Doctor(ctx context.Context) (r api.Report, err error) {
	return r, c.call(ctx, http.MethodGet, api.Control+"/doctor", nil, &r)
}

// Login returns a one-time address for a browser.
func (c *Client) Login(ctx context.Context) (l api.Link, err error) {
	return l, c.call(ctx, http.MethodPost, api.Control+"/login", struct{}{}, &l)
}

// Invite makes a pairing code.
func (c *Client) Invite(ctx context.Context, ask api.InviteAsk) (i api.Invite, err error) {
	return i, c.call(ctx, http.MethodPost, api.Control+"/invite", ask, &i)
}

// Pairs returns who is in and who asks to be.
func (c *Client) Pairs(ctx context.Context) (p api.Pairs, err error) {
	return p, c.call(ctx, http.MethodGet, api.Control+"/pairs", nil, &p)
}

// Approve lets a stranger in.
func (c *Client) Approve(ctx context.Context, a api.Approval) error {
	return c.call(ctx, http.MethodPost, api.Control+"/approve", a, nil)
}

// Revoke takes a grant back.
func (c *Client) Revoke(ctx context.Context, grant int64) error {
	return c.call(ctx, http.MethodPost, api.Control+"/revoke", api.Revocation{Grant: grant}, nil)
}

// errLost means that a call was not answered: it may or may not have arrived.
var errLost = errors.New("no answer from the daemon")

// call makes one request. A refusal is a *chat.Error with the daemon's code and
// its words for a person as the detail.
func (c *Client) call(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	r, err := c.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	defer func() { _ = resp.Body.Close() }() // read to its end
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	if resp.StatusCode != http.StatusOK {
		return refusal(resp.StatusCode, got)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(got, into); err != nil {
		return fmt.Errorf("read the answer to %s: %w", path, err)
	}
	return nil
}

func refusal(status int, body []byte) error {
	var p api.Problem
	if err := json.Unmarshal(body, &p); err != nil {
		return chat.E(chat.Internal, http.StatusText(status), err)
	}
	if status == http.StatusServiceUnavailable {
		return fmt.Errorf("%w: %w", errLost, chat.E(p.Code, p.Message, nil))
	}
	return chat.E(p.Code, p.Message, nil)
}

func (c *Client) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var rd io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode a request: %w", err)
		}
		rd = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://cligate"+path, rd)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept-Language", c.lang)
	return r, nil
}

package feishu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"

	"cligate/internal/chat"
	"cligate/internal/platform/uplink"
)

// handler takes one event: it returns when the event is durable. data is what
// a click shows at once. After an error the service pushes the event again.
type handler func(ctx context.Context, payload []byte) (data []byte, err error)

// socket keeps one long connection to the service.
//
// It is our own, not the SDK's: that one never notices that a connection is
// half open, cannot be stopped, races with itself when it is closed, loses
// split events, and stops pinging when the service leaves the intervals out.
type socket struct {
	cfg    Config
	log    *slog.Logger
	link   *uplink.State
	handle handler
	client *http.Client // for the endpoint call
	dial   *websocket.Dialer
	// reach reports whether calls are answered; nil = nobody knows.
	reach func(ctx context.Context) bool
	// lost is told that there is no connection any more; may be nil.
	lost func()

	retry    time.Duration // first pause before a new connection; doubled up to retryMax
	retryMax time.Duration
	refused  time.Duration // pause after a refusal that the operator has to end
	retire   time.Duration // how long a connection is still read after its successor is there
}

// askLimit bounds the call that asks for a connection.
const askLimit = 15 * time.Second

func newSocket(cfg Config, log *slog.Logger, l *uplink.State, h handler) *socket {
	return &socket{
		cfg: cfg, log: log, link: l, handle: h, client: uplink.NewClient(cfg.Proxy), dial: newDialer(cfg.Proxy),
		retry: time.Second, retryMax: time.Minute, refused: 5 * time.Minute, retire: 3 * time.Second,
	}
}

// fatal is a refusal of a connection that only the operator can end.
type fatal struct {
	code int
	msg  string
}

// Error implements error.
func (e *fatal) Error() string { return fmt.Sprintf("code %d: %s", e.code, e.msg) }

// Unwrap lets the operator read it.
func (e *fatal) Unwrap() error { return uplink.QuoteError(e.Error()) }

// trouble is what e means for the account.
func (e *fatal) trouble() uplink.Trouble {
	switch {
	case e.code == larkws.ExceedConnLimit:
		return troubleCrowded
	case credential(e.code):
		return troubleRejected
	}
	return troubleRefused
}

// run receives until ctx ends. It returns an error only when the service does
// not accept the app.
func (s *socket) run(ctx context.Context) error {
	defer s.client.CloseIdleConnections()
	pause, fails := s.retry, 0
	for ctx.Err() == nil {
		began := time.Now()
		err := s.serve(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if s.lost != nil {
			s.lost()
		}
		if time.Since(began) > s.retryMax {
			pause, fails = s.retry, 0 // it had worked
		}
		fails++
		t := s.judge(ctx, err, fails)
		s.link.Set(ctx, t, err)
		if t == troubleRejected {
			return &chat.Error{Code: chat.Denied, Detail: says(s.cfg.Lang, t), Err: err}
		}
		wait := pause
		if t == troubleRefused {
			wait = s.refused
		}
		if !sleep(ctx, wait/2+rand.N(wait)) { //nolint:gosec // jitter
			return nil
		}
		pause = min(2*pause, s.retryMax)
	}
	return nil
}

// judge says what the end of a connection means, or the fails-th failure to
// make one.
func (s *socket) judge(ctx context.Context, err error, fails int) uplink.Trouble {
	var no *fatal
	switch {
	case errors.As(err, &no):
		return no.trouble()
	case fails == 1, s.reach != nil && s.reach(ctx):
		return troubleCut
	}
	return troubleNetwork
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// serve opens a connection and keeps it, renewing one that brings nothing: a
// connection may answer pings and yet bring no events. The successor is there
// before the predecessor goes. It returns when the connection is lost.
func (s *socket) serve(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cur, err := s.open(ctx)
	if err != nil {
		return err
	}
	wg.Go(func() { cur.run(ctx) })
	s.link.Set(ctx, troubleNone, nil)
	for {
		renew := time.NewTimer(cur.quiet(s.cfg.Silence))
		select {
		case <-ctx.Done():
			renew.Stop()
			return nil
		case <-cur.done:
			renew.Stop()
			return cur.err
		case <-renew.C:
		}
		if cur.quiet(s.cfg.Silence) > 0 {
			continue // something came meanwhile
		}
		next, err := s.open(ctx)
		if err != nil {
			s.log.DebugContext(ctx, "silent connection not renewed yet", "err", err)
			cur.touch()
			continue
		}
		old := cur
		cur = next
		wg.Go(func() { next.run(ctx) })
		wg.Go(func() {
			sleep(ctx, s.retire)
			old.close(nil)
		})
	}
}

// endpoint is where to connect, and what the service wants of its clients.
type endpoint struct {
	URL    string `json:"URL"`
	Client struct {
		PingInterval int `json:"PingInterval"` // seconds
	} `json:"ClientConfig"`
}

// ask gets the address of a connection: it holds a ticket that is good once.
func (s *socket) ask(ctx context.Context) (endpoint, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	body, err := json.Marshal(map[string]string{"AppID": s.cfg.AppID, "AppSecret": s.cfg.AppSecret})
	if err != nil {
		return endpoint{}, fmt.Errorf("encode: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.BaseURL+larkws.GenEndpointUri, bytes.NewReader(body))
	if err != nil {
		return endpoint{}, fmt.Errorf("ask for a connection: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Locale", "zh")
	resp, err := s.client.Do(req)
	if err != nil {
		return endpoint{}, fmt.Errorf("ask for a connection: %w", err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return endpoint{}, fmt.Errorf("ask for a connection: %w", err)
	}
	var out struct {
		Code int       `json:"code"`
		Msg  string    `json:"msg"`
		Data *endpoint `json:"data"`
	}
	if err := json.Unmarshal(raw, &out); err != nil || resp.StatusCode != http.StatusOK {
		return endpoint{}, fmt.Errorf("ask for a connection: no answer of the service (HTTP status %d)", resp.StatusCode)
	}
	switch out.Code {
	case larkws.OK:
	case larkws.SystemBusy, larkws.InternalError:
		return endpoint{}, fmt.Errorf("ask for a connection: code %d: %s", out.Code, chat.Clip(out.Msg, 200))
	default:
		return endpoint{}, &fatal{out.Code, chat.Clip(out.Msg, 200)}
	}
	if out.Data == nil || out.Data.URL == "" {
		return endpoint{}, errors.New("ask for a connection: the answer has no address")
	}
	return *out.Data, nil
}

// open makes a connection.
func (s *socket) open(ctx context.Context) (*stream, error) {
	e, err := s.ask(ctx)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(e.URL)
	if err != nil {
		return nil, errors.New("connect: the service gave no address that can be read") // it holds a ticket
	}
	ws, resp, err := s.dial.DialContext(ctx, e.URL, nil)
	if err != nil {
		if resp != nil {
			defer resp.Body.Close()
			return nil, handshake(resp)
		}
		return nil, fmt.Errorf("connect to %s: %w", u.Host, withoutURL(err))
	}
	ws.SetReadLimit(maxAnswer)
	every := s.cfg.PingEvery
	if said := time.Duration(e.Client.PingInterval) * time.Second; said > 0 {
		every = min(every, said)
	}
	id, _ := strconv.ParseInt(u.Query().Get(larkws.ServiceID), 10, 32)
	st := &stream{log: s.log, link: s.link, handle: s.handle, ws: ws, every: every, service: int32(id), done: make(chan struct{}),
		events: make(chan frame, backlog), pieces: pieces{now: time.Now, open: map[string]*puzzle{}}}
	st.touch()
	return st, nil
}

// withoutURL is the cause of a failed call; the address around it may hold a
// ticket.
func withoutURL(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		return ue.Err
	}
	return err
}

// handshake is why a connection was refused.
func handshake(resp *http.Response) error {
	code, _ := strconv.Atoi(resp.Header.Get(larkws.HeaderHandshakeStatus))
	auth, _ := strconv.Atoi(resp.Header.Get(larkws.HeaderHandshakeAuthErrCode))
	msg := chat.Clip(resp.Header.Get(larkws.HeaderHandshakeMsg), 200)
	switch {
	case code == larkws.AuthFailed && auth == larkws.ExceedConnLimit:
		return &fatal{auth, msg}
	case code == larkws.Forbidden:
		return &fatal{code, msg}
	}
	return fmt.Errorf("connect: refused with status %d, code %d: %s", resp.StatusCode, code, msg)
}

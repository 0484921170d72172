package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"cligate/internal/chat"
	"cligate/internal/platform"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testToken = "123456:abcdefghijklmnopqrstuvwxyz"
	botName   = "testbot"
)

// logged collects log lines.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func open(t *testing.T, cfg Config) (*Adapter, *logged) {
	t.Helper()
	if cfg.Account == "" {
		cfg.Account = "main"
	}
	if cfg.Token == "" {
		cfg.Token = testToken
	}
	var l logged
	a, err := Open(cfg, l.logger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.wire.client.CloseIdleConnections)
	return a, &l
}

// answers is a service without a network: it may live in a synctest bubble.
type answers func(method string, form url.Values) (status int, body string)

// errUnwritten fails a call before anything of it was written.
var errUnwritten = errors.New("dial tcp: connection refused")

func (f answers) RoundTrip(r *http.Request) (*http.Response, error) {
	raw := ""
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		raw = string(b)
	}
	form, _ := url.ParseQuery(raw)
	status, body := f(r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:], form)
	if status == 0 {
		return nil, errUnwritten
	}
	if tr := httptrace.ContextClientTrace(r.Context()); tr != nil && tr.WroteHeaders != nil {
		tr.WroteHeaders()
	}
	if status < 0 { // written, then the connection breaks
		return nil, io.ErrUnexpectedEOF
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// offline makes an adapter that speaks to f.
func offline(t *testing.T, cfg Config, f answers) (*Adapter, *logged) {
	t.Helper()
	a, l := open(t, cfg)
	a.wire.client.Transport = f
	return a, l
}

func ok(result string) (int, string) { return 200, `{"ok":true,"result":` + result + `}` }

func no(code int, text string) (int, string) {
	return code, fmt.Sprintf(`{"ok":false,"error_code":%d,"description":%q}`, code, text)
}

const meJSON = `{"id":123456,"is_bot":true,"first_name":"Test","username":"TestBot"}`

// inbox is what the adapter hands messages to.
type inbox struct {
	mu      sync.Mutex
	msgs    []chat.Message
	unread  []chat.Unread
	cursor  string
	batches int
	fail    func(n int) error // of the n-th call, from 1
	ack     chat.Ack
	took    chan struct{} // gets a token after each stored batch
	calls   int
}

func newInbox() *inbox { return &inbox{took: make(chan struct{}, 1000)} }

func (in *inbox) Receive(_ context.Context, b platform.Batch) ([]chat.Ack, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.calls++
	if in.fail != nil {
		if err := in.fail(in.calls); err != nil {
			return nil, err
		}
	}
	in.msgs = append(in.msgs, b.Messages...)
	in.unread = append(in.unread, b.Unread...)
	if b.Cursor != "" {
		in.cursor = b.Cursor
	}
	in.batches++
	in.took <- struct{}{}
	acks := make([]chat.Ack, len(b.Messages))
	for i := range acks {
		acks[i] = in.ack
	}
	return acks, nil
}

func (in *inbox) Cursor(context.Context, string) (string, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.cursor, nil
}

func (in *inbox) texts() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	var out []string
	for _, m := range in.msgs {
		out = append(out, m.Text)
	}
	return out
}

// start runs a until the test ends.
func start(t *testing.T, a *Adapter, in platform.Inbound) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx, in) }() // ends with ctx
	var once sync.Once
	var err error
	stop = func() error {
		once.Do(func() {
			cancel()
			err = <-done
		})
		return err
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// roundTrip is a service that sees the context of a call.
type roundTrip func(ctx context.Context, method string) (int, string, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body, err := f(r.Context(), r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:])
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func asError(err error, e **chat.Error) bool { return errors.As(err, e) }

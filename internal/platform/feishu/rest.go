package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/larksuite/oapi-sdk-go/v3"
	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"

	"cligate/internal/chat"
	"cligate/internal/platform/uplink"
)

// maxAnswer bounds what is read of one answer that is no file.
const maxAnswer = 16 << 20

// rest makes calls. The SDK builds the requests; tokens, time and secrets are
// decided here: the SDK keeps using a token that the service has revoked, and
// sets no time limit. No error that leaves a rest contains a secret.
type rest struct {
	sdk    *sdk.Client
	tokens tokens
	client *http.Client
	base   string
	clock  uplink.Clock
	limit  time.Duration
	log    *slog.Logger
	// missing is told that a call at path was refused for want of a scope, with
	// the service's text.
	missing func(path, text string)
}

// call is one request of an API.
type call struct {
	method string
	path   string // behind /open-apis/
	query  map[string]string
	body   any                       // JSON
	form   func() *larkcore.Formdata // an upload; made anew for each try
	limit  time.Duration             // 0 = the usual one
	bare   bool                      // without a token
}

func newRest(cfg Config, log *slog.Logger) *rest {
	r := &rest{client: uplink.NewClient(cfg.Proxy), base: cfg.BaseURL, limit: cfg.CallTimeout, log: log, missing: func(string, string) {}}
	r.client.CheckRedirect = onlyReads
	r.sdk = sdk.NewClient(cfg.AppID, cfg.AppSecret, sdk.WithOpenBaseUrl(cfg.BaseURL), sdk.WithEnableTokenCache(false),
		sdk.WithLogger(quiet{}), sdk.WithSerialization(plainJSON{}), sdk.WithHttpClient(r.client))
	r.tokens = tokens{app: cfg.AppID, secret: cfg.AppSecret, fetch: r.fetchToken, now: time.Now}
	return r
}

// onlyReads lets downloads be sent elsewhere, without the token. What changes
// something, or carries the secret, goes nowhere else.
func onlyReads(_ *http.Request, via []*http.Request) error {
	if via[0].Method != http.MethodGet || len(via) > 3 {
		return http.ErrUseLastResponse
	}
	return nil
}

// quiet keeps the SDK from writing to standard output.
type quiet struct{}

func (quiet) Debug(context.Context, ...any) {}
func (quiet) Info(context.Context, ...any)  {}
func (quiet) Warn(context.Context, ...any)  {}
func (quiet) Error(context.Context, ...any) {}

// envelope is what every API answers with.
type envelope struct {
	Code int             `json:"code"`
	Msg  string          `json:"msg"`
	Data json.RawMessage `json:"data"`
}

// do makes a call and decodes the answer's data into out, which may be nil. A
// token that is not accepted is dropped, and the call made once more with a new
// one. Errors are of package chat; *refused is inside those that the service
// gave.
func (r *rest) do(ctx context.Context, c call, out any) error {
	raw, err := r.send(ctx, c)
	if err != nil || out == nil {
		return err
	}
	var env envelope
	if err := json.Unmarshal(raw, &env); err != nil {
		return fmt.Errorf("decode answer of %s: %w", c.path, err)
	}
	if len(env.Data) == 0 {
		env.Data = raw // some older APIs have no envelope
	}
	if err := json.Unmarshal(env.Data, out); err != nil {
		return fmt.Errorf("decode answer of %s: %w", c.path, err)
	}
	return nil
}

// send makes the call and returns the body of a success.
func (r *rest) send(ctx context.Context, c call) ([]byte, error) {
	token := ""
	for again := false; ; again = true {
		if !c.bare {
			var err error
			if token, err = r.tokens.get(ctx); err != nil {
				return nil, err
			}
		}
		raw, err := r.once(ctx, c, token)
		var no *refused
		if errors.As(err, &no) && (no.code == codeTokenInvalid || no.code == codeTokenMissing) && !again && !c.bare {
			r.tokens.drop(token)
			continue
		}
		return raw, err
	}
}

func (r *rest) once(ctx context.Context, c call, token string) ([]byte, error) {
	limit := c.limit
	if limit == 0 {
		limit = r.limit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var written atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { written.Store(true) }})
	req := &larkcore.ApiReq{HttpMethod: c.method, ApiPath: "/open-apis/" + c.path, Body: c.body, QueryParams: larkcore.QueryParams{},
		SupportedAccessTokenTypes: []larkcore.AccessTokenType{larkcore.AccessTokenTypeTenant}}
	for k, v := range c.query {
		req.QueryParams.Set(k, v)
	}
	var opts []larkcore.RequestOptionFunc
	if c.bare {
		req.SupportedAccessTokenTypes = []larkcore.AccessTokenType{larkcore.AccessTokenTypeNone}
	} else {
		opts = append(opts, larkcore.WithTenantAccessToken(token))
	}
	if c.form != nil {
		req.Body = c.form()
		opts = append(opts, larkcore.WithFileUpload())
	}
	resp, err := r.sdk.Do(ctx, req, opts...)
	if err != nil {
		return nil, unclear(err, written.Load())
	}
	r.clock.Note(resp.Header)
	return resp.RawBody, r.judge(c.path, resp.StatusCode, resp.Header, resp.RawBody)
}

// unclear is the error of a call without an answer: nothing arrived, or nobody
// knows.
func unclear(err error, written bool) error {
	code := chat.Network
	if written {
		code = chat.Uncertain
	}
	detail := "no answer"
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		detail = "no answer in time"
	}
	return &chat.Error{Code: code, Detail: detail, Err: err}
}

// judge is what is wrong with the answer to a call at path; nil for a success.
func (r *rest) judge(path string, status int, head http.Header, raw []byte) error {
	var env envelope
	if err := json.Unmarshal(raw, &env); err != nil {
		if status == http.StatusTooManyRequests {
			return (&refused{status: status, code: codeTooOften, msg: "too many requests", reset: resetOf(head)}).obliges()
		}
		// A page of somebody on the way. What became of the call is not known.
		return &chat.Error{Code: chat.Uncertain, Detail: fmt.Sprintf("no answer of the service (HTTP status %d)", status)}
	}
	if env.Code == 0 && status < 400 {
		return nil
	}
	no := &refused{status: status, code: env.Code, msg: chat.Clip(env.Msg, 500), reset: resetOf(head)}
	if duties[no.code].tell {
		r.missing(path, no.msg)
	}
	return no.obliges()
}

// resetOf is when the rate is free again, as the service says; 0 = it does not.
func resetOf(h http.Header) time.Duration {
	s, err := strconv.Atoi(h.Get("X-Ogw-Ratelimit-Reset"))
	if err != nil || s < 0 {
		return 0
	}
	return time.Duration(min(s, 3600)) * time.Second
}

// tokens keeps the tenant_access_token: at most two hours old, fetched by one
// caller at a time, dropped when the service does not accept it.
type tokens struct {
	app, secret string
	fetch       func(ctx context.Context, app, secret string) (string, time.Duration, error)
	now         func() time.Time

	fetching sync.Mutex
	mu       sync.Mutex
	token    string
	until    time.Time
}

// early is how long before its end a token is not used any more.
const early = 5 * time.Minute

func (t *tokens) get(ctx context.Context) (string, error) {
	if tok := t.known(); tok != "" {
		return tok, nil
	}
	t.fetching.Lock()
	defer t.fetching.Unlock()
	if tok := t.known(); tok != "" {
		return tok, nil
	}
	tok, life, err := t.fetch(ctx, t.app, t.secret)
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token, t.until = tok, t.now().Add(life)
	return tok, nil
}

func (t *tokens) known() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now().Add(early).Before(t.until) {
		return t.token
	}
	return ""
}

// drop forgets a token that was not accepted, unless there is a newer one.
func (t *tokens) drop(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == token {
		t.token = ""
		t.until = time.Time{}
	}
}

// fetchToken asks for a token. A refusal means that the app's secret is wrong,
// or the app is gone: chat.Denied.
func (r *rest) fetchToken(ctx context.Context, app, secret string) (string, time.Duration, error) {
	var out struct {
		Token  string `json:"tenant_access_token"`
		Expire int    `json:"expire"` // seconds
	}
	err := r.do(ctx, call{method: http.MethodPost, path: "auth/v3/tenant_access_token/internal", bare: true,
		body: map[string]string{"app_id": app, "app_secret": secret}}, &out)
	var no *refused
	switch {
	case errors.As(err, &no) && credential(no.code):
		return "", 0, &chat.Error{Code: chat.Denied, Detail: fmt.Sprintf("the app id or secret is not accepted (code %d)", no.code), Err: no}
	case no != nil && chat.CodeOf(err) != chat.Wait:
		return "", 0, &chat.Error{Code: chat.Network, Detail: fmt.Sprintf("no token is given (code %d)", no.code), Err: no}
	case chat.CodeOf(err) == chat.Uncertain: // asking for a token twice does no harm
		return "", 0, &chat.Error{Code: chat.Network, Detail: chat.DetailOf(err), Err: err}
	case err != nil:
		return "", 0, err
	case out.Token == "":
		return "", 0, &chat.Error{Code: chat.Network, Detail: "the service gave no token"}
	}
	return out.Token, tokenLife(out.Expire), nil
}

const (
	shortToken = 2 * early     // the least life that is believed
	longToken  = 2 * time.Hour // the most that the service gives
)

// tokenLife is how long a token is used that is said to live for so many
// seconds: one of which nothing is said, or nonsense, for a while, after which
// a new one is asked for.
func tokenLife(seconds int) time.Duration {
	if seconds > int(longToken/time.Second) {
		return longToken
	}
	return max(time.Duration(seconds)*time.Second, shortToken)
}

// limited is what is read of a file at most.
func limited(r io.Reader, n int64) io.Reader { return io.LimitReader(r, n+1) }

package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"cligate/internal/chat"
	"cligate/internal/platform/uplink"
)

// maxAnswer bounds what is read of one answer. A full batch of updates is far
// below it.
const maxAnswer = 32 << 20

// silence keeps the library from writing to standard error. Its logger is
// global, so it is replaced once for the process.
var silence = sync.OnceFunc(func() { _ = tgbotapi.SetLogger(noLog{}) })

type noLog struct{}

func (noLog) Println(...any)        {}
func (noLog) Printf(string, ...any) {}

// params are the arguments of a method; objects are JSON texts.
type params = tgbotapi.Params

// request is one call of a Bot API method.
type request struct {
	method string
	params params
	file   *upload // sent as multipart when set
	limit  time.Duration
}

// wire makes calls. The library builds the requests and decodes the envelope;
// everything about time, size and secrets is decided here. No error that
// leaves a wire contains the token.
type wire struct {
	bot    *tgbotapi.BotAPI
	client *http.Client
	base   string // without a trailing slash
	token  string
	hide   *strings.Replacer
	limit  time.Duration // of a call that sets none
	even   even
	proxy  string // as configured; may hold a password
	clock  uplink.Clock
}

// self is the id of the bot: the part of its token that is no secret.
func (w *wire) self() string {
	id, _, _ := strings.Cut(w.token, ":")
	return id
}

func newWire(cfg Config) *wire {
	silence()
	bot := &tgbotapi.BotAPI{Token: cfg.Token}
	// The library fills the address in with Sprintf.
	bot.SetAPIEndpoint(strings.ReplaceAll(cfg.APIURL, "%", "%%") + "/bot%s/%s")
	hidden := []string{cfg.Token, "[token]", url.QueryEscape(cfg.Token), "[token]"}
	hidden = append(hidden, uplink.Hidden(cfg.Proxy)...)
	if s := cfg.Webhook.Secret; s != "" {
		hidden = append(hidden, s, "[secret]")
	}
	return &wire{
		bot:    bot,
		client: uplink.NewClient(cfg.Proxy),
		base:   cfg.APIURL,
		token:  cfg.Token,
		hide:   strings.NewReplacer(hidden...),
		limit:  cfg.SendTimeout,
		proxy:  cfg.Proxy,
	}
}

// call makes one call and returns its result. Errors are *refusal when the
// service answered, *lost when no answer was understood.
func (w *wire) call(ctx context.Context, r request) (json.RawMessage, error) {
	limit := r.limit
	if limit == 0 {
		limit = w.limit
	}
	if r.file != nil {
		limit += chat.OutFile{Size: r.file.size}.Travel() + equalRest
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var x exchange
	bot := *w.bot // the library has no context: a copy per call carries it
	bot.Client = doer(func(h *http.Request) (*http.Response, error) { return w.do(ctx, h, &x) })
	var (
		resp *tgbotapi.APIResponse
		err  error
	)
	if r.file != nil {
		resp, err = w.carry(ctx, bot, r, &x)
	} else {
		resp, err = bot.MakeRequest(r.method, r.params)
	}
	if err != nil {
		return nil, w.explain(ctx, r.method, &x, resp, err)
	}
	return resp.Result, nil
}

// do carries one HTTP request out and hands the library nothing but a whole,
// well-formed answer.
func (w *wire) do(ctx context.Context, h *http.Request, x *exchange) (*http.Response, error) {
	h = h.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaders: func() { x.wrote.Store(true) },
	}))
	if x.length > 0 {
		h.ContentLength = x.length
	}
	resp, err := w.client.Do(h) //nolint:gosec // the address is the operator's api_url
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	x.status = resp.StatusCode
	x.after, _ = strconv.Atoi(resp.Header.Get("Retry-After"))
	w.clock.Note(resp.Header)
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxAnswer {
		return nil, errors.New("the answer is too large")
	}
	var envelope struct {
		OK *bool `json:"ok"`
	}
	if json.Unmarshal(body, &envelope) != nil || envelope.OK == nil {
		return nil, errForeign
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// errForeign is an answer that is not from a Bot API server: a proxy's error
// page, a captive portal, a cut body.
var errForeign = errors.New("the answer is not from a Bot API server")

// exchange is what is known of one HTTP exchange.
type exchange struct {
	wrote  atomic.Bool // the request may have reached the server
	status int         // 0 = no answer
	after  int         // header Retry-After, seconds
	length int64       // of an upload's request, bytes
}

// doer is the library's idea of an HTTP client.
type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(h *http.Request) (*http.Response, error) { return d(h) }

// explain turns what the library returned into one of our two errors.
func (w *wire) explain(ctx context.Context, method string, x *exchange, resp *tgbotapi.APIResponse, err error) error {
	var bad *unread
	if errors.As(err, &bad) {
		return bad
	}
	var refused *tgbotapi.Error
	if errors.As(err, &refused) {
		r := &refusal{
			Method:  method,
			Status:  refused.Code,
			Text:    w.redact(refused.Message),
			After:   time.Duration(max(refused.RetryAfter, x.after, 0)) * time.Second,
			Migrate: refused.MigrateToChatID,
		}
		if r.Status == 0 && resp != nil {
			r.Status = resp.ErrorCode // the library forgets it for uploads
		}
		if r.Status == 0 {
			r.Status = x.status
		}
		return r
	}
	if x.status == http.StatusTooManyRequests {
		return &refusal{Method: method, Status: x.status, Text: "too many requests",
			After: time.Duration(max(x.after, 0)) * time.Second}
	}
	l := &lost{Method: method, Status: x.status, Wrote: x.wrote.Load()}
	var u *url.Error
	for errors.As(err, &u) { // its text is the address, and the address has the token
		err = u.Err
	}
	// Of the chain only the two marks of context survive: any other member
	// might carry bytes of the request.
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		l.cause, l.Text = context.DeadlineExceeded, "no answer in time"
	case ctx.Err() != nil:
		l.cause, l.Text = context.Canceled, "cancelled"
	default:
		l.Text = w.redact(err.Error())
	}
	return l
}

// redact removes the secrets from a text.
func (w *wire) redact(s string) string { return w.hide.Replace(s) }

// decode makes a call and decodes its result into out.
func (w *wire) decode(ctx context.Context, r request, out any) error {
	raw, err := w.call(ctx, r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return &lost{Method: r.method, Status: http.StatusOK, Wrote: true, Text: "the result was not understood"}
	}
	return nil
}

// object encodes a parameter that is a JSON object.
func object(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("telegram: encode a parameter: %v", err)) // our own plain structs only
	}
	return string(b)
}

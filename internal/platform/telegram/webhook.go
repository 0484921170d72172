package telegram

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"cligate/internal/platform"
	"cligate/internal/platform/uplink"
)

const (
	// hookHeader carries the secret that Telegram was given with the address.
	hookHeader = "X-Telegram-Bot-Api-Secret-Token"
	// hookBody bounds one update. The largest that the service makes is far below.
	hookBody = 4 << 20
	// hookTake is the time for one update to become durable. After it the
	// service is told to come again.
	hookTake = 20 * time.Second
	// hookLook is the time between two looks at what the service says about
	// its deliveries.
	hookLook = 30 * time.Second
)

// Webhook is how Telegram delivers updates. The zero one means that they are
// fetched (long polling).
type Webhook struct {
	URL    string // public address that Telegram calls; https, except for a Bot API server of one's own
	Addr   string // host:port at which we listen, behind whatever ends TLS
	Path   string // of the address as it arrives here; default the path of URL
	Secret string // 1 to 256 of A-Z a-z 0-9 _ -; what does not carry it is refused
}

func (w Webhook) on() bool { return w != (Webhook{}) }

// mark is what the cursor says while a webhook delivers: which one we set. It
// tells our own one from another's when polling begins again, and as no number
// it lets polling begin with the oldest update that the service has.
func (w Webhook) mark() string { return hookMark(w.URL) }

const markPrefix = "webhook "

func hookMark(address string) string {
	sum := sha256.Sum256([]byte(normal(address)))
	return markPrefix + hex.EncodeToString(sum[:8])
}

// normal is an address in the form in which equal ones look alike: a server may
// write scheme and host in small letters, leave out the port that the scheme
// has anyway, and encode the path its own way. A slash at the end of a path is
// part of it; only the empty path is the same as "/".
func normal(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	scheme, host := strings.ToLower(u.Scheme), strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if strings.Contains(host, ":") { // IPv6
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" && (scheme != "https" || port != "443") && (scheme != "http" || port != "80") {
		host += ":" + port
	}
	n := url.URL{Scheme: scheme, User: u.User, Host: host, Path: cmp.Or(u.Path, "/"), RawQuery: u.RawQuery}
	return n.String()
}

// alike reports whether two addresses name the same webhook.
func alike(a, b string) bool { return normal(a) == normal(b) }

// hookInfo is the answer to getWebhookInfo.
type hookInfo struct {
	URL       string   `json:"url"`
	Pending   int      `json:"pending_update_count"`
	ErrorDate int64    `json:"last_error_date"`
	Error     string   `json:"last_error_message"`
	Most      int      `json:"max_connections"`
	Kinds     []string `json:"allowed_updates"`
}

func (w *wire) hookInfo(ctx context.Context) (hookInfo, error) {
	var i hookInfo
	err := w.decode(ctx, request{method: "getWebhookInfo"}, &i)
	i.Error = w.redact(i.Error)
	return i, err
}

// dropHook removes the bot's webhook. What waits at the service is kept.
func (w *wire) dropHook(ctx context.Context) error {
	_, err := w.call(ctx, request{method: "deleteWebhook", params: params{"drop_pending_updates": "false"}})
	return err
}

// hook receives what Telegram posts. It takes one update at a time and says
// that it was taken only when it is durable; whatever goes wrong, the service
// comes again.
type hook struct {
	cfg    Webhook
	wire   *wire
	log    *slog.Logger
	link   *link
	intake *intake
	turn   chan struct{} // holds a token while an update is taken

	strangers uplink.Strangers

	mu   sync.Mutex
	live *hookLife // nil while the account does not run
}

// hookLife is one run of the account.
type hookLife struct {
	ctx   context.Context
	in    platform.Inbound
	d     decoder
	taken int // updates
}

// run registers the address and watches over it until ctx ends (nil) or the
// token is refused. The registration stays: what comes later waits at the
// service for our next life.
func (h *hook) run(ctx context.Context, me user, in platform.Inbound) error {
	if !h.note(ctx, in) {
		return nil
	}
	h.begin(&hookLife{ctx: ctx, in: in, d: newDecoder(h.intake.account, me)})
	defer h.end()
	var b backoff
	var seen watched
	for ctx.Err() == nil {
		err := h.look(ctx, &seen)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			b.reset()
			sleep(ctx, hookLook)
			continue
		}
		t, last := h.wire.verdict(ctx, err)
		switch {
		case ctx.Err() != nil:
			return nil
		case t == troubleNone: // it is the call alone that was refused
			t = troubleServer
		default:
			err = last
		}
		h.link.Set(ctx, t, err)
		if t == troubleRejected {
			return h.link.rejected(err)
		}
		pause := b.next()
		var r *refusal
		if errors.As(err, &r) {
			pause = max(pause, r.After)
		}
		sleep(ctx, pause)
	}
	return nil
}

// note makes it durable that this webhook is ours, before it is set. It
// reports false when ctx ended first.
func (h *hook) note(ctx context.Context, in platform.Inbound) bool {
	var b backoff
	for {
		_, err := in.Receive(ctx, platform.Batch{Account: h.intake.account, Cursor: h.cfg.mark()})
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		h.link.Set(ctx, troubleStorage, err)
		if !sleep(ctx, b.next()) {
			return false
		}
	}
}

// watched is what was seen at the last look.
type watched struct {
	set   bool   // the webhook was set in this life
	url   string // what the service calls it since then
	error int64  // date of the newest complaint
	taken int
}

// look asks how the deliveries go, sets the webhook where it is missing, and
// keeps the health true.
func (h *hook) look(ctx context.Context, seen *watched) error {
	i, err := h.wire.hookInfo(ctx)
	if err != nil {
		return err
	}
	if i.URL != "" && seen.set && !alike(i.URL, seen.url) {
		// Somebody took the bot over. To take it back would be a war.
		h.link.Set(ctx, troubleTaken, nil)
		return nil
	}
	if !seen.set || i.URL == "" {
		if err := h.register(ctx); err != nil {
			return err
		}
		if i, err = h.wire.hookInfo(ctx); err != nil {
			return err
		}
		again := seen.set
		*seen = watched{set: true, url: i.URL, error: i.ErrorDate, taken: h.taken()}
		if again {
			h.log.WarnContext(ctx, "the webhook was gone and is set again; does another program poll with this token?")
		}
		h.link.Set(ctx, troubleNone, nil)
		return nil
	}
	taken := h.taken()
	switch {
	case i.Pending == 0:
		h.link.Set(ctx, troubleNone, nil)
	case i.ErrorDate != seen.error && taken == seen.taken:
		h.link.Set(ctx, troubleUndelivered, uplink.QuoteError(i.Error))
	}
	seen.error, seen.taken = i.ErrorDate, taken
	return nil
}

// register tells the service where to deliver. One connection only: the order
// is kept.
func (h *hook) register(ctx context.Context) error {
	_, err := h.wire.call(ctx, request{method: "setWebhook", params: params{
		"url":             h.cfg.URL,
		"secret_token":    h.cfg.Secret,
		"allowed_updates": wanted,
		"max_connections": "1",
	}})
	if err == nil {
		h.log.InfoContext(ctx, "webhook set", "url", h.wire.redact(h.cfg.URL))
	}
	return err
}

func (h *hook) begin(l *hookLife) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.live = l
}

// end returns when no update is being taken any more.
func (h *hook) end() {
	h.mu.Lock()
	h.live = nil
	h.mu.Unlock()
	h.turn <- struct{}{} // whoever is in there has seen that the context ended
	<-h.turn
}

func (h *hook) taken() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.live == nil {
		return 0
	}
	return h.live.taken
}

// ServeHTTP implements http.Handler.
func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !uplink.Posted(w, r) {
		return
	}
	if !h.knows(r) {
		h.strangers.Note(r, h.log, "no secret, or a wrong one")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	body, whole := uplink.Body(w, r, hookBody)
	if !whole {
		return
	}
	if err := h.take(r.Context(), body); err != nil {
		// The service comes again, a little later each time.
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// knows reports whether r carries the secret, in a time that says nothing
// about it.
func (h *hook) knows(r *http.Request) bool {
	got, want := sha256.Sum256([]byte(r.Header.Get(hookHeader))), sha256.Sum256([]byte(h.cfg.Secret))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1 && len(r.Header.Values(hookHeader)) == 1
}

// errClosed means that the account does not run now.
var errClosed = errors.New("the account does not run")

// take makes one update durable. caller is the request's context: it bounds the
// wait for our turn, but not what is begun.
func (h *hook) take(caller context.Context, raw json.RawMessage) error {
	select {
	case h.turn <- struct{}{}:
	case <-caller.Done():
		return caller.Err()
	}
	defer func() { <-h.turn }()
	h.mu.Lock()
	l := h.live
	h.mu.Unlock()
	if l == nil || l.ctx.Err() != nil {
		return errClosed
	}
	if !json.Valid(raw) {
		raw, _ = json.Marshal(string(raw)) // kept as a text; never fails
	}
	s := h.intake.read(l.ctx, l.d, []json.RawMessage{raw})
	// Not the update's number: an earlier one, refused before, may still be to
	// come, and polling would pass over it.
	s.Cursor = h.cfg.mark()
	ctx, cancel := context.WithTimeout(l.ctx, hookTake)
	defer cancel()
	acks, err := l.in.Receive(ctx, s.Batch)
	if err != nil {
		if l.ctx.Err() == nil {
			h.link.Set(l.ctx, troubleStorage, err)
		}
		return fmt.Errorf("take an update: %w", err)
	}
	h.mu.Lock()
	l.taken++
	h.mu.Unlock()
	h.link.Set(l.ctx, troubleNone, nil)
	h.intake.answer(l.ctx, s, acks)
	return nil
}

// ours reports whether the webhook at address is the one that cursor speaks of.
func ours(cursor, address string) bool {
	return strings.HasPrefix(cursor, markPrefix) && cursor == hookMark(address)
}

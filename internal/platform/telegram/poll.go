package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
	"cligate/internal/platform/uplink"
)

// Times of the poll loop.
const (
	firstPause = 500 * time.Millisecond
	longPause  = 30 * time.Second
	// breath is the least time between two polls that brought nothing new, in
	// case the server does not hold them open.
	breath = 500 * time.Millisecond
)

// poller fetches updates, hands them on, and acknowledges them afterwards. It
// has one request in flight at most, so it never competes with itself.
type poller struct {
	wire    *wire
	log     *slog.Logger
	link    *link
	intake  *intake
	account string
	wait    time.Duration // how long the server holds a poll open
	grace   time.Duration // how much longer we wait
	removes bool          // a webhook of somebody else may be removed
	ours    string        // the cursor, when a webhook of ours delivered last
	removed time.Time     // when a webhook was removed last
}

// run receives until ctx ends (nil) or the token is refused.
func (p *poller) run(ctx context.Context, me user, in platform.Inbound) error {
	d := newDecoder(p.account, me)
	offset := p.start(ctx, in)
	p.unhook(ctx) // rather than be refused first
	var b backoff
	for ctx.Err() == nil {
		began := time.Now()
		wait := p.wait
		if p.link.unproven() {
			wait = 0 // an answer at once tells that all is well (again)
		}
		raws, err := p.poll(ctx, offset, wait)
		if err != nil {
			pause, fatal := p.failed(ctx, err, &b)
			if fatal != nil {
				return fatal
			}
			sleep(ctx, pause)
			continue
		}
		b.reset()
		next := p.take(ctx, d, in, raws, offset)
		if next == offset && (wait > 0 || p.link.unproven()) {
			sleep(ctx, breath-time.Since(began))
		}
		offset = next
	}
	return nil
}

// start reads where to go on. It ends with ctx.
func (p *poller) start(ctx context.Context, in platform.Inbound) int64 {
	var b backoff
	for {
		cursor, err := in.Cursor(ctx, p.account)
		if err == nil {
			if strings.HasPrefix(cursor, markPrefix) {
				p.ours = cursor
			}
			n, err := strconv.ParseInt(cursor, 10, 64)
			if err != nil || n < 0 {
				n = 0 // from the oldest one that the server still has
			}
			return n
		}
		p.link.Set(ctx, troubleStorage, err)
		if !sleep(ctx, b.next()) {
			return 0
		}
	}
}

func (p *poller) poll(ctx context.Context, offset int64, wait time.Duration) ([]json.RawMessage, error) {
	var raws []json.RawMessage
	err := p.wire.decode(ctx, request{
		method: "getUpdates",
		params: params{
			"offset":          strconv.FormatInt(offset, 10),
			"timeout":         strconv.Itoa(int(wait / time.Second)),
			"limit":           "100",
			"allowed_updates": wanted,
		},
		limit: wait + p.grace,
	}, &raws)
	return raws, err
}

// failed notes a failed poll and says how long to pause. fatal means that the
// token is not accepted.
func (p *poller) failed(ctx context.Context, err error, b *backoff) (pause time.Duration, fatal error) {
	if ctx.Err() != nil {
		return 0, nil //nolint:nilerr // the end of ctx is no failure
	}
	t, err := p.wire.verdict(ctx, err)
	switch {
	case ctx.Err() != nil, t == troubleNone:
		return 0, nil //nolint:nilerr // likewise
	case t == troubleRejected:
		p.link.Set(ctx, t, err)
		return 0, p.link.rejected(err)
	}
	if t == troubleWebhook && p.unhook(ctx) {
		return 0, nil
	}
	p.link.Set(ctx, t, err)
	pause = b.next()
	var r *refusal
	if errors.As(err, &r) {
		pause = max(pause, r.After)
	}
	// A connection that did not answer is not used again.
	p.wire.client.CloseIdleConnections()
	return pause, nil
}

// hookAgain is the least time between two webhooks that are removed: whoever
// sets one again is not fought.
const hookAgain = 10 * time.Minute

// unhook removes the webhook that keeps updates from us, if it is the one we
// set ourselves when we did not poll, or the operator has said that any may go.
// What waits at the service is kept.
func (p *poller) unhook(ctx context.Context) bool {
	if p.ours == "" && !p.removes || time.Since(p.removed) < hookAgain {
		return false
	}
	i, err := p.wire.hookInfo(ctx)
	if err != nil || i.URL == "" || !p.removes && !ours(p.ours, i.URL) {
		return false
	}
	if err := p.wire.dropHook(ctx); err != nil {
		p.log.WarnContext(ctx, "webhook not removed", "err", err)
		return false
	}
	p.removed = time.Now()
	p.log.InfoContext(ctx, "webhook removed; updates are fetched from now on", "ours", ours(p.ours, i.URL))
	return true
}

// secondAsk is the time after which the service is asked again whether it
// accepts the token.
const secondAsk = 2 * time.Second

// verdict says what an error of the service means. One refusal of the token may
// be a hiccup of the service; two are an answer. It returns what was said last:
// nil, when the token is accepted after all.
func (w *wire) verdict(ctx context.Context, err error) (uplink.Trouble, error) {
	t := diagnose(err)
	if t != troubleRejected {
		return t, err
	}
	if !sleep(ctx, secondAsk) {
		return troubleNetwork, ctx.Err()
	}
	_, err = w.me(ctx)
	return diagnose(err), err
}

// diagnose says what a failed poll means.
func diagnose(err error) uplink.Trouble {
	if err == nil {
		return troubleNone
	}
	var r *refusal
	if !errors.As(err, &r) {
		var l *lost
		if errors.As(err, &l) && l.Status != 0 {
			return troubleForeign
		}
		return troubleNetwork
	}
	switch {
	case r.Status == http.StatusUnauthorized, r.Status == http.StatusNotFound, r.Status == http.StatusMisdirectedRequest:
		return troubleRejected
	case r.Status == http.StatusConflict && r.says("webhook"):
		return troubleWebhook
	case r.Status == http.StatusConflict:
		return troublePoller
	case r.Status == http.StatusTooManyRequests:
		return troubleBusy
	}
	return troubleServer
}

// take hands a batch on and returns the next offset, which acknowledges it.
// What cannot be decoded is kept and acknowledged with the rest.
func (p *poller) take(ctx context.Context, d decoder, in platform.Inbound, raws []json.RawMessage, offset int64) int64 {
	s := p.intake.read(ctx, d, raws)
	next := offset
	if s.numbered {
		next = s.last + 1
	}
	switch {
	case next == offset && len(s.Messages) == 0 && len(raws) > 0:
		p.link.Set(ctx, troubleUnreadable, nil)
		return offset
	case len(raws) == 0:
		p.link.Set(ctx, troubleNone, nil)
		return offset
	}
	s.Cursor = strconv.FormatInt(next, 10)
	acks, ok := p.hand(ctx, in, s.Batch)
	if !ok {
		return offset
	}
	p.intake.answer(ctx, s, acks)
	return next
}

// hand gives b to the inbox until it is durable. While it is not, nothing more
// is fetched and nothing is acknowledged.
func (p *poller) hand(ctx context.Context, in platform.Inbound, b platform.Batch) ([]chat.Ack, bool) {
	var wait backoff
	for {
		acks, err := in.Receive(ctx, b)
		if err == nil {
			p.link.Set(ctx, troubleNone, nil)
			return acks, true
		}
		if ctx.Err() != nil {
			return nil, false
		}
		p.link.Set(ctx, troubleStorage, err)
		if !sleep(ctx, wait.next()) {
			return nil, false
		}
	}
}

// backoff doubles a pause from firstPause to longPause, with jitter.
type backoff struct{ n int }

func (b *backoff) next() time.Duration {
	d := min(firstPause<<min(b.n, 10), longPause)
	b.n++
	return d/2 + rand.N(d/2+1) //nolint:gosec // jitter is no secret
}

func (b *backoff) reset() { b.n = 0 }

// sleep waits for d. It reports false when ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

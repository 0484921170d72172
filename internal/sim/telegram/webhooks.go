package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// webhook is where a bot wants its updates delivered.
type webhook struct {
	url, secret string
	kinds       []string
	most        int64
	errorAt     time.Time
	errorText   string
}

// mailroom is what a server does with updates beyond polling: webhooks, ages,
// and what tests put among them.
type mailroom struct{ s *Server }

// Delivery is one attempt to hand an update over.
type Delivery struct {
	Update int64
	Status int // 0 = no answer
}

// hookPause is the first pause after a delivery that failed; it doubles up to
// hookPauseMax. The real service begins with a second or so.
const (
	hookPause    = 20 * time.Millisecond
	hookPauseMax = time.Second
	hookLimit    = 30 * time.Second
)

// SetWebhook pretends that a webhook of somebody else is active, or removes it.
func (d *mailroom) SetWebhook(token string, active bool) {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bots[token].hook = nil
	if active {
		s.bots[token].hook = &webhook{url: "https://example.org/hook"}
	}
	s.changed.Broadcast()
}

// Cloud makes the server behave as Telegram's own: a webhook needs https and
// one of four ports. Without it the server is somebody's own, in local mode.
func (d *mailroom) Cloud(on bool) {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cloud = on
}

// Normalise has the server write addresses of webhooks its own way from now on,
// as it stores them: host in small letters, no port that the scheme has anyway,
// no empty path.
func (d *mailroom) Normalise(on bool) {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.normal = on
}

// normalised is an address as such a server names it.
func normalised(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	u.Host = strings.TrimSuffix(u.Host, map[string]string{"https": ":443", "http": ":80"}[u.Scheme])
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String()
}

// Deliveries returns the attempts to deliver to a bot's webhook so far.
func (d *mailroom) Deliveries(token string) []Delivery {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bots[token].delivered)
}

// Webhook returns the address and the secret of a bot's webhook.
func (d *mailroom) Webhook(token string) (address, secret string) {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.bots[token].hook; h != nil {
		return h.url, h.secret
	}
	return "", ""
}

// setWebhook also ends a poll that waits.
func (r request) setWebhook() (any, *refusal) {
	s, b, p := r.s, r.b, r.p
	if p.str("url") == "" {
		return r.deleteWebhook()
	}
	h := &webhook{url: p.str("url"), secret: p.str("secret_token"), most: p.num("max_connections")}
	u, err := url.Parse(h.url)
	if s.on(RuleHook) {
		switch {
		case err != nil || u.Host == "" || u.Scheme != "https" && (s.cloud || u.Scheme != "http"):
			return nil, bad("bad webhook: An HTTPS URL must be provided for webhook")
		case s.cloud && !slices.Contains([]string{"", "443", "80", "88", "8443"}, u.Port()):
			return nil, bad("bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443")
		case len(h.secret) > 256:
			return nil, bad("secret token is too long")
		case strings.Trim(h.secret, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != "":
			return nil, bad("secret token contains unallowed characters")
		}
	}
	if !p.object("allowed_updates", &h.kinds) {
		return nil, bad("can't parse allowed_updates")
	}
	if p.flag("drop_pending_updates") {
		b.updates = nil
	}
	b.hook = h
	b.poll++ // a poll that waits ends now
	s.changed.Broadcast()
	go s.deliver(b, h) // ends when the webhook is another, or with Close
	return true, nil
}

func (r request) deleteWebhook() (any, *refusal) {
	r.b.hook = nil
	if r.p.flag("drop_pending_updates") {
		r.b.updates = nil
	}
	r.s.changed.Broadcast()
	return true, nil
}

func (r request) webhookInfo() (any, *refusal) {
	out := map[string]any{"url": "", "has_custom_certificate": false, "pending_update_count": len(r.b.updates)}
	if h := r.b.hook; h != nil {
		out["url"] = h.url
		if r.s.normal {
			out["url"] = normalised(h.url)
		}
		if h.most > 0 {
			out["max_connections"] = h.most
		}
		if len(h.kinds) > 0 {
			out["allowed_updates"] = h.kinds
		}
		if !h.errorAt.IsZero() {
			out["last_error_date"], out["last_error_message"] = h.errorAt.Unix(), h.errorText
		}
	}
	return out, nil
}

// deliver posts one update after the other until each is taken, as long as h is
// the bot's webhook.
func (d *mailroom) deliver(b *bot, h *webhook) {
	s := d.s
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	pause := hookPause
	for {
		u, ok := s.awaitUpdate(b, h)
		if !ok {
			return
		}
		status, err := post(s.life, client, h, u)
		taken := status >= 200 && status < 300
		s.mu.Lock()
		b.delivered = append(b.delivered, Delivery{u.id, status})
		if taken {
			if i := slices.IndexFunc(b.updates, func(o update) bool { return o.id == u.id }); i >= 0 {
				b.updates = slices.Delete(b.updates, i, i+1)
			}
		} else {
			h.errorAt, h.errorText = time.Now(), fmt.Sprintf("Wrong response from the webhook: %d %s", status, http.StatusText(status))
			if err != nil {
				h.errorText = err.Error()
			}
		}
		s.changed.Broadcast()
		s.mu.Unlock()
		if taken {
			pause = hookPause
			continue
		}
		s.idle(pause)
		pause = min(2*pause, hookPauseMax)
	}
}

// idle waits for d or for the end of the server.
func (d *mailroom) idle(pause time.Duration) {
	s := d.s
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.life.Done():
	}
}

// awaitUpdate waits for the next update for h; false when h is no longer it.
func (d *mailroom) awaitUpdate(b *bot, h *webhook) (update, bool) {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.closing || b.revoked || b.hook != h {
			return update{}, false
		}
		s.expire(b)
		for _, u := range b.updates {
			if wants(h.kinds, u.kind) {
				return u, true
			}
		}
		s.changed.Wait()
	}
}

func post(ctx context.Context, client *http.Client, h *webhook, u update) (int, error) {
	body, err := json.Marshal(map[string]any{"update_id": u.id, u.kind: u.body})
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, hookLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	if h.secret != "" {
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", h.secret)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, errors.New("Connection refused") //nolint:staticcheck // the service's own words
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, nil
}

// The lives of updates: of messages from their date, of callback queries from
// the press.
const (
	messageLife = 24 * time.Hour
	pressLife   = 150 * time.Second
)

// Elapse lets time pass for what waits to be fetched.
func (d *mailroom) Elapse(by time.Duration) {
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late += by
	s.changed.Broadcast()
}

// expire drops what has waited too long. The lock is held.
func (d *mailroom) expire(b *bot) {
	s := d.s
	if !s.on(RuleAge) {
		return
	}
	now := time.Now().Add(s.late)
	b.updates = slices.DeleteFunc(b.updates, func(u update) bool {
		if u.kind == "callback_query" {
			return now.Sub(u.at) > pressLife
		}
		return now.Sub(u.at) > messageLife
	})
}

// wants reports whether an update of this kind is given out.
func wants(allowed []string, kind string) bool {
	if len(allowed) == 0 {
		return !slices.Contains(notByDefault, kind)
	}
	return slices.Contains(allowed, kind)
}

package feishu

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	larkevent "github.com/larksuite/oapi-sdk-go/v3/event"

	"cligate/internal/platform/uplink"
)

const (
	maxEvent = 4 << 20         // bytes of one posted event
	maxSkew  = 5 * time.Minute // between the service's clock and ours, and the age of a post
)

// hook takes what the service posts. Who posted, when, and whether it came
// before is judged here: the SDK looks at the verification token of the
// challenge only, never at the age of a post, and panics on a wrong key.
type hook struct {
	key   string // Encrypt Key
	token string // Verification Token; empty = not compared
	log   *slog.Logger
	link  *uplink.State
	now   func() time.Time
	seen  nonces

	strangers uplink.Strangers

	busy   sync.RWMutex // read-held while a post is taken
	handle handler      // nil while the account does not run
	opened atomic.Bool  // a post was the service's own
}

func newHook(cfg Config, log *slog.Logger, l *uplink.State) *hook {
	return &hook{key: cfg.EncryptKey, token: cfg.VerificationToken, log: log, link: l, now: time.Now,
		seen: nonces{at: map[string]time.Time{}}}
}

// run takes posts until ctx ends. Before and after, they are refused, and come
// again. The address is bound by whoever opened the listener (Adapter.Webhook).
func (h *hook) run(ctx context.Context, handle handler) {
	h.take(handle)
	h.link.Set(ctx, troubleNone, nil)
	<-ctx.Done()
	h.take(nil) // returns when no post is being taken any more
}

func (h *hook) take(handle handler) {
	h.busy.Lock()
	defer h.busy.Unlock()
	h.handle = handle
}

// errForged is a post that is not the service's, whatever is wrong with it: who
// forges is told nothing.
var errForged = errors.New("not from the service")

// Posts that are the service's own, perhaps, with other settings than ours.
var (
	errPlain = fmt.Errorf("%w: it is not encrypted", errForged)
	errKey   = fmt.Errorf("%w: it is encrypted with another key", errForged)
	errToken = fmt.Errorf("%w: it has another verification token", errForged)
)

// ServeHTTP implements http.Handler. 200 means that the event is durable; after
// anything else the service posts it again.
func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !uplink.Posted(w, r) {
		return
	}
	body, whole := uplink.Body(w, r, maxEvent)
	if !whole {
		return
	}
	event, challenge, err := h.open(r.Header, body)
	if err != nil {
		h.strangers.Note(r, h.log, err.Error())
		h.doubt(r.Context(), err)
		http.Error(w, "refused", http.StatusForbidden)
		return
	}
	if challenge != "" {
		reply(w, map[string]string{"challenge": challenge})
		return
	}
	h.busy.RLock()
	defer h.busy.RUnlock()
	if h.handle == nil {
		h.seen.forget(r.Header.Get(larkevent.EventRequestNonce)) // it comes again
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	h.opened.Store(true)
	// What is accepted is stored, also when the service hangs up meanwhile.
	data, err := h.handle(context.WithoutCancel(r.Context()), event)
	if err != nil {
		h.seen.forget(r.Header.Get(larkevent.EventRequestNonce)) // it comes again
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	if len(data) == 0 {
		data = []byte("{}")
	}
	reply(w, json.RawMessage(data))
}

// doubt notes a post in the service's form that cannot be opened while none ever
// could: then it is more likely that a setting is wrong than that somebody else
// posts.
func (h *hook) doubt(ctx context.Context, err error) {
	if !errors.Is(err, errPlain) && !errors.Is(err, errKey) && !errors.Is(err, errToken) {
		return
	}
	h.busy.RLock()
	defer h.busy.RUnlock()
	if h.handle != nil && !h.opened.Load() {
		h.link.Set(ctx, troubleSealed, errors.Join(err, uplink.QuoteError(err.Error())))
	}
}

func reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(body) // who asked may be gone
}

// open checks and decrypts a post. A challenge is what the developer console
// sends when the address is saved: it is encrypted with our key, and not
// signed.
func (h *hook) open(head http.Header, body []byte) (event []byte, challenge string, err error) {
	var sealed struct {
		Encrypt string `json:"encrypt"`
		Schema  string `json:"schema"`
		Type    string `json:"type"`
	}
	switch err := json.Unmarshal(body, &sealed); {
	case err == nil && sealed.Encrypt != "":
	case err == nil && sealed.Schema+sealed.Type != "":
		return nil, "", errPlain
	default:
		return nil, "", fmt.Errorf("%w: it is no event", errForged)
	}
	plain, err := unseal(sealed.Encrypt, h.key)
	if err != nil {
		return nil, "", errKey
	}
	var what struct {
		Type      string `json:"type"`
		Token     string `json:"token"`
		Challenge string `json:"challenge"`
		Header    struct {
			Token string `json:"token"`
		} `json:"header"`
	}
	if err := json.Unmarshal(plain, &what); err != nil {
		return nil, "", errKey
	}
	if what.Type == string(larkevent.ReqTypeChallenge) {
		if !h.knows(what.Token) {
			return nil, "", errToken
		}
		return nil, what.Challenge, nil
	}
	if !h.knows(what.Header.Token) {
		return nil, "", errToken
	}
	if err := h.signed(head, body); err != nil {
		return nil, "", err
	}
	return plain, "", nil
}

func (h *hook) knows(token string) bool {
	return h.token == "" || subtle.ConstantTimeCompare([]byte(token), []byte(h.token)) == 1
}

// signed checks the signature, its age, and that it is new.
func (h *hook) signed(head http.Header, body []byte) error {
	stamp, nonce := head.Get(larkevent.EventRequestTimestamp), head.Get(larkevent.EventRequestNonce)
	sum := sha256.Sum256([]byte(stamp + nonce + h.key + string(body)))
	if subtle.ConstantTimeCompare([]byte(hex.EncodeToString(sum[:])), []byte(head.Get(larkevent.EventSignature))) != 1 {
		return fmt.Errorf("%w: the signature is wrong", errForged)
	}
	sec, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return fmt.Errorf("%w: no time", errForged)
	}
	now := h.now()
	if age := now.Sub(time.Unix(sec, 0)); age > maxSkew || age < -maxSkew {
		return fmt.Errorf("%w: it is %s old, or a clock is wrong", errForged, age.Round(time.Second))
	}
	if !h.seen.add(nonce, now) {
		return fmt.Errorf("%w: it came before", errForged)
	}
	return nil
}

// nonces remembers posts for as long as their time would be accepted.
type nonces struct {
	mu sync.Mutex
	at map[string]time.Time
}

// add reports whether a nonce is new, and keeps it.
func (n *nonces) add(nonce string, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for k, t := range n.at {
		if now.Sub(t) > 2*maxSkew {
			delete(n.at, k)
		}
	}
	if _, known := n.at[nonce]; known {
		return false
	}
	n.at[nonce] = now
	return true
}

func (n *nonces) forget(nonce string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.at, nonce)
}

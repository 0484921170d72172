package feishu

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	larkevent "github.com/larksuite/oapi-sdk-go/v3/event"
)

const (
	maxEvent = 4 << 20         // bytes of one posted event
	maxSkew  = 5 * time.Minute // between the service's clock and ours, and the age of a post
)

// hook takes what the service posts. Who posted, when, and whether it came
// before is judged here: the SDK looks at the verification token of the
// challenge only, never at the age of a post, and panics on a wrong key.
type hook struct {
	key    string // Encrypt Key
	token  string // Verification Token; empty = not compared
	handle handler
	log    *slog.Logger
	now    func() time.Time
	seen   nonces
}

func newHook(cfg Config, log *slog.Logger, h handler) *hook {
	return &hook{key: cfg.EncryptKey, token: cfg.VerificationToken, handle: h, log: log, now: time.Now,
		seen: nonces{at: map[string]time.Time{}}}
}

// errForged is a post that is not the service's, whatever is wrong with it: who
// forges is told nothing.
var errForged = errors.New("not from the service")

// ServeHTTP implements http.Handler. 200 means that the event is durable; after
// anything else the service posts it again.
func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "post only", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
	if err != nil {
		http.Error(w, "too long, or not whole", http.StatusBadRequest)
		return
	}
	event, challenge, err := h.open(r.Header, body)
	if err != nil {
		h.log.WarnContext(r.Context(), "post refused", "err", err)
		http.Error(w, "refused", http.StatusForbidden)
		return
	}
	if challenge != "" {
		reply(w, map[string]string{"challenge": challenge})
		return
	}
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
	}
	if err := json.Unmarshal(body, &sealed); err != nil || sealed.Encrypt == "" {
		return nil, "", fmt.Errorf("%w: it is not encrypted", errForged)
	}
	plain, err := unseal(sealed.Encrypt, h.key)
	if err != nil {
		return nil, "", fmt.Errorf("%w: it cannot be decrypted", errForged)
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
		return nil, "", fmt.Errorf("%w: it cannot be decrypted", errForged)
	}
	if what.Type == string(larkevent.ReqTypeChallenge) {
		if !h.knows(what.Token) {
			return nil, "", fmt.Errorf("%w: another verification token", errForged)
		}
		return nil, what.Challenge, nil
	}
	if !h.knows(what.Header.Token) {
		return nil, "", fmt.Errorf("%w: another verification token", errForged)
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

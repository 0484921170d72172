package feishu

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// webhook is an app's request URL.
type webhook struct {
	url   string
	key   string // Encrypt Key
	token string // Verification Token
	now   func() time.Time
}

// SetWebhook makes an app's events go to url from now on; empty = to its long
// connection.
func (x *console) SetWebhook(app, url, encryptKey, verificationToken string) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if url == "" {
		s.apps[app].hook = nil
		return
	}
	s.apps[app].hook = &webhook{url: url, key: encryptKey, token: verificationToken, now: s.now}
}

// Challenge does what the developer console does when a request URL is saved.
func (x *console) Challenge(app string) error {
	s := x.s
	s.mu.Lock()
	h := s.apps[app].hook
	s.mu.Unlock()
	want := "challenge-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	body, _ := json.Marshal(map[string]any{"type": "url_verification", "token": h.token, "challenge": want})
	code, data, err := h.post(body, time.Second)
	var got struct {
		Challenge string `json:"challenge"`
	}
	switch {
	case err != nil:
		return err
	case code != http.StatusOK:
		return fmt.Errorf("status %d", code)
	case json.Unmarshal(data, &got) != nil || got.Challenge != want:
		return errors.New("the challenge was not echoed")
	}
	return nil
}

// Forged is a request that somebody else, or a careless proxy, may send.
type Forged struct {
	Body      []byte    // the event in plain JSON
	Plain     bool      // not encrypted
	Key       string    // encrypted with another key; empty = the right one
	Signature string    // "" = the right one, "none" = no header, else as it is
	At        time.Time // of the signature; zero = now
	Nonce     string
}

// Forge sends such a request and returns the status and the answer.
func (x *console) Forge(app string, f Forged) (int, []byte, error) {
	s := x.s
	s.mu.Lock()
	h := *s.apps[app].hook
	s.mu.Unlock()
	body := f.Body
	key := h.key
	if f.Key != "" {
		key = f.Key
	}
	if !f.Plain {
		body = sealed(key, f.Body)
	}
	at := f.At
	if at.IsZero() {
		at = h.now()
	}
	nonce := f.Nonce
	if nonce == "" {
		nonce = "nonce-forged"
	}
	return h.send(body, at, nonce, f.Signature, 30*time.Second) // the limit of the service is not theirs
}

// post sends an event as the service does.
func (h webhook) post(payload []byte, within time.Duration) (int, []byte, error) {
	body := payload
	if h.key != "" {
		body = sealed(h.key, payload)
	}
	n := make([]byte, 8)
	_, _ = rand.Read(n)
	return h.send(body, h.now(), hex.EncodeToString(n), "", within)
}

func (h webhook) send(body []byte, at time.Time, nonce, signature string, within time.Duration) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	stamp := strconv.FormatInt(at.Unix(), 10)
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	if h.key != "" && signature != "none" {
		if signature == "" {
			sum := sha256.Sum256([]byte(stamp + nonce + h.key + string(body)))
			signature = hex.EncodeToString(sum[:])
		}
		req.Header.Set("X-Lark-Request-Timestamp", stamp)
		req.Header.Set("X-Lark-Request-Nonce", nonce)
		req.Header.Set("X-Lark-Signature", signature)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, data, err
}

// sealed is a body encrypted as the service does it: AES-256-CBC under the
// SHA-256 of the key, the IV in front, in base64.
func sealed(key string, plain []byte) []byte {
	sum := sha256.Sum256([]byte(key))
	block, err := aes.NewCipher(sum[:])
	if err != nil {
		panic(err) // 32 bytes are a key
	}
	pad := aes.BlockSize - len(plain)%aes.BlockSize
	plain = append(bytes.Clone(plain), bytes.Repeat([]byte{byte(pad)}, pad)...)
	out := make([]byte, aes.BlockSize+len(plain))
	_, _ = rand.Read(out[:aes.BlockSize])
	cipher.NewCBCEncrypter(block, out[:aes.BlockSize]).CryptBlocks(out[aes.BlockSize:], plain)
	body, _ := json.Marshal(map[string]string{"encrypt": base64.StdEncoding.EncodeToString(out)})
	return body
}

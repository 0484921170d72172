package speech

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"

	"cligate/internal/chat"
)

// service understands speech by asking a service over HTTP.
type service struct {
	cfg     Config
	client  *http.Client
	address string
}

const endpoint = "/audio/transcriptions"

func newService(cfg Config) service {
	address := strings.TrimRight(cfg.URL, "/")
	if !strings.HasSuffix(address, endpoint) && !strings.HasSuffix(address, "/inference") { // whisper.cpp's own
		address += endpoint
	}
	return service{cfg: cfg, address: address, client: &http.Client{
		// A recording goes to the address that was chosen and to no other.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 1 << 20

func (s service) hear(ctx context.Context, file chat.FileRef) (string, error) {
	r, err := os.Open(file.Path)
	if err != nil {
		return "", fmt.Errorf("open the recording: %w", err)
	}
	defer r.Close()
	body, kind := s.form(r, file)
	defer body.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address, body)
	if err != nil {
		return "", chat.Say(chat.Invalid, "speech.address", bare(err))
	}
	req.Header.Set("Content-Type", kind)
	if s.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+s.cfg.Key)
	}
	defer s.client.CloseIdleConnections()
	resp, err := s.client.Do(req)
	if err != nil {
		return "", chat.Say(chat.Network, "speech.unreachable", bare(err))
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return "", chat.Say(chat.Network, "speech.broke_off", bare(err))
	case resp.StatusCode == http.StatusRequestEntityTooLarge:
		return "", chat.E(chat.Full, "", errors.New("the service takes no recording that large"))
	case resp.StatusCode != http.StatusOK:
		return "", chat.Say(chat.AgentError, "speech.refused", errors.New(s.said(raw)), "status", resp.StatusCode)
	}
	return words(raw, resp.Header.Get("Content-Type"))
}

// words takes the words out of an answer: JSON, or plain text.
func words(raw []byte, kind string) (string, error) {
	var a struct {
		Text *string `json:"text"`
	}
	switch err := json.Unmarshal(raw, &a); {
	case err == nil && a.Text != nil:
		return *a.Text, nil
	case strings.HasPrefix(kind, "text/plain") && len(raw) <= mostWords:
		return string(raw), nil
	}
	return "", chat.Say(chat.Protocol, "speech.nonsense", errors.New("no text in the answer"))
}

// said is the beginning of what a service complained about, for the log. It
// may repeat the key.
func (s service) said(raw []byte) string {
	text := strings.ToValidUTF8(string(raw[:min(len(raw), 300)]), "")
	if s.cfg.Key != "" {
		text = strings.ReplaceAll(text, s.cfg.Key, "[key]")
	}
	return text
}

// form streams the request: the recording is never in memory as a whole.
func (s service) form(r io.Reader, file chat.FileRef) (body *io.PipeReader, kind string) {
	body, w := io.Pipe()
	form := multipart.NewWriter(w)
	go func() { // ends when all is written, or body is closed
		_ = w.CloseWithError(s.write(form, r, file))
	}()
	return body, form.FormDataContentType()
}

func (s service) write(form *multipart.Writer, r io.Reader, file chat.FileRef) error {
	for name, value := range map[string]string{"model": s.cfg.Model, "language": s.cfg.Language, "response_format": "json"} {
		if value == "" {
			continue
		}
		if err := form.WriteField(name, value); err != nil {
			return err
		}
	}
	to, err := form.CreateFormFile("file", "recording"+ending(file))
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, r); err != nil {
		return err
	}
	return form.Close()
}

// ending is what services tell the kind of a recording by. They know fewer
// than there are.
func ending(f chat.FileRef) string {
	switch ext := strings.ToLower(path.Ext(f.Path)); ext {
	case ".flac", ".mp3", ".mp4", ".mpeg", ".mpga", ".m4a", ".ogg", ".wav", ".webm":
		return ext
	}
	return ".ogg" // what is recorded in a chat, whatever it is called (.oga, .opus)
}

// bare is an error of the client without the address, which may hold a secret.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

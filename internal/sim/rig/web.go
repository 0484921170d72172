package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cligate/internal/web/api"
)

// webSide speaks the web chat's API over the operator's socket, as a browser
// or terminal does: what is posted is posted again under the same key until
// the daemon has answered, in order.
type webSide struct {
	rig  *Rig
	chat string
	http *http.Client
	next atomic.Int64

	mu     sync.Mutex
	queue  []post
	kick   chan struct{}
	cancel context.CancelFunc
	over   chan struct{}
}

type post struct {
	path string
	body any
}

func newWebSide(r *Rig, name string) *webSide {
	var d net.Dialer
	dial := func(ctx context.Context, _, _ string) (conn net.Conn, err error) {
		err = api.ShortPath(r.Socket(), func(short string) error {
			conn, err = d.DialContext(ctx, "unix", short)
			return err
		})
		return conn, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.tb.Context()))
	s := &webSide{rig: r, chat: name, http: &http.Client{Transport: &http.Transport{DialContext: dial}, Timeout: 30 * time.Second},
		kick: make(chan struct{}, 1), cancel: cancel, over: make(chan struct{})}
	go s.run(ctx) // ends by close
	return s
}

func (s *webSide) key() string { return fmt.Sprintf("%s-key%05d", s.chat, s.next.Add(1)) }

func (s *webSide) say(text string) { s.put(post{"messages", api.Post{Key: s.key(), Text: text}}) }

func (s *webSide) press(message, data string) {
	s.put(post{"clicks", api.Click{Key: s.key(), Message: message, Data: data}})
}

func (s *webSide) put(p post) {
	s.mu.Lock()
	s.queue = append(s.queue, p)
	s.mu.Unlock()
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

func (s *webSide) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue) == 0
}

func (s *webSide) close() {
	s.cancel()
	<-s.over
	s.http.CloseIdleConnections()
}

// run posts what is queued.
func (s *webSide) run(ctx context.Context) {
	defer close(s.over)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		s.mu.Lock()
		var p post
		some := len(s.queue) > 0
		if some {
			p = s.queue[0]
		}
		s.mu.Unlock()
		wait := s.kick
		if some {
			if s.post(ctx, p) {
				s.mu.Lock()
				s.queue = s.queue[1:]
				s.mu.Unlock()
				continue
			}
			wait = nil
		}
		select {
		case <-ctx.Done():
			return
		case <-wait:
		case <-again.C:
		}
	}
}

// post reports whether the daemon answered.
func (s *webSide) post(ctx context.Context, p post) bool {
	raw, err := json.Marshal(p.body)
	if err != nil {
		panic(err) // our own types
	}
	status, _, err := s.call(ctx, http.MethodPost, p.path, raw)
	return err == nil && status < 500
}

func (s *webSide) call(ctx context.Context, method, path string, body []byte) (status int, got []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://cligate"+api.Chats+"/"+url.PathEscape(s.chat)+"/"+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.http.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	got, err = io.ReadAll(resp.Body)
	return resp.StatusCode, got, err
}

// shown reads the whole history, as a page that was just opened does.
func (s *webSide) shown() ([]Message, error) {
	var out []Message
	for before := ""; ; {
		path := "lines?limit=200"
		if before != "" {
			path += "&before=" + url.QueryEscape(before)
		}
		status, got, err := s.call(s.rig.tb.Context(), http.MethodGet, path, nil)
		if err != nil {
			return nil, err
		}
		if status != http.StatusOK {
			return nil, fmt.Errorf("history of %s: %d %s", s.chat, status, got)
		}
		var page api.Lines
		if err := json.Unmarshal(got, &page); err != nil {
			return nil, err
		}
		out = append(s.messages(page.Lines), out...)
		if before = page.Before; before == "" {
			return out, nil
		}
	}
}

// download is what a reader gets who asks for a file.
func (s *webSide) download(url string) string {
	r, err := http.NewRequestWithContext(s.rig.tb.Context(), http.MethodGet, "http://cligate"+url, nil)
	if err != nil {
		return err.Error()
	}
	resp, err := s.http.Do(r)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Sprintf("no file: %d %v", resp.StatusCode, err)
	}
	return string(got)
}

func (s *webSide) messages(ls []api.Message) []Message {
	var out []Message
	for _, l := range ls {
		if l.Mine {
			continue
		}
		m := Message{ID: l.ID, Text: strings.TrimSpace(l.Text + "\n" + l.Footer)}
		if l.File != nil {
			m.File = true
			m.Text += "\n" + s.download(l.File.URL)
		}
		for _, row := range l.Buttons {
			for _, b := range row {
				m.Buttons = append(m.Buttons, Button{b.Label, b.Data})
			}
		}
		out = append(out, m)
	}
	return out
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// api is a fake Bot API server that is fast and asks for nothing: what is
// measured is the gateway. (The strict one is internal/sim/telegram.)
type api struct {
	server  *http.Server
	address string
	delay   time.Duration // every answer but a poll's comes so late
	budget  *budget       // nil = no limits

	mu      sync.Mutex
	pending []update
	updates int64 // number of the last one
	ids     int64 // last message id; all private chats of a bot share a space
	news    chan struct{}
	calls   []call
	handed  map[string]int64 // number of a prompt → when it was handed out
	waiting map[string]chan final
	polled  chan struct{} // closed at the first poll
}

type update struct {
	id   int64
	tag  string
	body string
}

// call is one call of the gateway but for polls.
type call struct {
	at      int64
	method  string
	chat    int64
	text    string
	buttons bool // has a stop button: a live message
	offers  bool // offers to repeat a turn
	refused bool
}

// posts reports whether a call makes a new message.
func (c call) posts() bool { return c.method == "sendMessage" || c.method == "sendDocument" }

// final is an answer that has arrived.
type final struct {
	handed, read int64 // the prompt was handed out; the agent read it
	wrote, at    int64 // the agent wrote the answer; it arrived here
}

func openAPI(ctx context.Context, delay time.Duration, b *budget) (*api, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("fake API: %w", err)
	}
	a := &api{
		address: "http://" + ln.Addr().String(), delay: delay, budget: b, news: make(chan struct{}),
		handed: map[string]int64{}, waiting: map[string]chan final{}, polled: make(chan struct{}),
	}
	a.server = &http.Server{Handler: a, ReadHeaderTimeout: time.Minute}
	go a.server.Serve(ln) // ends with close
	return a, nil
}

func (a *api) close() { _ = a.server.Close() }

// say lets a person write. The last word of text is its number. The channel
// gets every message that answers it.
func (a *api) say(chat int64, text string) <-chan final {
	a.mu.Lock()
	defer a.mu.Unlock()
	ch := a.add(chat, text)
	a.wake()
	return ch
}

// sayAll lets many people write in the same moment.
func (a *api) sayAll(texts map[int64]string) map[int64]<-chan final {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make(map[int64]<-chan final, len(texts))
	for chat, text := range texts {
		all[chat] = a.add(chat, text)
	}
	a.wake()
	return all
}

func (a *api) add(chat int64, text string) chan final {
	a.updates++
	a.ids++
	tag := text[strings.LastIndexByte(text, ' ')+1:]
	a.pending = append(a.pending, update{a.updates, tag, fmt.Sprintf(
		`{"update_id":%d,"message":{"message_id":%d,"date":%d,"chat":{"id":%d,"type":"private","first_name":"P"},`+
			`"from":{"id":%d,"is_bot":false,"first_name":"P","language_code":"en"},"text":%q}}`,
		a.updates, a.ids, time.Now().Unix(), chat, chat, text)})
	ch := make(chan final, 4)
	a.waiting[tag] = ch
	return ch
}

func (a *api) wake() {
	close(a.news)
	a.news = make(chan struct{})
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	arrived := now()
	if parse(r) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	method := path.Base(r.URL.Path)
	if method == "getUpdates" {
		a.poll(w, r)
		return
	}
	body, refused := a.carryOut(method, r, arrived)
	if a.delay > 0 {
		select {
		case <-time.After(a.delay):
		case <-r.Context().Done():
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if refused {
		w.WriteHeader(http.StatusTooManyRequests)
	}
	_, _ = w.Write(body)
}

// parse reads the parameters. A file counts as text.
func parse(r *http.Request) error {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		return r.ParseForm()
	}
	if err := r.ParseMultipartForm(64 << 20); err != nil {
		return err
	}
	f, _, err := r.FormFile("document")
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	r.Form.Set("text", string(b))
	return err
}

// carryOut notes a call and makes its answer.
func (a *api) carryOut(method string, r *http.Request, at int64) (body []byte, refused bool) {
	keys := r.Form.Get("reply_markup")
	c := call{
		at: at, method: method, text: r.Form.Get("text"),
		buttons: strings.Contains(keys, "stop:"), offers: strings.Contains(keys, "retry:"),
	}
	c.chat, _ = strconv.ParseInt(r.Form.Get("chat_id"), 10, 64)
	posts := c.posts()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.budget != nil && (posts || method == "editMessageText") {
		c.refused = !a.budget.take(c.chat, time.Now())
	}
	a.calls = append(a.calls, c)
	if c.refused {
		return []byte(`{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 1","parameters":{"retry_after":1}}`), true
	}
	switch {
	case method == "getMe":
		return []byte(`{"ok":true,"result":{"id":1,"is_bot":true,"first_name":"Bench","username":"bench_bot"}}`), false
	case method == "getMyCommands":
		return []byte(`{"ok":true,"result":[]}`), false
	case posts:
		a.ids++
		a.arrived(c)
		fallthrough
	case method == "editMessageText":
		id := a.ids
		if s := r.Form.Get("message_id"); s != "" {
			id, _ = strconv.ParseInt(s, 10, 64)
		}
		text, _ := json.Marshal(c.text)
		return fmt.Appendf(nil, `{"ok":true,"result":{"message_id":%d,"date":1,"chat":{"id":%d,"type":"private"},"text":%s}}`,
			id, c.chat, text), false
	}
	return []byte(`{"ok":true,"result":true}`), false
}

// arrived tells whoever waits for an answer. What carries a stop button is no
// answer yet.
func (a *api) arrived(c call) {
	tag, f, ok := parseAnswer(c.text)
	if !ok || c.buttons {
		return
	}
	f.at, f.handed = c.at, a.handed[tag]
	if ch := a.waiting[tag]; ch != nil {
		select {
		case ch <- f:
		default: // nobody counts that many copies
		}
	}
}

// parseAnswer reads the agent's "re<tag> <read> <wrote>" at the end of a text.
func parseAnswer(text string) (tag string, f final, ok bool) {
	words := strings.Fields(text)
	if len(words) < 3 {
		return "", f, false
	}
	last := words[len(words)-3:]
	tag, ok = strings.CutPrefix(last[0], "re")
	if !ok {
		return "", f, false
	}
	var err1, err2 error
	f.read, err1 = strconv.ParseInt(last[1], 10, 64)
	f.wrote, err2 = strconv.ParseInt(last[2], 10, 64)
	return tag, f, err1 == nil && err2 == nil
}

// most is how many updates one poll brings.
const most = 100

// poll confirms what is below the offset and hands out what is there.
func (a *api) poll(w http.ResponseWriter, r *http.Request) {
	offset, _ := strconv.ParseInt(r.Form.Get("offset"), 10, 64)
	seconds, _ := strconv.Atoi(r.Form.Get("timeout"))
	late := time.NewTimer(time.Duration(seconds) * time.Second)
	defer late.Stop()
	a.begun()
	for {
		a.mu.Lock()
		for len(a.pending) > 0 && a.pending[0].id < offset {
			a.pending = a.pending[1:]
		}
		batch, news := a.pending[:min(len(a.pending), most)], a.news
		if len(batch) > 0 || seconds == 0 {
			a.hand(w, batch)
			a.mu.Unlock()
			return
		}
		a.mu.Unlock()
		select {
		case <-news:
		case <-late.C:
			seconds = 0
		case <-r.Context().Done():
			return
		}
	}
}

// begun notes a poll.
func (a *api) begun() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, call{at: now(), method: "getUpdates"})
	select {
	case <-a.polled:
	default:
		close(a.polled)
	}
}

func (a *api) hand(w http.ResponseWriter, batch []update) {
	bodies := make([]string, 0, len(batch))
	at := now()
	for _, u := range batch {
		bodies = append(bodies, u.body)
		a.handed[u.tag] = at
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"ok":true,"result":[` + strings.Join(bodies, ",") + `]}`))
}

// log returns the calls since a moment, without polls.
func (a *api) log(since int64) []call {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []call
	for _, c := range a.calls {
		if c.at >= since && c.method != "getUpdates" {
			out = append(out, c)
		}
	}
	return out
}

package rig

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"cligate/internal/sim/feishu"
)

// Way is how the events of Feishu come to the daemon.
type Way string

// Ways.
const (
	Socket Way = "websocket" // over the daemon's long connection
	Hook   Way = "webhook"   // posted to an address of the daemon
)

// The app in the stand-in of Feishu, and what protects it.
const (
	App          = "cli_rig"
	AppName      = "Rig"
	AppSecret    = "canary-secret-of-the-app"
	EncryptKey   = "canary-key-of-the-events"
	Verification = "canary-token-of-the-events"
)

// pushes is when events that the daemon did not acknowledge are pushed again.
// The service takes quarters of an hour where this takes moments, and gives up
// after six hours; how long it waits for an acknowledgement is its own time.
const (
	pushEvery = 50 * time.Millisecond
	pushes    = 10_000
)

// Person and Direct are a person's id and the direct chat with the bot, for the
// n-th owner (Options.Owners).
func Person(n int64) string { return fmt.Sprintf("ou_%d", n) }

// Direct is the direct chat of an owner with the bot.
func Direct(n int64) string { return fmt.Sprintf("oc_%d", n) }

// feishuHouse is the part of a rig that is on Feishu.
type feishuHouse struct {
	Feishu *feishu.Server // nil without Options.Feishu
	r      *Rig
	posts  string // the address for posts
}

// openFeishu starts the stand-in, with a direct chat for each owner.
func openFeishu(r *Rig) *feishuHouse {
	r.tb.Helper()
	if r.opts.Feishu == "" {
		return &feishuHouse{r: r}
	}
	srv, err := feishu.New()
	if err != nil {
		r.tb.Fatal(err)
	}
	steps := make([]time.Duration, pushes)
	for i := range steps {
		steps[i] = pushEvery
	}
	srv.Ladder(r.opts.Patience, steps...)
	srv.AddApp(App, AppSecret, AppName)
	for _, n := range r.opts.Owners {
		srv.AddPerson(Person(n), fmt.Sprintf("Owner %d", n))
		srv.AddChat(Direct(n), feishu.P2P, "", []string{App}, Person(n))
	}
	return &feishuHouse{Feishu: srv, r: r}
}

// env is what the daemon is told of its app.
func (h *feishuHouse) env() []string {
	if h.Feishu == nil {
		return nil
	}
	owners := make([]string, len(h.r.opts.Owners))
	for i, n := range h.r.opts.Owners {
		owners[i] = Person(n)
	}
	env := []string{
		"CLIGATE_FEISHU_APP_ID=" + App, "CLIGATE_FEISHU_APP_SECRET=" + AppSecret, "CLIGATE_FEISHU_BASE_URL=" + h.Feishu.URL,
		"CLIGATE_FEISHU_OWNERS=" + strings.Join(owners, ","), "CLIGATE_FEISHU_MODE=" + string(h.r.opts.Feishu),
	}
	if h.r.opts.Feishu != Hook {
		return env
	}
	addr := free(h.r.tb)
	h.posts = "http://" + addr + "/events"
	h.Posts()
	return append(env, "CLIGATE_FEISHU_WEBHOOK_ADDR="+addr, "CLIGATE_FEISHU_WEBHOOK_PATH=/events",
		"CLIGATE_FEISHU_ENCRYPT_KEY="+EncryptKey, "CLIGATE_FEISHU_VERIFICATION_TOKEN="+Verification)
}

// Hears reports whether events can come to the daemon.
func (h *feishuHouse) Hears() bool {
	if h.posts == "" {
		return h.Feishu.Connections(App) > 0
	}
	_, _, err := h.Feishu.Forge(App, feishu.Forged{Body: []byte("{}"), Signature: "none"})
	return err == nil
}

// Posts makes the service post its events, of a rig by webhook.
func (h *feishuHouse) Posts() { h.Feishu.SetWebhook(App, h.posts, EncryptKey, Verification) }

// leave ends the stand-in.
func (h *feishuHouse) leave() {
	if h.Feishu != nil {
		h.Feishu.Close()
	}
}

// FeishuChat is the direct chat of an owner on Feishu.
func (h *feishuHouse) FeishuChat(owner int64) *Talk { return h.FeishuAs(Direct(owner), Person(owner)) }

// FeishuAs is a chat on Feishu in which this person speaks. The chat must exist
// (Feishu.AddChat), except the owners' direct ones. In groups set Talk.To to
// "@Rig".
func (h *feishuHouse) FeishuAs(chat, person string) *Talk {
	t := h.r.talk(chat, &feishuSide{srv: h.Feishu, chat: chat, from: person, within: h.r.opts.Patience, over: make(chan struct{})})
	t.spaced = true
	return t
}

// feishuSide is one person in one chat on Feishu.
type feishuSide struct {
	srv        *feishu.Server
	chat, from string

	within time.Duration // so long the service waits for an answer
	over   chan struct{}
	busy   sync.WaitGroup // presses that are under way
	mu     sync.Mutex
	clicks []press // that are over
	open   int     // that are not
}

// press is one press and what its author saw.
type press struct {
	feishu.Click
	data   string
	at     time.Time
	within time.Duration
}

func (s *feishuSide) say(text string) {
	s.srv.Say(feishu.Say{App: App, Chat: s.chat, From: s.from, Text: text})
}

func (s *feishuSide) sayAt(at time.Time, text string) {
	s.srv.Say(feishu.Say{App: App, Chat: s.chat, From: s.from, Text: text, At: at})
}

// press presses a button of the message, or one that it does not have. The
// service waits for the answer; we do not. Who sees that a press did not reach
// the daemon presses again, as long as the button is there.
func (s *feishuSide) press(message, data string) {
	value, shown := s.button(message, data)
	s.mu.Lock()
	s.open++
	s.mu.Unlock()
	s.busy.Go(func() {
		defer func() {
			s.mu.Lock()
			s.open--
			s.mu.Unlock()
		}()
		again := time.NewTicker(pressEvery)
		defer again.Stop()
		for {
			p := press{data: data, at: time.Now(), within: s.within}
			p.Click = s.srv.Press(App, message, s.from, value, nil)
			s.mu.Lock()
			s.clicks = append(s.clicks, p)
			s.mu.Unlock()
			if !p.unheard() {
				return
			}
			select {
			case <-s.over:
				return
			case <-again.C:
			}
			if _, ok := s.button(message, data); shown && !ok {
				return
			}
		}
	})
}

// pressEvery is how long people wait before they press again.
const pressEvery = 100 * time.Millisecond

// unheard reports whether a press did not reach the daemon: none was connected,
// the connection was lost with it, or it is still starting and says so.
func (p press) unheard() bool {
	return p.Code == feishu.Unanswered && p.Took < p.within ||
		p.Code == feishu.BadStatus && strings.Contains(p.Error, strconv.Itoa(http.StatusServiceUnavailable))
}

// button is what a button of a message sends, and whether there is one.
func (s *feishuSide) button(message, data string) (value map[string]any, ok bool) {
	for _, m := range s.srv.Shown(s.chat) {
		for _, b := range m.Buttons {
			if m.ID == message && b.Value["data"] == data {
				return b.Value, true
			}
		}
	}
	return map[string]any{"data": data}, false
}

var font = regexp.MustCompile(`</?font[^>]*>`)

// asRead is a card's text without what gives it colour, its special characters
// as people read them. The other marks stay.
func asRead(card string) string { return html.UnescapeString(font.ReplaceAllString(card, "")) }

// pressed is every press that is over.
func (s *feishuSide) pressed() []press {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]press(nil), s.clicks...)
}

func (s *feishuSide) shown() ([]Message, error) {
	var out []Message
	for _, m := range s.srv.Shown(s.chat) {
		if !m.FromBot || m.Recalled {
			continue
		}
		n := Message{ID: m.ID, Text: asRead(m.Text), File: m.File != "", Open: m.Open}
		if n.File {
			n.Text += "\n" + string(m.Body)
		}
		for _, b := range m.Buttons {
			if data, ok := b.Value["data"].(string); ok && !b.Disabled {
				n.Buttons = append(n.Buttons, Button{b.Label, data})
			}
		}
		out = append(out, n)
	}
	return out, nil
}

func (s *feishuSide) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open == 0 && s.srv.Pending(App) == 0
}

func (s *feishuSide) close() {
	close(s.over)
	s.busy.Wait()
}

var _ side = (*feishuSide)(nil)

package rig

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cligate/internal/sim/oracle"
	"cligate/internal/sim/telegram"
)

// Message is one message of the bot as readers see it now.
type Message struct {
	ID      string
	Text    string // also what is in its file
	File    bool   // it carries one
	Open    bool   // a card that still streams: "generating"
	Buttons []Button
}

// Button is one button of a message.
type Button struct{ Label, Data string }

// Talk is one person in one chat, on either platform.
type Talk struct {
	Chat string // as oracle.World names it
	To   string // whom every message names first, in groups: "@rig_bot"
	rig  *Rig
	side side
	// spaced says that the name stands before commands too, as a word of its own.
	spaced bool

	mu      sync.Mutex
	pressed map[string]bool
}

// side is what differs between the platforms.
type side interface {
	say(text string)
	press(message, data string)
	shown() ([]Message, error)
	idle() bool // the platform has handed over everything
	close()
}

// Chat is a Telegram chat in which its owner speaks.
func (r *Rig) Chat(id int64) *Talk { return r.ChatAs(id, id) }

// ChatAs is a Telegram chat in which the user from speaks. The chat must exist
// (Telegram.AddChat), except the owners' private ones.
func (r *Rig) ChatAs(id, from int64) *Talk {
	return r.talk(strconv.FormatInt(id, 10), &telegramSide{srv: r.Telegram, chat: id, from: from})
}

// Topic is one topic of a Telegram chat in which the user from speaks, and sees
// nothing else; 0 = outside of topics. The bot is named with every message of a
// group.
func Topic(r *Rig, id, thread, from int64) *Talk {
	t := r.talk(strconv.FormatInt(id, 10), &telegramSide{r.Telegram, id, from, thread, true})
	if id < 0 {
		t.To = "@" + Bot
	}
	return t
}

// WebChat is a chat of the web platform, as its owner has it.
func (r *Rig) WebChat(name string) *Talk { return r.talk(name, newWebSide(r, name)) }

func (r *Rig) talk(chat string, s side) *Talk {
	t := &Talk{Chat: chat, rig: r, side: s, pressed: map[string]bool{}}
	r.mu.Lock()
	r.talks = append(r.talks, t)
	r.mu.Unlock()
	return t
}

// Say sends a message. It does not wait until the daemon has it: Telegram keeps
// it, the web client posts it until it is taken.
func (t *Talk) Say(text string) { t.side.say(t.addressed(text)) }

// addressed is text as it is said in this chat.
func (t *Talk) addressed(text string) string {
	switch {
	case t.To == "":
		return text
	case strings.HasPrefix(text, "/") && !t.spaced:
		name, rest, _ := strings.Cut(text, " ")
		return strings.TrimSpace(name + t.To + " " + rest)
	}
	return t.To + " " + text
}

// SayAt is Say with a time of writing, on Telegram and Feishu: something that
// the service has kept for that long.
func (t *Talk) SayAt(at time.Time, text string) {
	s, ok := t.side.(interface {
		sayAt(at time.Time, text string)
	})
	if !ok {
		t.rig.tb.Fatal("the web chat keeps no messages")
	}
	s.sayAt(at, t.addressed(text))
}

// Put sends a message and notes what must come of it; s.Key must be a word of
// the text.
func (t *Talk) Put(text string, s oracle.Said) {
	s.Chat = t.Chat
	t.rig.Expect(s)
	t.Say(text)
}

// Tell is Put for an allowed message with these markers in its answer.
func (t *Talk) Tell(text, key string, answer ...string) {
	t.Put(text, oracle.Said{Key: key, Answer: answer, Allowed: true})
}

// Shown returns what the chat shows of the bot, oldest first. It is empty while
// a web daemon is away.
func (t *Talk) Shown() []Message {
	ms, err := t.side.shown()
	if err != nil {
		return nil
	}
	return ms
}

// Text is everything that the chat shows of the bot.
func (t *Talk) Text() string {
	var all []string
	for _, m := range t.Shown() {
		all = append(all, m.Text)
	}
	return strings.Join(all, "\n")
}

// Await waits until the chat shows every one of these texts.
func (t *Talk) Await(texts ...string) {
	t.rig.tb.Helper()
	for _, want := range texts {
		if !t.rig.Within(Limit, func() bool { return strings.Contains(t.Text(), want) }) {
			t.rig.tb.Fatalf("chat %s does not show %q but\n%s\n%s", t.Chat, want, t.Text(), t.rig.Tail())
		}
	}
}

// Find returns the newest button whose data begins with verb ("stop:").
func (t *Talk) Find(verb string) (Message, Button, bool) {
	for _, m := range slices.Backward(t.Shown()) {
		for _, b := range m.Buttons {
			if strings.HasPrefix(b.Data, verb) {
				return m, b, true
			}
		}
	}
	return Message{}, Button{}, false
}

// Press waits for a button whose data begins with verb and whose label is one
// of labels (none = any) and presses it, each button of each message once.
func (t *Talk) Press(verb string, labels ...string) {
	t.rig.tb.Helper()
	if !t.rig.Within(Limit, func() bool { return t.TryPress(verb, labels...) }) {
		t.rig.tb.Fatalf("chat %s has no button %s %q but\n%s\n%s", t.Chat, verb, labels, t.Text(), t.rig.Tail())
	}
}

// TryPress is Press without waiting; it reports whether there was a button.
func (t *Talk) TryPress(verb string, labels ...string) bool {
	_, ok := t.Take(func(b Button) bool {
		return strings.HasPrefix(b.Data, verb) && (len(labels) == 0 || slices.Contains(labels, b.Label))
	})
	return ok
}

// Take presses the newest button that is wanted and was not pressed before.
func (t *Talk) Take(wanted func(Button) bool) (Button, bool) {
	for _, m := range slices.Backward(t.Shown()) {
		for _, b := range m.Buttons {
			if wanted(b) && t.once(m.ID, b.Data) {
				t.side.press(m.ID, b.Data)
				return b, true
			}
		}
	}
	return Button{}, false
}

func (t *Talk) once(message, data string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := message + " " + data
	if t.pressed[key] {
		return false
	}
	t.pressed[key] = true
	return true
}

// Idle reports whether the platform has handed over everything.
func (t *Talk) Idle() bool { return t.side.idle() }

// Forge presses a button that need not exist.
func (t *Talk) Forge(message, data string) { t.side.press(message, data) }

type telegramSide struct {
	srv        *telegram.Server
	chat, from int64
	thread     int64 // the topic
	within     bool  // of the chat only this topic is seen
}

func (s *telegramSide) say(text string) {
	s.srv.Say(Token, telegram.Say{Chat: s.chat, From: s.from, Thread: s.thread, Text: text})
}

func (s *telegramSide) sayAt(at time.Time, text string) {
	s.srv.Say(Token, telegram.Say{Chat: s.chat, From: s.from, Text: text, Date: at})
}

func (s *telegramSide) press(message, data string) {
	id, _ := strconv.ParseInt(message, 10, 64)
	s.srv.Click(Token, s.chat, id, s.from, data)
}

func (s *telegramSide) shown() ([]Message, error) {
	var out []Message
	for _, m := range s.srv.Visible(Token, s.chat) {
		if s.within && m.Thread != s.thread {
			continue
		}
		text := m.Text
		if m.File != "" {
			text += "\n" + string(m.FileBody)
		}
		n := Message{ID: strconv.FormatInt(m.ID, 10), Text: text, File: m.File != ""}
		for _, row := range m.Buttons {
			for _, b := range row {
				n.Buttons = append(n.Buttons, Button{b.Text, b.Data})
			}
		}
		out = append(out, n)
	}
	return out, nil
}

func (s *telegramSide) idle() bool { return s.srv.Pending(Token) == 0 }
func (s *telegramSide) close()     {}

var (
	_ side = (*telegramSide)(nil)
	_ side = (*webSide)(nil)
)

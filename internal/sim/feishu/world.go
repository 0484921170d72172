package feishu

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Kinds of chats (chat_mode).
const (
	P2P   = "p2p"
	Group = "group"
	Topic = "topic" // a group of threads only
)

// world is what the tenant holds. The server's lock guards it.
type world struct {
	chats    map[string]*chatState
	messages map[string]*message
	order    []string // of messages
	cards    map[string]*card
	images   map[string][]byte
	files    map[string]upload
	people   map[string]string // open_id → name
	handsOut int               // bytes of the largest file
}

type upload struct {
	name string
	kind string
	body []byte
}

type chatState struct {
	id      string
	kind    string
	name    string
	bots    []string // apps whose bot is a member
	people  []string
	threads map[string]string // root message → thread id
	gone    bool              // dissolved
	muted   bool
}

// message is one message of a chat.
type message struct {
	ID       string
	Chat     string
	From     string // open_id; of a bot its own
	Tenant   string // of its author; empty = the only one
	App      string // of a bot's message
	Type     string
	Content  string // JSON
	Root     string
	Parent   string
	Thread   string
	Upper    string // of a child of a merged forward
	At       time.Time
	Updated  time.Time
	Edits    int
	Recalled bool
	Card     string // entity
	Mentions []map[string]any
	Reacted  map[string]reaction // by reaction id
	Shared   []string            // keys of resources that came with it
}

type reaction struct{ emoji, by string }

func newWorld() *world {
	return &world{chats: map[string]*chatState{}, messages: map[string]*message{}, cards: map[string]*card{},
		images: map[string][]byte{}, files: map[string]upload{}, people: map[string]string{}, handsOut: 100 << 20}
}

// AddPerson makes a person. Ids are as each app sees them: there is one app a
// test, so one id is enough.
func (x *console) AddPerson(openID, name string) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.people[openID] = name
}

// AddChat makes a chat with the bots of apps and people in it.
func (x *console) AddChat(id, kind, name string, apps []string, people ...string) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.chats[id] = &chatState{id: id, kind: kind, name: name, bots: apps, people: people, threads: map[string]string{}}
}

// Dissolve ends a chat.
func (x *console) Dissolve(chat string) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.chats[chat].gone = true
}

// Mute forbids everybody to speak in a chat.
func (x *console) Mute(chat string, on bool) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.chats[chat].muted = on
}

// store keeps a new message. The lock is held.
func (s *Server) store(m *message) *message {
	m.ID, m.At = s.id("om"), s.now()
	m.Updated, m.Reacted = m.At, map[string]reaction{}
	if m.Upper == "" && m.Parent != "" {
		p := s.world.messages[m.Parent]
		if m.Root == "" {
			m.Root = p.Root
			if m.Root == "" {
				m.Root = p.ID
			}
		}
		if m.Thread == "" {
			m.Thread = p.Thread
		}
	}
	c := s.world.chats[m.Chat]
	if c.kind == Topic && m.Thread == "" {
		m.Thread = s.thread(c, m.ID)
	}
	s.world.messages[m.ID] = m
	s.world.order = append(s.world.order, m.ID)
	return m
}

// thread is the thread that begins at a message. The lock is held.
func (s *Server) thread(c *chatState, root string) string {
	if c.threads[root] == "" {
		c.threads[root] = s.id("omt")
	}
	if m := s.world.messages[root]; m != nil {
		m.Thread = c.threads[root]
	}
	return c.threads[root]
}

// Seen is a message as people see it.
type Seen struct {
	ID, Chat, Type string
	FromBot        bool
	Text           string // what can be read, formatting left out
	Buttons        []Control
	Thread, Parent string
	Open           bool // a card that still streams: "generating"
	Entity         string
	Recalled       bool
	File           string
	Body           []byte
	Edits          int
	Reactions      []string
	Raw            string // content, or the card's JSON
}

// Control is something to press or fill in.
type Control struct {
	Tag, Name, Label string
	Value            map[string]any
	Options, Labels  []string // values, and what they are called
	Form             string   // the form that it belongs to
	Filled           any      // what stands there already: a string, strings, or whether it is checked
	Disabled         bool
}

// Shown returns the messages of a chat in their order.
func (s *Server) Shown(chat string) []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Seen
	for _, id := range s.world.order {
		if m := s.world.messages[id]; m.Chat == chat && m.Upper == "" {
			out = append(out, s.see(m))
		}
	}
	return out
}

func (s *Server) see(m *message) Seen {
	v := Seen{ID: m.ID, Chat: m.Chat, Type: m.Type, FromBot: m.App != "", Thread: m.Thread, Parent: m.Parent, Recalled: m.Recalled, Edits: m.Edits, Raw: m.Content}
	for _, r := range m.Reacted {
		v.Reactions = append(v.Reactions, r.emoji)
	}
	slices.Sort(v.Reactions)
	var body map[string]any
	_ = json.Unmarshal([]byte(m.Content), &body)
	switch m.Type {
	case "interactive":
		root := body
		if m.Card != "" {
			c := s.world.cards[m.Card]
			root, v.Entity, v.Open = c.root, c.id, c.streaming
		}
		raw, _ := json.Marshal(root)
		v.Raw = string(raw)
		v.Text, v.Buttons = readable(root)
	case "post":
		v.Text = postText(body)
	case "file", "image", "media", "audio":
		key, _ := body[m.Type+"_key"].(string)
		if m.Type != "image" {
			key, _ = body["file_key"].(string)
		}
		if up, ok := s.world.files[key]; ok {
			v.File, v.Body = up.name, up.body
		} else if img, ok := s.world.images[key]; ok {
			v.File, v.Body = key, img
		}
	default:
		v.Text, _ = body["text"].(string)
	}
	return v
}

// postText is the words of a post.
func postText(body map[string]any) string {
	if _, ok := body["content"]; !ok { // by language
		for _, v := range body {
			if m, ok := v.(map[string]any); ok {
				return postText(m)
			}
		}
	}
	out, _ := body["title"].(string)
	lines, _ := body["content"].([]any)
	for _, l := range lines {
		if out != "" {
			out += "\n"
		}
		nodes, _ := l.([]any)
		for _, n := range nodes {
			node, _ := n.(map[string]any)
			text, _ := node["text"].(string)
			out += text
		}
	}
	return out
}

func (s *Server) person(openID string) string {
	if n := s.world.people[openID]; n != "" {
		return n
	}
	return fmt.Sprintf("Person %s", openID)
}

package web

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"cligate/internal/web/api"
)

// Bounds of the board's memory.
const (
	maxForms = 64  // changed messages remembered per chat
	maxChats = 256 // chats remembered
)

// board remembers what the ledger does not keep: the newest form of messages
// that changed, how far messages got, who types. Every change has a revision;
// a reader asks for what is newer than the one it knows, so a slow reader
// costs nothing and gets the newest form only. A reader who knows less than is
// remembered is told so and reads the ledger again.
type board struct {
	mu    sync.Mutex
	chats map[string]*chatState
	rev   int64 // of the newest change
	lost  int64 // changes up to here, of any chat, may be forgotten
	subs  map[*sub]struct{}
}

type chatState struct {
	forms  map[string]form
	lost   int64 // changes of this chat up to here may be forgotten
	typing int64
	used   int64
}

type form struct {
	rev int64
	ev  api.Event
}

// sub is one reader. Wake never blocks the writer; what it is about is read
// from the flags.
type sub struct {
	chat  string
	wake  chan struct{}
	lines bool            // under board.mu: the ledger has new lines of the chat
	other map[string]bool // … of these other chats
}

func newBoard() *board {
	return &board{chats: map[string]*chatState{}, subs: map[*sub]struct{}{}}
}

// join adds a reader of a chat; false when there are too many.
func (b *board) join(chat string, most int) (*sub, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.subs) >= most {
		return nil, false
	}
	s := &sub{chat: chat, wake: make(chan struct{}, 1), lines: true, other: map[string]bool{}}
	b.subs[s] = struct{}{}
	return s, true
}

func (b *board) leave(s *sub) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.subs, s)
}

// news says that the ledger has new lines of a chat.
func (b *board) news(chat string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.subs {
		if s.chat == chat {
			s.lines = true
		} else {
			s.other[chat] = true
		}
		s.poke()
	}
}

// set remembers the newest form of what ev is about.
func (b *board) set(chat string, ev api.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	st := b.state(chat)
	st.forms[formKey(ev)] = form{rev: b.rev, ev: ev}
	if len(st.forms) > maxForms {
		st.forgetOldest()
	}
	b.pokeReaders(chat)
}

// typing says that somebody types in a chat.
func (b *board) typing(chat string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	st := b.state(chat)
	st.typing = b.rev
	b.pokeReaders(chat)
}

// state returns the chat's state for a change and counts the change.
func (b *board) state(chat string) *chatState {
	b.rev++
	st := b.chats[chat]
	if st == nil {
		if len(b.chats) >= maxChats {
			b.forgetChat()
		}
		st = &chatState{forms: map[string]form{}, lost: b.lost}
		b.chats[chat] = st
	}
	st.used = b.rev
	return st
}

func (b *board) forgetChat() {
	oldest := ""
	for name, st := range b.chats {
		if oldest == "" || st.used < b.chats[oldest].used {
			oldest = name
		}
	}
	b.lost = max(b.lost, b.chats[oldest].used)
	delete(b.chats, oldest)
}

func (st *chatState) forgetOldest() {
	oldest := ""
	for k, f := range st.forms {
		if oldest == "" || f.rev < st.forms[oldest].rev {
			oldest = k
		}
	}
	st.lost = max(st.lost, st.forms[oldest].rev)
	delete(st.forms, oldest)
}

func (b *board) pokeReaders(chat string) {
	for s := range b.subs {
		if s.chat == chat {
			s.poke()
		}
	}
}

func (s *sub) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// changes is what a reader gets.
type changes struct {
	lines  bool
	other  []string
	typing bool
	events []api.Event // oldest change first
	rev    int64       // names this point
	gap    bool        // something between the reader's point and this one is forgotten
}

// since returns what changed in the reader's chat after rev.
func (b *board) since(s *sub, rev int64) changes {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := changes{lines: s.lines, other: slices.Sorted(maps.Keys(s.other)), rev: b.rev}
	s.lines = false
	clear(s.other)
	st := b.chats[s.chat]
	if st == nil {
		c.gap = rev < b.lost
		return c
	}
	c.gap = rev < st.lost
	c.typing = st.typing > rev
	c.events = st.after(rev)
	return c
}

func (st *chatState) after(rev int64) []api.Event {
	var fs []form
	for _, f := range st.forms {
		if f.rev > rev {
			fs = append(fs, f)
		}
	}
	slices.SortFunc(fs, func(x, y form) int { return cmp.Compare(x.rev, y.rev) })
	out := make([]api.Event, len(fs))
	for i, f := range fs {
		out[i] = f.ev
	}
	return out
}

// now returns the newest revision.
func (b *board) now() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rev
}

// form returns the remembered form of a message and how far it got.
func (b *board) form(chat, id string) (ev api.Event, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	st := b.chats[chat]
	if st == nil {
		return api.Event{}, false
	}
	f, known := st.forms[id]
	return f.ev, known
}

// formKey keeps marks apart from messages; a message and its removal share one.
func formKey(ev api.Event) string {
	switch ev.Kind {
	case api.EventMark:
		return markKey(ev.ID)
	case api.EventMessage:
		return ev.Message.ID
	default:
		return ev.ID
	}
}

func markKey(id string) string { return "mark " + id }

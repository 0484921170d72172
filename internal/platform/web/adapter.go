// Package web is the built-in web chat as a platform: the same contract as any
// chat service, spoken over HTTP and server-sent events. It is the first and
// the last station of a message from a browser or from the terminal client.
//
// The ledger is the only record. A posted message is answered when it is
// durable; an outbox row is visible from the moment it is committed, so Send
// has nothing to do but wake the readers. A reader names how far it got, and
// what it missed is read from the ledger: nothing is lost, and because every
// message has one id for ever, nothing is shown twice. Only the live forms of
// running messages are kept in memory.
//
// Who speaks is told by the server in front (Config.Who), never by the request.
package web

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
	"cligate/internal/web/api"
)

// Config of the web platform.
type Config struct {
	Account string // key of the account in the ledger
	// Who says which person a request comes from; false = nobody, refused.
	Who func(r *http.Request) (chat.Person, bool)
	// Streams is the most browsers that can listen at a time.
	Streams int
	// Files opens the files that rows only name. May be nil: then rows carry
	// theirs.
	Files platform.Files
}

// Validate reports what is missing.
func (c Config) Validate() error {
	var bad []error
	if c.Account == "" {
		bad = append(bad, errors.New("web platform: no account"))
	}
	if c.Who == nil {
		bad = append(bad, errors.New("web platform: nobody tells who speaks"))
	}
	if c.Streams <= 0 {
		bad = append(bad, fmt.Errorf("web platform: %d streams", c.Streams))
	}
	return errors.Join(bad...)
}

// Adapter is the web chat. It implements platform.Adapter, and with Handler
// the HTTP API that browsers use.
type Adapter struct {
	history History
	cfg     Config
	log     *slog.Logger
	board   *board
	door    door
	titles  titles
	boot    string // tells a reader that the daemon, and with it the board, is another
}

var _ platform.Adapter = (*Adapter)(nil)

// New makes the web chat.
func New(h History, cfg Config, log *slog.Logger) (*Adapter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	id := make([]byte, 6)
	_, _ = rand.Read(id) // never fails
	return &Adapter{
		history: h, cfg: cfg, log: log.With("platform", "web", "account", cfg.Account),
		board: newBoard(), boot: hex.EncodeToString(id),
	}, nil
}

// Run takes messages until ctx ends, and returns when none is half taken.
func (a *Adapter) Run(ctx context.Context, in platform.Inbound) error {
	a.door.open(in)
	<-ctx.Done()
	a.door.close()
	return nil
}

// Traits implements platform.Adapter.
func (a *Adapter) Traits() platform.Traits {
	return platform.Traits{
		Edits: true, Buttons: true, Typing: true, React: true, Local: true,
		Settles:       true, // an unsure post is the same row
		ProgressEvery: 100 * time.Millisecond, ProgressEveryGroup: 100 * time.Millisecond,
	}
}

// format is what a web part is, beside its Markdown.
type format struct {
	Kind   chat.ReplyKind `json:"kind"`
	Footer string         `json:"footer,omitempty"`
	Panels []api.Panel    `json:"panels,omitempty"`
}

// panelLines bounds what is kept of a panel: a live message is sent whole each
// time it changes.
const panelLines = 200

// panels are the newest lines of what a reader may look into.
func panels(ps []chat.Panel) []api.Panel {
	var out []api.Panel
	for _, p := range ps {
		if n := len(p.Lines); n > 0 {
			out = append(out, api.Panel{Title: p.Title, Lines: p.Lines[max(n-panelLines, 0):]})
		}
	}
	return out
}

// Render implements platform.Adapter. A page has no size limit, so a reply is
// one part. The Markdown is kept as it is and made safe HTML when it is shown.
func (a *Adapter) Render(r chat.Reply) []chat.Part {
	f, err := json.Marshal(format{Kind: r.Kind, Footer: r.Footer, Panels: panels(r.Details)})
	if err != nil { // plain strings; cannot happen
		f = nil
	}
	return []chat.Part{{
		Text: r.Markdown, Format: f, Buttons: pressed(r.Buttons),
		ReplyTo: r.ReplyTo, Silent: r.Silent, File: r.File,
	}}
}

// Send implements platform.Adapter. The id of a message is its row's key, so
// the same row sent again is the same message.
func (a *Adapter) Send(ctx context.Context, o chat.Out) (chat.Ref, error) {
	if err := ctx.Err(); err != nil {
		return chat.Ref{}, err
	}
	switch o.Op {
	case chat.OpPost:
		ref := chat.Ref{ID: o.Key, Chat: o.Place.Chat}
		if o.Class == chat.OutProgress || o.ID == 0 { // shown while it lives; what is stored is read from the ledger
			a.show(o, o.Key, nil)
		}
		a.board.news(o.Place.Chat)
		return ref, nil
	case chat.OpEdit, chat.OpFinish:
		old, err := a.shown(ctx, o.Place.Chat, o.Target.ID)
		if err != nil {
			return chat.Ref{}, err
		}
		a.show(o, o.Target.ID, old)
		return o.Target, nil
	case chat.OpRemove:
		a.board.set(o.Place.Chat, api.Event{Kind: api.EventRemove, ID: o.Target.ID})
		return o.Target, nil
	case chat.OpTopic: // there are none
	}
	return chat.Ref{}, chat.E(chat.GiveUp, "unknown operation "+string(o.Op), nil)
}

// show shows the newest form of a message. It keeps the place in time of the
// old one, where there is one.
func (a *Adapter) show(o chat.Out, id string, old *api.Message) {
	m := message(o.Part)
	m.ID, m.Class, m.Turn, m.At = id, o.Class, o.Turn, time.Now()
	if ev, known := a.board.form(o.Place.Chat, id); known {
		old = ev.Message
	}
	if old != nil {
		m.At = old.At
	}
	if m.File != nil && o.ID > 0 {
		m.File.URL = fileURL(o.Place.Chat, o.ID)
	}
	a.board.set(o.Place.Chat, api.Event{Kind: api.EventMessage, Message: &m})
}

// Signal implements platform.Adapter.
func (a *Adapter) Signal(_ context.Context, to chat.Place, ref chat.Ref, s chat.Signal) error {
	switch s.Kind {
	case chat.SignalTyping:
		a.board.typing(to.Chat)
	case chat.SignalReact:
		a.board.set(to.Chat, api.Event{Kind: api.EventMark, ID: api.MineID(ref.ID), Emoji: s.Emoji})
	case chat.SignalTitle: // there are no topics
	}
	return nil
}

// Fetch implements platform.Adapter: the page sends no files.
func (a *Adapter) Fetch(context.Context, chat.FileRef, io.Writer) error {
	return chat.E(chat.Unsupported, "the web chat takes no files", nil)
}

// Health implements platform.Healther.
func (a *Adapter) Health() platform.Health {
	return platform.Health{Connected: a.door.isOpen(), LastOK: time.Now()}
}

// door lets messages in while Run runs, and knows when the last one is through.
type door struct {
	mu   sync.Mutex
	in   platform.Inbound
	busy sync.WaitGroup
}

func (d *door) open(in platform.Inbound) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.in = in
}

func (d *door) close() {
	d.mu.Lock()
	d.in = nil
	d.mu.Unlock()
	d.busy.Wait()
}

func (d *door) isOpen() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.in != nil
}

// enter returns where messages go and what to call afterwards.
func (d *door) enter() (platform.Inbound, func(), error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.in == nil {
		return nil, nil, chat.E(chat.Unavailable, "CliGate is starting or stopping", nil)
	}
	d.busy.Add(1)
	return d.in, d.busy.Done, nil
}

// titles remembers the names of chats, so that the ledger is not asked for each
// message.
type titles struct {
	mu    sync.Mutex
	known map[string]string
}

func (t *titles) get(chatID string) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, ok := t.known[chatID]
	return s, ok
}

func (t *titles) put(chatID, title string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= maxChats {
		t.known = map[string]string{}
	}
	t.known[chatID] = title
}

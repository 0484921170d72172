package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
	"cligate/internal/web/api"
)

// Sizes of pages.
const (
	maxText   = 256 << 10 // bytes of one message
	maxID     = 256       // bytes of a message's id
	listLimit = 200
	pageLimit = 60
	pageMost  = 200
)

// Handler returns the API of the web chat, for paths below api.Chats. It does
// no guarding of its own: the server in front has checked where the request
// comes from and who sent it.
func (a *Adapter) Handler() http.Handler {
	mux := http.NewServeMux()
	routes := map[string]func(http.ResponseWriter, *http.Request) error{
		"GET " + api.Chats:                          a.list,
		"GET " + api.Chats + "/{chat}/lines":        a.page,
		"GET " + api.Chats + "/{chat}/events":       a.events,
		"GET " + api.Chats + "/{chat}/fates/{key}":  a.fate,
		"GET " + api.Chats + "/{chat}/files/{id}":   a.file,
		"POST " + api.Chats + "/{chat}/messages":    a.post(chat.KindText),
		"POST " + api.Chats + "/{chat}/edits":       a.post(chat.KindEdit),
		"POST " + api.Chats + "/{chat}/withdrawals": a.post(chat.KindRecall),
		"POST " + api.Chats + "/{chat}/clicks":      a.click,
	}
	for pattern, h := range routes {
		mux.Handle(pattern, a.checked(h))
	}
	return mux
}

// checked turns a handler's error into an answer.
func (a *Adapter) checked(h func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := func() error {
			if _, known := a.cfg.Who(r); !known {
				return chat.E(chat.Denied, "", nil)
			}
			if id := r.PathValue("chat"); strings.Contains(r.Pattern, "{chat}") && !api.ValidChat(id) {
				return chat.E(chat.Invalid, "the name of the chat", nil)
			}
			return h(w, r)
		}()
		if err == nil {
			return
		}
		status := api.StatusOf(err)
		if status >= http.StatusInternalServerError && r.Context().Err() == nil {
			a.log.WarnContext(r.Context(), "web request failed", "route", r.Pattern, "err", err)
		}
		api.Refuse(w, r, status, err)
	})
}

func (a *Adapter) list(w http.ResponseWriter, r *http.Request) error {
	places, err := a.history.WebChats(r.Context(), a.cfg.Account, listLimit)
	if err != nil {
		return fmt.Errorf("list chats: %w", err)
	}
	out := api.ChatList{Chats: make([]api.Chat, 0, len(places))}
	for _, p := range places {
		out.Chats = append(out.Chats, api.Chat{ID: p.Chat, Title: p.Title})
	}
	api.Write(w, http.StatusOK, out)
	return nil
}

// page answers with a page of history and the point at which the events go on.
// The point is taken first: what comes in between is in both, under one id.
func (a *Adapter) page(w http.ResponseWriter, r *http.Request) error {
	ctx, id := r.Context(), r.PathValue("chat")
	before, limit, err := pageQuery(r)
	if err != nil {
		return err
	}
	cur := cursor{boot: a.boot, rev: a.board.now()}
	if cur.mark, err = a.mark(ctx, id); err != nil {
		return err
	}
	ls, err := a.history.Tail(ctx, a.cfg.Account, id, before, limit)
	if err != nil {
		return fmt.Errorf("read a page: %w", err)
	}
	out := api.Lines{Cursor: cur.String()}
	if out.Lines, err = (viewer{a, id, api.Lang(r)}).lines(ctx, ls); err != nil {
		return err
	}
	if len(ls) == limit {
		out.Before = pageBefore(before, ls)
	}
	api.Write(w, http.StatusOK, out)
	return nil
}

func pageQuery(r *http.Request) (before chat.Mark, limit int, err error) {
	q := r.URL.Query()
	limit = pageLimit
	if s := q.Get("limit"); s != "" {
		if limit, err = strconv.Atoi(s); err != nil || limit < 1 || limit > pageMost {
			return before, 0, chat.E(chat.Invalid, "limit", err)
		}
	}
	if s := q.Get("before"); s != "" {
		c, ok := parseCursor(s)
		if !ok {
			return before, 0, chat.E(chat.Invalid, "before", nil)
		}
		before = c.mark
	}
	return before, limit, nil
}

// pageBefore names the page before ls. Where ls has no row of a table the
// bound of that table stays.
func pageBefore(before chat.Mark, ls []chat.Line) string {
	for _, l := range ls {
		if l.Inbound > 0 && (before.Inbound == 0 || l.Inbound < before.Inbound) {
			before.Inbound = l.Inbound
		}
		if l.Outbox > 0 && (before.Outbox == 0 || l.Outbox < before.Outbox) {
			before.Outbox = l.Outbox
		}
	}
	return cursor{boot: "page", mark: before}.String()
}

// post takes a new message, an edit or a withdrawal. It answers when that is
// durable.
func (a *Adapter) post(kind chat.MessageKind) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		var p api.Post
		if err := api.Read(r, &p); err != nil {
			return err
		}
		p.Text = strings.TrimSpace(strings.ToValidUTF8(p.Text, "\uFFFD"))
		if err := validPost(kind, p); err != nil {
			return err
		}
		m, err := a.message(r, kind, p.Key)
		if err != nil {
			return err
		}
		m.Text, m.Ref.ID = p.Text, cmp.Or(p.Message, p.Key)
		m.Reply.ID = api.KeyOf(p.Reply)
		ack, err := a.receive(r.Context(), m)
		if err != nil {
			return err
		}
		api.Write(w, http.StatusOK, api.Taken{Inbound: ack.Inbound, Fresh: ack.Fresh, Toast: ack.Toast, Alert: ack.Alert})
		return nil
	}
}

func validPost(kind chat.MessageKind, p api.Post) error {
	switch {
	case !api.ValidKey(p.Key):
		return chat.E(chat.Invalid, "key", nil)
	case len(p.Reply) > maxID || kind != chat.KindText && p.Reply != "":
		return chat.E(chat.Invalid, "reply", nil)
	case kind == chat.KindText && p.Message != "":
		return chat.E(chat.Invalid, "message", nil)
	case kind != chat.KindText && !api.ValidKey(p.Message):
		return chat.E(chat.Invalid, "message", nil)
	case kind == chat.KindRecall:
		return nil
	case p.Text == "":
		return chat.E(chat.Invalid, "text", nil)
	case len(p.Text) > maxText:
		return chat.E(chat.Full, "the message is too long", nil)
	}
	return nil
}

// click takes the press of a button. The decision behind it is committed when
// it answers.
func (a *Adapter) click(w http.ResponseWriter, r *http.Request) error {
	var c api.Click
	if err := api.Read(r, &c); err != nil {
		return err
	}
	if !api.ValidKey(c.Key) || c.Message == "" || len(c.Message) > maxID || c.Data == "" || len(c.Data) > 64 {
		return chat.E(chat.Invalid, "button", nil)
	}
	m, err := a.message(r, chat.KindClick, c.Key)
	if err != nil {
		return err
	}
	m.Ref.ID, m.Data = c.Message, c.Data
	ack, err := a.receive(r.Context(), m)
	if err != nil {
		return err
	}
	out := api.Taken{Inbound: ack.Inbound, Fresh: ack.Fresh, Toast: ack.Toast, Alert: ack.Alert}
	if ack.Replace != nil && !ack.Follows {
		if out.Message, err = a.replace(r.Context(), m.Place.Chat, c.Message, *ack.Replace); err != nil {
			return err
		}
	}
	api.Write(w, http.StatusOK, out)
	return nil
}

// replace gives the message that carried a button its new form, for every
// reader. Only a message of this chat can get one.
func (a *Adapter) replace(ctx context.Context, chatID, id string, r chat.Reply) (*api.Message, error) {
	m := message(a.Render(r)[0])
	m.ID, m.At = id, time.Now()
	old, err := a.shown(ctx, chatID, id)
	if err != nil {
		return nil, err
	}
	if old == nil {
		return nil, nil
	}
	m.At, m.Class, m.Turn = old.At, old.Class, old.Turn
	a.board.set(chatID, api.Event{Kind: api.EventMessage, Message: &m})
	return &m, nil
}

// shown finds a message among those a reader can see without paging far.
func (a *Adapter) shown(ctx context.Context, chatID, id string) (*api.Message, error) {
	if ev, known := a.board.form(chatID, id); known {
		return ev.Message, nil
	}
	ls, err := a.history.Tail(ctx, a.cfg.Account, chatID, chat.Mark{}, pageMost)
	if err != nil {
		return nil, fmt.Errorf("find a message: %w", err)
	}
	for _, l := range ls {
		if l.Outbox > 0 && l.Key == id {
			return &api.Message{At: l.At, Class: l.Class, Turn: l.Turn}, nil
		}
	}
	return nil, nil
}

func (a *Adapter) message(r *http.Request, kind chat.MessageKind, key string) (chat.Message, error) {
	who, known := a.cfg.Who(r)
	if !known {
		return chat.Message{}, chat.E(chat.Denied, "", nil)
	}
	if who.Lang == "" && r.Header.Get("Accept-Language") != "" { // else the configured one
		who.Lang = api.Lang(r)
	}
	id := r.PathValue("chat")
	return chat.Message{
		Key: id + "/" + key, Kind: kind, Sender: who, Addressed: true, SentAt: time.Now(),
		Ref:   chat.Ref{ID: key, Chat: id},
		Place: chat.Place{Platform: "web", Account: a.cfg.Account, Chat: id, Direct: true},
	}, nil
}

// receive hands m in and wakes the readers of its chat.
func (a *Adapter) receive(ctx context.Context, m chat.Message) (chat.Ack, error) {
	in, leave, err := a.door.enter()
	if err != nil {
		return chat.Ack{}, err
	}
	defer leave()
	if m.Kind == chat.KindText {
		if m.Place.Title, err = a.title(ctx, m); err != nil {
			return chat.Ack{}, err
		}
	}
	acks, err := in.Receive(ctx, platform.Batch{Account: a.cfg.Account, Messages: []chat.Message{m}})
	if err != nil {
		return chat.Ack{}, fmt.Errorf("take a message: %w", err)
	}
	a.board.news(m.Place.Chat)
	return acks[0], nil
}

// title names a chat that has no name yet after the first plain message in it.
func (a *Adapter) title(ctx context.Context, m chat.Message) (string, error) {
	if t, known := a.titles.get(m.Place.Chat); known || strings.HasPrefix(m.Text, "/") {
		return t, nil
	}
	places, err := a.history.WebChats(ctx, a.cfg.Account, listLimit)
	if err != nil {
		return "", fmt.Errorf("list chats: %w", err)
	}
	t := api.Heading(m.Text)
	for _, p := range places {
		if p.Chat == m.Place.Chat {
			t = cmp.Or(p.Title, t)
		}
	}
	a.titles.put(m.Place.Chat, t)
	return t, nil
}

// fate tells a client what became of its message.
func (a *Adapter) fate(w http.ResponseWriter, r *http.Request) error {
	key := r.PathValue("key")
	if !api.ValidKey(key) {
		return chat.E(chat.Invalid, "key", nil)
	}
	f, err := a.history.FateOf(r.Context(), a.cfg.Account, r.PathValue("chat"), key)
	if err != nil {
		return fmt.Errorf("look up a message: %w", err)
	}
	api.Write(w, http.StatusOK, api.Fate{State: f.State, Turn: f.Turn, As: f.As, Ended: f.Ended})
	return nil
}

// file sends an attachment of ours: an image to be shown, anything else as a
// download whatever it contains.
func (a *Adapter) file(w http.ResponseWriter, r *http.Request) error {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return chat.E(chat.Invalid, "file", err)
	}
	o, err := a.history.OutByID(r.Context(), id)
	if err != nil {
		return fmt.Errorf("look up a file: %w", err)
	}
	if o.Place.Account != a.cfg.Account || o.Place.Chat != r.PathValue("chat") || o.Part.File == nil {
		return chat.E(chat.Missing, "", nil)
	}
	body, err := a.body(*o.Part.File)
	if err != nil {
		return err
	}
	defer body.Close()
	h := w.Header()
	h.Set("Content-Type", contentType(body, o.Part.File.Kind))
	h.Set("Content-Disposition", disposition(o.Part.File.Name))
	h.Set("Cache-Control", "no-store")
	// Whatever it is, it runs nothing and is no page of ours.
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", time.Time{}, body)
	return nil
}

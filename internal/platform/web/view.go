package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/render"
	"cligate/internal/web/api"
)

// message is a part as a reader shows it. The HTML is made by our own renderer
// from its own block tree: nothing the model wrote is passed through.
func message(p chat.Part) api.Message {
	var f format
	if len(p.Format) > 0 {
		_ = json.Unmarshal(p.Format, &f) // a degraded part has no format of ours: plain text
	}
	m := api.Message{
		Kind: string(f.Kind), Text: p.Text, Footer: f.Footer, Panels: f.Panels, Buttons: p.Buttons,
		Silent: p.Silent, HTML: render.HTML(render.Parse(p.Text)),
	}
	if !p.ReplyTo.Zero() {
		m.ReplyTo = api.MineID(p.ReplyTo.ID)
	}
	if p.File != nil {
		m.File = &api.File{Name: p.File.Name, Size: p.File.Bytes(), Photo: p.File.Kind == chat.FilePhoto}
	}
	return m
}

// viewer shows stored lines of one chat in one language.
type viewer struct {
	a    *Adapter
	chat string
	lang string
}

// lines shows what is to be seen of stored lines now.
func (v viewer) lines(ctx context.Context, ls []chat.Line) ([]api.Message, error) {
	out := make([]api.Message, 0, len(ls))
	for _, l := range ls {
		if l.Inbound > 0 {
			out = append(out, v.mine(l))
			continue
		}
		m, visible, err := v.ours(ctx, l)
		if err != nil {
			return nil, err
		}
		if visible {
			out = append(out, m)
		}
	}
	return out, nil
}

func (v viewer) mine(l chat.Line) api.Message {
	m := api.Message{
		ID: api.MineID(l.Ref.ID), Key: l.Ref.ID, Mine: true, From: l.From.Name,
		Turn: l.Turn, Text: l.Text, At: l.At,
	}
	if ev, known := v.a.board.form(v.chat, markKey(m.ID)); known {
		m.Emoji = ev.Emoji
	}
	return m
}

// ours shows an outbox row: its newest form where the board knows one. A live
// message that nothing is known of is over and is not shown.
func (v viewer) ours(ctx context.Context, l chat.Line) (api.Message, bool, error) {
	if ev, known := v.a.board.form(v.chat, l.Key); known {
		if ev.Kind == api.EventRemove {
			return api.Message{}, false, nil
		}
		m := *ev.Message
		m.At, m.Class, m.Turn = l.At, l.Class, l.Turn
		return m, true, nil
	}
	if l.Class == chat.OutProgress {
		return api.Message{}, false, nil
	}
	m := message(l.Part)
	m.ID, m.Class, m.Turn, m.At = l.Key, l.Class, l.Turn, l.At
	if m.File != nil {
		m.File.URL = fileURL(v.chat, l.Outbox)
	}
	if err := v.settle(ctx, &m, l.Ask); err != nil {
		return api.Message{}, false, err
	}
	return m, true, nil
}

// settle takes the buttons off a request that is decided, and says how it was.
func (v viewer) settle(ctx context.Context, m *api.Message, ask int64) error {
	if ask == 0 || len(m.Buttons) == 0 {
		return nil
	}
	k, err := v.a.history.AskByID(ctx, ask)
	if err != nil {
		if chat.CodeOf(err) == chat.Missing {
			m.Buttons = nil
			return nil
		}
		return fmt.Errorf("look up ask %d: %w", ask, err)
	}
	switch k.State {
	case chat.AskOpen:
		return nil
	case chat.AskAnswered:
		m.Footer = i18n.T(v.lang, "web.ask_answered", "answer", answerLabel(k), "name", k.Answer.By.Name)
	case chat.AskExpired:
		m.Footer = i18n.T(v.lang, "web.ask_expired")
	case chat.AskVoid:
		m.Footer = i18n.T(v.lang, "web.ask_void")
	}
	m.Buttons = nil
	return nil
}

func answerLabel(k chat.Ask) string {
	for _, o := range k.Question.Options {
		if o.ID == k.Answer.Option {
			return o.Label
		}
	}
	if k.Answer.Text != "" {
		return k.Answer.Text
	}
	var all []string
	for _, q := range k.Question.Queries {
		all = append(all, k.Answer.Values[q.ID]...)
	}
	return strings.Join(all, ", ")
}

func fileURL(chatID string, outbox int64) string {
	return api.Chats + "/" + url.PathEscape(chatID) + "/files/" + strconv.FormatInt(outbox, 10)
}

// cursor is how far a reader got: in the ledger, and on the board of one boot.
type cursor struct {
	boot string
	mark chat.Mark
	rev  int64
}

func (c cursor) String() string {
	return fmt.Sprintf("%s.%d.%d.%d", c.boot, c.mark.Inbound, c.mark.Outbox, c.rev)
}

func parseCursor(s string) (cursor, bool) {
	f := strings.Split(s, ".")
	if len(f) != 4 {
		return cursor{}, false
	}
	var n [3]int64
	for i := range n {
		v, err := strconv.ParseInt(f[i+1], 10, 64)
		if err != nil || v < 0 {
			return cursor{}, false
		}
		n[i] = v
	}
	return cursor{boot: f[0], mark: chat.Mark{Inbound: n[0], Outbox: n[1]}, rev: n[2]}, true
}

// advance moves a mark over lines.
func advance(m chat.Mark, ls []chat.Line) chat.Mark {
	for _, l := range ls {
		m.Inbound, m.Outbox = max(m.Inbound, l.Inbound), max(m.Outbox, l.Outbox)
	}
	return m
}

// mark returns the newest rows of a chat.
func (a *Adapter) mark(ctx context.Context, chatID string) (chat.Mark, error) {
	var m chat.Mark
	for _, before := range []chat.Mark{{Inbound: 1}, {Outbox: 1}} {
		ls, err := a.history.Tail(ctx, a.cfg.Account, chatID, before, 1)
		if err != nil {
			return chat.Mark{}, fmt.Errorf("find the end of the chat: %w", err)
		}
		m = advance(m, ls)
	}
	return m, nil
}

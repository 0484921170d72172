// Package receive is the way in: the one place that decides who may speak.
// Every event of every adapter passes it, buttons, edits and withdrawals
// included; what it admits is stored before the service is told that it was
// taken, and the router works from what is stored and from nothing else.
//
// Guarantees. A sender who is not a person, or has no role in that account and
// chat, causes nothing: no message is stored, no turn, no process. An event is
// stored once, whatever is redelivered. A decision by button is committed when
// Receive returns. After an error nothing may be acknowledged.
package receive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"cligate/internal/chat"
	"cligate/internal/fault"
	"cligate/internal/i18n"
	"cligate/internal/platform"
)

// Config are the knobs of a Gate.
type Config struct {
	// Owners are the immutable ids, by account, of people who may do
	// everything there. Nobody else needs to be paired by one of them first.
	Owners map[string][]string
	// Quiet is the least time between two notices to one stranger; 0 = 24 h.
	Quiet time.Duration
	Room  chat.Room // of groups that chose nothing; empty = mention, shared
	Lang  string    // of people whose service does not tell their language; empty = the default
	Log   *slog.Logger
}

// Validate reports what is wrong with c.
func (c Config) Validate() error {
	var bad []error
	for account, ids := range c.Owners {
		for _, id := range ids {
			if !plainID(id) {
				bad = append(bad, fmt.Errorf("receive: owner %q of %s is no id", id, account))
			}
		}
	}
	if c.Quiet < 0 {
		bad = append(bad, fmt.Errorf("receive: quiet time %v is negative", c.Quiet))
	}
	return errors.Join(bad...)
}

// Voice says something outside a turn; a known key is not said again.
type Voice interface {
	Say(ctx context.Context, p chat.Place, key string, rs ...chat.Reply) error
	// Wake has what waits for a chat looked at again. It never blocks.
	Wake(p chat.Place)
}

// Deps is what a Gate works with.
type Deps struct {
	Inbox  Inbox
	Access Access
	Places Places
	Rooms  Rooms
	Voice  Voice
	Clicks *Clicks
	// Presses knows what the other buttons may do; nil = nothing is known of
	// them before they are carried out.
	Presses Presses
	Wake    func() // tells the router that messages were stored; never blocks
	// Paired is told that somebody has a role in account now; it never blocks.
	// nil = nobody is told.
	Paired func(account string)
}

// Gate takes what adapters receive.
type Gate struct {
	Deps
	cfg Config
}

var _ platform.Inbound = (*Gate)(nil)

// New makes a Gate.
func New(d Deps, cfg Config) (*Gate, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Quiet == 0 {
		cfg.Quiet = 24 * time.Hour
	}
	cfg.Room = cfg.Room.Or(chat.Room{Listen: chat.ListenMention, Sharing: chat.SharingShared})
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Gate{Deps: d, cfg: cfg}, nil
}

// Cursor returns the last stored cursor of an account.
func (g *Gate) Cursor(ctx context.Context, account string) (string, error) {
	return g.Inbox.Cursor(ctx, account)
}

// Receive admits, stores and, for buttons of asks, decides. See
// platform.Inbound.
func (g *Gate) Receive(ctx context.Context, b platform.Batch) ([]chat.Ack, error) {
	if len(b.Messages) > 0 {
		fault.Hit(fault.UpdatesRead)
	}
	acks := make([]chat.Ack, len(b.Messages))
	var rows []chat.Inbound
	var at []int           // rows[n] came from b.Messages[at[n]]
	var nos []chat.Refusal // of rows
	for i, m := range b.Messages {
		m.Place.Account = b.Account
		m.Sender.Name, m.Place.Title = chat.PlainName(m.Sender.Name), chat.PlainName(m.Place.Title)
		m.Sender.Lang = cmp.Or(m.Sender.Lang, g.cfg.Lang)
		if err := g.note(ctx, m); err != nil {
			return nil, err
		}
		m, err := g.locate(ctx, m)
		if err != nil {
			return nil, err
		}
		p, err := g.admit(ctx, m)
		if err != nil {
			return nil, err
		}
		if p != nil && p.stored() {
			row := p.row()
			no, err := g.refusal(ctx, row)
			if err != nil {
				return nil, err
			}
			if no.Text != "" {
				row.State = chat.InboundRefused
			}
			rows, at, nos = append(rows, row), append(at, i), append(nos, no)
		} else {
			acks[i] = inVain(m, p != nil)
		}
	}
	if len(b.Unread) > 0 {
		if err := g.Inbox.Keep(ctx, b.Account, b.Unread); err != nil {
			return nil, fmt.Errorf("keep what was not understood: %w", err)
		}
	}
	if len(rows) == 0 && b.Cursor == "" {
		return acks, nil
	}
	recs, err := g.Inbox.Record(ctx, b.Account, b.Cursor, rows)
	if err != nil {
		return nil, fmt.Errorf("store messages: %w", err)
	}
	if len(rows) > 0 {
		fault.Hit(fault.UpdatesStored)
	}
	for n, rec := range recs {
		rows[n].ID = rec.ID
		if rec.Twin {
			g.cfg.Log.InfoContext(ctx, "message delivered again under another id; left out", "account", b.Account, "inbound", rec.ID, "message", rows[n].Ref.ID)
			continue
		}
		if rec.Fresh && nos[n].Text != "" {
			acks[at[n]] = g.refused(ctx, rows[n], nos[n])
		} else if acks[at[n]], err = g.ack(ctx, rows[n]); err != nil {
			return nil, err
		}
		if !rec.Fresh && nos[n].Text != "" { // what it did may be why it would be refused now
			acks[at[n]].Toast = i18n.T(rows[n].Sender.Lang, "receive.click_taken")
		}
		acks[at[n]].Inbound, acks[at[n]].Fresh = rec.ID, rec.Fresh
	}
	if len(rows) > 0 {
		g.Wake()
	}
	return acks, nil
}

// ack is what the service shows at once. The same press gets the same answer,
// however often it is delivered.
func (g *Gate) ack(ctx context.Context, in chat.Inbound) (chat.Ack, error) {
	if in.Kind != chat.KindClick {
		return chat.Ack{}, nil
	}
	if g.Clicks.Mine(in.Data) {
		return g.Clicks.Press(ctx, in)
	}
	return chat.Ack{Toast: i18n.T(in.Sender.Lang, toastKey(in.Data))}, nil
}

// principal is somebody who may speak, with what they said. Only admit makes
// one, and only principals are stored.
type principal struct {
	m     chat.Message
	role  chat.Role
	meant bool // the chat is set so that such a message is for the bot
}

// admit decides about one event. Nil without an error means that it causes
// nothing further.
func (g *Gate) admit(ctx context.Context, m chat.Message) (*principal, error) {
	switch {
	case m.Kind == chat.KindRenamed, m.Kind == chat.KindReopened, m.Kind == chat.KindMoved:
		return nil, nil // noted; nobody said anything
	case m.Sender.Bot, !plainID(m.Sender.ID):
		return nil, g.hidden(ctx, m)
	}
	if m.Key == "" {
		g.cfg.Log.ErrorContext(ctx, "event without a key", "account", m.Place.Account, "kind", m.Kind)
		return nil, nil
	}
	home, known, err := g.home(ctx, m)
	if err != nil {
		return nil, err
	}
	m.Place = home
	role, err := g.role(ctx, m)
	switch {
	case err != nil:
		return nil, err
	case m.Pairing != "":
		return nil, g.pair(ctx, m, role)
	case m.Kind == chat.KindGesture:
		return g.gesture(ctx, m, role)
	case role == chat.RoleNone:
		return nil, g.stranger(ctx, m)
	}
	if m.SentAt.IsZero() {
		m.SentAt = time.Now()
	}
	m, meant, err := g.seat(ctx, m, known)
	if err != nil {
		return nil, err
	}
	return &principal{m: m, role: role, meant: meant}, nil
}

// gesture admits a sign on a message that is known. Which thread the message
// belongs to the service does not say. A sign is no try to talk: whoever may
// not is told nothing.
func (g *Gate) gesture(ctx context.Context, m chat.Message, role chat.Role) (*principal, error) {
	if !role.Covers(chat.RoleMember) || m.Ref.Zero() {
		return nil, nil
	}
	p, err := g.Places.Where(ctx, m.Place.Account, m.Place.Chat, m.Ref.ID)
	switch {
	case chat.CodeOf(err) == chat.Missing:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("find the place of a message: %w", err)
	}
	m.Place = p
	if m.SentAt.IsZero() {
		m.SentAt = time.Now()
	}
	return &principal{m: m, role: role}, nil
}

// role is what the sender may do in that account and chat.
func (g *Gate) role(ctx context.Context, m chat.Message) (chat.Role, error) {
	if slices.Contains(g.cfg.Owners[m.Place.Account], m.Sender.ID) {
		return chat.RoleOwner, nil
	}
	r, err := g.Access.Role(ctx, m.Place.Account, m.Place.Chat, m.Place.Direct, m.Sender.ID)
	if err != nil {
		return chat.RoleNone, fmt.Errorf("look up role: %w", err)
	}
	return r, nil
}

// stored reports whether the event concerns the bot. Talk of a group that is
// not for it is not kept, whoever says it.
func (p *principal) stored() bool {
	switch p.m.Kind {
	case chat.KindText:
		return p.meant && (p.m.Text != "" || p.m.Quote != "" || len(p.m.Files) > 0 || p.m.Unread != "")
	case chat.KindEdit:
		return p.meant
	case chat.KindClick:
		return wellFormed(p.m.Data)
	case chat.KindRecall, chat.KindJoined, chat.KindLeft, chat.KindGesture:
		return true
	case chat.KindRenamed, chat.KindReopened, chat.KindMoved:
	}
	return false
}

func (p *principal) row() chat.Inbound {
	return chat.Inbound{Message: p.m, Role: p.role, State: chat.InboundNew}
}

// plainID reports whether id can be somebody's: the exact form of a platform's
// user id, not a wildcard, not something that merely looks like one.
func plainID(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for _, r := range id {
		ok := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.' || r == ':' || r == '@'
		if !ok {
			return false
		}
	}
	return id != "0"
}

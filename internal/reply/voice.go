// Package reply says things: it turns what a running turn reports into one live
// message, and outbox rows into messages on the platform. It is the last
// station before the adapters.
//
// What it guarantees: one ordered sender per chat; a message counts as
// delivered when the platform's id of it is stored; a send whose outcome is
// unknown is settled before anything else goes to that chat; what a platform
// asks us to wait is waited for, also across a restart; a final is never
// dropped, and never overtaken by progress. The live message is cosmetic: it is
// edited in place within the platform's budget, its failures affect nothing,
// and it never causes a second message.
package reply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/platform"
)

// Ledger is the outbox as a whole.
type Ledger interface {
	Outbox
	Trouble
	Topics
	Waits
}

// Config are the knobs of a Voice. Zero values mean the default.
type Config struct {
	Lang        string        // for words that belong to nobody; en
	Quiet       time.Duration // no sign of life in a turn's first …; 0.8 s
	QuietText   time.Duration // … nor so soon after its first text; 0.25 s
	SendTimeout time.Duration // of one call to a platform; 2 min
	Drain       time.Duration // how long a call may go on after Run's ctx ended; 10 s
	SettleTries int           // how often an unknown outcome is looked into; 3
	NoReactions bool          // how a turn stands is not shown on the message that asked for it
	// Dead is told about a row that was given up; nil = nobody is told. It must
	// not block for long: the chat waits.
	Dead func(o chat.Out, reason error)
	// Discard removes a file from the spool that is not needed any more; nil =
	// there is no spool.
	Discard func(name string)
	// Held is told about a row that waits for its topic where nobody in the chat
	// can be told of it. It must not block.
	Held func(o chat.Out, reason error)
	// Resent is told about a row that is sent again though it may have arrived.
	Resent func(o chat.Out)
	Log    *slog.Logger
}

// Validate reports what is wrong with c.
func (c Config) Validate() error {
	var bad []error
	for name, d := range map[string]time.Duration{
		"quiet": c.Quiet, "quiet text": c.QuietText, "send timeout": c.SendTimeout, "drain": c.Drain,
	} {
		if d < 0 {
			bad = append(bad, fmt.Errorf("reply: %s is negative: %v", name, d))
		}
	}
	if c.SettleTries < 0 {
		bad = append(bad, fmt.Errorf("reply: settle tries are negative: %d", c.SettleTries))
	}
	return errors.Join(bad...)
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&c.Quiet, 800*time.Millisecond)
	set(&c.QuietText, 250*time.Millisecond)
	set(&c.SendTimeout, 2*time.Minute)
	set(&c.Drain, 10*time.Second)
	if c.SettleTries == 0 {
		c.SettleTries = 3
	}
	if c.Lang == "" {
		c.Lang = i18n.Default
	}
	if c.Dead == nil {
		c.Dead = func(chat.Out, error) {}
	}
	if c.Held == nil {
		c.Held = func(chat.Out, error) {}
	}
	if c.Resent == nil {
		c.Resent = func(chat.Out) {}
	}
	if c.Discard == nil {
		c.Discard = func(string) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Voice speaks to people.
type Voice struct {
	ledger   Ledger
	adapters map[string]platform.Adapter
	sender   *sender
	cfg      Config
}

// New makes a Voice. adapters are the accounts by their key; the map must not
// change afterwards. Nothing is sent before Run.
func New(l Ledger, adapters map[string]platform.Adapter, cfg Config) (*Voice, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	return &Voice{ledger: l, adapters: adapters, sender: newSender(l, adapters, cfg), cfg: cfg}, nil
}

// Run sends what is in the outbox until ctx ends, and returns when no call to
// a platform is under way any more.
func (v *Voice) Run(ctx context.Context) error { return v.sender.run(ctx) }

// Flush waits until everything that can leave has left, or ctx ends. What waits
// for a later time stays.
func (v *Voice) Flush(ctx context.Context) { v.sender.flush(ctx) }

// Wake is called after rows of a place were committed. It never blocks.
func (v *Voice) Wake(p chat.Place) { v.sender.wake(p.Channel()) }

// Compose renders replies to outbox rows that are not stored yet. The keys are
// key/1, key/2 …; rows of a turn are numbered alike. Replies that must be seen
// (finals and asks) give at least one row.
//
// A turn's last word, also an empty one, takes along a row that shrinks its live
// message to one line, if that message is, or may be, on the platform; where the
// platform has live messages that grow, the last word becomes the end of it.
func (v *Voice) Compose(p chat.Place, turn int64, key string, class chat.OutClass, rs ...chat.Reply) []chat.Out {
	if class == chat.OutFinal && turn > 0 {
		return v.last(p, turn, key, rs)
	}
	return v.compose(p, turn, key, class, rs)
}

func (v *Voice) compose(p chat.Place, turn int64, key string, class chat.OutClass, rs []chat.Reply) []chat.Out {
	var parts []chat.Part
	for _, r := range rs {
		parts = append(parts, v.render(p, r)...)
		if r.Waits != 0 && len(parts) > 0 {
			parts[len(parts)-1].Waits = v.waits(p, r)
		}
	}
	if len(parts) == 0 && len(rs) > 0 && (class == chat.OutFinal || class == chat.OutAsk) {
		parts = []chat.Part{visible(rs)}
	}
	outs := make([]chat.Out, 0, len(parts)+1)
	for i, part := range parts {
		o := chat.Out{
			Key: fmt.Sprintf("%s/%d", key, i+1), Place: p, Turn: turn, Class: class,
			Op: chat.OpPost, Part: part, State: chat.OutPending,
		}
		if turn > 0 {
			o.Seq = i + 1
		}
		outs = append(outs, o)
	}
	return outs
}

// waits is what becomes of a message that tells of a queued turn.
func (v *Voice) waits(p chat.Place, r chat.Reply) *chat.Waiting {
	w := &chat.Waiting{Turn: r.Waits}
	if r.Over == "" {
		return w
	}
	if over := v.render(p, chat.Reply{Kind: r.Kind, Markdown: r.Over}); len(over) == 1 {
		w.Over = &over[0]
	}
	return w
}

func (v *Voice) render(p chat.Place, r chat.Reply) []chat.Part {
	if a, ok := v.adapters[p.Account]; ok {
		return a.Render(r)
	}
	// The account is not configured any more; its rows wait for it.
	if strings.TrimSpace(r.Markdown) == "" && r.File == nil {
		return nil
	}
	return []chat.Part{{Text: r.Markdown, Buttons: r.Buttons, ReplyTo: r.ReplyTo, Silent: r.Silent, File: r.File}}
}

// visible is what is said instead of text of which nothing can be seen, such
// as an empty code block.
func visible(rs []chat.Reply) chat.Part {
	p := chat.Part{ReplyTo: rs[0].ReplyTo, Silent: rs[0].Silent}
	for _, r := range rs {
		if t := strings.TrimSpace(r.Markdown); p.Text == "" && t != "" {
			p.Text = t
		}
		p.Buttons = append(p.Buttons, r.Buttons...)
	}
	if p.Text == "" {
		p.Text = i18n.T(i18n.Default, "reply.nothing")
	}
	return p
}

// Sign shows how a turn stands on the message that asked for it, until a later
// sign of the turn. failed, unless nil, is called beside the caller when it is
// not shown. What a running turn does is shown by its live message's owner, see
// Begin. It never blocks; nothing is shown before Run.
func (v *Voice) Sign(t chat.Turn, s chat.Sign, failed func()) { v.sender.signs.set(t, s, failed) }

// Say stores and sends words outside a turn; a known key is not said again.
func (v *Voice) Say(ctx context.Context, p chat.Place, key string, rs ...chat.Reply) error {
	outs := v.Compose(p, 0, key, chat.OutNotice, rs...)
	if len(outs) == 0 {
		return nil
	}
	if err := v.ledger.Enqueue(ctx, outs); err != nil {
		return fmt.Errorf("say %s: %w", key, err)
	}
	v.Wake(p)
	return nil
}

// Begin makes the live message of a turn. It never blocks, and nothing is shown
// before the quiet period is over. The caller must call End, and then compose
// the last word.
func (v *Voice) Begin(t chat.Turn, look chat.Look) *Live {
	l := newLive(t, look)
	v.sender.attach(l, v.traits(t.Place), func(r chat.Reply) []chat.Part { return v.render(t.Place, r) })
	return l
}

// traits are those of a place's account; none when it is not configured.
func (v *Voice) traits(p chat.Place) platform.Traits {
	if a, ok := v.adapters[p.Account]; ok {
		return a.Traits()
	}
	return platform.Traits{}
}

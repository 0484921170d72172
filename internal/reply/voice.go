// Package reply turns what stations say and what a running turn reports into
// messages, and sees them delivered.
//
// Place in the flow: turn, router and receive compose their words here (Voice);
// what must arrive is a row of the outbox, committed together with what it is
// about. A running turn has one live message (Live) that is edited in place.
// The sender has one goroutine per chat that has something to send.
//
// Guarantees: rows of one chat leave in the order in which they were written;
// "delivered" means that the platform's message id is stored; a send whose
// outcome is unknown is settled before anything else goes to that chat; a told
// wait is obeyed, also after a restart; edits of a live message are latest-wins,
// never stored, and never cost a message of their own.
package reply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/platform"
)

// Ledger is the outbox as a whole.
type Ledger interface {
	Outbox
	Trouble
}

// Config are the knobs. Zero values mean the default.
type Config struct {
	Lang        string        // for words that belong to nobody
	Quiet       time.Duration // a turn gives no sign of life before; 0.8 s
	QuietText   time.Duration // … nor before so long after its first text; 0.25 s
	SendTimeout time.Duration // one send, without the adapter's own limits; 2 min
	// Dead is told about every row that was given up; it must not block. nil =
	// nobody is told.
	Dead func(o chat.Out, reason string)
	Log  *slog.Logger
}

// Validate reports what is wrong with c.
func (c Config) Validate() error {
	if c.Quiet < 0 || c.QuietText < 0 || c.SendTimeout < 0 {
		return errors.New("reply: a time is negative")
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Quiet == 0 {
		c.Quiet = 800 * time.Millisecond
	}
	if c.QuietText == 0 {
		c.QuietText = 250 * time.Millisecond
	}
	if c.SendTimeout == 0 {
		c.SendTimeout = 2 * time.Minute
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Lang == "" {
		c.Lang = i18n.Default
	}
	return c
}

// Voice is how the stations speak.
type Voice struct {
	ledger   Ledger
	adapters map[string]platform.Adapter // by account
	sender   *sender
	lives    *lives
	cfg      Config
}

// New makes a Voice for the given adapters, by account. Run must run for
// anything to leave.
func New(ledger Ledger, adapters map[string]platform.Adapter, cfg Config) (*Voice, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	v := &Voice{ledger: ledger, adapters: adapters, cfg: cfg}
	v.lives = newLives()
	v.sender = newSender(ledger, adapters, v.lives, cfg)
	return v, nil
}

// Run sends what is in the outbox until ctx ends, and returns when nothing is
// in flight any more.
func (v *Voice) Run(ctx context.Context) error { return v.sender.run(ctx) }

// Flush waits until everything that can leave has left, or ctx ends. Rows that
// wait for a told time stay.
func (v *Voice) Flush(ctx context.Context) { v.sender.flush(ctx) }

// Compose renders replies to outbox rows that are not stored yet; their keys
// are key/1, key/2 …. With the last word of a turn whose live message is (or
// may be) out goes a row that shrinks it to one line.
func (v *Voice) Compose(p chat.Place, turn int64, key string, class chat.OutClass, rs ...chat.Reply) []chat.Out {
	var outs []chat.Out
	for _, r := range rs {
		for _, part := range v.render(p, r) {
			outs = append(outs, chat.Out{
				Key: fmt.Sprintf("%s/%d", key, len(outs)+1), Place: p, Turn: turn, Class: class, Op: chat.OpPost, Part: part,
			})
		}
	}
	if class == chat.OutFinal && turn > 0 {
		if line, out := v.lives.close(turn, v.cfg.Lang); out {
			parts := v.render(p, chat.Reply{Kind: chat.ReplyProgress, Markdown: line, Silent: true})
			outs = append(outs, chat.Out{
				Key: key + "/end", Place: p, Turn: turn, Class: chat.OutProgress, Op: chat.OpFinish, Part: parts[0],
			})
		}
	}
	return outs
}

// render formats r for the place's account. An account that is configured no
// more keeps its rows, in plain form.
func (v *Voice) render(p chat.Place, r chat.Reply) []chat.Part {
	if a, ok := v.adapters[p.Account]; ok {
		if parts := a.Render(r); len(parts) > 0 {
			return parts
		}
	}
	return []chat.Part{{Text: r.Markdown, Buttons: r.Buttons, ReplyTo: r.ReplyTo, Silent: r.Silent, File: r.File}}
}

// Wake is called after rows of a place were committed. It never blocks.
func (v *Voice) Wake(p chat.Place) { v.sender.wake(p.Channel()) }

// Say stores and sends words outside a turn; a known key is not said again.
func (v *Voice) Say(ctx context.Context, p chat.Place, key string, rs ...chat.Reply) error {
	if err := v.ledger.Enqueue(ctx, v.Compose(p, 0, key, chat.OutNotice, rs...)); err != nil {
		return fmt.Errorf("say %s: %w", key, err)
	}
	v.Wake(p)
	return nil
}

// Begin makes the live message of a turn. Nothing is shown before the quiet
// time is over. It never blocks.
func (v *Voice) Begin(t chat.Turn, lang, agent string) *Live {
	a, ok := v.adapters[t.Place.Account]
	l := &Live{
		turn: t, lang: lang, agent: agent, voice: v, adapter: a, began: time.Now(),
		first: v.cfg.Quiet, every: pace(a, t.Place),
	}
	if !ok || !a.Traits().Edits {
		l.over = true // nothing can be shown in place
		return l
	}
	v.lives.add(l)
	l.arm(v.cfg.Quiet)
	return l
}

// pace is the least time between two edits of a live message.
func pace(a platform.Adapter, p chat.Place) time.Duration {
	if a == nil {
		return time.Second
	}
	t := a.Traits()
	if p.Direct || t.ProgressEveryGroup == 0 {
		return t.ProgressEvery
	}
	return t.ProgressEveryGroup
}

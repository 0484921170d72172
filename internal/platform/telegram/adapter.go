// Package telegram speaks to the Telegram Bot API: one Adapter is one bot. It
// turns updates into chat.Message and outbox rows into calls, and knows no
// agent, session or store.
//
// Receiving is a long poll of our own, or a webhook behind a secret (webhook.go): updates are acknowledged only after the
// inbox has made them durable, one that cannot be decoded does not stop the
// others, and an outage ends in a longer pause, never in an exit. Sending
// classifies every error text of the service, never repeats what may have
// arrived, and can settle such a doubt (see settle.go). Messages leave as plain
// text with explicit entities, which the service cannot refuse for their
// syntax. What came from a topic goes back to that topic or nowhere.
//
// The token is part of every address. No error, log line or health text that
// leaves this package contains it.
//
// The SDK is used as a transport only, in transport.go.
package telegram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
)

// Name is the platform's name in chat.Place.
const Name = "telegram"

var (
	_ platform.Adapter  = (*Adapter)(nil)
	_ platform.Healther = (*Adapter)(nil)
)

// Adapter is one bot account.
type Adapter struct {
	log    *slog.Logger
	wire   *wire
	link   *link
	out    *courier
	settle *settler
	sign   *signaller
	menu   *menu
	poll   *poller
	hook   *hook // nil = updates are fetched
	intake *intake
	form   *form

	unpaced bool
	upload  int64 // bytes of the largest file
}

// Open makes the adapter. It needs no network: the bot is asked for its name
// when Run begins, as often as it takes.
func Open(cfg Config, log *slog.Logger) (*Adapter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("telegram: %w", err)
	}
	cfg = cfg.withDefaults()
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	log = log.With("platform", Name, "account", cfg.Account)
	w := newWire(cfg)
	l := newLink(cfg, log)
	c := &calm{ends: map[string]time.Time{}}
	a := &Adapter{log: log, wire: w, link: l, form: &form{log: log, rich: cfg.Rich}, unpaced: cfg.Unpaced}
	a.upload = maxCloud
	if cfg.APIURL != DefaultAPIURL {
		a.upload = maxLocal
	}
	a.out = &courier{wire: w, log: log, calm: c, files: cfg.Files, plain: &classicOnly{}}
	a.settle = &settler{out: a.out, log: log, bound: cfg.SettleBound, open: map[string]*sweep{}}
	a.sign = &signaller{wire: w, out: a.out, calm: c, noReact: map[string]bool{},
		muted: calm{ends: map[string]time.Time{}}}
	n := &intake{account: cfg.Account, log: log, crowd: newCrowd(w, log),
		clicks: &clicks{wire: w, log: log, out: a.out, render: a.Render, slots: make(chan struct{}, clickSlots)}}
	a.menu = newMenu(w, log, cfg.Menus)
	n.menu, a.intake = a.menu, n
	a.poll = &poller{wire: w, log: log, link: l, intake: n, account: cfg.Account, wait: cfg.PollTimeout, grace: cfg.PollGrace,
		removes: cfg.RemoveWebhook}
	if cfg.Webhook.on() {
		a.hook = &hook{cfg: cfg.Webhook, wire: w, log: log, link: l, intake: n, turn: make(chan struct{}, 1)}
	}
	return a, nil
}

// Run implements platform.Adapter. It returns an error only when Telegram does
// not accept the token.
func (a *Adapter) Run(ctx context.Context, in platform.Inbound) error {
	me, err := a.hello(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	a.link.called(me)
	a.log.InfoContext(ctx, "bot is known", "bot", me.Username, "bot_id", me.ID,
		"reads_all_group_messages", me.ReadAll, "topics_in_private", me.Topics)
	ctx, cancel := context.WithCancel(ctx)
	var side sync.WaitGroup
	side.Go(func() { a.menu.run(ctx) })
	defer func() {
		cancel()
		side.Wait()
		a.intake.clicks.wait()
		a.wire.client.CloseIdleConnections()
	}()
	if a.hook != nil {
		return a.hook.run(ctx, me, in)
	}
	return a.poll.run(ctx, me, in)
}

// hello asks who the bot is until there is an answer or ctx ends.
func (a *Adapter) hello(ctx context.Context) (user, error) {
	var b backoff
	for {
		me, err := a.wire.me(ctx)
		if err == nil {
			return me, nil
		}
		t, err := a.wire.verdict(ctx, err)
		switch {
		case ctx.Err() != nil:
			return user{}, ctx.Err()
		case t == troubleNone:
			continue
		}
		a.link.Set(ctx, t, err)
		if t == troubleRejected {
			return user{}, a.link.rejected(err)
		}
		pause := b.next()
		var r *refusal
		if errors.As(err, &r) {
			pause = max(pause, r.After)
		}
		if !sleep(ctx, pause) {
			return user{}, err
		}
	}
}

// me asks who the bot is.
func (w *wire) me(ctx context.Context) (user, error) {
	var me user
	err := w.decode(ctx, request{method: "getMe"}, &me)
	if err == nil && me.ID == 0 {
		err = &lost{Method: "getMe", Status: 200, Text: "no bot in the answer"}
	}
	return me, err
}

// StartLink is an address that opens the chat with the bot and hands it a
// pairing code (a deep link; at most 64 characters of A-Z a-z 0-9 _ -). It is
// empty until the bot's name is known.
func (a *Adapter) StartLink(code string) string {
	name := a.link.bot()
	if name == "" {
		return ""
	}
	return "https://t.me/" + name + "?start=" + code
}

// RefreshMenus has the command menus looked at: somebody's role has changed. It
// does not block.
func (a *Adapter) RefreshMenus() { a.menu.refresh() }

// Render implements platform.Adapter.
func (a *Adapter) Render(r chat.Reply) []chat.Part { return a.form.render(r) }

// Send implements platform.Adapter.
func (a *Adapter) Send(ctx context.Context, o chat.Out) (chat.Ref, error) {
	if o.Op == chat.OpPost && o.Unsure != nil {
		return a.settle.settle(ctx, o)
	}
	return a.out.send(ctx, o)
}

// Signal implements platform.Adapter.
func (a *Adapter) Signal(ctx context.Context, to chat.Place, ref chat.Ref, s chat.Signal) error {
	return a.sign.signal(ctx, to, ref, s)
}

// Fetch implements platform.Adapter.
func (a *Adapter) Fetch(ctx context.Context, f chat.FileRef, w io.Writer) error {
	return a.wire.fetch(ctx, f, w)
}

// Health implements platform.Healther.
func (a *Adapter) Health() platform.Health { return a.link.Health() }

// Traits implements platform.Adapter. The service publishes no exact rates;
// these keep below one message a second in a chat, twenty a minute in a group
// (edits and all topics together) and thirty a second over all.
func (a *Adapter) Traits() platform.Traits {
	t := platform.Traits{
		Edits:              true,
		Buttons:            true,
		Typing:             true,
		React:              true,
		Settles:            true,
		MaxUpload:          a.upload,
		Self:               a.wire.self(),
		Topics:             true,
		Overhears:          a.link.overhears(),
		Unheard:            "telegram.unheard",
		Rich:               chat.ChoiceOff,
		ProgressEvery:      1600 * time.Millisecond,
		ProgressEveryGroup: 6 * time.Second,
	}
	if a.form.rich {
		t.Rich = chat.ChoiceOn
	}
	if !a.unpaced {
		t.PerChat = platform.Rate{Every: time.Second, Burst: 2}
		t.PerGroup = platform.Rate{Every: 4 * time.Second, Burst: 5}
		t.PerAccount = platform.Rate{Every: 40 * time.Millisecond, Burst: 5}
	}
	return t
}

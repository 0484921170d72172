// Package feishu speaks to the open platform of Feishu and Lark: one Adapter is
// one custom app with its bot. It turns events into chat.Message and outbox
// rows into calls, and knows no agent, session or store.
//
// Receiving is a long connection of our own, or a webhook that only the
// service's own posts get through; an event is acknowledged when it is durable.
// Sending gives every row a key of its own, so that the service shows it once.
// A live message is a card entity that streams; its end replaces the whole
// card, so that none stays "generating". What the service refuses as a card is
// sent as rich text, then as text.
//
// The SDK (see docs/adr) is used as a transport and for its wire formats.
package feishu

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
	"cligate/internal/platform/uplink"
)

// Name is the platform's name in chat.Place.
const Name = "feishu"

var (
	_ platform.Adapter  = (*Adapter)(nil)
	_ platform.Healther = (*Adapter)(nil)
)

// Adapter is one app.
type Adapter struct {
	cfg  Config
	log  *slog.Logger
	rest *rest
	link *uplink.State
	hook *hook // nil = a long connection is kept
	out  *courier
	sign *signaller
	get  *fetcher
	mind *mind
	gap  *gap
	form form
	echo *echo

	grants grants
	seen   kinds

	busy    sync.WaitGroup // names that are asked for
	looking atomic.Int32   // the doctor is asking
	mu      sync.Mutex
	me      string // open_id of the bot, once it is known
}

// Open makes the adapter. It needs no network.
func Open(cfg Config, files platform.Files, log *slog.Logger) (*Adapter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("feishu: %w", err)
	}
	cfg = cfg.withDefaults()
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	log = log.With("platform", Name, "account", cfg.Account)
	a := &Adapter{cfg: cfg, log: log, rest: newRest(cfg, log), mind: &mind{}}
	a.link = newLink(cfg.Lang, cfg.Alarm, log)
	a.rest.missing = a.lacks
	if cfg.Mode == Webhook {
		a.hook = newHook(cfg, log, a.link)
	}
	a.out = newCourier(a.rest, uploads{rest: a.rest, files: files}, log)
	a.echo = newEcho(time.Now)
	a.gap = &gap{rest: a.rest, link: a.link, lang: cfg.Lang, app: cfg.AppID, log: log, now: time.Now}
	a.sign = &signaller{rest: a.rest, echo: a.echo, app: cfg.AppID}
	a.get = &fetcher{rest: a.rest, mind: a.mind, app: cfg.AppID, me: a.bot}
	return a, nil
}

// Run implements platform.Adapter. It returns an error only when the service
// does not accept the app.
func (a *Adapter) Run(ctx context.Context, in platform.Inbound) error {
	if err := a.hello(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	defer a.rest.client.CloseIdleConnections()
	defer a.busy.Wait()
	ctx, cancel := context.WithCancel(ctx) // what goes on beside it ends with it
	defer cancel()
	a.busy.Go(func() { a.review(ctx) })
	h := a.intake(in)
	if c, err := in.Cursor(ctx, a.cfg.Account); err != nil {
		a.log.WarnContext(ctx, "cursor not read", "err", err)
	} else {
		a.gap.begin(c)
	}
	a.busy.Go(func() { a.gap.run(ctx, h, func() bool { return a.link.Trouble() == troubleNone }) })
	if a.hook != nil {
		a.hook.run(ctx, h)
		return nil
	}
	k := newSocket(a.cfg, a.log, a.link, h)
	k.reach, k.lost = a.reaches, func() { a.echo.away(); a.gap.away() }
	return k.run(ctx)
}

// reachLimit bounds the question whether the service is there.
const reachLimit = 5 * time.Second

// reaches reports whether the service answers calls.
func (a *Adapter) reaches(ctx context.Context) bool {
	_, err := a.rest.send(ctx, call{method: http.MethodGet, path: botInfo, limit: reachLimit})
	return err == nil
}

// botInfo says who the bot is.
const botInfo = "bot/v3/info"

// about is what the service says of the bot.
type about struct {
	Bot struct {
		Open   string `json:"open_id"`
		Name   string `json:"app_name"`
		Status int    `json:"activate_status"` // 2 = it works
	} `json:"bot"`
}

// hello asks who the bot is, as often as it takes. Only a refused app is an
// error.
func (a *Adapter) hello(ctx context.Context) error {
	pause := time.Second
	for {
		var out about
		err := a.rest.do(ctx, call{method: http.MethodGet, path: botInfo}, &out)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // we end
		}
		if err == nil && out.Bot.Open != "" {
			a.mu.Lock()
			a.me = out.Bot.Open
			a.mu.Unlock()
			a.log.InfoContext(ctx, "bot is known", "bot", out.Bot.Name)
			return nil
		}
		t, err := unknown(err)
		a.link.Set(ctx, t, err)
		if t == troubleRejected {
			return &chat.Error{Code: chat.Denied, Detail: says(a.cfg.Lang, t), Err: err}
		}
		if !sleep(ctx, pause) {
			return nil
		}
		pause = min(2*pause, time.Minute)
	}
}

// unknown says what it means that the service does not say who the bot is.
func unknown(err error) (uplink.Trouble, error) {
	var no *refused
	switch {
	case chat.CodeOf(err) == chat.Denied:
		return troubleRejected, err
	case errors.As(err, &no) && no.code == codeNoBot, err == nil:
		return troubleBotless, err
	case no != nil && no.status < 500 && chat.CodeOf(err) != chat.Wait:
		return troubleRefused, errors.Join(err, uplink.QuoteError(no.Error()))
	}
	return troubleNetwork, err
}

func (a *Adapter) bot() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.me
}

// intake is what becomes of each event: it is decoded, stored, and only then
// acknowledged.
func (a *Adapter) intake(in platform.Inbound) handler {
	d := decoder{account: a.cfg.Account, app: a.cfg.AppID, me: a.bot, now: time.Now, mind: a.mind}
	return func(ctx context.Context, payload []byte) ([]byte, error) {
		a.overhear(payload)
		t, err := d.take(payload)
		b := platform.Batch{Account: a.cfg.Account}
		switch {
		case err != nil:
			a.log.WarnContext(ctx, "event not understood", "err", err)
			b.Unread = []chat.Unread{{Raw: kept(payload), Why: err.Error()}}
		case !t.ok:
			return nil, nil
		default:
			a.complete(ctx, &t)
			t.before = d.meet(t.msg)
			b.Messages = append(t.before, t.msg)
			a.sign.unmarked(b.Messages)
			b.Cursor = a.gap.mark(t)
		}
		acks, err := in.Receive(ctx, b)
		if err != nil {
			a.link.Set(ctx, troubleStorage, err)
			return nil, fmt.Errorf("store an event: %w", err)
		}
		d.met(t)
		a.link.Set(ctx, troubleNone, nil)
		if !t.click || len(acks) == 0 {
			return nil, nil
		}
		return a.answer(acks[len(acks)-1], t.msg)
	}
}

// Render implements platform.Adapter.
func (a *Adapter) Render(r chat.Reply) []chat.Part { return a.form.render(r) }

// Send implements platform.Adapter.
func (a *Adapter) Send(ctx context.Context, o chat.Out) (chat.Ref, error) { return a.out.send(ctx, o) }

// Signal implements platform.Adapter.
func (a *Adapter) Signal(ctx context.Context, _ chat.Place, ref chat.Ref, s chat.Signal) error {
	return a.sign.signal(ctx, ref, s)
}

// Health implements platform.Healther.
func (a *Adapter) Health() platform.Health { return a.link.Health() }

const (
	// progressEvery is the least time between two changes of a live card: five
	// calls a second, as two may be needed.
	progressEvery = 400 * time.Millisecond
	// liveFor is how long a live card grows; streaming ends after ten minutes.
	liveFor = 8 * time.Minute
)

// Traits implements platform.Adapter. The rates are those of the service (five
// messages a second to a chat, a thousand calls a minute of one kind), with some
// room: no second lets more than five messages through, even when what was sent
// a moment apart arrives together; a change of a live card is two calls at most.
func (a *Adapter) Traits() platform.Traits {
	return platform.Traits{
		Overhears: a.overhears(), Unheard: "feishu.unheard",
		Edits: true, Buttons: true, React: true, Settles: true, MaxUpload: maxUpload,
		PerChat:       platform.Rate{Every: 340 * time.Millisecond, Burst: 2},
		PerGroup:      platform.Rate{Every: 340 * time.Millisecond, Burst: 2},
		PerAccount:    platform.Rate{Every: 65 * time.Millisecond, Burst: 20},
		ProgressEvery: progressEvery, ProgressEveryGroup: progressEvery, Finishes: true, LiveFor: liveFor,
	}
}

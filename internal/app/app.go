// Package app puts CliGate together: it opens everything in order, wires the
// stations to each other, runs them, and ends them in order. It contains no
// logic of its own beyond that, and it is the only package that imports
// everything.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"cligate/internal/chat"
	"cligate/internal/command"
	"cligate/internal/config"
	"cligate/internal/files"
	"cligate/internal/inbox"
	"cligate/internal/platform"
	"cligate/internal/platform/uplink"
	webchat "cligate/internal/platform/web"
	"cligate/internal/receive"
	"cligate/internal/reply"
	"cligate/internal/router"
	"cligate/internal/session"
	"cligate/internal/store"
	"cligate/internal/turn"
	"cligate/internal/web"
	"cligate/internal/web/api"
	"cligate/internal/worker/proc"
	"cligate/internal/worker/proc/runner"
)

// WebAccount is the account of the built-in web chat.
const WebAccount = "web"

// streams is the most browsers that can listen at a time.
const streams = 64

// App is the assembled daemon.
type App struct {
	cfg     config.Config
	version string
	log     *slog.Logger
	started time.Time

	db      *store.DB
	spool   *files.Spool
	starter *proc.Starter
	agents  *agents
	agent   string // the default one
	bots    []bot
	hooks   []*uplink.Hooks
	core    core
	web     *web.Server
	owner   *owner
	memory  *memory

	greeting io.Writer // where a person reads; nil = nowhere
}

// core is the stations between the adapters and the agents.
type core struct {
	sessions *session.Manager
	turns    *turn.Runner
	voice    *reply.Voice
	inbox    *inbox.Keeper
	box      *files.Box
	gate     *receive.Gate
	router   *router.Router
}

// SocketPath is where the daemon of a data directory listens for its operator.
func SocketPath(dataDir string) string { return filepath.Join(dataDir, api.SocketName) }

// Open takes the data directory, settles what the last life left behind and
// binds the addresses. Nothing is received or sent before Run. Every error is
// one sentence that a person can act upon.
func Open(ctx context.Context, cfg config.Config, version string, log *slog.Logger) (_ *App, err error) {
	a := &App{
		cfg: cfg, version: version, log: log, started: time.Now(), owner: newOwner(cfg.Language, log), memory: newMemory(),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	if err := proc.Seal(); err != nil {
		log.WarnContext(ctx, "the daemon's memory is readable to other processes of its user", "err", err)
	}
	a.db, err = store.Open(ctx, store.Config{Dir: cfg.DataDir, Log: log, OnHealth: a.owner.disk})
	if err != nil {
		return nil, err
	}
	if err := a.openSpool(ctx); err != nil {
		return nil, err
	}
	if err := makeWorkspace(cfg); err != nil {
		return nil, err
	}
	token, err := proc.TokenFor(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	// Before the first runner of our own: whatever carries the token is left
	// over from an earlier life.
	if n, err := proc.Reap(ctx, token); err != nil {
		log.ErrorContext(ctx, "processes of an earlier life still run", "err", err)
	} else if n > 0 {
		log.InfoContext(ctx, "ended processes of an earlier life", "processes", n)
	}
	if a.starter, err = proc.New(proc.Config{Token: token, Log: log}); err != nil {
		return nil, fmt.Errorf("prepare to start agents: %w", err)
	}
	entries, err := openAgents(cfg, a.starter, log)
	if err != nil {
		return nil, err
	}
	a.agents = newAgents(entries)
	if a.agent, err = a.agents.choose(ctx, cfg.Agent, log); err != nil {
		return nil, err
	}
	if err := a.assemble(ctx); err != nil {
		return nil, err
	}
	if err := a.openHooks(ctx); err != nil {
		return nil, err
	}
	return a, a.openWeb(ctx)
}

func makeWorkspace(cfg config.Config) error {
	if err := os.MkdirAll(cfg.Workspace, 0o700); err != nil {
		return chat.E(chat.Invalid, "the workspace "+cfg.Workspace+" cannot be made", err)
	}
	return nil
}

// identify notes who the accounts are, before anything is sent or received:
// behind the same name there may be another bot than in the last life.
func (a *App) identify(ctx context.Context) error {
	for _, b := range a.bots {
		self := b.adapter.Traits().Self
		if self == "" {
			continue
		}
		changed, err := a.db.Places().Identify(ctx, b.account, self)
		if err != nil {
			return fmt.Errorf("account %s: %w", b.account, err)
		}
		if changed {
			a.log.WarnContext(ctx, "the account is another bot than before; ids of its messages are forgotten", "account", b.account)
		}
	}
	return nil
}

// hearLimit bounds the writing of what an agent said about itself.
const hearLimit = 10 * time.Second

// listen takes up what agents said about themselves in earlier lives: which
// models there are is asked about before one of them runs.
func (a *App) listen(ctx context.Context) error {
	all, err := a.db.Books().Heard(ctx)
	if err != nil {
		return fmt.Errorf("read what agents said about themselves: %w", err)
	}
	base := context.WithoutCancel(ctx)
	a.agents.remember(all, func(name, said string) {
		ctx, cancel := context.WithTimeout(base, hearLimit)
		defer cancel()
		if err := a.db.Books().Hear(ctx, name, said); err != nil {
			a.log.WarnContext(ctx, "what an agent said about itself is not kept", "agent", name, "err", err)
		}
	})
	return nil
}

// assemble wires the stations.
func (a *App) assemble(ctx context.Context) error {
	db, cfg := a.db, a.cfg
	bots, err := openBots(cfg, botNeeds{a.menus, a.spool, a.owner.trouble}, a.log)
	if err != nil {
		return err
	}
	page, err := webchat.New(db.WebChats(), webchat.Config{Account: WebAccount, Who: web.Who, Streams: streams, Files: a.spool}, a.log)
	if err != nil {
		return err
	}
	a.bots = append(bots, bot{
		account: WebAccount, kind: WebAccount, adapter: page, owners: []string{web.Owner},
		link: func(string) string { return "" },
	})
	adapters := map[string]platform.Adapter{}
	owners := map[string][]string{}
	for _, b := range a.bots {
		adapters[b.account] = b.adapter
		owners[b.account] = b.owners
	}
	if err := a.identify(ctx); err != nil {
		return err
	}
	if err := a.listen(ctx); err != nil {
		return err
	}
	c := &a.core
	c.voice, err = reply.New(db.Outbox(), adapters, reply.Config{
		Lang: cfg.Language, NoReactions: !cfg.Display.Reactions, Dead: a.owner.dead, Held: a.owner.held, Discard: a.spool.Remove, Log: a.log,
	})
	if err != nil {
		return err
	}
	a.owner.bind(c.voice, db, owners)
	if err := a.openSessions(); err != nil {
		return err
	}
	out := a.outgoing(adapters)
	c.box = out.box
	keeper, err := a.openInbox(adapters)
	if err != nil {
		return err
	}
	board := &turn.Board{}
	c.turns = turn.New(turn.Books{
		Ledger: db.Runs(), Recovery: db.Runs(), Asks: db.Asks(), Threads: db.Sessions(), History: db.History(), Outbox: db.Outbox(),
		Queue: db.Turns(), Spending: db.Books(),
	}, c.sessions, speaker{c.voice}, board, turn.Config{
		TurnTimeout: cfg.TurnTimeout, StallNotice: cfg.StallNotice, StallStop: cfg.StallStop, AskTimeout: cfg.AskTimeout,
		Always: cfg.Approvals.Always, AskLost: cfg.Sessions.OnLost == "ask", Can: a.agents.can, Title: a.agents.title,
		Budget: turn.Budget(cfg.Budget), Verbosity: verbosity(cfg), Footer: footer(cfg),
		Files: sends(cfg.Files.Out, out),
		Reap: func(ctx context.Context, runners []string) error {
			_, err := proc.Reap(ctx, "", runners...)
			return err
		},
		Ended: func(t chat.Turn) {
			c.router.Lanes().Ended(t)
			a.memory.touch()
		},
		Incoming: incoming{keeper}, Log: a.log,
	})
	clicks := receive.NewClicks(db.Asks(), board, c.turns.Faces(), a.log)
	c.router, err = router.New(ctx, router.Deps{
		Ledger: router.Ledger{
			Inbox: db.Inbox(), Turns: db.Turns(), Control: db.Turns(), Conversations: db.Sessions(), Asks: db.Asks(),
			Rules: db.Rules(), Spending: db.Books(), History: db.History(), Endings: db.Runs(),
			Places: db.Places(), Rooms: db.Places(),
		},
		Runner: c.turns, Workers: c.sessions, Agents: a.agents, Clicks: clicks, Board: board, Voice: c.voice,
		Signals: c.voice, Titles: titles{adapters}, Incoming: incoming{keeper}, Files: fetches(cfg.Files.Get, out),
	}, router.Config{
		Agent: a.agent, Lang: cfg.Language, Burst: cfg.BurstWindow, Album: cfg.AlbumWindow, Age: cfg.MessageAge,
		QueueMax: cfg.QueueMax, Notices: router.Notices(cfg.QueueNotice), Commands: commands(cfg, adapters, a.log), Log: a.log,
	})
	if err != nil {
		return err
	}
	c.gate, err = receive.New(receive.Deps{
		Inbox: db.Inbox(), Access: db.People(), Places: db.Places(), Rooms: db.Places(), Voice: c.voice, Clicks: clicks, Presses: c.router.Presses(), Wake: c.router.Wake,
		Paired: a.refreshMenus,
	}, receive.Config{Owners: owners, Room: room(cfg), Lang: cfg.Language, Log: a.log})
	return err
}

func (a *App) openSessions() error {
	c := &a.core
	cfg := session.Config{
		StartTimeout: a.cfg.StartTimeout, LoadTimeout: a.cfg.LoadTimeout,
		WorkerIdle: a.cfg.WorkerIdle, MaxWorkers: a.cfg.WorkersMax, Agents: a.agents.settings(), Opened: a.agents.hear,
		Uninvited: func(id int64) func(context.Context) (workerHost, func(error)) { return c.turns.Uninvited(id) },
		Waiting:   func(id int64) { c.turns.Crowded(id) },
		Log:       a.log,
	}
	if err := cfg.Validate(); err != nil {
		return err
	}
	c.sessions = session.New(a.db.Sessions(), a.agents.drivers, cfg)
	a.agents.bind(c.sessions)
	return nil
}

// workspaces lists where conversations may work, the default first.
func workspaces(cfg config.Config) []command.Workspace {
	out := []command.Workspace{{Name: "default", Path: cfg.Workspace}}
	for _, w := range cfg.Workspaces {
		out = append(out, command.Workspace{Name: w.Name, Path: w.Path})
	}
	return out
}

// delivered is an adapter that a service may post to.
type delivered interface {
	// Webhook is where; false when nothing is posted to it.
	Webhook() (uplink.Spot, bool)
}

// openHooks binds the addresses at which accounts are delivered to.
func (a *App) openHooks(ctx context.Context) error {
	var spots []uplink.Spot
	var addrs []string
	for _, b := range a.bots {
		d, ok := b.adapter.(delivered)
		if !ok {
			continue
		}
		if s, on := d.Webhook(); on {
			spots, addrs = append(spots, s), append(addrs, s.Addr)
		}
	}
	slices.Sort(addrs)
	for _, addr := range slices.Compact(addrs) {
		h, err := uplink.OpenHooks(ctx, addr, spots, a.log)
		if err != nil {
			return err
		}
		a.hooks = append(a.hooks, h)
	}
	return nil
}

// openWeb binds the web chat and the operator's socket.
func (a *App) openWeb(ctx context.Context) error {
	addr := a.cfg.Web.Addr
	if addr == "off" {
		addr = ""
	}
	var page http.Handler
	for _, b := range a.bots {
		if w, ok := b.adapter.(*webchat.Adapter); ok {
			page = w.Handler()
		}
	}
	var err error
	a.web, err = web.Open(ctx, web.Parts{
		Logins: a.db.Logins(), Pairing: &pairing{people: a.db.People(), bots: a.bots, changed: a.refreshMenus}, Status: a, Chats: page,
		Lineage: func(pid int) (uint64, bool, error) { return runner.Lineage(pid, os.Getpid()) },
	}, web.Config{Addr: addr, Hosts: a.cfg.Web.Hosts, Socket: SocketPath(a.cfg.DataDir)}, a.log)
	return err
}

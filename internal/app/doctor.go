package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/config"
	"cligate/internal/platform"
	"cligate/internal/store"
	"cligate/internal/web/api"
	"cligate/internal/worker/proc"
)

// CheckMachine looks at what can be checked without the ledger: the
// configuration, directories and their permissions.
func CheckMachine(_ context.Context, cfg config.Config) []api.Check {
	var out []api.Check
	add := func(name string, ok bool, detail string) {
		out = append(out, api.Check{Name: name, OK: ok, Detail: detail})
	}
	from := cfg.File
	if from == "" {
		from = "no file; environment and defaults"
	}
	add("configuration", true, from)
	for _, w := range cfg.Warnings {
		add("configuration", false, w)
	}
	switch st, err := os.Stat(cfg.DataDir); {
	case os.IsNotExist(err):
		add("data directory", true, cfg.DataDir+" is made at the first start")
	case err != nil:
		add("data directory", false, err.Error())
	case st.Mode().Perm()&0o077 != 0:
		add("data directory", false, fmt.Sprintf("%s is open to others (mode %04o); chmod 700", cfg.DataDir, st.Mode().Perm()))
	default:
		add("data directory", true, cfg.DataDir)
	}
	probe := filepath.Join(cfg.Workspace, ".cligate-write-test")
	switch st, err := os.Stat(cfg.Workspace); {
	case os.IsNotExist(err):
		add("workspace", true, cfg.Workspace+" is made at the first start")
	case err != nil || !st.IsDir():
		add("workspace", false, cfg.Workspace+" is not a directory that can be read")
	default:
		err := os.WriteFile(probe, nil, 0o600)
		_ = os.Remove(probe)
		if add("workspace", err == nil, cfg.Workspace); err != nil {
			out[len(out)-1].Detail += " cannot be written by this user"
		}
	}
	if os.Geteuid() == 0 {
		add("user", true, "running as root: agents can do everything on this machine; a user of its own is safer")
	} else {
		add("user", true, fmt.Sprintf("uid %d", os.Geteuid()))
	}
	return out
}

// CheckOffline looks at agents, database and platforms when no daemon runs.
func CheckOffline(ctx context.Context, cfg config.Config) []api.Check {
	out := []api.Check{checkLedger(ctx, cfg)}
	quiet := slog.New(slog.DiscardHandler)
	token := fmt.Sprintf("doctor-%d", os.Getpid())
	s, err := proc.New(proc.Config{Token: token})
	if err != nil {
		return append(out, api.Check{Name: "agents", Detail: "cannot start processes: " + err.Error()})
	}
	defer s.Close()
	entries, err := openAgents(cfg, s, quiet)
	if err != nil {
		return append(out, api.Check{Name: "agents", Detail: err.Error()})
	}
	as := newAgents(entries)
	def, err := as.choose(ctx, cfg.Agent, quiet)
	if err != nil {
		out = append(out, api.Check{Name: "agents", Detail: err.Error()})
	}
	as.probeAll(ctx)
	out = append(out, agentChecks(as, def)...)
	bots, err := openBots(cfg, botNeeds{menus: commonMenus(cfg), alarm: func(string, string, bool) {}}, quiet)
	if err != nil {
		return append(out, api.Check{Name: "platforms", Detail: err.Error()})
	}
	return append(out, inspect(ctx, bots, func(string) platform.Inquiry {
		return platform.Inquiry{Alone: true, All: room(cfg).Listen == chat.ListenAll}
	})...)
}

// inspectLimit is the time for all questions about the bots.
const inspectLimit = 25 * time.Second

// inspect asks the services about every account there, all at the same time.
func inspect(ctx context.Context, bots []bot, ask func(account string) platform.Inquiry) []api.Check {
	ctx, cancel := context.WithTimeout(ctx, inspectLimit)
	defer cancel()
	found := make([][]platform.Finding, len(bots))
	var wg sync.WaitGroup
	for n, b := range bots {
		if t, ok := b.adapter.(platform.Inspector); ok {
			q := ask(b.account)
			wg.Go(func() { found[n] = t.Inspect(ctx, q) })
		}
	}
	wg.Wait()
	var out []api.Check
	for n, b := range bots {
		for _, f := range found[n] {
			c := api.Check{Name: "account " + b.account, OK: f.OK, Detail: f.Detail}
			if f.Name != "" {
				c.Name = b.account + " " + f.Name
			}
			out = append(out, c)
		}
	}
	return out
}

// known is what a running daemon knows of an account's groups.
func (a *App) known(ctx context.Context, account string) platform.Inquiry {
	q := platform.Inquiry{All: room(a.cfg).Listen == chat.ListenAll}
	gs, err := a.db.People().Groups(ctx, account, groupsShown)
	if err != nil {
		a.log.WarnContext(ctx, "groups not known", "account", account, "err", err)
	}
	for _, g := range gs {
		set, err := a.db.Places().Room(ctx, account, g.Chat)
		if err != nil {
			a.log.WarnContext(ctx, "group not known", "account", account, "err", err)
		}
		q.Groups = append(q.Groups, platform.KnownGroup{Chat: g.Chat, Title: g.Title, All: set.Or(room(a.cfg)).Listen == chat.ListenAll})
	}
	return q
}

// checkLedger opens the database as a start would, unless there is none.
func checkLedger(ctx context.Context, cfg config.Config) api.Check {
	c := api.Check{Name: "database"}
	if _, err := os.Stat(cfg.DataDir); os.IsNotExist(err) {
		c.OK, c.Detail = true, "made at the first start"
		return c
	}
	db, err := store.Open(ctx, store.Config{Dir: cfg.DataDir})
	if err != nil {
		c.Detail = err.Error()
		return c
	}
	defer db.Close()
	n, err := db.Books().Counts(ctx)
	if err != nil {
		c.Detail = err.Error()
		return c
	}
	c.OK, c.Detail = true, fmt.Sprintf("sound; %d sessions, %d turns waiting, %d messages to send", n.Sessions, n.Queued, n.Outbox)
	return c
}

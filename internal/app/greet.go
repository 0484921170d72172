package app

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/web/api"
)

// Greet prints what a person at the terminal needs to begin: the web chat's
// one-time address, the agent, and how to get in from elsewhere.
func (a *App) Greet(ctx context.Context, w io.Writer) error {
	title := a.agent
	for _, e := range a.agents.entries {
		if e.name == a.agent {
			title = e.title
		}
	}
	a.greeting = w
	a.greet("app.greet", "version", a.version, "agent", title, "workspace", a.cfg.Workspace)
	for _, row := range a.agents.List() {
		if !row.Ready && row.Hint != "" {
			a.greet("app.greet_agent", "agent", row.Title, "hint", row.Hint, "name", row.Name)
		}
	}
	if a.web.Addr() == "" {
		return nil
	}
	l, err := a.web.NewLink(ctx)
	if err != nil {
		return fmt.Errorf("make the web chat's address: %w", err)
	}
	a.greet("app.greet_web", "until", clock(l.Expires), "link", l.URL)
	return nil
}

// greet prints one text for the person at the terminal.
func (a *App) greet(key string, args ...any) {
	fmt.Fprintln(a.greeting, i18n.T(a.cfg.Language, key, args...))
}

func clock(t time.Time) string { return t.Local().Format("15:04") }

// nameLook is how often the bot's name is looked for while it is not known.
const nameLook = 500 * time.Millisecond

// inviteOwner prints a pairing link for a bot that has no owner, as soon as the
// bot's name is known. Whoever opens it first, within its life, is the owner.
func (a *App) inviteOwner(ctx context.Context, b bot) {
	if b.kind == WebAccount || len(b.owners) > 0 || a.greeting == nil {
		return
	}
	gs, err := a.db.People().Grants(ctx)
	if err != nil || slices.ContainsFunc(gs, func(g chat.Grant) bool { return g.Account == b.account && g.Role == chat.RoleOwner }) {
		return
	}
	tick := time.NewTicker(nameLook)
	defer tick.Stop()
	for !b.linkless && b.link("x") == "" {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
	p := &pairing{people: a.db.People(), bots: a.bots}
	inv, err := p.Invite(ctx, api.InviteAsk{Account: b.account, Role: chat.RoleOwner}, "start")
	if err != nil {
		a.log.ErrorContext(ctx, "no pairing link", "account", b.account, "err", err)
		return
	}
	if b.linkless {
		a.greet("app.greet_owner_word", "account", b.account, "until", clock(inv.Expires), "words", "/pair "+inv.Code)
		return
	}
	a.greet("app.greet_owner", "account", b.account, "until", clock(inv.Expires), "link", b.link(inv.Code))
}

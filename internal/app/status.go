package app

import (
	"context"
	"fmt"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/platform"
	"cligate/internal/web/api"
)

// Status implements web.Status.
func (a *App) Status(ctx context.Context) (api.Status, error) {
	n, err := a.db.Books().Counts(ctx)
	if err != nil {
		return api.Status{}, fmt.Errorf("count: %w", err)
	}
	live, _ := a.core.sessions.Count()
	s := api.Status{
		Version: a.version, Started: a.started, Agent: a.agent, Web: a.web.Addr(),
		Workers: live, Running: n.Active, Queued: n.Queued, Unsent: n.Outbox,
	}
	for _, b := range a.bots {
		row := api.Account{Platform: b.kind, Account: b.account}
		if h, ok := b.adapter.(platform.Healther); ok {
			st := h.Health()
			row.Connected, row.Detail, row.LastOK = st.Connected, st.Detail, st.LastOK
		}
		s.Accounts = append(s.Accounts, row)
	}
	for _, g := range a.agents.List() {
		row := api.Agent{Name: g.Name, Title: g.Title, Version: g.Info.Version, Ready: g.Ready, Hint: g.Hint, Can: []string{}}
		for _, what := range g.Can {
			row.Can = append(row.Can, string(what))
		}
		s.Agents = append(s.Agents, row)
	}
	return s, nil
}

// Healthy implements web.Status: nil while messages can be taken.
func (a *App) Healthy(ctx context.Context) error {
	if h := a.db.Health(); !h.OK {
		return chat.E(chat.Unavailable, h.Detail, nil)
	}
	_, err := a.db.Books().Counts(ctx)
	return err
}

// Doctor implements web.Status: what a running daemon knows beyond what can be
// checked from outside.
func (a *App) Doctor(ctx context.Context) (api.Report, error) {
	var r api.Report
	add := func(name string, ok bool, detail string) {
		r.Checks = append(r.Checks, api.Check{Name: name, OK: ok, Detail: detail})
	}
	h := a.db.Health()
	n, err := a.db.Books().Counts(ctx)
	switch {
	case err != nil:
		add("database", false, "cannot be read: "+err.Error())
	case !h.OK:
		add("database", false, h.Detail)
	default:
		if n.Unread > 0 {
			add("unread events", true, fmt.Sprintf("%d events of chat services were not understood; they are kept in the table unread of the database", n.Unread))
		}
		add("database", true, fmt.Sprintf("%d sessions, %d turns waiting, %d messages to send, %d given up", n.Sessions, n.Queued, n.Outbox, n.Dead))
	}
	a.agents.probeAll(ctx)
	r.Checks = append(r.Checks, agentChecks(a.agents, a.agent)...)
	gs, err := a.db.People().Grants(ctx)
	if err != nil {
		return r, fmt.Errorf("list grants: %w", err)
	}
	for _, b := range a.bots {
		if st, ok := b.adapter.(platform.Healther); ok && b.kind != WebAccount {
			x := st.Health()
			add(b.account+" connection", x.Connected, x.Detail+"; "+admits(b, gs))
		}
	}
	r.Checks = append(r.Checks, inspect(ctx, a.bots, func(account string) platform.Inquiry { return a.known(ctx, account) })...)
	return r, nil
}

// admits tells who may talk to a bot: the rule as it is in force.
func admits(b bot, gs []chat.Grant) string {
	groups := map[string]bool{}
	direct := map[string]bool{}
	for _, id := range b.owners {
		direct[id] = true
	}
	for _, g := range gs {
		switch {
		case g.Account != b.account:
		case g.Chat == "":
			direct[g.Person] = true
		default:
			groups[g.Chat+"/"+g.Person] = true
		}
	}
	if len(direct)+len(groups) == 0 {
		return "nobody may talk to it"
	}
	return fmt.Sprintf("%d may talk to it directly, %d in a group, nobody else", len(direct), len(groups))
}

// agentChecks tells which agents can be used, and which one is the default.
func agentChecks(as *agents, def string) []api.Check {
	var out []api.Check
	for _, e := range as.entries {
		p, _ := as.probed(e.name)
		c := api.Check{Name: "agent " + e.name}
		switch {
		case chat.CodeOf(p.err) == chat.NotInstalled:
			c.OK = e.name != def && !e.listed
			c.Detail = "not installed"
			if p.traits.Hint != "" {
				c.Detail += ". " + p.traits.Hint
			}
		case p.err != nil:
			c.Detail = "cannot be used: " + p.err.Error()
		case !p.traits.LoggedIn:
			c.Detail = "installed (" + p.traits.Version + "), not logged in. " + p.traits.Hint
		default:
			c.OK, c.Detail = true, "installed "+p.traits.Version+", is given "+strings.Join(p.traits.Env, " ")
		}
		if e.name == def {
			c.Detail += " (default)"
		}
		out = append(out, c)
	}
	return out
}

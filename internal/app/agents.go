package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/command"
	"cligate/internal/session"
	"cligate/internal/worker"
)

// probeLimit bounds the look at all installed agents.
const probeLimit = 12 * time.Second

// agents knows what is configured, what is installed and what each agent said
// about itself. It implements command.Agents.
type agents struct {
	entries []agentEntry
	drivers map[string]worker.Driver
	live    func(session int64) (worker.Info, bool)

	mu     sync.Mutex
	probes map[string]probe
	heard  map[string]worker.Info  // what the last live worker of an agent said
	keep   func(name, said string) // keeps it for the next life; nil = it is forgotten
}

type probe struct {
	traits worker.Traits
	err    error
}

func newAgents(entries []agentEntry) *agents {
	a := &agents{entries: entries, drivers: map[string]worker.Driver{}, probes: map[string]probe{}, heard: map[string]worker.Info{}}
	for _, e := range entries {
		a.drivers[e.name] = e.driver
	}
	return a
}

// names are those of the agents that can be chosen.
func (a *agents) names() []string {
	out := make([]string, len(a.entries))
	for i, e := range a.entries {
		out[i] = e.name
	}
	return out
}

// settings are what the operator set about agents, as sessions want them.
func (a *agents) settings() session.Agents {
	s := session.Agents{Defaults: map[string]chat.Settings{}, Unattended: map[string]bool{}, Asks: a.asks, Forgets: a.forgets}
	for _, e := range a.entries {
		s.Defaults[e.name] = e.defaults()
		s.Unattended[e.name] = e.config.Unattended
	}
	return s
}

func (e agentEntry) defaults() chat.Settings {
	return chat.Settings{Model: e.config.Model, Mode: e.config.Mode, Effort: e.config.Effort}
}

// asks reports whether an agent asks before it acts, looking at it if nobody
// did before.
func (a *agents) asks(ctx context.Context, name string) (bool, error) {
	if p, ok := a.probed(name); ok && len(p.traits.Can) > 0 {
		return p.traits.Can.Has(worker.Approvals), nil
	}
	d, ok := a.drivers[name]
	if !ok {
		return false, chat.E(chat.NotInstalled, name, nil)
	}
	t, err := d.Probe(ctx)
	if err == nil || len(t.Can) > 0 {
		a.note(name, probe{t, err})
		return t.Can.Has(worker.Approvals), nil
	}
	return false, fmt.Errorf("look at the agent: %w", err)
}

// forgets reports whether an agent is known to lose a session with its process.
func (a *agents) forgets(name string) bool {
	p, ok := a.probed(name)
	return ok && len(p.traits.Can) > 0 && !p.traits.Can.Has(worker.Resume)
}

func (a *agents) note(name string, p probe) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.probes[name] = p
}

// can reports whether an agent is known to have an ability.
func (a *agents) can(name string, what worker.Ability) bool {
	p, _ := a.probed(name)
	return p.traits.Can.Has(what)
}

// title is an agent's name for people.
func (a *agents) title(name string) string {
	for _, e := range a.entries {
		if e.name == name {
			return cmp.Or(e.title, name)
		}
	}
	return name
}

// hear notes what an agent said about itself.
func (a *agents) hear(name string, i worker.Info) {
	a.mu.Lock()
	same := reflect.DeepEqual(a.heard[name], i)
	a.heard[name] = i
	a.mu.Unlock()
	if same || a.keep == nil {
		return
	}
	if said, err := json.Marshal(i); err == nil { // plain strings; cannot fail
		a.keep(name, string(said))
	}
}

// remember takes up what agents said in an earlier life, and has what they say
// kept from now on.
func (a *agents) remember(all map[string]string, keep func(name, said string)) {
	for name, said := range all {
		var i worker.Info
		if json.Unmarshal([]byte(said), &i) != nil {
			continue // another version's; it is said again
		}
		i.Version = "" // it may have been updated meanwhile
		a.heard[name] = i
	}
	a.keep = keep
}

// bind tells where live workers are found.
func (a *agents) bind(m *session.Manager) { a.live = m.Live }

// probeAll looks at every agent at once.
func (a *agents) probeAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	var wg sync.WaitGroup
	for _, e := range a.entries {
		wg.Go(func() {
			t, err := e.driver.Probe(ctx)
			a.note(e.name, probe{t, err})
		})
	}
	wg.Wait()
}

// probed returns what is known about an agent.
func (a *agents) probed(name string) (probe, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, ok := a.probes[name]
	return p, ok
}

// choose returns the default agent: the wanted one, or the first that is
// installed and does not say that it is not logged in. The demo agent is last
// and always there.
func (a *agents) choose(ctx context.Context, wanted string, log *slog.Logger) (string, error) {
	if wanted != "" {
		if _, ok := a.drivers[wanted]; !ok {
			return "", chat.E(chat.Unsupported, fmt.Sprintf("agent %s cannot be used yet: there is no driver for it; set agent (or CLIGATE_AGENT) to one of %s",
				wanted, strings.Join(a.names(), ", ")), nil)
		}
		return wanted, nil
	}
	for _, e := range a.entries {
		if e.extra {
			continue
		}
		if e.installed != nil && !e.installed() {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, probeLimit)
		t, err := e.driver.Probe(ctx)
		cancel()
		a.note(e.name, probe{t, err})
		switch {
		case err != nil:
			if chat.CodeOf(err) != chat.NotInstalled {
				log.WarnContext(ctx, "an installed agent cannot be used", "agent", e.name, "err", err)
			}
		case !t.LoggedIn:
			log.WarnContext(ctx, "an installed agent is not logged in", "agent", e.name, "hint", t.Hint)
		default:
			return e.name, nil
		}
	}
	return "", errors.New("no agent can be used") // the demo agent makes this impossible
}

// List implements command.Agents.
func (a *agents) List() []command.Agent {
	out := make([]command.Agent, 0, len(a.entries))
	for _, e := range a.entries {
		p, known := a.probed(e.name)
		if known && chat.CodeOf(p.err) == chat.NotInstalled {
			continue
		}
		row := command.Agent{Name: e.name, Title: e.title, Ready: !known || p.err == nil && p.traits.LoggedIn, Hint: p.traits.Hint,
			Can: p.traits.Can, Defaults: e.defaults(), Unattended: e.config.Unattended}
		a.mu.Lock()
		row.Info = a.heard[e.name]
		a.mu.Unlock()
		row.Info.Version = cmp.Or(row.Info.Version, p.traits.Version)
		out = append(out, row)
	}
	return out
}

// Commands implements command.Agents.
func (a *agents) Commands(agent string, session int64) []worker.Command {
	if info, ok := a.live(session); ok {
		a.hear(agent, info)
		return info.Commands
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.heard[agent].Commands
}

// Natives implements command.Agents.
func (a *agents) Natives(ctx context.Context, agent, workspace string) ([]worker.Native, error) {
	c, ok := a.drivers[agent].(worker.Cataloguer)
	if !ok {
		return nil, chat.E(chat.Unsupported, "", nil)
	}
	return c.Sessions(ctx, workspace)
}

// Terminal implements command.Agents.
func (a *agents) Terminal(agent, nativeID string) []string {
	if t, ok := a.drivers[agent].(worker.Terminal); ok {
		return t.Terminal(nativeID)
	}
	return nil
}

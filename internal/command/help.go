package command

import (
	"context"
	"strings"
)

// help is /help: what one may do here.
func help(_ context.Context, s *Set, c Call) (Result, error) {
	lines := []string{c.text("help_list")}
	for _, p := range s.table {
		if !p.quiet && c.In.Role.Covers(p.least) {
			lines = append(lines, p.usage(c.Lang))
		}
	}
	if own := s.agentNames(c); len(own) > 0 {
		lines = append(lines, "", c.text("help_own", "agent", s.agentTitle(c.Conv.Agent)), "/"+strings.Join(own, " /"))
	}
	return notice(strings.Join(lines, "\n")), nil
}

// agentNames are the names of the agent's own commands, a few of them.
func (s *Set) agentNames(c Call) []string {
	const most = 30
	var out []string
	for _, cmd := range s.Agents.Commands(c.Conv.Agent, c.Conv.Session) {
		if len(out) < most && nameRule.MatchString(cmd.Name) && !s.Has(cmd.Name) {
			out = append(out, cmd.Name)
		}
	}
	return out
}

// Passes reports whether name is a command of the conversation's agent, and
// thus meant for it.
func (s *Set) Passes(c Call) bool {
	for _, cmd := range s.Agents.Commands(c.Conv.Agent, c.Conv.Session) {
		if strings.EqualFold(cmd.Name, c.Name) {
			return true
		}
	}
	return false
}

// Unknown tells that there is no such command, and which one may have been
// meant.
func (s *Set) Unknown(c Call) Result {
	text := c.text("unknown", "name", c.Name)
	if near := Nearest(c.Name, append(s.Names(), s.agentNames(c)...)); near != "" {
		text += "\n" + c.text("meant", "name", "/"+near)
	}
	return notice(text)
}

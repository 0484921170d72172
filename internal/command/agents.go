package command

import (
	"context"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// told are the abilities that people are told about, in this order.
func told() []worker.Ability {
	return []worker.Ability{
		worker.Resume, worker.Interrupt, worker.Steer, worker.Approvals, worker.Questions, worker.Plans, worker.Models,
		worker.Modes, worker.Efforts, worker.Images, worker.Documents, worker.Cost, worker.Compact, worker.AgentTurns,
		worker.Fork, worker.Catalogue, worker.TakesOver,
	}
}

// listAgents is /agents: which there are, whether they are ready, what they can.
func listAgents(_ context.Context, s *Set, c Call) (Result, error) {
	var parts []string
	var rows [][]chat.Button
	for _, a := range s.Agents.List() {
		parts = append(parts, strings.Join(describe(c, a), "\n"))
		if data := "agent:" + a.Name; a.Name != c.Conv.Agent && len(data) <= maxData && c.In.Role.Covers(chat.RoleMember) {
			rows = addButton(rows, 3, chat.Button{Label: a.Title, Data: data})
		}
	}
	return notice(strings.Join(parts, "\n\n"), rows...), nil
}

// describe is one agent, in lines.
func describe(c Call, a Agent) []string {
	head := a.Title + " (" + a.Name + ")"
	if a.Info.Version != "" {
		head += " " + chat.PlainName(a.Info.Version)
	}
	if a.Name == c.Conv.Agent {
		head += " · " + c.text("session_current")
	}
	if a.Ready {
		head += " · " + c.text("agent_ready")
	} else {
		head += " · " + whyNot(c, a)
	}
	lines := []string{head}
	if len(a.Can) == 0 {
		return lines
	}
	var can, lacks []string
	for _, what := range told() {
		name := c.text("can_" + string(what))
		if a.Can.Has(what) {
			can = append(can, name)
		} else {
			lacks = append(lacks, name)
		}
	}
	if len(can) > 0 {
		lines = append(lines, c.text("agent_can", "list", strings.Join(can, ", ")))
	}
	if len(lacks) > 0 {
		lines = append(lines, c.text("agent_lacks", "list", strings.Join(lacks, ", ")))
	}
	if a.unasking() {
		lines = append(lines, c.text("agent_unasked", "agent", a.Title, "name", a.Name))
	}
	return lines
}

// unasking reports whether the agent is known to act without asking, which the
// operator has not allowed.
func (a Agent) unasking() bool {
	return len(a.Can) > 0 && !a.Can.Has(worker.Approvals) && !a.Unattended
}

package acp

import "cligate/internal/worker"

// Abilities are what can be said of an agent without starting it. announced is
// what the agent is known to present itself with; a live one is asked by Probe.
func (c Config) Abilities(announced ...worker.Ability) worker.Abilities {
	return c.abilities(presented{}, announced...)
}

package claude

import "cligate/internal/worker"

// Abilities are what the agent can do through this driver.
func Abilities() worker.Abilities { return abilities() }

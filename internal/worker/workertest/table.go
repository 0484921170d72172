package workertest

import "cligate/internal/worker"

// table is what each agent was seen to be able to do. A driver that declares
// less than its row has lost something; it may declare more, and must then
// show it. An agent that is not here has no least.
var table = map[string]worker.Abilities{
	"claude": {
		worker.ChoosesID, worker.Resume, worker.Interrupt, worker.Steer, worker.Replace, worker.Approvals,
		worker.Questions, worker.Plans, worker.Models, worker.Modes, worker.Images, worker.Documents, worker.Thoughts,
		worker.Tokens, worker.Cost, worker.Window, worker.AgentTurns, worker.Compact, worker.Failures,
	},
	"codex": {
		worker.Resume, worker.Shared, worker.Interrupt, worker.Steer, worker.Approvals, worker.Questions, worker.Plans,
		worker.Models, worker.Modes, worker.Efforts, worker.Images, worker.Thoughts, worker.Tokens, worker.Window,
		worker.Compact, worker.Failures,
	},
	"opencode": {
		worker.Resume, worker.Shared, worker.Interrupt, worker.Steer, worker.Approvals, worker.Questions, worker.Models,
		worker.Images, worker.Thoughts, worker.Tokens, worker.Cost, worker.Compact, worker.Failures,
	},
	"pi": {
		worker.ChoosesID, worker.Resume, worker.Interrupt, worker.Steer, worker.Models, worker.Images, worker.Thoughts,
		worker.Tokens, worker.Cost, worker.Compact, worker.Failures,
	},
	"gemini": {
		worker.Resume, worker.Interrupt, worker.Approvals, worker.Models, worker.Modes, worker.Thoughts, worker.Tokens,
		worker.Failures,
	},
	"qwen": {
		worker.Resume, worker.Interrupt, worker.Approvals, worker.Questions, worker.Models, worker.Modes, worker.Thoughts,
		worker.AgentTurns,
	},
	"copilot": {
		worker.Resume, worker.Interrupt, worker.Approvals, worker.Images, worker.Thoughts, worker.Tokens, worker.Compact,
	},
	"demo": {
		worker.Resume, worker.Interrupt, worker.Approvals, worker.Questions, worker.Models, worker.Modes, worker.Efforts,
		worker.Plans, worker.Images, worker.Thoughts, worker.Tokens, worker.Cost, worker.Window, worker.AgentTurns,
		worker.Compact, worker.Failures,
	},
	"fake": {
		worker.Resume, worker.Steer, worker.Approvals, worker.Questions, worker.Models,
	},
}

// Least returns what the driver of an agent must declare; none for an agent
// that nobody has looked at.
func Least(agent string) worker.Abilities { return append(worker.Abilities{}, table[agent]...) }

// implied are the acts that only an agent with an ability can be made to do.
var implied = map[Act]worker.Ability{
	Approval: worker.Approvals, Reason: worker.Approvals, Withdraw: worker.Approvals,
	Question: worker.Questions, FreeAnswer: worker.Questions, Questions: worker.Questions,
	Plan: worker.Plans, AgentTurn: worker.AgentTurns, Think: worker.Thoughts, Compact: worker.Compact,
}

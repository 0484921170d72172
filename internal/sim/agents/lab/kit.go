package lab

import (
	"maps"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

// acts is what to say to a real agent so that our model makes it do an act.
// What is missing here only a stand-in can be made to do.
var acts = map[workertest.Act]string{
	workertest.Remember:   "remember the word plum",
	workertest.Recall:     "what was the word?",
	workertest.Stream:     "stream 250 10",
	workertest.Approval:   "run touch approved",
	workertest.Question:   "ask",
	workertest.FreeAnswer: "ask",
	workertest.FailLogin:  "fail 401",
	workertest.FailQuota:  "fail 429 0 quota",

	// A plain sleep is refused by some agents.
	workertest.Busy:         "run timeout 2 tail -f /dev/null\nsay that took long",
	workertest.LongTool:     "run timeout 90 tail -f /dev/null\nsay that took long",
	workertest.Nudge:        "say nudged",
	workertest.Reason:       "run touch approved",
	workertest.Questions:    "questions",
	workertest.Plan:         "plan\nsay on we go",
	workertest.AgentTurn:    "background timeout 2 tail -f /dev/null\nsay started",
	workertest.Model:        "model",
	workertest.Seen:         "seen",
	workertest.Think:        "think deep\nsay thought",
	workertest.Fixed:        "say always the same",
	workertest.FailOverload: "fail 529",
	workertest.FailModel:    "fail 404",
	workertest.FailContext:  "fail 400 0 context",
	workertest.Cut:          "cut",
	workertest.Compact:      "/compact",
	workertest.Halfway:      "remember the word plum\nstream 250 10",
}

// lacking is what an agent's real self cannot be made to do, by agent, and why.
var lacking = map[string]map[workertest.Act]string{
	"gemini": with(noQuestions, map[workertest.Act]string{
		workertest.Plan:      "its plans have no dialogue in this protocol",
		workertest.AgentTurn: "it starts no turn by itself",
		workertest.Compact:   "the command goes to the model as a text",
		workertest.Reason:    "it does not pass on why something was denied",
	}),
	"copilot": with(noQuestions, map[workertest.Act]string{
		workertest.Plan:      "its plans have no dialogue in this protocol",
		workertest.AgentTurn: "it starts no turn by itself",
		workertest.Reason:    "a denial ends the turn",
	}),
	"qwen": {
		workertest.Plan:    "its plans have no dialogue in this protocol",
		workertest.Compact: "the command goes to the model as a text",
		workertest.Reason:  "a denial ends the turn",
	},
	"opencode": {
		workertest.Plan:      "it has no tool that presents a plan",
		workertest.AgentTurn: "it starts no turn by itself",
	},
	"pi": with(noQuestions, map[workertest.Act]string{
		workertest.Approval:  "it asks for no leave",
		workertest.Reason:    "it asks for no leave",
		workertest.Plan:      "it has no plans",
		workertest.AgentTurn: "it starts no turn by itself",
	}),
	"codex": {workertest.AgentTurn: "it starts no turn by itself"},
	"claude-agent-acp": with(undeclared, map[workertest.Act]string{
		workertest.Reason: "it does not pass on why something was denied",
	}),
	"codex-acp": with(undeclared, map[workertest.Act]string{
		workertest.Approval: "it asks only when its model asks for more than its sandbox allows",
		workertest.Reason:   "it asks only when its model asks for more than its sandbox allows",

		workertest.FailOverload: toldAsText, workertest.FailModel: toldAsText, workertest.FailContext: toldAsText,
	}),
}

const toldAsText = "it tells this failure as an answer, and the turn ends well"

// undeclared is what an agent may do of which the configuration has only the
// command line, and does not announce.
var undeclared = map[workertest.Act]string{
	workertest.Question: notAnnounced, workertest.FreeAnswer: notAnnounced, workertest.Questions: notAnnounced,
	workertest.Plan: notAnnounced, workertest.AgentTurn: notAnnounced, workertest.Compact: notAnnounced, workertest.Think: notAnnounced,
}

const notAnnounced = "the agent does not announce that, and only its command line is known"

var noQuestions = map[workertest.Act]string{
	workertest.Question:   "it has no tool that asks the user",
	workertest.FreeAnswer: "it has no tool that asks the user",
	workertest.Questions:  "it has no tool that asks the user",
}

func with(a, b map[workertest.Act]string) map[workertest.Act]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// modes are the permission modes that acts need, by agent.
var modes = map[string]map[workertest.Act]string{
	"claude": {workertest.Plan: "plan"},
	"codex":  {workertest.Plan: "plan", workertest.Question: "plan", workertest.FreeAnswer: "plan", workertest.Questions: "plan"},
}

// other is a model to change to, by agent; where there is none the agent knows
// one only, or it is not the driver that tells it.
var other = map[string]string{
	"claude": "sonnet", "claude-agent-acp": "sonnet", "codex": Small, "codex-acp": Small, "opencode": "mock/" + Small, "pi": Small,
}

// Kit is the conformance suite's view of this lab: newDriver makes a driver for
// l.Command and l.Env with l.Starter; unknown is a well-formed id of a session
// that never was. The test may move acts between Say and Lacks, or say them in other
// words.
func (l *Lab) Kit(unknown string, newDriver func(t *testing.T) worker.Driver) workertest.Kit {
	k := workertest.Kit{
		Driver: newDriver, Unknown: unknown, Left: l.Left, Workspace: l.Workspace, Mode: maps.Clone(modes[l.name]), Other: chat.Settings{Model: other[l.name]},
		Say: map[workertest.Act]string{}, Lacks: map[workertest.Act]string{},
	}
	for _, a := range workertest.Acts() {
		text, ok := acts[a]
		why, lacks := lacking[l.name][a]
		switch {
		case lacks:
			k.Lacks[a] = why
		case ok:
			k.Say[a] = text
		default:
			k.Lacks[a] = "only a stand-in does that when it is told to"
		}
	}
	return k
}

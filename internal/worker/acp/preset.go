package acp

import (
	"cligate/internal/i18n"
	"cligate/internal/worker"
)

// Quirks are where agents differ without saying so in the protocol.
type Quirks struct {
	// Oldest is the version from which on the agent is known to be as it is
	// described here; empty = any will do.
	Oldest string
	// Can is what the agent was seen to do and does not announce; Cannot is
	// what it announces and was seen not to do.
	Can, Cannot worker.Abilities
	// Lost are texts of an error that say definitely that the session id is
	// unknown, beside the protocol's own code for that.
	Lost []string
	// ReplayInLoad says that the history is replayed before the answer to
	// session/load. Of other agents the rest is waited for.
	ReplayInLoad bool
	// Speaks says that messages which begin with "Error: ", "Warning: " or
	// "Info: " are the agent's own words about itself, not an answer.
	Speaks bool
	// Noise are beginnings of messages that are neither.
	Noise []string
	// UsageSums says that the reported usage grows over the session.
	UsageSums bool
	// Reloads says that a turn which did not end well leaves the agent's memory
	// in a state that its model refuses: the session is loaded anew before the
	// next one.
	Reloads bool
	// Titles says that the title of a command is the command itself.
	Titles bool
	// Drains says that the agent asks, between two tools, for words that came
	// meanwhile.
	Drains bool
	// Options are set after each open, by the agent's own names.
	Options []choice
	// Unasking are slash commands that make the agent act without asking. They
	// are neither offered nor passed on: modes are chosen openly.
	Unasking []string
	// Terminal are the arguments that go on with a session in a terminal; the
	// id follows.
	Terminal []string
	// Native is where the agent's program lies that the script by its name only
	// starts, from the script's own folder; $OS and $ARCH are put in.
	Native []string
	// Store is how the agent keeps its sessions, where that must be known.
	Store store
	// Defaults are settings of the agent's that its users can change; Variable
	// names a file of them.
	Defaults, Variable string
}

// Preset returns what is known about an agent by name. The operator's own
// command, arguments and environment go on top. An unknown name gives a Config
// that only has the name: what such an agent can do is what it announces.
func Preset(name string) (c Config, known bool) {
	for _, p := range presets() {
		if p.Name == name {
			return p, true
		}
	}
	return Config{Name: name}, false
}

// presets are the agents whose best protocol this is.
func presets() []Config {
	return []Config{gemini(), qwen(), copilot(), {
		Name: "demo", Command: "/proc/self/exe", Args: []string{"demo-agent"},
		Quirks: Quirks{
			ReplayInLoad: true,
			Can: worker.Abilities{
				worker.Questions, worker.Models, worker.Modes, worker.Efforts, worker.Plans, worker.Thoughts, worker.Tokens,
				worker.Cost, worker.Window, worker.AgentTurns, worker.Compact, worker.Failures, worker.KeepsStopped,
			},
		},
	}}
}

func gemini() Config {
	return Config{
		Name: "gemini", Command: "gemini", Args: []string{"--acp"}, Mode: "default",
		Env:     []string{"GEMINI_*", "GOOGLE_*", "GEMINI_CLI_NO_RELAUNCH=true"},
		Install: i18n.T(i18n.Default, "acp.gemini_install"), Login: i18n.T(i18n.Default, "acp.gemini_login"),
		Quirks: Quirks{
			Oldest: "0.61",
			Can: worker.Abilities{
				worker.Models, worker.Modes, worker.Documents, worker.Thoughts, worker.Tokens, worker.Failures,
			},
			Lost:     []string{"Invalid session identifier", "No previous sessions found for this project"},
			Noise:    []string{"[MODE_UPDATE] "},
			Reloads:  true,
			Titles:   true,
			Terminal: []string{"--resume"},
			Store: store{
				Home: "GEMINI_CLI_HOME", Files: ".gemini/tmp/*/chats/session-*-$ID.json*", Minutes: true,
				Context: "<session_context>",
			},
			// At each start it throws away sessions in which nothing was said
			// yet, also those that another process has just begun.
			Variable: "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
			Defaults: `{"general":{"sessionRetention":{"enabled":false}}}`,
		},
	}
}

func qwen() Config {
	return Config{
		Name: "qwen", Command: "qwen", Args: []string{"--acp"}, Mode: "default",
		Env:     []string{"QWEN_*", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "DASHSCOPE_API_KEY"},
		Install: i18n.T(i18n.Default, "acp.qwen_install"), Login: i18n.T(i18n.Default, "acp.qwen_login"),
		Quirks: Quirks{
			Oldest: "0.24",
			Can: worker.Abilities{
				worker.Questions, worker.Models, worker.Modes, worker.Thoughts, worker.Tokens, worker.Window, worker.AgentTurns,
				worker.KeepsStopped,
			},
			Cannot:       worker.Abilities{worker.Images}, // only of models that it knows to see
			ReplayInLoad: true,
			Drains:       true,
			Unasking:     []string{"approval-mode"},
			Terminal:     []string{"--resume"},
		},
	}
}

func copilot() Config {
	return Config{
		Name: "copilot", Command: "copilot", Args: []string{"--acp"}, Mode: "agent",
		Env:     []string{"COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST"},
		Install: i18n.T(i18n.Default, "acp.copilot_install"), Login: i18n.T(i18n.Default, "acp.copilot_login"),
		Quirks: Quirks{
			Oldest:       "1.0.102",
			Can:          worker.Abilities{worker.Modes, worker.Thoughts, worker.Tokens, worker.Window, worker.Compact, worker.KeepsStopped},
			ReplayInLoad: true,
			Speaks:       true,
			UsageSums:    true,
			Options:      []choice{{ID: "allow_all", Name: "off"}},
			Unasking:     []string{"allow-all", "yolo", "permissions", "autopilot"},
			Terminal:     []string{"--resume"},
			Native:       []string{"../copilot-$OS-$ARCH/copilot", "node_modules/@github/copilot-$OS-$ARCH/copilot"},
		},
	}
}

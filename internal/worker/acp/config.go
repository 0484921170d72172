package acp

import (
	"errors"
	"fmt"
	"time"
)

// Config describes one ACP agent.
type Config struct {
	Name    string   // the agent's name in the configuration
	Command string   // program name or path
	Args    []string // arguments that make it speak ACP
	Env     []string // beside what every agent inherits: "NAME=value", "NAME" or "PREFIX*"

	// Mode is the permission mode that is set after each open unless the
	// conversation wishes another; some agents start in a mode that asks nobody.
	Mode string
	// Hint is one sentence for the operator: how to install and log in.
	Hint string

	Quirks

	StartTimeout time.Duration // for the agent to present itself; 0 = 30 s
	LoadTimeout  time.Duration // for a session to be made or loaded; 0 = 90 s
	CallTimeout  time.Duration // for a change of model or mode, and for a write; 0 = 15 s
	// Grace is how long the agent may take to end a cancelled turn before its
	// process is ended; 0 = 3 s.
	Grace time.Duration
	// MaxLine caps one line of output in bytes; 0 = 32 MiB. Some agents put a
	// whole answer into one line.
	MaxLine int
}

// Quirks are where agents differ without saying so in the protocol.
type Quirks struct {
	// Lost are texts of an error that say definitely that the session id is
	// unknown, beside the protocol's own code for that.
	Lost []string
	// ReplayInLoad says that the history is replayed before the answer to
	// session/load. Of other agents the rest is waited for.
	ReplayInLoad bool
	// Speaks says that messages which begin with "Error: ", "Warning: " or
	// "Info: " are the agent's own words about itself, not an answer.
	Speaks bool
	// UsageSums says that the reported usage grows over the session.
	UsageSums bool
}

// Validate reports every setting that cannot work.
func (c Config) Validate() error {
	var errs []error
	if c.Name == "" {
		errs = append(errs, errors.New("an ACP agent has no name"))
	}
	if c.Command == "" {
		errs = append(errs, fmt.Errorf("agent %q has no command", c.Name))
	}
	for _, d := range []time.Duration{c.StartTimeout, c.LoadTimeout, c.CallTimeout, c.Grace} {
		if d < 0 {
			errs = append(errs, fmt.Errorf("agent %q: timeout %v is negative", c.Name, d))
		}
	}
	if c.MaxLine < 0 {
		errs = append(errs, fmt.Errorf("agent %q: line cap %d is negative", c.Name, c.MaxLine))
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{
		{&c.StartTimeout, 30 * time.Second},
		{&c.LoadTimeout, 90 * time.Second},
		{&c.CallTimeout, 15 * time.Second},
		{&c.Grace, 3 * time.Second},
	} {
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	if c.MaxLine == 0 {
		c.MaxLine = 32 << 20
	}
	return c
}

// Preset returns what is known about an agent by name. The operator's own
// command, arguments and environment go on top. An unknown name gives a Config
// that only has the name.
func Preset(name string) (c Config, known bool) {
	for _, p := range presets() {
		if p.Name == name {
			return p, true
		}
	}
	return Config{Name: name}, false
}

// providers are the keys of agents that work with many model services.
var providers = []string{
	"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "GEMINI_API_KEY",
	"GOOGLE_GENERATIVE_AI_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY", "MISTRAL_API_KEY", "GROQ_API_KEY",
	"XAI_API_KEY", "MOONSHOT_API_KEY", "ZHIPU_API_KEY", "DASHSCOPE_API_KEY",
}

func presets() []Config {
	return []Config{
		{
			Name: "gemini", Command: "gemini", Args: []string{"--acp"}, Mode: "default",
			Env:    []string{"GEMINI_*", "GOOGLE_*", "GEMINI_CLI_NO_RELAUNCH=true"},
			Hint:   "Install it with \"npm install -g @google/gemini-cli\" and log in by running \"gemini\" once.",
			Quirks: Quirks{Lost: []string{"Invalid session identifier", "No previous sessions found for this project"}},
		},
		{
			Name: "qwen", Command: "qwen", Args: []string{"--acp"}, Mode: "default",
			Env:    []string{"QWEN_*", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "DASHSCOPE_API_KEY"},
			Hint:   "Install it with \"npm install -g @qwen-code/qwen-code\" and log in by running \"qwen\" once.",
			Quirks: Quirks{ReplayInLoad: true},
		},
		{
			Name: "opencode", Command: "opencode", Args: []string{"acp"},
			Env:    append([]string{"OPENCODE_CONFIG*"}, providers...),
			Hint:   "Install it with \"npm install -g opencode-ai\" and log in with \"opencode auth login\".",
			Quirks: Quirks{ReplayInLoad: true},
		},
		{
			Name: "copilot", Command: "copilot", Args: []string{"--acp"},
			Env:    []string{"COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST"},
			Hint:   "Install it with \"npm install -g @github/copilot\" and log in by running \"copilot\" once.",
			Quirks: Quirks{ReplayInLoad: true, Speaks: true, UsageSums: true},
		},
		{
			Name: "claude-acp", Command: "claude-agent-acp", Mode: "default",
			Env:    []string{"ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_*", "IS_SANDBOX"},
			Hint:   "Install it with \"npm install -g @agentclientprotocol/claude-agent-acp\" and log in with \"claude\".",
			Quirks: Quirks{ReplayInLoad: true},
		},
		{
			Name: "codex-acp", Command: "codex-acp", Mode: "workspace-write",
			Env:    []string{"CODEX_HOME", "OPENAI_*", "CODEX_API_KEY"},
			Hint:   "Install it with \"npm install -g @agentclientprotocol/codex-acp\" and log in with \"codex login\".",
			Quirks: Quirks{ReplayInLoad: true, Speaks: true, Lost: []string{"no rollout found for thread id"}},
		},
		{
			Name: "demo", Command: "/proc/self/exe", Args: []string{"demo-agent"},
			Quirks: Quirks{ReplayInLoad: true},
		},
	}
}

package pi

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/proc"
)

// Config are the driver's settings.
type Config struct {
	Command string   // name or path of the executable; empty = "pi"
	Args    []string // further arguments from the operator, put before ours
	Env     []string // "NAME=value", "NAME" or "PREFIX*" (inherited), beside what the driver inherits anyway

	StartTimeout time.Duration // until a new session is ready; 0 = 30 s
	LoadTimeout  time.Duration // until a known session is ready; 0 = 90 s
	CallTimeout  time.Duration // for one command; 0 = 10 s
	// Grace is how long the agent may take to end a cancelled turn before its
	// process is ended; 0 = 3 s.
	Grace   time.Duration
	MaxLine int // cap of one line of output in bytes; 0 = proc.MaxLine
}

// Validate reports every setting that cannot work.
func (c Config) Validate() error {
	var errs []error
	for name, d := range map[string]time.Duration{
		"start timeout": c.StartTimeout, "load timeout": c.LoadTimeout, "call timeout": c.CallTimeout, "grace": c.Grace,
	} {
		if d < 0 {
			errs = append(errs, fmt.Errorf("%s %v is negative", name, d))
		}
	}
	if c.MaxLine < 0 {
		errs = append(errs, fmt.Errorf("line cap %d is negative", c.MaxLine))
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	if c.Command == "" {
		c.Command = "pi"
	}
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{
		{&c.StartTimeout, 30 * time.Second},
		{&c.LoadTimeout, 90 * time.Second},
		{&c.CallTimeout, 10 * time.Second},
		{&c.Grace, 3 * time.Second},
	} {
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	return c
}

// allowed is what the agent inherits beside what every agent inherits: its own
// settings and the keys of the providers that it knows.
var allowed = []string{
	"PI_*", "ANTHROPIC_*", "OPENAI_*", "AZURE_OPENAI_*", "GEMINI_*", "GOOGLE_*", "GROQ_*", "CEREBRAS_*", "XAI_*", "OPENROUTER_*",
	"MISTRAL_*", "DEEPSEEK_*", "FIREWORKS_*", "ZAI_*", "MINIMAX_*", "MOONSHOT_*", "KIMI_*", "AWS_*", "PI_SKIP_VERSION_CHECK=1",
}

func (c Config) env() []string {
	return proc.BuildEnv(append(append([]string(nil), allowed...), c.Env...)...)
}

// folder is where the agent keeps the sessions of a workspace.
func (c Config) folder(workspace string) (string, error) {
	env := map[string]string{}
	for _, v := range c.env() {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	if dir := env["PI_CODING_AGENT_SESSION_DIR"]; dir != "" {
		return filepath.Clean(dir), nil
	}
	home := env["PI_CODING_AGENT_DIR"]
	if home == "" {
		if env["HOME"] == "" {
			return "", chat.E(chat.Unavailable, "", errors.New("the agent has no home"))
		}
		home = filepath.Join(env["HOME"], ".pi", "agent")
	}
	path, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return "", chat.E(chat.Invalid, "workspace", err)
	}
	name := strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(strings.TrimPrefix(path, "/"))
	return filepath.Join(home, "sessions", "--"+name+"--"), nil
}

var (
	modelGrammar = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,190}$`)
	seedGrammar  = regexp.MustCompile(`^[0-9a-fA-F-]{1,64}$`)
)

// levels are the efforts that the agent knows; a model may have fewer.
var levels = []string{"off", "minimal", "low", "medium", "high", "xhigh"}

func checkSettings(s chat.Settings) error {
	switch {
	case s.Mode != "":
		return chat.E(chat.Unsupported, "mode", errors.New("the agent has no permission modes"))
	case s.Model != "" && !modelGrammar.MatchString(s.Model):
		return chat.E(chat.Invalid, "model", fmt.Errorf("model name %q", s.Model))
	case s.Effort != "" && !slices.Contains(levels, s.Effort):
		return chat.E(chat.Invalid, "effort: "+strings.Join(levels, ", "), fmt.Errorf("effort %q", s.Effort))
	}
	return nil
}

// checkSpec refuses what is no session of this agent: the name of one is the
// path of its file.
func checkSpec(s worker.Spec) error {
	if id := s.NativeID; id != "" && (!filepath.IsAbs(id) || filepath.Clean(id) != id || filepath.Ext(id) != ".jsonl") {
		return chat.E(chat.Invalid, "session id", fmt.Errorf("session %q is no file of this agent", id))
	}
	if s.Seed != "" && !seedGrammar.MatchString(s.Seed) {
		return chat.E(chat.Invalid, "session id", fmt.Errorf("seed %q", s.Seed))
	}
	return checkSettings(chat.Settings{Model: s.Model, Mode: s.Mode, Effort: s.Effort})
}

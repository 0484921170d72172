package claude

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Config are the driver's settings.
type Config struct {
	Command string   // name or path of the executable; empty = "claude"
	Args    []string // further arguments from the operator, put before ours
	Env     []string // "NAME=value", "NAME" or "PREFIX*" (inherited), beside what the driver inherits anyway

	StartTimeout   time.Duration // until a new session is ready; 0 = 30 s
	ResumeTimeout  time.Duration // until a resumed session is ready; 0 = 90 s
	ControlTimeout time.Duration // for one control request; 0 = 10 s
	// Grace is how long the agent may take to end a cancelled turn before its
	// process is ended; 0 = 2 s.
	Grace   time.Duration
	MaxLine int // cap of one line of output in bytes; 0 = proc.MaxLine
}

// Validate reports every setting that cannot work.
func (c Config) Validate() error {
	var errs []error
	for _, d := range []struct {
		name string
		v    time.Duration
	}{
		{"start timeout", c.StartTimeout},
		{"resume timeout", c.ResumeTimeout},
		{"control timeout", c.ControlTimeout},
		{"grace", c.Grace},
	} {
		if d.v < 0 {
			errs = append(errs, fmt.Errorf("%s %v is negative", d.name, d.v))
		}
	}
	if c.MaxLine < 0 {
		errs = append(errs, fmt.Errorf("line cap %d is negative", c.MaxLine))
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	if c.Command == "" {
		c.Command = "claude"
	}
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{
		{&c.StartTimeout, 30 * time.Second},
		{&c.ResumeTimeout, 90 * time.Second},
		{&c.ControlTimeout, 10 * time.Second},
		{&c.Grace, 2 * time.Second},
	} {
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	return c
}

// allowed is what the agent inherits or is told beside what every agent
// inherits: its own provider's settings, and quiet manners.
var allowed = []string{
	"ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_*", "IS_SANDBOX",
	"DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
}

// tries is how often the agent repeats a failed call of the model, unless the
// operator says otherwise. Its waits double: with ten, its own default, nobody
// is told for minutes.
const tries = "CLAUDE_CODE_MAX_RETRIES"

// env is what a process is given beside what every agent inherits.
func (c Config) env() []string {
	all := slices.Clone(allowed)
	if _, ok := os.LookupEnv(tries); !ok {
		all = append(all, tries+"=5")
	}
	return append(all, c.Env...)
}

// Permission modes with a meaning to us.
const (
	modeAsk    = "default" // the agent asks before it acts
	modeBypass = "bypassPermissions"
)

// modes are the permission modes that a conversation may choose.
var modes = []string{modeAsk, "acceptEdits", "plan", "dontAsk"}

// The operator's arguments that let the agent act without asking. The first
// does so whatever mode is stated; the second leaves the choice.
const (
	argBypass = "--dangerously-skip-permissions"
	argAllow  = "--allow-dangerously-skip-permissions"
)

// modes are those that can be chosen. The one that asks nothing at all is among
// them only if the operator started the agent for it: the agent refuses it
// otherwise, and approvals belong to people.
func (c Config) modes() []string {
	if slices.Contains(c.Args, argBypass) || slices.Contains(c.Args, argAllow) {
		return append(slices.Clone(modes), modeBypass)
	}
	return slices.Clone(modes)
}

// mode is the mode to start in, always a stated one: the agent's own settings
// may say any other. The operator's arguments count where nobody chose.
func (c Config) mode(wanted string) string {
	if wanted != "" {
		return wanted
	}
	for i, a := range c.Args {
		name, value, has := strings.Cut(a, "=")
		switch {
		case name != "--permission-mode":
		case has:
			return value
		case i+1 < len(c.Args):
			return c.Args[i+1]
		}
	}
	if slices.Contains(c.Args, argBypass) {
		return modeBypass
	}
	return modeAsk
}

var (
	modelGrammar  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}(\[1m\])?$`)
	effortGrammar = regexp.MustCompile(`^[a-z]{1,16}$`)
	uuidGrammar   = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

// checkSettings refuses what must never become an argument.
func (c Config) checkSettings(s chat.Settings) error {
	if s.Model != "" && !modelGrammar.MatchString(s.Model) {
		return chat.E(chat.Invalid, "model", fmt.Errorf("model name %q", s.Model))
	}
	if all := c.modes(); s.Mode != "" && !slices.Contains(all, s.Mode) {
		return chat.E(chat.Invalid, "mode: "+strings.Join(all, ", "), fmt.Errorf("permission mode %q", s.Mode))
	}
	if s.Effort != "" && !effortGrammar.MatchString(s.Effort) {
		return chat.E(chat.Invalid, "effort", fmt.Errorf("effort %q", s.Effort))
	}
	return nil
}

func (c Config) checkSpec(s worker.Spec) error {
	for _, id := range []string{s.NativeID, s.Seed, s.Fork} {
		if id != "" && !uuidGrammar.MatchString(id) {
			return chat.E(chat.Invalid, "session id", fmt.Errorf("session id %q is no UUID", id))
		}
	}
	return c.checkSettings(chat.Settings{Model: s.Model, Mode: s.Mode, Effort: s.Effort})
}

// arguments returns the command line that starts the agent for a session.
func (c Config) arguments(how way, s worker.Spec) []string {
	args := slices.Clone(c.Args)
	if i := slices.Index(args, argBypass); i >= 0 {
		args[i] = argAllow // or the mode that a conversation chose would not count
	}
	args = append(args,
		"-p", "--input-format=stream-json", "--output-format=stream-json", "--verbose",
		"--include-partial-messages", "--permission-prompt-tool=stdio", "--permission-mode="+c.mode(s.Mode))
	switch {
	case how.resume:
		args = append(args, "--resume="+how.id)
	case how.fork != "":
		args = append(args, "--resume="+how.fork, "--fork-session", "--session-id="+how.id)
	default:
		args = append(args, "--session-id="+how.id)
	}
	if s.Model != "" {
		args = append(args, "--model="+s.Model)
	}
	if s.Effort != "" {
		args = append(args, "--effort="+s.Effort)
	}
	return args
}

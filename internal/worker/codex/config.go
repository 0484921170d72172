package codex

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Config are the driver's settings.
type Config struct {
	Command string   // name or path of the executable; empty = "codex"
	Args    []string // further arguments from the operator, put before ours
	Env     []string // "NAME=value", "NAME" or "PREFIX*" (inherited), beside what the driver inherits anyway

	StartTimeout  time.Duration // until a new session is ready; 0 = 30 s
	ResumeTimeout time.Duration // until a resumed session is ready; 0 = 90 s
	CallTimeout   time.Duration // for one small request; 0 = 10 s
	// Grace is how long the agent may take to end a cancelled turn before its
	// process is ended, or left if others use it; 0 = 2 s.
	Grace time.Duration
	// Silence is how long a turn may say nothing before the agent is asked
	// whether it still runs; 0 = 1 min.
	Silence time.Duration
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
		{"call timeout", c.CallTimeout},
		{"grace", c.Grace},
		{"silence", c.Silence},
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
		c.Command = "codex"
	}
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{
		{&c.StartTimeout, 30 * time.Second},
		{&c.ResumeTimeout, 90 * time.Second},
		{&c.CallTimeout, 10 * time.Second},
		{&c.Grace, 2 * time.Second},
		{&c.Silence, time.Minute},
	} {
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	return c
}

// allowed is what the agent inherits beside what every agent inherits: its own
// provider's settings.
var allowed = []string{"OPENAI_*", "CODEX_HOME", "CODEX_API_KEY", "CODEX_CA_CERTIFICATE"}

// env is what a process is given beside what every agent inherits.
func (c Config) env() []string { return append(slices.Clone(allowed), c.Env...) }

// arguments start the server. A session that nobody is subscribed to is given
// up at once: by itself the server holds it for half an hour, and so long
// nobody else, a terminal say, can go on with it.
func (c Config) arguments() []string {
	return append(slices.Clone(c.Args), "-c", "thread_unload_delay_secs=0", "app-server")
}

// Permission modes. Codex has no such names: each is an approval policy and a
// sandbox, and both are always stated.
const (
	modeReadOnly = "read-only" // it reads, in a sandbox that cannot write; anything else is asked
	modeAsk      = "ask"       // every command and every change is asked, but what only looks; it can write in the workspace
	modeAuto     = "auto"      // it works in the workspace unasked; to leave its sandbox is asked
	modeYolo     = "yolo"      // no sandbox, no questions
	modePlan     = "plan"      // as read-only; it makes a plan and asks
)

var modes = []string{modeAsk, modeReadOnly, modePlan, modeAuto, modeYolo}

// policy is what a mode means to the agent.
type policy struct {
	approval string
	sandbox  string // as a thread is opened with
	detail   object // the same, as a turn is started with
	collab   string
}

// policyOf returns what a mode means; an unknown one asks.
func policyOf(mode string) policy {
	readOnly := object{"type": "readOnly", "networkAccess": false}
	workspace := object{
		"type": "workspaceWrite", "writableRoots": []string{}, "networkAccess": false,
		"excludeTmpdirEnvVar": false, "excludeSlashTmp": false,
	}
	switch mode {
	case modeReadOnly:
		return policy{"on-request", "read-only", readOnly, "default"}
	case modePlan:
		return policy{"on-request", "read-only", readOnly, "plan"}
	case modeAuto:
		return policy{"on-request", "workspace-write", workspace, "default"}
	case modeYolo:
		return policy{"never", "danger-full-access", object{"type": "dangerFullAccess"}, "default"}
	default:
		return policy{"untrusted", "workspace-write", workspace, "default"}
	}
}

var (
	modelGrammar  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$`)
	effortGrammar = regexp.MustCompile(`^[a-z]{1,16}$`)
	uuidGrammar   = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

// checkSettings refuses what cannot be meant.
func checkSettings(s chat.Settings) error {
	if s.Model != "" && !modelGrammar.MatchString(s.Model) {
		return chat.E(chat.Invalid, "model", fmt.Errorf("model name %q", s.Model))
	}
	if s.Mode != "" && !slices.Contains(modes, s.Mode) {
		return chat.E(chat.Invalid, "mode: "+strings.Join(modes, ", "), fmt.Errorf("mode %q", s.Mode))
	}
	if s.Effort != "" && !effortGrammar.MatchString(s.Effort) {
		return chat.E(chat.Invalid, "effort", fmt.Errorf("effort %q", s.Effort))
	}
	return nil
}

func checkSpec(s worker.Spec) error {
	if s.NativeID != "" && !uuidGrammar.MatchString(s.NativeID) {
		return chat.E(chat.Invalid, "session id", fmt.Errorf("session id %q is no UUID", s.NativeID))
	}
	return checkSettings(chat.Settings{Model: s.Model, Mode: s.Mode, Effort: s.Effort})
}

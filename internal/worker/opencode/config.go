package opencode

import (
	"encoding/json"
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
	Command string   // name or path of the executable; empty = "opencode"
	Args    []string // further arguments from the operator, put before ours
	Env     []string // "NAME=value", "NAME" or "PREFIX*" (inherited), beside what the driver inherits anyway

	StartTimeout time.Duration // until a server is ready; 0 = 30 s
	LoadTimeout  time.Duration // until a known session is ready; 0 = 90 s
	CallTimeout  time.Duration // for one request; 0 = 15 s
	// Grace is how long a server may take to end a cancelled turn before the
	// session is taken from it; 0 = 8 s.
	Grace time.Duration
	// Retries is how often the agent may repeat a failed call of the model
	// before the turn ends; its waits double, and by itself it goes on for more
	// than a minute. 0 = 3.
	Retries int
	MaxLine int // cap of one event in bytes; 0 = proc.MaxLine
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
	if c.MaxLine < 0 || c.Retries < 0 {
		errs = append(errs, fmt.Errorf("line cap %d or retries %d are negative", c.MaxLine, c.Retries))
	}
	if _, err := c.content(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	if c.Command == "" {
		c.Command = "opencode"
	}
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{
		{&c.StartTimeout, 30 * time.Second},
		{&c.LoadTimeout, 90 * time.Second},
		{&c.CallTimeout, 15 * time.Second},
		{&c.Grace, 8 * time.Second},
	} {
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	if c.Retries == 0 {
		c.Retries = 3
	}
	return c
}

// allowed is what the agent inherits beside what every agent inherits: its own
// settings and the keys of the usual providers.
var allowed = []string{
	"OPENCODE_*", "ANTHROPIC_*", "OPENAI_*", "OPENROUTER_*", "GEMINI_*", "GOOGLE_*", "GROQ_*", "MISTRAL_*", "DEEPSEEK_*",
	"XAI_*", "AWS_*", "AZURE_*", "OPENCODE_DISABLE_AUTOUPDATE=1",
}

// Names of what a server is told in its environment.
const (
	envPassword = "OPENCODE_SERVER_PASSWORD"
	envUser     = "OPENCODE_SERVER_USERNAME"
	envContent  = "OPENCODE_CONFIG_CONTENT"
	user        = "opencode"
)

// env is what a server is given beside what every agent inherits.
func (c Config) env(password string) ([]string, error) {
	content, err := c.content()
	if err != nil {
		return nil, err
	}
	all := slices.Concat(allowed, c.Env)
	return append(all, envContent+"="+content, envUser+"="+user, envPassword+"="+password), nil
}

// content is configuration that the agent reads after every file, so that no
// file of the user or of a repository is touched and none of them wins. The
// operator's own content goes below it.
func (c Config) content() (string, error) {
	own := os.Getenv(envContent)
	for _, e := range c.Env {
		if text, ok := strings.CutPrefix(e, envContent+"="); ok {
			own = text
		}
	}
	all := map[string]any{}
	if own != "" {
		if err := json.Unmarshal([]byte(own), &all); err != nil {
			return "", fmt.Errorf("%s is no JSON: %w", envContent, err)
		}
	}
	merge(all, asking())
	text, err := json.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("encode the agent's configuration: %w", err)
	}
	return string(text), nil
}

// merge puts b over a.
func merge(a, b map[string]any) {
	for k, v := range b {
		below, ok1 := a[k].(map[string]any)
		above, ok2 := v.(map[string]any)
		if ok1 && ok2 {
			merge(below, above)
			continue
		}
		a[k] = v
	}
}

var (
	modelGrammar  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}/[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$`)
	nameGrammar   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,63}$`)
	effortGrammar = regexp.MustCompile(`^[a-z]{1,16}$`)
	idGrammar     = regexp.MustCompile(`^ses_[A-Za-z0-9]{1,64}$`)
)

// checkGrammar refuses what cannot be a setting, before anybody is asked.
func checkGrammar(s chat.Settings) error {
	if s.Model != "" && !modelGrammar.MatchString(s.Model) {
		return chat.E(chat.Invalid, "model: provider/model", fmt.Errorf("model name %q", s.Model))
	}
	if s.Mode != "" && !nameGrammar.MatchString(s.Mode) {
		return chat.E(chat.Invalid, "mode", fmt.Errorf("mode %q", s.Mode))
	}
	if s.Effort != "" && !effortGrammar.MatchString(s.Effort) {
		return chat.E(chat.Invalid, "effort", fmt.Errorf("effort %q", s.Effort))
	}
	return nil
}

func checkSpec(s worker.Spec) error {
	if s.NativeID != "" && !idGrammar.MatchString(s.NativeID) {
		return chat.E(chat.Invalid, "session id", fmt.Errorf("session id %q is none of this agent", s.NativeID))
	}
	return checkGrammar(chat.Settings{Model: s.Model, Mode: s.Mode, Effort: s.Effort})
}

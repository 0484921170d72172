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
	// conversation wishes another. Empty = one of the agent's that asks: some
	// agents start in a mode that asks nobody.
	Mode string
	// Install and Login are a sentence each for the operator: how to get the
	// agent, and how to log in.
	Install, Login string

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

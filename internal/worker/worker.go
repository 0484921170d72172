// Package worker holds the contract of a coding agent. Each agent's driver
// lives in its own folder below; only worker/proc starts processes. A driver
// knows its agent's protocol and the vocabulary of package chat; it knows no
// chat service, no session and no store.
package worker

import (
	"context"
	"time"

	"cligate/internal/chat"
)

// Driver is one kind of coding agent.
type Driver interface {
	// Probe looks at the installed agent without starting a session. An error
	// with code chat.NotInstalled means there is none.
	Probe(ctx context.Context) (Traits, error)
	// Open starts a worker for one session: a new one, or Spec.NativeID resumed
	// with its context. Error codes that matter: chat.NoSession (the agent says
	// definitely that it does not know the id; nothing else may be reported
	// so), chat.LoggedOut, chat.NotInstalled, chat.StartTimeout,
	// chat.LoadTimeout.
	Open(ctx context.Context, s Spec) (Worker, error)
}

// Worker is the live process that serves one session. It is a cache of the
// session: it may be closed at any time and opened again by resume.
type Worker interface {
	// Prompt runs one turn and returns when it is over: nil when it succeeded.
	// When ctx is cancelled it ends the turn natively, and only the turn; if
	// the agent does not obey in time the worker kills itself (Done closes).
	// Only after the turn is really over does it return. Calls never overlap.
	Prompt(ctx context.Context, in chat.Input, host Host) error
	// Steer puts in into the running turn. nil = the agent took it; an error
	// with code chat.Unsupported or chat.Conflict means it goes to the queue.
	// It may wait until the agent can tell which, at most to the end of the
	// turn or of ctx; who cannot wait calls it beside the rest.
	Steer(ctx context.Context, in chat.Input) error
	// Set changes model, mode or effort and says when that applies; an empty
	// value leaves that setting as it is. chat.Unsupported, chat.ModelUnknown and
	// chat.Invalid mean that this agent does not take the value.
	Set(ctx context.Context, s chat.Settings) (chat.Applied, error)
	// NativeID is the session id that the agent itself reported, empty until
	// then. It can change while the process lives.
	NativeID() string
	// Info is what the agent said about itself when it was opened.
	Info() Info
	// Process identifies the worker's runner for the reaper at boot.
	Process() string
	// Done is closed when the process is gone.
	Done() <-chan struct{}
	// Close ends the process and everything it started, and waits for that.
	// It may be called twice. The session is untouched.
	Close() error
}

// Replacer is a Worker that drops what it does in favour of other words.
// Abilities: Replace.
type Replacer interface {
	// Replace puts in into the running turn, as Steer does, but at once: what
	// the agent does at that moment is ended, and the turn goes on with in.
	Replace(ctx context.Context, in chat.Input) error
}

// Host is a worker's view of the turn that it runs.
type Host interface {
	// Emit reports e. It never waits for a chat service.
	Emit(ctx context.Context, e chat.Event) error
	// Ask asks a person and waits. A cancelled ctx means that the agent
	// withdrew the question. An error means that nobody decided: deny.
	Ask(ctx context.Context, q chat.Question) (chat.Answer, error)
}

// Spec is what a worker is opened with.
type Spec struct {
	Session   int64
	Workspace string // absolute path of an existing directory
	NativeID  string // resume this; empty = new
	Seed      string // a UUID; drivers whose agent lets the client choose use it as the id
	Begun     bool   // an earlier open with this Seed may have reached the agent
	// Fork is the agent's id of a session whose memory a new one begins with;
	// that session stays as it is. It counts where NativeID is empty. Abilities:
	// Fork. chat.NoSession when the agent does not know it.
	Fork   string
	Model  string
	Mode   string
	Effort string
	// Uninvited opens a turn that the agent started by itself; end closes it.
	// While a user's turn runs it returns that turn's host. nil = such output
	// is dropped with a log line.
	Uninvited func(ctx context.Context) (host Host, end func(error))
}

// Traits is what an agent can do, as data, learned where possible.
type Traits struct {
	Agent    string
	Version  string
	LoggedIn bool   // false only when the agent definitely says so
	Hint     string // one sentence for the operator: how to log in, what to install
	Can      Abilities
	Env      []string // names of the variables that its processes are given
}

// Info is what a live agent said about itself.
type Info struct {
	Version  string
	Model    string // in use, empty when not known; likewise Mode and Effort
	Mode     string
	Effort   string
	Models   []string // that can be chosen, empty when not known
	Modes    []string
	Efforts  []string
	Commands []Command
}

// Cataloguer is a Driver whose agent keeps sessions that were begun elsewhere,
// in a terminal say. Abilities: Catalogue.
type Cataloguer interface {
	// Sessions lists the agent's own sessions of a workspace, the newest first.
	Sessions(ctx context.Context, workspace string) ([]Native, error)
}

// Native is a session as its agent knows it.
type Native struct {
	ID    string // what Spec.NativeID takes
	Title string // the first words, or the agent's own title
	Used  time.Time
}

// Terminal is a Driver whose sessions can go on in a terminal. Abilities:
// TakesOver.
type Terminal interface {
	// Terminal is the command line, program first, that goes on with a session
	// when it is run in the session's workspace.
	Terminal(nativeID string) []string
}

// Command is a slash command of the agent's own.
type Command struct {
	Name string // without the slash
	Help string
}

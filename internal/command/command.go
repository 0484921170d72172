// Package command carries out slash commands and the buttons that stand for
// them. It is called by the router for messages that passed the access gate.
//
// The commands are a table: one entry and one file each, with the least role
// that may use it. Every command works from the ledger and needs no live
// process, and every one may be carried out twice with the effect of once: a
// daemon that died between the effect and the end of the message repeats it.
package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// Workspace is a directory that conversations may choose.
type Workspace struct {
	Name string
	Path string
}

// Config are the knobs of a Set.
type Config struct {
	Workspaces []Workspace    // in the order in which they are offered; the first one is the default
	Verbosity  chat.Verbosity // of conversations that chose none; empty = the usual
	// Rich is whether an account's service shows answers as documents where a
	// conversation does not say; empty = it has no form for that. nil = none has.
	Rich func(account string) chat.Choice
	Room chat.Room // of groups that chose nothing
	// Service tells what the chat service of an account can do; nil = nothing
	// of this.
	Service func(account string) Service
	Log     *slog.Logger
}

// Validate reports what is wrong with c.
func (c Config) Validate() error {
	var bad []error
	if len(c.Workspaces) == 0 {
		bad = append(bad, errors.New("command: no workspace"))
	}
	for i, w := range c.Workspaces {
		if w.Name == "" || w.Path == "" {
			bad = append(bad, fmt.Errorf("command: workspace %d has no name or no path", i))
		}
		if slices.ContainsFunc(c.Workspaces[:i], func(o Workspace) bool { return o.Name == w.Name }) {
			bad = append(bad, fmt.Errorf("command: two workspaces are named %q", w.Name))
		}
	}
	return errors.Join(bad...)
}

// Call is one command of one person.
type Call struct {
	In   chat.Inbound
	Conv chat.Conversation // agent and workspace are filled in
	Lang string
	Name string // of the command, without the slash
	Arg  string // what follows the name, trimmed
}

func (c Call) text(key string, args ...any) string {
	return i18n.T(c.Lang, "command."+key, args...)
}

// Service is what a chat service can do.
type Service struct {
	Topics    bool   // it has topics, where the chat has them
	Unheard   string // text of the catalogue that says what to do where it does not overhear
	Overhears bool   // it is given messages of groups that do not concern the bot
}

// TopicOrder is a topic that is to be made.
type TopicOrder struct {
	Key      string // the same key makes one topic only; empty = one for this message
	Topic    chat.Topic
	Greeting chat.Reply // the first words in it
}

// Result is what a command leaves to its caller.
type Result struct {
	Replies []chat.Reply
	Topic   *TopicOrder // is to be made once the message has ended
	Chosen  int64       // the turn about which a choice was made: its message offers none any more; 0 = none
	Wake    int64       // the session whose queue is to be looked at once the replies are stored; 0 = none
}

// say is the result of most commands: one notice.
func (c Call) say(key string, args ...any) Result { return notice(c.text(key, args...)) }

func notice(text string, rows ...[]chat.Button) Result {
	return Result{Replies: []chat.Reply{{Kind: chat.ReplyNotice, Markdown: text, Buttons: rows}}}
}

// failed is the result of a command that could not be carried out.
func failed(code chat.Code, detail string) (Result, error) {
	return Result{}, chat.E(code, detail, nil)
}

// clicked reports whether a button stood for the command.
func (c Call) clicked() bool { return c.In.Kind == chat.KindClick }

// spec is one command.
type spec struct {
	name  string
	verb  string // what its buttons' data begins with; empty = no button
	least chat.Role
	quiet bool // a button or an alias only: not in the help
	slow  bool // it may take long, changes nothing and may be carried out beside others
	// check finds out, for the press of a button and without changing anything,
	// what run would answer where it comes to nothing; nil = nothing is known.
	check func(ctx context.Context, s *Set, c Call) (*Result, error)
	run   func(ctx context.Context, s *Set, c Call) (Result, error)
}

// table lists all commands in the order of the help.
func table() []spec {
	return []spec{
		{name: "new", least: chat.RoleMember, run: fresh},
		{name: "fork", least: chat.RoleMember, run: fork},
		{name: "stop", verb: "stop", least: chat.RoleMember, check: stoppable, run: stop},
		{name: "status", least: chat.RoleViewer, run: status},
		{name: "steer", least: chat.RoleMember, run: steer},
		{name: "instead", least: chat.RoleMember, run: instead},
		{name: "queue", least: chat.RoleMember, run: queue},
		{name: "cancel", verb: "rm", least: chat.RoleMember, check: removable, run: cancel},
		{name: "sessions", least: chat.RoleMember, run: sessions},
		{name: "use", verb: "use", least: chat.RoleMember, check: usable, run: use},
		{name: "undo", verb: "undo", least: chat.RoleMember, check: usable, run: undo},
		{name: "retry", verb: "retry", least: chat.RoleMember, check: chooseable, run: retry},
		{name: "continue", verb: "cont", least: chat.RoleMember, check: continuable, run: resume},
		{name: "agent", verb: "agent", least: chat.RoleMember, run: agent},
		{name: "agents", least: chat.RoleViewer, run: listAgents},
		{name: "model", verb: "model", least: chat.RoleMember, check: modelSetting().allowed, run: modelSetting().run},
		{name: "effort", verb: "effort", least: chat.RoleMember, check: effortSetting().allowed, run: effortSetting().run},
		{name: "mode", verb: "mode", least: chat.RoleMember, check: modeSetting().allowed, run: modeSetting().run},
		{name: "verbosity", verb: "verbosity", least: chat.RoleMember, run: verbosity},
		{name: "rich", verb: "rich", least: chat.RoleMember, run: rich},
		{name: "plan", least: chat.RoleMember, run: plan},
		{name: "compact", verb: "compact", least: chat.RoleMember, check: compactable, run: compact},
		{name: "workspace", verb: "ws", least: chat.RoleMember, run: workspace},
		{name: "file", verb: "file", least: chat.RoleMember, slow: true, run: file},
		{name: "topic", least: chat.RoleMember, run: topic},
		{name: "listen", verb: "listen", least: chat.RoleViewer, check: settable, run: listening().run},
		{name: "sharing", verb: "sharing", least: chat.RoleViewer, check: settable, run: sharing().run},
		{name: "approve", least: chat.RoleMember, run: approve},
		{name: "deny", least: chat.RoleMember, run: deny},
		{name: "rules", verb: "rule", least: chat.RoleOperator, run: rules},
		{name: "handoff", least: chat.RoleMember, run: handoff},
		{name: "whoami", least: chat.RoleViewer, run: whoami},
		{name: "help", least: chat.RoleViewer, run: help},
		{name: "start", least: chat.RoleViewer, quiet: true, run: start},
		{name: "drop", verb: "drop", least: chat.RoleMember, quiet: true, check: chooseable, run: drop},
		{name: "run", verb: "run", least: chat.RoleMember, quiet: true, check: releasable, run: release},
		{name: "now", verb: "now", least: chat.RoleMember, quiet: true, check: removable, run: now},
		{name: "recap", verb: "recap", least: chat.RoleMember, quiet: true, check: mine, run: recap},
		{name: "renew", verb: "renew", least: chat.RoleMember, quiet: true, check: renewable, run: renew},
		{name: "take", verb: "take", least: chat.RoleOperator, quiet: true, run: take},
		{name: "lost", verb: "lost", least: chat.RoleMember, quiet: true, run: lost},
		{name: "clear", verb: "clear", least: chat.RoleMember, quiet: true, check: mine, run: clearQueue},
	}
}

// Deps is what the commands work with.
type Deps struct {
	Conversations Conversations
	Turns         Turns
	Queue         QueueControl
	Asks          Asks
	Rules         Rules
	Spending      Spending
	Rooms         Rooms
	Desk          Desk
	Workers       Workers
	Agents        Agents
	Files         Files // nil = people fetch none
}

// Set is the commands of one daemon. It may be used from many goroutines.
type Set struct {
	Deps
	cfg   Config
	table []spec
}

// New makes the set.
func New(d Deps, cfg Config) (*Set, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Set{Deps: d, cfg: cfg, table: table()}, nil
}

func (s *Set) find(name string) (spec, bool) {
	i := slices.IndexFunc(s.table, func(p spec) bool { return p.name == name })
	if i < 0 {
		return spec{}, false
	}
	return s.table[i], true
}

// Has reports whether name is one of our commands.
func (s *Set) Has(name string) bool {
	_, ok := s.find(name)
	return ok
}

// Slow reports whether a command may take long. It may be carried out beside
// others, and again.
func (s *Set) Slow(name string) bool {
	x, ok := s.find(name)
	return ok && x.slow
}

// Run carries out c and returns what to say about it. An error has a code
// whose text the caller says; chat.Denied when the role does not allow it.
func (s *Set) Run(ctx context.Context, c Call) (Result, error) {
	p, ok := s.find(c.Name)
	if !ok {
		return failed(chat.Missing, c.Name)
	}
	if !c.In.Role.Covers(p.least) {
		return failed(chat.Denied, "")
	}
	r, err := p.run(ctx, s, c)
	if chat.CodeOf(err) == chat.Invalid && !p.quiet && !c.clicked() {
		return failed(chat.Invalid, chat.DetailOf(err)+"\n"+p.usage(c.Lang))
	}
	return r, err
}

// usage is the line of the help about a command.
func (p spec) usage(lang string) string {
	return "/" + p.name + " – " + i18n.T(lang, "command.help_"+p.name)
}

// Entry is one line of a command menu.
type Entry struct {
	Name string
	Help string
}

// Menu lists the commands that a role may use, for a service that shows a menu
// of them. Nobody is offered what they would be refused; who has no role is
// offered nothing.
func (s *Set) Menu(lang string, role chat.Role) []Entry {
	var out []Entry
	for _, p := range s.table {
		if !p.quiet && role.Covers(p.least) {
			out = append(out, Entry{Name: p.name, Help: i18n.T(lang, "command.help_"+p.name)})
		}
	}
	return out
}

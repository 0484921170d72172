package app

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"cligate/internal/chat"
	"cligate/internal/config"
	"cligate/internal/platform"
	"cligate/internal/platform/feishu"
	"cligate/internal/platform/telegram"
	"cligate/internal/worker"
	"cligate/internal/worker/acp"
	"cligate/internal/worker/claude"
	"cligate/internal/worker/codex"
	"cligate/internal/worker/opencode"
	"cligate/internal/worker/pi"
	"cligate/internal/worker/proc"
)

// agentEntry is one configured agent.
type agentEntry struct {
	name   string
	title  string
	driver worker.Driver
	// installed is a cheap look; nil = always there.
	installed func() bool
	extra     bool // never the default unless it is named
	listed    bool // the operator's own: it has to be there
	config    config.Agent
}

// agentKinds lists the built-in agents that have a driver, in the order in
// which a default is looked for. A new agent is one line here.
var agentKinds = []struct {
	name, title string
	open        func(c config.Agent, dataDir string, s *proc.Starter, log *slog.Logger) (worker.Driver, error)
	config      func(c config.Agents) config.Agent
}{
	{"claude", "Claude Code", openClaude, func(c config.Agents) config.Agent { return c.Claude }},
	{"codex", "Codex", openCodex, func(c config.Agents) config.Agent { return c.Codex }},
	{"gemini", "Gemini CLI", openPreset("gemini"), func(c config.Agents) config.Agent { return c.Gemini }},
	{"opencode", "opencode", openOpencode, func(c config.Agents) config.Agent { return c.OpenCode }},
	{"qwen", "Qwen Code", openPreset("qwen"), func(c config.Agents) config.Agent { return c.Qwen }},
	{"copilot", "Copilot CLI", openPreset("copilot"), func(c config.Agents) config.Agent { return c.Copilot }},
	{"pi", "pi", openPi, func(c config.Agents) config.Agent { return c.Pi }},
	{"demo", "Demo agent", openDemo, func(c config.Agents) config.Agent { return c.Demo }},
}

func openClaude(c config.Agent, _ string, s *proc.Starter, log *slog.Logger) (worker.Driver, error) {
	cfg := claude.Config{Command: c.Command, Args: c.Args, Env: c.Env}
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("agents.claude: %w", err)
	}
	return claude.New(cfg, s, log), nil
}

// openPreset makes the driver of an agent that speaks ACP and of which is known
// how. The operator's arguments follow those that make it speak.
func openPreset(name string) func(config.Agent, string, *proc.Starter, *slog.Logger) (worker.Driver, error) {
	return func(c config.Agent, _ string, s *proc.Starter, log *slog.Logger) (worker.Driver, error) {
		preset, _ := acp.Preset(name)
		return openACP(name, c.Command, append(slices.Clone(preset.Args), c.Args...), c.Env, s, log)
	}
}

func openCodex(c config.Agent, _ string, s *proc.Starter, log *slog.Logger) (worker.Driver, error) {
	cfg := codex.Config{Command: c.Command, Args: c.Args, Env: c.Env}
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("agents.codex: %w", err)
	}
	return codex.New(cfg, s, log), nil
}

func openOpencode(c config.Agent, _ string, s *proc.Starter, log *slog.Logger) (worker.Driver, error) {
	cfg := opencode.Config{Command: c.Command, Args: c.Args, Env: c.Env}
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("agents.opencode: %w", err)
	}
	return opencode.New(cfg, s, log), nil
}

func openPi(c config.Agent, _ string, s *proc.Starter, log *slog.Logger) (worker.Driver, error) {
	cfg := pi.Config{Command: c.Command, Args: c.Args, Env: c.Env}
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("agents.pi: %w", err)
	}
	return pi.New(cfg, s, log), nil
}

// openDemo starts this same binary as the demo agent, unless the operator
// names another command. Its sessions are kept beside the ledger.
func openDemo(c config.Agent, dataDir string, s *proc.Starter, log *slog.Logger) (worker.Driver, error) {
	args := c.Args
	if c.Command == "" {
		exe, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find our own executable: %w", err)
		}
		c.Command, args = exe, append([]string{"demo-agent", "--state=" + filepath.Join(dataDir, "demo")}, c.Args...)
	}
	return openACP("demo", c.Command, args, c.Env, s, log)
}

// openAgents makes the drivers of everything that is configured.
func openAgents(cfg config.Config, s *proc.Starter, log *slog.Logger) ([]agentEntry, error) {
	var out []agentEntry
	for _, k := range agentKinds {
		c := k.config(cfg.Agents)
		d, err := k.open(c, cfg.DataDir, s, log)
		if err != nil {
			return nil, err
		}
		e := agentEntry{name: k.name, title: k.title, driver: d, config: c}
		e.extra = k.name == "pi" && !c.Unattended // it asks nobody
		if k.name != "demo" {
			e.installed = func() bool { _, err := proc.Find(c.Command); return err == nil }
		}
		out = append(out, e)
	}
	for _, m := range cfg.Agents.More {
		d, err := openACP(m.Name, m.Command, m.Args, m.Env, s, log)
		if err != nil {
			return nil, err
		}
		out = append(out, agentEntry{name: m.Name, title: m.Name, driver: d, config: m.Agent, extra: true, listed: true})
	}
	return out, safe(out)
}

// safe refuses a default mode in which an agent acts without asking, unless
// that is allowed in as many words.
func safe(es []agentEntry) error {
	for _, e := range es {
		if worker.Unasked(e.config.Mode) && !e.config.Unattended {
			return chat.E(chat.Invalid, fmt.Sprintf("the mode %q of agent %s acts without asking anybody; to allow that, set unattended: true for it",
				e.config.Mode, e.name), nil)
		}
	}
	return nil
}

// openACP starts from what is known about an agent of that name; the
// operator's words go on top.
func openACP(name, command string, args, env []string, s *proc.Starter, log *slog.Logger) (worker.Driver, error) {
	cfg, _ := acp.Preset(name)
	cfg.Command = command
	if len(args) > 0 {
		cfg.Args = args
	}
	cfg.Env = append(slices.Clone(cfg.Env), env...)
	return acp.New(cfg, s, log)
}

// bot is one configured account of a chat service.
type bot struct {
	account string
	kind    string
	adapter platform.Adapter
	owners  []string
	// link makes a ready-to-open pairing link; empty while the bot's name is
	// not known, or where the service has none.
	link func(code string) string
	// linkless says that there are no such links: people send the code.
	linkless bool
}

// alarm is told about trouble of an account that only the operator can end.
// speaks says that the account can still send.
type alarm func(account, detail string, speaks bool)

// botNeeds is what the adapters get from the rest of the daemon.
type botNeeds struct {
	menus menuSource     // nil = no menus
	spool platform.Files // nil = nothing is sent
	alarm alarm
}

// openBots makes the adapters of all configured chat services. A new platform
// is one more call here.
func openBots(cfg config.Config, n botNeeds, log *slog.Logger) ([]bot, error) {
	var out []bot
	if cfg.Telegram.Token != "" {
		b, err := openTelegram("telegram", cfg.Telegram, cfg.Language, n, log)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	for _, t := range cfg.TelegramBots {
		b, err := openTelegram(t.Name, t.Telegram, cfg.Language, n, log)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	apps := cfg.FeishuApps
	if cfg.Feishu.Configured() {
		apps = append([]config.NamedFeishu{{Name: "feishu", Feishu: cfg.Feishu}}, apps...)
	}
	for _, f := range apps {
		b, err := openFeishu(f, cfg, n, log)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

func openFeishu(c config.NamedFeishu, cfg config.Config, n botNeeds, log *slog.Logger) (bot, error) {
	a, err := feishu.Open(feishu.Config{
		Account: c.Name, AppID: c.AppID, AppSecret: c.AppSecret, BaseURL: c.BaseURL, Mode: feishu.Mode(c.Mode), Proxy: c.Proxy, Silence: c.Silence,
		WebhookAddr: c.WebhookAddr, WebhookPath: c.WebhookPath, EncryptKey: c.EncryptKey, VerificationToken: c.VerificationToken,
		Lang: cfg.Language, Alarm: func(detail string, speaks bool) { n.alarm(c.Name, detail, speaks) }, ListenAll: room(cfg).Listen == chat.ListenAll,
	}, n.spool, log)
	if err != nil {
		return bot{}, fmt.Errorf("app %s: %w", c.Name, err)
	}
	return bot{account: c.Name, kind: feishu.Name, adapter: a, owners: c.Owners, link: func(string) string { return "" }, linkless: true}, nil
}

func openTelegram(account string, c config.Telegram, lang string, n botNeeds, log *slog.Logger) (bot, error) {
	cfg := telegram.Config{
		Account: account, Token: c.Token, APIURL: c.APIURL, Proxy: c.Proxy, PollTimeout: c.PollTimeout, Unpaced: c.Unpaced, Rich: c.Rich,
		RemoveWebhook: c.RemoveWebhook, Lang: lang, Files: n.spool,
		Alarm: func(detail string, speaks bool) { n.alarm(account, detail, speaks) },
	}
	if n.menus != nil {
		cfg.Menus = n.menus(account, c.Owners)
	}
	if c.Webhooks() {
		cfg.Webhook = telegram.Webhook{URL: c.WebhookURL, Addr: c.WebhookAddr, Path: c.WebhookPath, Secret: c.WebhookSecret}
	}
	a, err := telegram.Open(cfg, log)
	if err != nil {
		return bot{}, fmt.Errorf("bot %s: %w", account, err)
	}
	return bot{account: account, kind: telegram.Name, adapter: a, owners: c.Owners, link: a.StartLink}, nil
}

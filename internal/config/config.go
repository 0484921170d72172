// Package config reads the configuration once, at start, into typed structs.
// It is the only importer of viper.
//
// Sources, later ones win: built-in defaults, one YAML file, CLIGATE_*
// environment variables. Reading is strict: an unknown key is an error with
// its path, and all problems are reported together. Every secret can also be
// given as a file (key_file, CLIGATE_…_FILE). An empty value means unset.
package config

import (
	"slices"
	"time"
)

// Config is everything an operator can set.
type Config struct {
	DataDir    string      `mapstructure:"data_dir"`
	Workspace  string      `mapstructure:"workspace"` // default workspace; empty = <data_dir>/workspace, made at start
	Workspaces []Workspace `mapstructure:"workspaces"`
	Agent      string      `mapstructure:"agent"` // default agent; empty = the first installed one
	Language   string      `mapstructure:"language"`

	BurstWindow time.Duration `mapstructure:"burst_window"`
	AlbumWindow time.Duration `mapstructure:"album_window"`
	MessageAge  time.Duration `mapstructure:"message_age"`
	QueueMax    int           `mapstructure:"queue_max"`
	QueueNotice string        `mapstructure:"queue_notice"` // reaction, text, off

	StartTimeout time.Duration `mapstructure:"start_timeout"` // for an agent to begin a session
	LoadTimeout  time.Duration `mapstructure:"load_timeout"`  // for an agent to load one
	TurnTimeout  time.Duration `mapstructure:"turn_timeout"`  // 0 = none
	StallNotice  time.Duration `mapstructure:"stall_notice"`
	StallStop    time.Duration `mapstructure:"stall_stop"`
	AskTimeout   time.Duration `mapstructure:"ask_timeout"`
	WorkerIdle   time.Duration `mapstructure:"worker_idle"` // 0 = never close an idle worker
	WorkersMax   int           `mapstructure:"workers_max"`
	DrainLimit   time.Duration `mapstructure:"drain_limit"`

	Sessions  Sessions  `mapstructure:"sessions"`
	Approvals Approvals `mapstructure:"approvals"`
	Budget    Budget    `mapstructure:"budget"`
	Files     Files     `mapstructure:"files"`
	Display   Display   `mapstructure:"display"`
	Inbox     Inbox     `mapstructure:"inbox"`
	Speech    Speech    `mapstructure:"speech"`
	Groups    Groups    `mapstructure:"groups"`

	Log      Log      `mapstructure:"log"`
	Web      Web      `mapstructure:"web"`
	Telegram Telegram `mapstructure:"telegram"`
	// TelegramBots are further bots; each needs a name.
	TelegramBots []NamedTelegram `mapstructure:"telegram_bots"`
	Feishu       Feishu          `mapstructure:"feishu"`
	// FeishuApps are further apps; each needs a name.
	FeishuApps []NamedFeishu `mapstructure:"feishu_apps"`
	Agents     Agents        `mapstructure:"agents"`

	// Warnings are remarks that do not keep the daemon from running.
	Warnings []string `mapstructure:"-"`
	// File is the file that was read, empty when there was none.
	File string `mapstructure:"-"`
}

// Workspace is a directory that conversations may choose.
type Workspace struct {
	Name string `mapstructure:"name"`
	Path string `mapstructure:"path"`
}

// Sessions says what becomes of sessions.
type Sessions struct {
	// OnLost is what happens when an agent definitely does not know a session
	// any more: recap (a new one begins with a recap, and that is told) or ask.
	OnLost string `mapstructure:"on_lost"`
}

// Approvals says what people are offered when an agent asks for permission.
type Approvals struct {
	Always bool `mapstructure:"always"` // operators may allow a request for ever
}

// Budget is what turns may use up, as their agents report it; 0 = no limit.
type Budget struct {
	TurnTokens int64   `mapstructure:"turn_tokens"` // in and out
	TurnUSD    float64 `mapstructure:"turn_usd"`
	DayTokens  int64   `mapstructure:"day_tokens"` // of all turns since midnight
	DayUSD     float64 `mapstructure:"day_usd"`
}

// Files says what leaves workspaces as files.
type Files struct {
	Out bool `mapstructure:"out"` // agents may send files to their chats
	Get bool `mapstructure:"get"` // people may fetch files of their workspace
	// MaxMB is how much one turn sends, in one file or in all, and the largest
	// file that is fetched, whatever the chat takes.
	MaxMB int64 `mapstructure:"max_mb"`
	// Keep is how long the files of earlier turns stay in the workspace, and
	// those that the web chat has shown in the data directory; 0 = for ever.
	Keep time.Duration `mapstructure:"keep"`
}

// Display says what people see of turns.
type Display struct {
	Verbosity int `mapstructure:"verbosity"` // 0 to 3, of chats that chose none
	// Footer is the figures below an answer, in this order; off alone = none.
	Footer    []string `mapstructure:"footer"`
	Reactions bool     `mapstructure:"reactions"` // show how a turn stands on the message that asked for it
}

// Inbox is where files that people send are kept, in a folder of the workspace.
type Inbox struct {
	FileMaxMB  int64         `mapstructure:"file_max_mb"`  // of one file; 0 = any
	TotalMaxMB int64         `mapstructure:"total_max_mb"` // of one workspace; beyond it the oldest go; 0 = any
	Keep       time.Duration `mapstructure:"keep"`         // 0 = for ever
}

// Speech says who turns voice messages into words: a program or a service.
type Speech struct {
	Command     []string      `mapstructure:"command"`          // program and arguments; {file} stands for the recording
	Env         []string      `mapstructure:"env" secret:"env"` // of the program: NAME=value, or NAME to inherit
	URL         string        `mapstructure:"url"`              // of a service that speaks OpenAI's transcription interface
	Key         string        `mapstructure:"key" secret:"true"`
	KeyFile     string        `mapstructure:"key_file"`
	Model       string        `mapstructure:"model"`
	Language    string        `mapstructure:"language"` // two letters; empty = found out
	Timeout     time.Duration `mapstructure:"timeout"`  // for one recording
	MaxSizeMB   int64         `mapstructure:"max_size_mb"`
	MaxDuration time.Duration `mapstructure:"max_duration"`
}

// Groups says how groups are served that chose nothing themselves.
type Groups struct {
	Listen  string `mapstructure:"listen"`  // mention, reply, all
	Sharing string `mapstructure:"sharing"` // shared, person
}

// Log says what is logged and how.
type Log struct {
	Level  string `mapstructure:"level"`  // debug, info, warn, error
	Format string `mapstructure:"format"` // text, json
}

// Web is the built-in web chat.
type Web struct {
	Addr  string   `mapstructure:"addr"`  // host:port; "off" = no web chat
	Hosts []string `mapstructure:"hosts"` // further names that the Host header may carry
}

// Telegram is one Telegram bot.
type Telegram struct {
	Token       string        `mapstructure:"token" secret:"true"`
	TokenFile   string        `mapstructure:"token_file"`
	APIURL      string        `mapstructure:"api_url"`
	Proxy       string        `mapstructure:"proxy" secret:"true"` // may carry a password
	ProxyFile   string        `mapstructure:"proxy_file"`
	Owners      []string      `mapstructure:"owners"`
	PollTimeout time.Duration `mapstructure:"poll_timeout"`
	Unpaced     bool          `mapstructure:"unpaced"` // send as fast as the server takes it
	Rich        bool          `mapstructure:"rich"`    // answers may be rich messages unless a chat says otherwise

	Mode              string `mapstructure:"mode"`         // polling, webhook
	WebhookURL        string `mapstructure:"webhook_url"`  // what Telegram calls
	WebhookAddr       string `mapstructure:"webhook_addr"` // where we listen for it; host:port
	WebhookPath       string `mapstructure:"webhook_path"` // empty = that of webhook_url
	WebhookSecret     string `mapstructure:"webhook_secret" secret:"true"`
	WebhookSecretFile string `mapstructure:"webhook_secret_file"`
	RemoveWebhook     bool   `mapstructure:"remove_webhook"` // when polling, one that somebody else set
}

// Webhooks reports whether the bot is delivered to, and does not poll.
func (t Telegram) Webhooks() bool { return t.Mode == modeWebhook }

// The ways to receive.
const (
	modePolling = "polling"
	modeWebhook = "webhook"
)

// NamedTelegram is a further Telegram bot.
type NamedTelegram struct {
	Name     string `mapstructure:"name"`
	Telegram `mapstructure:",squash"`
}

// Agents are the coding agents: built-in ones under fixed keys, further ones
// that speak ACP in a list.
type Agents struct {
	Claude   Agent        `mapstructure:"claude"`
	Codex    Agent        `mapstructure:"codex"`
	Gemini   Agent        `mapstructure:"gemini"`
	OpenCode Agent        `mapstructure:"opencode"`
	Qwen     Agent        `mapstructure:"qwen"`
	Copilot  Agent        `mapstructure:"copilot"`
	Pi       Agent        `mapstructure:"pi"`
	Demo     Agent        `mapstructure:"demo"`
	More     []NamedAgent `mapstructure:"more"`
}

// keyed is an agent under a fixed key.
type keyed struct {
	name  string
	agent *Agent
}

// builtin are the agents under fixed keys.
func (a *Agents) builtin() []keyed {
	return []keyed{
		{"claude", &a.Claude},
		{"codex", &a.Codex},
		{"gemini", &a.Gemini},
		{"opencode", &a.OpenCode},
		{"qwen", &a.Qwen},
		{"copilot", &a.Copilot},
		{"pi", &a.Pi},
		{"demo", &a.Demo},
	}
}

// Agent is how one coding agent is started.
type Agent struct {
	Command string   `mapstructure:"command"` // path or name on PATH
	Args    []string `mapstructure:"args"`    // appended to the driver's own
	// Env are further variables of its environment: NAME=value, or NAME to
	// inherit it from the daemon.
	Env   []string `mapstructure:"env" secret:"env"`
	Model string   `mapstructure:"model"` // default model
	// Mode and Effort are the defaults of what a conversation may choose.
	Mode   string `mapstructure:"mode"`
	Effort string `mapstructure:"effort"`
	// Unattended allows the agent to act without asking: by a mode of its own
	// that the owner of a chat chooses, or because it never asks.
	Unattended bool `mapstructure:"unattended"`
}

// NamedAgent is a further agent that speaks ACP.
type NamedAgent struct {
	Name  string `mapstructure:"name"`
	Agent `mapstructure:",squash"`
}

// Default returns the configuration of an empty file and environment.
func Default() Config {
	return Config{
		DataDir:      "data",
		BurstWindow:  150 * time.Millisecond,
		AlbumWindow:  1500 * time.Millisecond,
		MessageAge:   6 * time.Hour,
		QueueMax:     50,
		QueueNotice:  "reaction",
		StartTimeout: 30 * time.Second,
		LoadTimeout:  90 * time.Second,
		StallNotice:  5 * time.Minute,
		StallStop:    30 * time.Minute,
		AskTimeout:   30 * time.Minute,
		WorkerIdle:   15 * time.Minute,
		WorkersMax:   32,
		DrainLimit:   30 * time.Second,
		Sessions:     Sessions{OnLost: "recap"},
		Approvals:    Approvals{Always: true},
		Files:        Files{Out: true, Get: true, MaxMB: 2000, Keep: 30 * 24 * time.Hour},
		Display:      Display{Verbosity: 2, Footer: slices.Clone(footerItems), Reactions: true},
		Inbox:        Inbox{FileMaxMB: 200, TotalMaxMB: 2000, Keep: 30 * 24 * time.Hour},
		Speech:       Speech{Model: "whisper-1", Timeout: 3 * time.Minute, MaxSizeMB: 25, MaxDuration: 20 * time.Minute},
		Groups:       Groups{Listen: "mention", Sharing: "shared"},
		Log:          Log{Level: "info", Format: "text"},
		Web:          Web{Addr: "127.0.0.1:8765"},
		Feishu:       defaultFeishu(),
		Telegram: Telegram{
			APIURL: "https://api.telegram.org", PollTimeout: 50 * time.Second, Mode: modePolling, WebhookAddr: "127.0.0.1:8766",
		},
		Agents: Agents{
			Claude:   Agent{Command: "claude"},
			Codex:    Agent{Command: "codex"},
			Gemini:   Agent{Command: "gemini"},
			OpenCode: Agent{Command: "opencode"},
			Qwen:     Agent{Command: "qwen"},
			Copilot:  Agent{Command: "copilot"},
			Pi:       Agent{Command: "pi"},
		},
	}
}

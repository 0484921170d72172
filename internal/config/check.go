package config

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// readSecrets fills secrets from their files.
func (c *Config) readSecrets() []string {
	var bad []string
	read := func(path string, value *string, file string) {
		switch {
		case file == "":
		case *value != "":
			bad = append(bad, fmt.Sprintf("%s and %s_file are both set: give one", path, path))
		default:
			b, err := os.ReadFile(filepath.Clean(home(file)))
			if err != nil {
				bad = append(bad, fmt.Sprintf("%s_file: %v", path, err))
				return
			}
			if *value = strings.TrimSpace(string(b)); *value == "" {
				bad = append(bad, fmt.Sprintf("%s_file: %s is empty", path, file))
			}
		}
	}
	read("telegram.token", &c.Telegram.Token, c.Telegram.TokenFile)
	read("telegram.proxy", &c.Telegram.Proxy, c.Telegram.ProxyFile)
	read("telegram.webhook_secret", &c.Telegram.WebhookSecret, c.Telegram.WebhookSecretFile)
	read("speech.key", &c.Speech.Key, c.Speech.KeyFile)
	app := func(at string, f *Feishu) {
		read(at+"app_secret", &f.AppSecret, f.AppSecretFile)
		read(at+"proxy", &f.Proxy, f.ProxyFile)
		read(at+"encrypt_key", &f.EncryptKey, f.EncryptKeyFile)
		read(at+"verification_token", &f.VerificationToken, f.VerificationTokenFile)
	}
	app("feishu.", &c.Feishu)
	for i := range c.FeishuApps {
		app(fmt.Sprintf("feishu_apps[%d].", i), &c.FeishuApps[i].Feishu)
	}
	for i := range c.TelegramBots {
		b := &c.TelegramBots[i]
		at := fmt.Sprintf("telegram_bots[%d].", i)
		read(at+"token", &b.Token, b.TokenFile)
		read(at+"proxy", &b.Proxy, b.ProxyFile)
		read(at+"webhook_secret", &b.WebhookSecret, b.WebhookSecretFile)
	}
	return bad
}

// home expands a leading "~/".
func home(path string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		if dir, err := os.UserHomeDir(); err == nil {
			return filepath.Join(dir, strings.TrimPrefix(path, "~"))
		}
	}
	return path
}

func absolute(path string) string {
	if path == "" {
		return ""
	}
	if abs, err := filepath.Abs(home(path)); err == nil {
		return abs
	}
	return path
}

// expand makes paths absolute and fills what depends on other values.
func (c *Config) expand() {
	c.DataDir = absolute(c.DataDir)
	c.Workspace = absolute(c.Workspace)
	if c.Workspace == "" {
		c.Workspace = filepath.Join(c.DataDir, "workspace")
	}
	for i := range c.Workspaces {
		c.Workspaces[i].Path = absolute(c.Workspaces[i].Path)
	}
	for i := range c.FeishuApps {
		c.FeishuApps[i].fill(c.Feishu)
	}
	def := Default().Telegram
	for i := range c.TelegramBots {
		b := &c.TelegramBots[i]
		if b.APIURL == "" {
			b.APIURL = c.Telegram.APIURL
		}
		if b.PollTimeout == 0 {
			b.PollTimeout = def.PollTimeout
		}
		if b.Mode == "" {
			b.Mode = def.Mode
		}
		if b.WebhookAddr == "" {
			b.WebhookAddr = c.Telegram.WebhookAddr
		}
	}
}

var (
	nameRule = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)
	envRule  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(=.*)?$`)
)

// check returns every problem of a complete configuration.
func (c *Config) check() []string {
	bad := c.checkNumbers()
	bad = append(bad, c.checkPaths()...)
	bad = append(bad, c.checkTelegram()...)
	bad = append(bad, c.checkFeishu()...)
	bad = append(bad, c.checkHooks()...)
	bad = append(bad, c.checkAgents()...)
	bad = append(bad, c.checkIncoming()...)
	if c.Web.Addr != "off" {
		_, port, err := net.SplitHostPort(c.Web.Addr)
		if _, no := strconv.ParseUint(port, 10, 16); err != nil || no != nil {
			bad = append(bad, fmt.Sprintf("web.addr: %q is not host:port, with a port below 65536 (or off)", c.Web.Addr))
		}
	}
	if !slices.Contains([]string{"reaction", "text", "off"}, c.QueueNotice) {
		bad = append(bad, fmt.Sprintf("queue_notice: %q is not reaction, text or off", c.QueueNotice))
	}
	bad = append(bad, c.Display.check()...)
	if !slices.Contains([]string{"mention", "reply", "all"}, c.Groups.Listen) {
		bad = append(bad, fmt.Sprintf("groups.listen: %q is not mention, reply or all", c.Groups.Listen))
	}
	if !slices.Contains([]string{"shared", "person"}, c.Groups.Sharing) {
		bad = append(bad, fmt.Sprintf("groups.sharing: %q is not shared or person", c.Groups.Sharing))
	}
	if !slices.Contains([]string{"recap", "ask"}, c.Sessions.OnLost) {
		bad = append(bad, fmt.Sprintf("sessions.on_lost: %q is not recap or ask", c.Sessions.OnLost))
	}
	if !slices.Contains([]string{"", "en", "zh"}, c.Language) {
		bad = append(bad, fmt.Sprintf("language: %q is not en or zh", c.Language))
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.Log.Level) {
		bad = append(bad, fmt.Sprintf("log.level: %q is not debug, info, warn or error", c.Log.Level))
	}
	if !slices.Contains([]string{"text", "json"}, c.Log.Format) {
		bad = append(bad, fmt.Sprintf("log.format: %q is not text or json", c.Log.Format))
	}
	return bad
}

func (c *Config) checkNumbers() []string {
	var bad []string
	for path, d := range map[string]time.Duration{
		"burst_window": c.BurstWindow, "album_window": c.AlbumWindow, "message_age": c.MessageAge,
		"turn_timeout": c.TurnTimeout, "stall_notice": c.StallNotice, "stall_stop": c.StallStop,
		"ask_timeout": c.AskTimeout, "worker_idle": c.WorkerIdle, "drain_limit": c.DrainLimit,
	} {
		if d < 0 {
			bad = append(bad, fmt.Sprintf("%s: %s is negative", path, d))
		}
	}
	for path, d := range map[string]time.Duration{"start_timeout": c.StartTimeout, "load_timeout": c.LoadTimeout} {
		if d <= 0 {
			bad = append(bad, fmt.Sprintf("%s: %s is no limit; an agent that hangs has to be noticed", path, d))
		}
	}
	slices.Sort(bad)
	if c.BurstWindow > 10*time.Second {
		bad = append(bad, "burst_window: more than 10s would make every answer late")
	}
	if c.QueueMax < 1 {
		bad = append(bad, "queue_max: at least 1")
	}
	if c.WorkersMax < 1 {
		bad = append(bad, "workers_max: at least 1")
	}
	if c.Files.MaxMB < 1 {
		bad = append(bad, "files.max_mb: at least 1; files.out and files.get turn files off")
	}
	if c.Files.Keep < 0 {
		bad = append(bad, "files.keep: a negative time; 0 = for ever")
	}
	if b := c.Budget; min(b.TurnTokens, b.DayTokens) < 0 || min(b.TurnUSD, b.DayUSD) < 0 {
		bad = append(bad, "budget: a negative limit; 0 = none")
	}
	return bad
}

func (c *Config) checkPaths() []string {
	var bad []string
	// The default workspace is made at start; one that was named must exist.
	if st, err := os.Stat(c.Workspace); err == nil && !st.IsDir() {
		bad = append(bad, fmt.Sprintf("workspace: %s is not a directory", c.Workspace))
	} else if err != nil && c.Workspace != filepath.Join(c.DataDir, "workspace") {
		bad = append(bad, fmt.Sprintf("workspace: %s does not exist", c.Workspace))
	}
	seen := map[string]bool{}
	for i, w := range c.Workspaces {
		at := fmt.Sprintf("workspaces[%d]", i)
		if !nameRule.MatchString(w.Name) || seen[w.Name] {
			bad = append(bad, fmt.Sprintf("%s.name: %q is empty, taken or not a plain lower-case name", at, w.Name))
		}
		seen[w.Name] = true
		if st, err := os.Stat(w.Path); w.Path == "" || err != nil || !st.IsDir() {
			bad = append(bad, fmt.Sprintf("%s.path: %q is not an existing directory", at, w.Path))
		}
	}
	return bad
}

func (c *Config) checkAgents() []string {
	var bad []string
	var names []string
	env := func(at string, a Agent) {
		for _, e := range a.Env {
			if !envRule.MatchString(e) {
				bad = append(bad, at+".env: an entry is neither NAME=value nor NAME")
			}
		}
	}
	for _, a := range c.Agents.builtin() {
		names = append(names, a.name)
		env("agents."+a.name, *a.agent)
	}
	for i, a := range c.Agents.More {
		at := fmt.Sprintf("agents.more[%d]", i)
		if !nameRule.MatchString(a.Name) || slices.Contains(names, a.Name) {
			bad = append(bad, fmt.Sprintf("%s.name: %q is empty, taken or not a plain lower-case name", at, a.Name))
		}
		names = append(names, a.Name)
		if a.Command == "" {
			bad = append(bad, at+".command: missing")
		}
		env(at, a.Agent)
	}
	if c.Agent != "" && !slices.Contains(names, c.Agent) {
		bad = append(bad, fmt.Sprintf("agent: %q is not one of %s", c.Agent, strings.Join(names, ", ")))
	}
	return bad
}

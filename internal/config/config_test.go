package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"cligate/configs"
)

// load runs Load in an empty directory with the given file and variables.
func load(t *testing.T, body string, env ...string) (Config, error) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "xdg"))
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "CLIGATE_") {
			t.Setenv(name, "")
		}
	}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value)
	}
	if body == "" {
		return Load("")
	}
	file := filepath.Join(dir, "cligate.yaml")
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load("")
}

func problems(t *testing.T, err error) []string {
	t.Helper()
	var p *Error
	if !errors.As(err, &p) {
		t.Fatalf("error = %v, want problems", err)
	}
	return p.List
}

func wantProblem(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, line := range problems(t, err) {
		ok := true
		for _, p := range parts {
			ok = ok && strings.Contains(line, p)
		}
		if ok {
			return
		}
	}
	t.Errorf("no problem with %q in\n%v", parts, err)
}

func TestNothingIsNeeded(t *testing.T) {
	c, err := load(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if c.Web.Addr != "127.0.0.1:8765" || c.BurstWindow != 150*time.Millisecond {
		t.Errorf("defaults = %+v", c)
	}
	if !filepath.IsAbs(c.DataDir) || c.Workspace != filepath.Join(c.DataDir, "workspace") {
		t.Errorf("data %q, workspace %q", c.DataDir, c.Workspace)
	}
}

func TestAnEmptyFileIsNoConfiguration(t *testing.T) {
	if _, err := load(t, "# nothing\n"); err != nil {
		t.Error(err)
	}
	if _, err := load(t, "telegram:\n"); err != nil {
		t.Errorf("an empty section: %v", err)
	}
}

func TestTheFixedVariableNamesWork(t *testing.T) {
	work := t.TempDir()
	c, err := load(t, "",
		"CLIGATE_DATA_DIR=state", "CLIGATE_WORKSPACE="+work, "CLIGATE_AGENT=demo",
		"CLIGATE_AGENTS_CLAUDE_COMMAND=/opt/claude", "CLIGATE_BURST_WINDOW=0", "CLIGATE_TURN_TIMEOUT=7m",
		"CLIGATE_WORKER_IDLE=1h", "CLIGATE_TELEGRAM_TOKEN=123456:abcdefghijklmnopqrstuvwxyz",
		"CLIGATE_TELEGRAM_API_URL=http://127.0.0.1:1", "CLIGATE_TELEGRAM_OWNERS=11, 22",
		"CLIGATE_WEB_ADDR=127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got := []any{filepath.Base(c.DataDir), c.Workspace, c.Agent, c.Agents.Claude.Command, c.BurstWindow, c.TurnTimeout,
		c.WorkerIdle, c.Telegram.Token, c.Telegram.APIURL, c.Telegram.Owners, c.Web.Addr}
	want := []any{"state", work, "demo", "/opt/claude", time.Duration(0), 7 * time.Minute, time.Hour,
		"123456:abcdefghijklmnopqrstuvwxyz", "http://127.0.0.1:1", []string{"11", "22"}, "127.0.0.1:0"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestEveryScalarKeyHasAVariable(t *testing.T) {
	for _, f := range keys() {
		if f.elem != nil {
			continue
		}
		value := map[reflect.Kind]string{reflect.String: "x", reflect.Int: "3", reflect.Int64: "3", reflect.Float64: "2.5", reflect.Bool: "true", reflect.Slice: "x,y"}[f.typ.Kind()]
		if f.typ == durationType {
			value = "3s"
		}
		if value == "" {
			t.Fatalf("%s: no sample for %v", f.path, f.typ)
		}
		t.Run(f.path, func(t *testing.T) {
			c, _ := load(t, "", f.env()+"="+value)
			plain, _ := load(t, "")
			if b, ok := at(plain, f.path).(bool); ok {
				c, _ = load(t, "", f.env()+"="+fmt.Sprint(!b))
			}
			if reflect.DeepEqual(at(c, f.path), at(plain, f.path)) {
				t.Errorf("%s does not change %s", f.env(), f.path)
			}
		})
	}
}

// at returns the value behind a dotted path.
func at(c Config, path string) any {
	v := reflect.ValueOf(c)
	for _, name := range strings.Split(path, ".") {
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("mapstructure") == name {
				v = v.Field(i)
				break
			}
		}
	}
	return v.Interface()
}

func TestAnEmptyVariableIsUnset(t *testing.T) {
	c, err := load(t, "", "CLIGATE_AGENTS_CLAUDE_COMMAND=", "CLIGATE_DATA_DIR=")
	if err != nil || c.Agents.Claude.Command != "claude" || filepath.Base(c.DataDir) != "data" {
		t.Errorf("command %q, data %q, %v", c.Agents.Claude.Command, c.DataDir, err)
	}
}

func TestUnknownKeysAreErrorsWithTheirPath(t *testing.T) {
	_, err := load(t, `
telegrm: {}
telegram: {tokn: x}
agents: {more: [{name: a, command: b, comand: c}]}
log: loud
api_url: x
`)
	wantProblem(t, err, "telegrm", "unknown key", "telegram")
	wantProblem(t, err, "telegram.tokn", "did you mean telegram.token?")
	wantProblem(t, err, "agents.more[0].comand", "unknown key")
	wantProblem(t, err, "log", "is a section")
	wantProblem(t, err, "api_url", "did you mean telegram.api_url?")
}

func TestAllProblemsAreToldAtOnce(t *testing.T) {
	_, err := load(t, `
agent: nobody
queue_max: 0
queue_notice: shout
burst_window: 5
web: {addr: nonsense}
language: fr
workspace: /does/not/exist
budget: {day_usd: -1}
telegram: {token: short, owners: ["@me", "0", "７"], api_url: ftp://x}
workspaces: [{name: "Bad Name", path: /nope}]
agents: {claude: {env: ["=x"]}, more: [{name: claude}]}
`)
	for _, parts := range [][]string{
		{"agent:", "nobody"}, {"queue_max"}, {"budget", "negative"}, {"queue_notice", "shout"}, {"burst_window", "5", "no duration with a unit"}, {"web.addr"}, {"language"}, {"workspace:", "does not exist"},
		{"telegram.token", "not a bot token"}, {`"@me"`, "numeric"}, {`"0"`}, {`"７"`}, {"api_url"}, {"workspaces[0].name"}, {"workspaces[0].path"},
		{"agents.claude.env"}, {"agents.more[0].name"}, {"agents.more[0].command"},
	} {
		wantProblem(t, err, parts...)
	}
}

func TestSecretsComeFromFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("123456:abcdefghijklmnopqrstuvwxyz\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := load(t, "", "CLIGATE_TELEGRAM_TOKEN_FILE="+file)
	if err != nil || c.Telegram.Token != "123456:abcdefghijklmnopqrstuvwxyz" {
		t.Errorf("token %q, %v", c.Telegram.Token, err)
	}
	_, err = load(t, "", "CLIGATE_TELEGRAM_TOKEN_FILE="+file, "CLIGATE_TELEGRAM_TOKEN=123456:abcdefghijklmnopqrstuvwxyz")
	wantProblem(t, err, "both set")
	_, err = load(t, "", "CLIGATE_TELEGRAM_TOKEN_FILE=/does/not/exist")
	wantProblem(t, err, "telegram.token_file")
}

func TestEverySecretHasAFileKey(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	for _, f := range keys() {
		have[f.path] = true
	}
	for _, f := range keys() {
		if f.secret == "true" && !have[f.path+"_file"] {
			t.Errorf("%s has no %s_file", f.path, f.path)
		}
	}
}

func TestPrintHidesSecrets(t *testing.T) {
	c, err := load(t, `
telegram: {token: "123456:canarycanarycanarycanary", proxy: "http://u:canary@h:1"}
telegram_bots: [{name: two, token: "777777:canarycanarycanarycanary"}]
agents: {claude: {env: ["KEY=canary-value", "HOMEDIR"]}}
`)
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.Print()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out, "canary") || !strings.Contains(out, "KEY="+hidden) || !strings.Contains(out, "HOMEDIR") {
		t.Errorf("printed:\n%s", out)
	}
	if len(c.Secrets()) != 4 {
		t.Errorf("%d secrets known, want 4", len(c.Secrets()))
	}
}

func TestPrintIsAValidConfiguration(t *testing.T) {
	c, err := load(t, "")
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.Print()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(c.Workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := load(t, out); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTheExampleShowsEveryKeyAndTheDefaults(t *testing.T) {
	c, err := load(t, configs.Example)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range keys() {
		leaf := f.path[strings.LastIndex(f.path, ".")+1:]
		if !strings.Contains(configs.Example, leaf+":") {
			t.Errorf("the example lacks %s", f.path)
		}
	}
	plain := Default()
	plain.DataDir, plain.Workspace, plain.File = c.DataDir, c.Workspace, c.File
	got, _ := c.Print()
	want, _ := plain.Print()
	if got != want {
		t.Errorf("the example is not the default:\n%s\nwant\n%s", got, want)
	}
}

func TestAMisspeltVariableIsRemarkedOn(t *testing.T) {
	c, err := load(t, "", "CLIGATE_TELEGRAM_TOKN=x")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.Warnings, "\n"); !strings.Contains(got, "CLIGATE_TELEGRAM_TOKEN?") {
		t.Errorf("warnings = %q", got)
	}
}

func TestSecretsThatOthersCanReadAreRemarkedOn(t *testing.T) {
	const token = "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	dir := t.TempDir()
	write := func(name, body string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(body), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		file, want string
	}{
		"closed":    {write("closed.yaml", "telegram: {token: '"+token+"'}\n", 0o600), ""},
		"open":      {write("open.yaml", "telegram: {token: '"+token+"'}\n", 0o644), "open.yaml holds secrets and is open to others (mode 0644)"},
		"no secret": {write("plain.yaml", "log: {level: debug}\n", 0o644), ""},
		"mounted":   {write("m.yaml", "telegram: {token_file: '"+write("mounted", token, 0o444)+"'}\n", 0o644), ""},
		"writable":  {write("w.yaml", "telegram: {token_file: '"+write("writable", token, 0o666)+"'}\n", 0o644), "writable holds a secret and can be changed by others (mode 0666)"},
	} {
		cfg, err := Load(c.file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := strings.Join(cfg.Warnings, "\n"); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestANamedFileMustExist(t *testing.T) {
	_, err := Load("/does/not/exist.yaml")
	wantProblem(t, err, "/does/not/exist.yaml")
}

func TestPathsAreMadeAbsolute(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "src", "项目 a.b@c~"), 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := load(t, "data_dir: ./state\nworkspace: ~/src\nworkspaces: [{name: odd, path: \"~/src/项目 a.b@c~\"}]\n", "HOME="+home)
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		c.DataDir: filepath.Join(here, "state"), c.Workspace: filepath.Join(home, "src"), c.Workspaces[0].Path: filepath.Join(home, "src", "项目 a.b@c~"),
	} {
		if got != want {
			t.Errorf("path %q, want %q", got, want)
		}
	}
	if err := os.WriteFile(filepath.Join(home, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = load(t, "workspace: ~/file", "HOME="+home)
	wantProblem(t, err, "workspace", filepath.Join(home, "file"), "is not a directory")
	_, err = load(t, "workspace: ~/missing", "HOME="+home)
	wantProblem(t, err, "workspace", filepath.Join(home, "missing"), "does not exist")
}

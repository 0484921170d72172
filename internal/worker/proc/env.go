package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// inherited are the variables that every agent gets: who and where it is, its
// language, its folders, and the way to the network. "*" stands for any end.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TERM", "TZ", "TMPDIR",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
}

// scrubbed are never inherited, whatever pattern allows them: signs of an
// agent session around the daemon (an agent that sees them refuses to start or
// uses the outer session's credentials), and the daemon's own settings.
var scrubbed = []string{
	"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION*", "CLAUDE_CODE_CHILD*",
	"CLAUDE_CODE_REMOTE*", "CLAUDE_CODE_EXECPATH", "CLAUDE_AGENT_SDK*", "CLAUDE_PROJECT_DIR", "CLAUDE_PID",
	"CODEX_SANDBOX*", "CODEX_THREAD*", "CODEX_SESSION*", "CODEX_INTERNAL*", "GEMINI_CLI", "GEMINI_CLI_IDE*",
	"GEMINI_SANDBOX", "QWEN_CODE", "OPENCODE", "OPENCODE_PID", "OPENCODE_CALLER", "COPILOT_CLI", "AGENT",
	"AI_AGENT", "CLIGATE_*",
}

// borrowed are credentials that an agent session around the daemon hands to
// what it starts. They end with it, so they are not inherited from inside one,
// unless they are named.
var borrowed = []string{"CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_OAUTH_REFRESH_TOKEN", "ANTHROPIC_AUTH_TOKEN"}

// insideOne marks an agent session around the daemon.
const insideOne = "CLAUDECODE="

// BuildEnv returns the environment of an agent: the variables that every agent
// gets, and those of allow. An entry of allow is "NAME=value" to set one,
// "NAME" to inherit one, or "PREFIX*" to inherit all of that beginning. Marks
// of an agent session around the daemon and CLIGATE_ variables are never
// inherited, its credentials only by their names; an explicit "NAME=value"
// always wins.
func BuildEnv(allow ...string) []string { return buildEnv(os.Environ(), allow) }

func buildEnv(environ, allow []string) []string {
	names, set := slices.Clone(inherited), []string(nil)
	for _, a := range allow {
		if strings.Contains(a, "=") {
			set = append(set, a)
		} else {
			names = append(names, a)
		}
	}
	values := map[string]string{}
	inside := slices.ContainsFunc(environ, func(v string) bool { return strings.HasPrefix(v, insideOne) })
	for _, v := range environ {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" || !matches(names, name) || matches(scrubbed, name) {
			continue
		}
		if inside && slices.Contains(borrowed, name) && !slices.Contains(names, name) {
			continue
		}
		values[name] = value
	}
	for _, v := range set {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
	}
	env := make([]string, 0, len(values))
	for name, value := range values {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// EnvNames returns the names of the variables that BuildEnv makes of allow, for
// an operator who wants to know.
func EnvNames(allow ...string) []string {
	var names []string
	for _, v := range BuildEnv(allow...) {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	return names
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if start, ok := strings.CutSuffix(p, "*"); ok {
			return strings.HasPrefix(name, start)
		}
		return p == name
	})
}

// places are where installers put programs that a service's PATH lacks, below
// the home directory unless absolute; a pattern's last match wins, which is
// the newest version where folders are named so.
var places = []string{
	".local/bin", "bin", ".npm-global/bin", ".npm/bin", ".bun/bin", ".volta/bin", ".claude/local",
	".opencode/bin", ".cargo/bin", ".nvm/versions/node/*/bin", ".fnm/node-versions/*/installation/bin",
	"/usr/local/bin", "/opt/homebrew/bin", "/usr/bin", "/bin", "/snap/bin",
}

// Find returns the absolute path of a program: name itself if it is a path,
// else what PATH has, else what the usual places of installers have. The error
// wraps exec.ErrNotFound or says why a file cannot be run.
func Find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return filepath.Abs(path)
	}
	if strings.ContainsRune(name, filepath.Separator) || name == "" {
		return "", err
	}
	home, _ := os.UserHomeDir()
	for _, place := range places {
		if !filepath.IsAbs(place) {
			if home == "" {
				continue
			}
			place = filepath.Join(home, place)
		}
		found, _ := filepath.Glob(filepath.Join(place, name))
		for _, f := range slices.Backward(found) {
			if p, err := exec.LookPath(f); err == nil {
				return p, nil
			}
		}
	}
	return "", err
}

// withDir adds dir to the PATH of env if it is missing: a program that was
// found outside PATH often starts an interpreter that lies beside it.
func withDir(env []string, dir string) []string {
	env = slices.Clone(env)
	for i, v := range env {
		path, ok := strings.CutPrefix(v, "PATH=")
		if !ok {
			continue
		}
		if !slices.Contains(filepath.SplitList(path), dir) {
			env[i] = strings.TrimSuffix(v, ":") + ":" + dir
		}
		return env
	}
	return append(env, "PATH="+dir)
}

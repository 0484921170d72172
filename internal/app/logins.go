package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cligate/internal/config"
)

// loginLook is how often the files of logins are looked at.
const loginLook = 15 * time.Second

// login is where an agent keeps its login: file, below the folder that env
// names, else below home in the user's home.
type login struct{ env, home, file string }

// logins are the places that the agents' own documentation names. One that is
// not here keeps its login elsewhere, in a keychain say.
var logins = map[string]login{
	"claude":   {"CLAUDE_CONFIG_DIR", ".claude", ".credentials.json"},
	"codex":    {"CODEX_HOME", ".codex", "auth.json"},
	"gemini":   {"", ".gemini", "oauth_creds.json"},
	"qwen":     {"", ".qwen", "oauth_creds.json"},
	"opencode": {"XDG_DATA_HOME", ".local/share", "opencode/auth.json"},
	"pi":       {"", ".pi/agent", "auth.json"},
}

// path is the file, for an agent that is given env beside the daemon's own
// variables; empty when nobody can tell.
func (l login) path(env []string) string {
	dir := lookup(l.env, env)
	if dir == "" {
		home := lookup("HOME", env)
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, l.home)
	}
	return filepath.Join(dir, l.file)
}

// lookup is a variable as an agent gets it: NAME=value of its own goes before
// what it inherits.
func lookup(name string, env []string) string {
	if name == "" {
		return ""
	}
	for _, e := range env {
		if k, v, ok := strings.Cut(e, "="); ok && k == name {
			return v
		}
	}
	return os.Getenv(name)
}

// loginWatch closes idle processes that hold an older login than the one on the
// disk: they would write it back over the newer one, or go on being refused.
type loginWatch struct {
	files   map[string]string // agent → file
	seen    map[string]string // agent → what the file looked like
	recycle func(agent string)
}

func newLoginWatch(c config.Agents, recycle func(agent string)) *loginWatch {
	w := &loginWatch{files: map[string]string{}, seen: map[string]string{}, recycle: recycle}
	for _, k := range agentKinds {
		if l, ok := logins[k.name]; ok {
			if path := l.path(k.config(c).Env); path != "" {
				w.files[k.name] = path
				w.seen[k.name] = looks(path)
			}
		}
	}
	return w
}

// looks is what tells one version of a file from another.
func looks(path string) string {
	st, err := os.Stat(path)
	if err != nil {
		return "none"
	}
	return fmt.Sprintf("%d/%d", st.ModTime().UnixNano(), st.Size())
}

// look compares each file with what it was.
func (w *loginWatch) look() {
	for agent, path := range w.files {
		if now := looks(path); now != w.seen[agent] {
			w.seen[agent] = now
			w.recycle(agent)
		}
	}
}

// run looks until ctx ends.
func (w *loginWatch) run(ctx context.Context) {
	for sleep(ctx, loginLook) {
		w.look()
	}
}

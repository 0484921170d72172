package claude

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/proc"
)

var (
	_ worker.Cataloguer = (*Driver)(nil)
	_ worker.Terminal   = (*Driver)(nil)
)

const (
	maxListed = 50        // sessions in a list
	maxHead   = 256 << 10 // bytes of a session's file that are read for its title
	maxWords  = 80        // characters of a title
)

// Terminal implements worker.Terminal.
func (d *Driver) Terminal(nativeID string) []string {
	return []string{d.cfg.Command, "--resume", nativeID}
}

// Sessions implements worker.Cataloguer: the transcripts that the agent keeps
// in a folder per workspace.
func (d *Driver) Sessions(ctx context.Context, workspace string) ([]worker.Native, error) {
	dirs, err := d.transcripts(workspace)
	if err != nil {
		return nil, err
	}
	var all []transcript
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !os.IsNotExist(err) {
			return nil, chat.E(chat.Unavailable, "", fmt.Errorf("list the agent's sessions: %w", err))
		}
		all = append(all, candidates(dir, entries)...)
	}
	slices.SortFunc(all, func(a, b transcript) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	var list []worker.Native
	for _, f := range all {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		title, ok := title(filepath.Join(f.dir, f.Name()), workspace)
		if !ok {
			continue
		}
		id := strings.TrimSuffix(f.Name(), ".jsonl")
		list = append(list, worker.Native{ID: id, Title: title, Used: f.ModTime()})
		if len(list) == maxListed {
			break
		}
	}
	return list, nil
}

// transcript is a session's file.
type transcript struct {
	fs.FileInfo
	dir string
}

// candidates are the files of a folder that are sessions by their name.
func candidates(dir string, entries []fs.DirEntry) (all []transcript) {
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".jsonl")
		if !ok || !uuidGrammar.MatchString(id) {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			all = append(all, transcript{info, dir})
		}
	}
	return all
}

// notInName is what the agent replaces in a workspace's path to get a folder's
// name.
var notInName = regexp.MustCompile(`[^A-Za-z0-9]`)

// longestName is how much of a path the agent puts into a folder's name. Behind
// a longer one it puts a hash of the whole, which differs from build to build.
const longestName = 200

// transcripts are the folders in which a workspace's sessions may lie: one, or
// for a very long path all that begin alike. What is in them says whose it is.
func (d *Driver) transcripts(workspace string) ([]string, error) {
	base := ""
	home := ""
	for _, v := range proc.BuildEnv(d.cfg.env()...) {
		switch name, value, _ := strings.Cut(v, "="); name {
		case "CLAUDE_CONFIG_DIR":
			base = value
		case "HOME":
			home = value
		}
	}
	if base == "" {
		if home == "" {
			return nil, chat.E(chat.Unavailable, "", fmt.Errorf("neither HOME nor CLAUDE_CONFIG_DIR is known"))
		}
		base = filepath.Join(home, ".claude")
	}
	if resolved, err := filepath.EvalSymlinks(workspace); err == nil {
		workspace = resolved
	}
	name := notInName.ReplaceAllString(workspace, "-")
	if len(name) <= longestName {
		return []string{filepath.Join(base, "projects", name)}, nil
	}
	entries, err := os.ReadDir(filepath.Join(base, "projects"))
	if err != nil && !os.IsNotExist(err) {
		return nil, chat.E(chat.Unavailable, "", fmt.Errorf("list the agent's sessions: %w", err))
	}
	var dirs []string
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), name[:longestName]) {
			dirs = append(dirs, filepath.Join(base, "projects", e.Name()))
		}
	}
	return dirs, nil
}

// title finds the user's first words in the head of a transcript. It is not ok
// for one of another workspace, or of a sub-agent: two workspaces can share a
// folder.
func title(file, workspace string) (words string, ok bool) {
	f, err := os.Open(file)
	if err != nil {
		return "", false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, maxHead))
	if err != nil {
		return "", false
	}
	if resolved, err := filepath.EvalSymlinks(workspace); err == nil {
		workspace = resolved
	}
	begun := false
	for line := range bytes.Lines(head) {
		var e entry
		if json.Unmarshal(line, &e) != nil || e.Type != typeUser {
			continue
		}
		if e.Sidechain || e.Dir != "" && e.Dir != workspace {
			return "", false
		}
		begun = true
		if e.Meta {
			continue
		}
		if words := e.words(); words != "" {
			return words, true
		}
	}
	return "", begun
}

// entry is one line of a transcript.
type entry struct {
	Type      string `json:"type"`
	Sidechain bool   `json:"isSidechain"`
	Meta      bool   `json:"isMeta"`
	Dir       string `json:"cwd"`
	Message   struct {
		Content blocks `json:"content"`
	} `json:"message"`
}

// words are the first ones that the user wrote; of a command, its name.
func (e entry) words() string {
	for _, b := range e.Message.Content {
		text := strings.TrimSpace(b.Text)
		if rest, ok := strings.CutPrefix(text, "<command-name>"); ok {
			text, _, _ = strings.Cut(rest, "<")
		}
		if b.Type == "text" && text != "" && !strings.HasPrefix(text, "<") {
			return chat.Clip(strings.Join(strings.Fields(text), " "), maxWords)
		}
	}
	return ""
}

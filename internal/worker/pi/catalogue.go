package pi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

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
)

// Terminal implements worker.Terminal.
func (d *Driver) Terminal(nativeID string) []string {
	return []string{d.cfg.Command, "--session", nativeID}
}

// Sessions implements worker.Cataloguer: the files that the agent keeps in a
// folder per workspace.
func (d *Driver) Sessions(_ context.Context, workspace string) ([]worker.Native, error) {
	dir, err := d.cfg.folder(workspace)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, chat.E(chat.Unavailable, "", err)
	}
	var all []worker.Native
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || filepath.Ext(e.Name()) != ".jsonl" {
			continue
		}
		all = append(all, worker.Native{ID: filepath.Join(dir, e.Name()), Used: info.ModTime()})
	}
	slices.SortFunc(all, func(a, b worker.Native) int { return b.Used.Compare(a.Used) })
	var out []worker.Native
	path, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return nil, chat.E(chat.Invalid, "workspace", err)
	}
	for _, n := range all {
		if len(out) == maxListed {
			break
		}
		if n.Title, err = title(n.ID, path); err == nil {
			out = append(out, n)
		}
	}
	return out, nil
}

// errNoSession says that a file is no session of the workspace, or that nothing
// was said in it.
var errNoSession = errors.New("no session of this workspace")

// title is the first words of a person in a session's file.
func title(file, workspace string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err //nolint:wrapcheck // the caller leaves the file out
	}
	defer f.Close()
	lines := proc.NewLineReader(io.LimitReader(f, maxHead), maxHead)
	for first := true; ; first = false {
		l, err := lines.Next()
		if err != nil {
			return "", errNoSession
		}
		text, err := entryText(l.Data, first, workspace)
		if err != nil || text != "" {
			return text, err
		}
	}
}

// entryText is what a person says in an entry of a session's file; the first
// entry says whose session it is.
func entryText(line []byte, first bool, workspace string) (string, error) {
	var e struct {
		Type    string `json:"type"`
		Dir     string `json:"cwd"`
		Message said   `json:"message"`
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return "", errNoSession
	}
	if first && (e.Type != "session" || e.Dir != workspace) {
		return "", errNoSession
	}
	if e.Type != "message" || e.Message.Role != "user" {
		return "", nil
	}
	for _, c := range e.Message.Content {
		if c.Type == kindText && !blank(c.Text) {
			return oneLine(c.Text), nil
		}
	}
	return "", nil
}

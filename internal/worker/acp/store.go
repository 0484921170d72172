package acp

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cligate/internal/worker/proc"
)

// store is where an agent keeps its sessions. The driver looks there only for
// what it cannot learn in another way.
type store struct {
	Home    string // the variable that names the folder instead of HOME
	Files   string // pattern of a session's files below that; $ID is the id's beginning
	Minutes bool   // a file is named by the minute of its making, and a load makes one of the same kind
}

// shortID is how much of an id is in a file's name.
const shortID = 8

// find returns the files of a session, in all projects.
func (s store) find(cfg Config, id string) []string {
	if s.Files == "" || len(id) < shortID || strings.ContainsAny(id[:shortID], `*?[\/`) {
		return nil
	}
	home := ""
	for _, name := range []string{"HOME", s.Home} {
		for _, v := range proc.BuildEnv(cfg.Env...) {
			if key, value, _ := strings.Cut(v, "="); key == name && value != "" {
				home = value
			}
		}
	}
	if home == "" {
		return nil
	}
	pattern := strings.ReplaceAll(s.Files, "$ID", id[:shortID])
	found, _ := filepath.Glob(filepath.Join(home, filepath.FromSlash(pattern))) // a home is no bad pattern that matters
	return found
}

// clear makes a session fit to be loaded. An agent that names files by the
// minute would write the beginning of a new session into the very file that it
// is to load, and take that for the whole: the file gets an earlier name. Where
// that cannot be done the minute is waited for.
func (s store) clear(ctx context.Context, cfg Config, id string, log *slog.Logger) {
	const layout = "2006-01-02T15-04"
	if !s.Minutes {
		return
	}
	now := time.Now().UTC()
	for _, t := range []time.Time{now, now.Add(time.Minute)} { // the minute may end meanwhile
		for _, f := range s.find(cfg, id) {
			dir, name := filepath.Split(f)
			if !strings.Contains(name, t.Format(layout)) {
				continue
			}
			err := s.rename(dir, name, t.Format(layout), t.Add(-2*time.Minute).Format(layout))
			if err == nil {
				continue
			}
			log.WarnContext(ctx, "session file of the agent keeps its name; waiting for the next minute", "err", err)
			select {
			case <-time.After(time.Until(now.Truncate(time.Minute).Add(time.Minute))):
			case <-ctx.Done():
			}
			return
		}
	}
}

// rename never replaces a file.
func (store) rename(dir, name, was, is string) error {
	to := filepath.Join(dir, strings.Replace(name, was, is, 1))
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fs.ErrExist, err)
	}
	return os.Rename(filepath.Join(dir, name), to)
}

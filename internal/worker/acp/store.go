package acp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cligate/internal/worker/proc"
)

// store is where an agent keeps its sessions. The driver looks there only for
// what it cannot learn in another way.
type store struct {
	Home  string // the variable that names the folder instead of HOME
	Files string // pattern of a session's files below that; $ID is the id's beginning
	// Minutes says that a file is named by the minute of its making, and that a
	// load makes one more, without content. The agent would write it into the
	// very file that it is to load, and take that for the whole; and when it
	// starts it throws away all files of a session of which one is empty.
	Minutes bool
	// Context is the beginning of a message that is in every file and nobody's.
	Context string
}

// shortID is how much of an id is in a file's name.
const shortID = 8

// find returns the files of a session, in all projects.
func (s store) find(cfg Config, id string) []string {
	if s.Files == "" || len(id) < shortID || strings.ContainsAny(id[:shortID], `*?[\/`) {
		return nil
	}
	env := proc.BuildEnv(cfg.Env...)
	home := cmp.Or(lookup(env, s.Home), lookup(env, "HOME"))
	if home == "" {
		return nil
	}
	pattern := strings.ReplaceAll(s.Files, "$ID", id[:shortID])
	found, _ := filepath.Glob(filepath.Join(home, filepath.FromSlash(pattern))) // a home is no bad pattern that matters
	return found
}

// lookup is the value of a variable in env; the last one counts.
func lookup(env []string, name string) (value string) {
	for _, v := range env {
		if key, is, _ := strings.Cut(v, "="); key == name && name != "" {
			value = is
		}
	}
	return value
}

// holds reports whether any of files has something of a conversation in it.
func (s store) holds(files []string) bool {
	return slices.ContainsFunc(files, s.content)
}

// sweep removes files of a session in which nothing is, if another one holds
// the session.
func (s store) sweep(cfg Config, id string, log *slog.Logger) {
	files := s.find(cfg, id)
	if !s.Minutes || len(files) < 2 || !s.holds(files) {
		return
	}
	for _, f := range files {
		if s.content(f) {
			continue
		}
		if err := os.Remove(f); err != nil {
			log.Warn("empty session file of the agent stays", "err", err)
		}
	}
}

// clear makes a session fit to be loaded: a file that is named by this minute
// gets an earlier name. Where that cannot be done the minute is waited for.
func (s store) clear(ctx context.Context, cfg Config, id string, log *slog.Logger) {
	const layout = "2006-01-02T15-04"
	if !s.Minutes {
		return
	}
	s.sweep(cfg, id, log)
	now := time.Now().UTC()
	for _, f := range s.find(cfg, id) {
		dir, name := filepath.Split(f)
		for _, t := range []time.Time{now, now.Add(time.Minute)} { // it may end meanwhile
			was := t.Format(layout)
			if !strings.Contains(name, was) {
				continue
			}
			err := rename(dir, name, was, t.Add(-2*time.Minute).Format(layout))
			if err == nil {
				break
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
func rename(dir, name, was, is string) error {
	to := filepath.Join(dir, strings.Replace(name, was, is, 1))
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fs.ErrExist, err)
	}
	return os.Rename(filepath.Join(dir, name), to)
}

// content reports whether a file has something of a conversation in it. What
// cannot be read or understood counts as that.
func (s store) content(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return true
	}
	defer f.Close()
	var said []string // ids of messages
	for lines := proc.NewLineReader(f, 0); ; {
		line, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			return len(said) > 0
		case err != nil || line.Cut:
			return true
		case len(bytes.TrimSpace(line.Data)) == 0:
			continue
		}
		var e entry
		if json.Unmarshal(line.Data, &e) != nil || !e.known() {
			return true
		}
		said = e.after(said, s.Context)
	}
}

// entry is a line of a session's file: a message, a change, the withdrawal of
// all messages from one on, or what the file is.
type entry struct {
	Session string  `json:"sessionId"`
	Rewind  *string `json:"$rewindTo"`
	Changes *struct {
		Messages []kept `json:"messages"`
	} `json:"$set"`
	kept
}

// kept is a message as it is kept.
type kept struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`
}

func (e entry) known() bool {
	return e.Session != "" || e.Rewind != nil || e.Changes != nil || e.Type != ""
}

// after is what is said after a line, given what was before. A message with
// the context in it is nobody's.
func (e entry) after(said []string, context string) []string {
	if e.Rewind != nil {
		return said[:max(0, slices.Index(said, *e.Rewind))]
	}
	messages := []kept{e.kept}
	if e.Changes != nil {
		messages = e.Changes.Messages
	}
	for _, m := range messages {
		if m.Type != "" && (m.Type != "user" || !bytes.Contains(m.Content, []byte(context))) {
			said = append(said, m.ID)
		}
	}
	return said
}

package inbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"cligate/internal/folder"
)

// rounds is how often the folders are looked after while nothing comes in.
const rounds = 6 * time.Hour

// Run looks after the folders until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(rounds)
	defer tick.Stop()
	for {
		for _, dir := range k.cfg.Folders {
			k.tidy(dir, time.Now())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// kept is a file of an inbox.
type kept struct {
	name string // in the inbox
	size int64
	at   time.Time
}

// list returns the files of an inbox. Links are files here, and are never
// followed.
func list(root *os.Root) ([]kept, error) {
	var all []kept
	err := fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return nil //nolint:nilerr // it went meanwhile
		}
		all = append(all, kept{name, info.Size(), info.ModTime()})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look through the inbox: %w", err)
	}
	return all, nil
}

// tidy removes files that are too old, and the oldest while there are too many.
// An inbox that is not there is not made.
func (k *Keeper) tidy(workspace string, now time.Time) {
	root, err := folder.Find(workspace, Inbox)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var all []kept
	if err == nil {
		defer root.Close()
		all, err = list(root)
	}
	if err != nil {
		k.log.Warn("inbox not tidied", "workspace", workspace, "err", err)
		return
	}
	removed := 0
	for _, f := range tooMuch(all, k.cfg, now) {
		if err := root.Remove(f.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			k.log.Warn("file of the inbox not removed", "workspace", workspace, "err", err)
			continue
		}
		removed++
		if dir := path.Dir(f.name); dir != "." {
			_ = root.Remove(dir) // the day, when it is empty
		}
	}
	if removed > 0 {
		k.log.Info("removed files from an inbox", "workspace", workspace, "files", removed)
	}
}

// abandoned is when a file that is not finished never will be.
const abandoned = time.Hour

// fresh is how long a file stays, whatever room is left: its turn is about to
// read it.
const fresh = 10 * time.Minute

// tooMuch chooses what is removed.
func tooMuch(all []kept, c Config, now time.Time) (gone []kept) {
	var stay []kept
	var total int64
	for _, f := range all {
		age := now.Sub(f.at)
		half := strings.HasPrefix(path.Base(f.name), unfinished)
		switch {
		case half && age > abandoned, c.Keep > 0 && age > c.Keep:
			gone = append(gone, f)
		case !half:
			total += f.size
			stay = append(stay, f)
		}
	}
	if c.TotalMax <= 0 || total <= c.TotalMax {
		return gone
	}
	slices.SortStableFunc(stay, func(a, b kept) int { return a.at.Compare(b.at) })
	for _, f := range stay {
		if total <= c.TotalMax || now.Sub(f.at) < fresh {
			break
		}
		total -= f.size
		gone = append(gone, f)
	}
	return gone
}

package files

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"time"

	"cligate/internal/chat"
	"cligate/internal/folder"
)

// spared is how long a turn's folder stays whatever its session: nobody knows
// here whether the turn still runs.
const spared = 24 * time.Hour

// Tidy removes what is too old of all sessions of a workspace: those that no
// turn comes to any more, too. Nothing that is there is followed out of the
// folder, and what we have not named stays.
func (b *Box) Tidy(workspace string) {
	if b.cfg.Keep <= 0 {
		return
	}
	out, err := folder.Find(workspace, "out")
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		b.cfg.Log.Debug("old files of agents are not looked for", "err", err)
		return
	}
	defer out.Close()
	age := max(b.cfg.Keep, spared)
	for _, e := range entries(out) {
		if e.Name() != place(chat.Session{Seed: e.Name()})[len("out/"):] || !e.IsDir() {
			continue
		}
		idle := older(e, age) // before what is in it goes
		if own, err := folder.Find(workspace, "out/"+e.Name()); err == nil {
			b.expire(own, age)
			_ = own.Close()
		}
		if idle {
			b.making.Lock()
			_ = out.Remove(e.Name()) // only an empty folder goes so
			b.making.Unlock()
		}
	}
}

// expire removes the folders of a session's turns that are too old.
func (b *Box) expire(own *os.Root, age time.Duration) {
	for _, e := range entries(own) {
		if _, err := strconv.ParseInt(e.Name(), 10, 64); err == nil && e.IsDir() && older(e, age) {
			b.remove(own, e.Name())
		}
	}
}

// tidy removes the folders of a session's turns before this one: the empty
// ones, and those that are too old.
func (b *Box) tidy(own *os.Root, turn int64) {
	for _, e := range entries(own) {
		n, err := strconv.ParseInt(e.Name(), 10, 64)
		if err != nil || n >= turn || !e.IsDir() {
			continue
		}
		if own.Remove(e.Name()) == nil || b.cfg.Keep <= 0 { // only an empty folder goes so
			continue
		}
		if older(e, b.cfg.Keep) {
			b.remove(own, e.Name())
		}
	}
}

func (b *Box) remove(own *os.Root, name string) {
	if err := own.RemoveAll(name); err != nil {
		b.cfg.Log.Debug("old files of an agent stay", "err", err)
	}
}

// entries are what lies in a folder, as far as it can be read.
func entries(root *os.Root) []fs.DirEntry {
	dir, err := root.Open(".")
	if err != nil {
		return nil
	}
	defer dir.Close()
	all, _ := dir.ReadDir(-1)
	return all
}

func older(e fs.DirEntry, age time.Duration) bool {
	i, err := e.Info()
	return err == nil && time.Since(i.ModTime()) > age
}

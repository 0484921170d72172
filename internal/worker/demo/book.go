package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
)

// book is a session's file: one JSON line for each thing that was said. Lines
// are only added, each by one write, so a kill costs at most the last line.
type book struct {
	id    string
	path  string
	lines []entry
	hold  *os.File // keeps others from taking the session for unused
}

// entry is one line of a book.
type entry struct {
	Role string `json:"role"` // user, agent
	Text string `json:"text"`
	Word string `json:"word,omitempty"` // what the session remembers from here on
}

const (
	roleUser    = "user"
	roleAgent   = "agent"
	roleOverlap = "overlap" // two processes had the session open at a time
)

// kind is the update in which the entry is replayed.
func (e entry) kind() string {
	if e.Role == roleUser {
		return "user_message_chunk"
	}
	return "agent_message_chunk"
}

// openBook makes the file of a new session, or reads the one of an old one. An
// unknown id is fs.ErrNotExist.
func openBook(dir, id string, load bool) (*book, error) {
	if !load {
		id = uuid.NewString()
	} else if uuid.Validate(id) != nil { // an id becomes a file name
		return nil, fs.ErrNotExist
	}
	b := &book{id: id, path: filepath.Join(dir, id+".jsonl")}
	if !load {
		f, err := os.OpenFile(b.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("file of the session: %w", err)
		}
		return b, errors.Join(f.Close(), b.take())
	}
	raw, err := os.ReadFile(b.path)
	if err != nil {
		return nil, fmt.Errorf("file of the session: %w", err)
	}
	for line := range bytes.Lines(raw) {
		var e entry
		if json.Unmarshal(line, &e) == nil && (e.Role == roleUser || e.Role == roleAgent) { // the last line may be torn
			b.lines = append(b.lines, e)
		}
	}
	return b, b.take()
}

// take holds the session until the process ends. It does not keep a second one
// out, but the book tells of it: their lines may be mixed up.
func (b *book) take() (err error) {
	if b.hold, err = os.Open(b.path); err != nil {
		return fmt.Errorf("file of the session: %w", err)
	}
	if err := unix.Flock(int(b.hold.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return b.write(entry{Role: roleOverlap, Text: fmt.Sprintf("process %d: %v", os.Getpid(), err)})
	}
	return nil
}

// add writes down what was said.
func (b *book) add(e entry) error {
	if err := b.write(e); err != nil {
		return err
	}
	b.lines = append(b.lines, e)
	return nil
}

// write puts an entry on the disk.
func (b *book) write(e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(b.path, os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("file of the session: %w", err)
	}
	if torn(f) { // a kill cut the last line
		line = append([]byte{'\n'}, line...)
	}
	_, err = f.Write(append(line, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("file of the session: %w", err)
	}
	return nil
}

// torn reports whether the file does not end with a line feed.
func torn(f *os.File) bool {
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return false
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, st.Size()-1)
	return err == nil && last[0] != '\n'
}

// word is what the session remembers.
func (b *book) word() string {
	for i := len(b.lines) - 1; i >= 0; i-- {
		if w := b.lines[i].Word; w != "" {
			return w
		}
	}
	return ""
}

// turns is how many prompts the session has had.
func (b *book) turns() (n int) {
	for _, e := range b.lines {
		if e.Role == roleUser {
			n++
		}
	}
	return n
}

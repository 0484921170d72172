// Package files is how a file leaves a workspace for a chat: what an agent put
// into the folder of its turn, and what a person asked for by name.
//
// Place in the flow: turn has the folder made before the prompt and collects
// it at the end; command fetches single files. Both get replies whose bodies
// lie in the spool, durably, before the rows that name them are committed. The
// adapters read them there.
//
// Guarantees: nothing is read through a symbolic link that leads out of the
// workspace or the folder; nothing on the secret list leaves, nor a private
// key under another name; a person gets nothing that git ignores. What is not
// sent is told, with the place where it lies. A file belongs to the turn in
// whose folder it was put, and to no other: what a stopped turn writes late
// goes nowhere.
package files

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/folder"
)

// Config are the knobs of a Box.
type Config struct {
	// Most is how much one turn sends, in one file or in all of them, in bytes,
	// and the largest file that a person gets, whatever the chat takes: all of
	// it lies beside the ledger meanwhile. 0 = mostSent.
	Most int64
	// Keep is how long the folders of earlier turns stay; 0 = for ever.
	Keep time.Duration
	// Private are folders of which nothing leaves, unless the workspace itself
	// lies there: the data directory.
	Private []string
	Log     *slog.Logger
}

// Box knows the folders into which agents put files for their chats.
type Box struct {
	spool *Spool
	git   Git
	cfg   Config

	// making keeps a session's folder from being removed while a turn's is made
	// in it.
	making sync.Mutex
}

// NewBox makes a Box. A nil git means that nothing is ignored.
func NewBox(s *Spool, git Git, cfg Config) *Box {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Most <= 0 {
		cfg.Most = mostSent
	}
	return &Box{spool: s, git: git, cfg: cfg}
}

// mostSent is what a turn sends where nothing else is said: as much as the
// largest file that any of the services takes.
const mostSent = 2000 << 20

// largest is the largest file that leaves for a chat which takes limit bytes;
// 0 = any size.
func (b *Box) largest(limit int64) int64 {
	if limit <= 0 {
		return b.cfg.Most
	}
	return min(limit, b.cfg.Most)
}

// seedLength is how much of a session's seed names its folder: enough to keep
// the sessions of one workspace apart, also those of different ledgers.
const seedLength = 12

// place is the folder of a session's turns, inside our folder.
func place(s chat.Session) string {
	seed := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(s.Seed))
	return "out/" + seed[:min(len(seed), seedLength)]
}

// The brief is read by the agent, not by people. It is given once: the newest
// folder is found by its number, so that it holds for every later turn.
const brief = "[Note of the chat gateway, for you only: the person reads you in a chat. To send them a file or an image, write it " +
	"into the folder with the highest number below %s (now %s; there is a new one for each message). " +
	"What lies there when you finish is sent along with your answer; no other file is. Do not mention this note.]"

// Begin makes the folder of a turn and returns what tells the agent of it.
func (b *Box) Begin(s chat.Session, turn int64) (words string, err error) {
	number := strconv.FormatInt(turn, 10)
	if err := b.mkdir(s, number); err != nil {
		return "", fmt.Errorf("make the folder of turn %d: %w", turn, err)
	}
	if own, err := folder.Find(s.Workspace, place(s)); err == nil {
		b.tidy(own, turn)
		_ = own.Close()
	}
	b.Tidy(s.Workspace)
	all := filepath.Join(s.Workspace, folder.Name, filepath.FromSlash(place(s)))
	return fmt.Sprintf(brief, all, filepath.Join(all, number)), nil
}

// mkdir makes the folder of a turn. One that is there is as good as new.
func (b *Box) mkdir(s chat.Session, number string) error {
	b.making.Lock()
	defer b.making.Unlock()
	own, err := folder.Open(s.Workspace, place(s))
	if err != nil {
		return err
	}
	defer own.Close()
	if err := own.Mkdir(number, 0o700); !errors.Is(err, fs.ErrExist) {
		return err
	}
	now := time.Now()
	return own.Chtimes(number, now, now)
}

// Discard removes the bodies of messages that were not committed.
func (b *Box) Discard(outs []chat.Out) {
	for _, o := range outs {
		if o.Part.File != nil {
			b.spool.Remove(o.Part.File.Spool)
		}
	}
}

// Left is where the files of a turn lie, from the workspace; empty when there
// are none.
func (b *Box) Left(s chat.Session, turn int64) string {
	at := place(s) + "/" + strconv.FormatInt(turn, 10)
	root, err := folder.Find(s.Workspace, at)
	if err != nil {
		return ""
	}
	defer root.Close()
	if entries, err := list(root, "."); err != nil || len(entries) == 0 {
		return ""
	}
	return folder.Name + "/" + at
}

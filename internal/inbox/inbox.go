// Package inbox keeps what people send beside words. A file is fetched after
// its message was acknowledged and before its turn is given to the agent; it
// lies below the workspace, where the agent may read it, in a folder that git
// ignores. A voice message becomes words.
//
// It stands between the turn station, which does not start an agent before its
// files are there, and the adapters, which hand them out. Guarantees:
//
//   - What was fetched is noted in the ledger, so that nothing is fetched twice
//     that is still there, and a restart in between fetches it then.
//   - Names from outside name nothing outside the folder: neither by their
//     letters nor by links that an agent laid there.
//   - A file that cannot be had is told to its sender, once, and marked in the
//     prompt. The rest of the message runs; where nothing is left, the end of
//     the turn is what tells it.
//   - Nothing grows without bounds: one file, the folder, the time for it.
package inbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"cligate/internal/chat"
)

// Source hands out files.
type Source interface {
	// Fetch writes the file of an account to w. chat.Full: it is larger than
	// the service hands out. chat.Network and chat.Wait: later it may work.
	Fetch(ctx context.Context, account string, f chat.FileRef, w io.Writer) error
}

// Ear turns speech into words.
type Ear interface {
	// Hear returns the words of a recording. chat.Full: it is longer or larger
	// than is taken.
	Hear(ctx context.Context, file chat.FileRef) (string, error)
}

// Ledger keeps what became of files.
type Ledger interface {
	// KeepFiles replaces those files of a turn's input, and of the messages
	// that it is made from, that have the same ID, adds those that came with one
	// of them (chat.FileRef.Of) behind it, and returns the input as it is then. chat.Conflict: the turn is over.
	KeepFiles(ctx context.Context, turn int64, files []chat.FileRef) (chat.Input, error)
}

// Voice says something outside a turn; a known key is not said again.
type Voice interface {
	Say(ctx context.Context, p chat.Place, key string, rs ...chat.Reply) error
}

// Config are the knobs of a Keeper.
type Config struct {
	FileMax  int64         // bytes of one file; 0 = any
	Keep     time.Duration // a file is removed when it is older; 0 = never
	TotalMax int64         // bytes of one workspace's folder, beyond which the oldest files go; 0 = any
	Folders  []string      // workspaces that are looked after while nothing comes in
	Log      *slog.Logger
}

// Validate reports what is wrong with c.
func (c Config) Validate() error {
	if c.FileMax < 0 || c.TotalMax < 0 || c.Keep < 0 {
		return fmt.Errorf("inbox: a limit is negative: file %d, total %d, keep %v", c.FileMax, c.TotalMax, c.Keep)
	}
	return nil
}

// Deps is what a Keeper works with.
type Deps struct {
	Source Source
	Ear    Ear // nil = there is none
	Ledger Ledger
	Voice  Voice
}

// Keeper is the station.
type Keeper struct {
	Deps
	cfg Config
	log *slog.Logger

	mu   sync.Mutex
	busy map[int64]chan struct{} // by turn; closed when whoever works on it is done
}

// New makes a Keeper.
func New(d Deps, cfg Config) (*Keeper, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Keeper{Deps: d, cfg: cfg, log: cfg.Log, busy: map[int64]chan struct{}{}}, nil
}

// Order is a turn whose files are wanted.
type Order struct {
	Turn      chat.Turn
	Workspace string // absolute
	Lang      string // of what is said about files
}

// Prepare fetches what belongs to a turn and is not there yet and returns the
// input that the agent is to get. Whoever comes second waits for the first. An
// error with code chat.Nothing means that the input is empty without what could
// not be had, and its detail says why, for the caller to say; the end of ctx is
// returned as its cause.
func (k *Keeper) Prepare(ctx context.Context, o Order) (chat.Input, error) {
	if !o.Turn.Input.HasFiles() {
		return o.Turn.Input, nil
	}
	leave, err := k.enter(ctx, o.Turn.ID)
	if err != nil {
		return chat.Input{}, err
	}
	defer leave()
	in, err := k.Ledger.KeepFiles(ctx, o.Turn.ID, nil) // it may have been edited
	if err != nil {
		return in, fmt.Errorf("read the files of turn %d: %w", o.Turn.ID, err)
	}
	in.Recap = o.Turn.Input.Recap
	t := teller{Keeper: k, order: o}
	if wordless(in) {
		t.held = &notes{}
	}
	for files := all(in); len(files) > 0; {
		news := t.gather(ctx, files)
		if len(news) == 0 {
			break
		}
		if in, err = k.Ledger.KeepFiles(context.WithoutCancel(ctx), o.Turn.ID, news); err != nil {
			return in, fmt.Errorf("note the files of turn %d: %w", o.Turn.ID, err)
		}
		in.Recap = o.Turn.Input.Recap
		files = brought(news)
	}
	switch {
	case ctx.Err() != nil:
		return in, context.Cause(ctx)
	case empty(in):
		return in, chat.E(chat.Nothing, t.release(ctx, true), errors.New("no words and no files"))
	}
	t.release(ctx, false)
	return in, nil
}

// all are the files of an input.
func all(in chat.Input) (files []chat.FileRef) {
	for _, p := range in.Pieces {
		files = append(files, p.Files...)
	}
	return files
}

// brought are those files of news that a quotation brought and that nobody has
// seen to yet.
func brought(news []chat.FileRef) (files []chat.FileRef) {
	for _, f := range news {
		if f.Of != "" && f.Path == "" && f.Lost == "" {
			files = append(files, f)
		}
	}
	return files
}

// wordless reports whether an input has nothing but files.
func wordless(in chat.Input) bool {
	return !slices.ContainsFunc(in.Pieces, func(p chat.Piece) bool { return p.Text != "" || p.Quote != "" })
}

// empty reports whether an agent would have nothing to work on: files that are
// not here are no message.
func empty(in chat.Input) bool {
	for _, p := range in.Pieces {
		if p.Text != "" || p.Quote != "" {
			return false
		}
		for _, f := range p.Files {
			if f.Path != "" || f.Heard != "" {
				return false
			}
		}
	}
	return true
}

// enter waits until nobody else works on a turn.
func (k *Keeper) enter(ctx context.Context, turn int64) (leave func(), err error) {
	for {
		k.mu.Lock()
		other := k.busy[turn]
		if other == nil {
			mine := make(chan struct{})
			k.busy[turn] = mine
			k.mu.Unlock()
			return func() {
				k.mu.Lock()
				delete(k.busy, turn)
				k.mu.Unlock()
				close(mine)
			}, nil
		}
		k.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

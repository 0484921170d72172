package inbox

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"cligate/internal/chat"
	"cligate/internal/fault"
)

const (
	// atOnce is how many files of one turn are fetched side by side.
	atOnce = 4
	// tries is how often a file is asked for, when it may work later.
	tries = 4
	// patience bounds the wait that a service asks for between two tries.
	patience = time.Minute
	// firstPause doubles from try to try.
	firstPause = 500 * time.Millisecond
)

// gather fetches those of files that are not there and returns those about
// which something new is known. It tells what cannot be had.
func (t teller) gather(ctx context.Context, files []chat.FileRef) []chat.FileRef {
	var mu sync.Mutex
	var news []chat.FileRef
	var work errgroup.Group
	work.SetLimit(atOnce)
	seen := map[string]bool{}
	for _, f := range files {
		if seen[f.ID] {
			continue
		}
		seen[f.ID] = true
		work.Go(func() error {
			now, more := t.see(ctx, f)
			if ctx.Err() == nil && now != f {
				mu.Lock()
				defer mu.Unlock()
				news = append(append(news, now), more...)
			}
			return nil
		})
	}
	_ = work.Wait() // none fails
	return news
}

// see sees to one file or quotation; more is what that brought.
func (t teller) see(ctx context.Context, f chat.FileRef) (now chat.FileRef, more []chat.FileRef) {
	if f.Kind == chat.MediaQuote {
		return t.quotation(ctx, f)
	}
	return t.one(ctx, f), nil
}

// one sees to one file and returns what is known about it then.
func (t teller) one(ctx context.Context, f chat.FileRef) chat.FileRef {
	fault.Hit(fault.FileFetching)
	if f.Heard != "" && (f.Kind == chat.MediaVoice || there(f.Path)) {
		return f
	}
	if f.Kind == chat.MediaVoice && t.Ear == nil {
		return t.lost(ctx, f, chat.E(chat.Unsupported, "", errDeaf))
	}
	if !there(f.Path) {
		f.Path = ""
		kept, err := t.fetch(ctx, t.order, f)
		switch {
		case ctx.Err() != nil:
			return f
		case err != nil:
			return t.lost(ctx, f, err)
		}
		f = kept
		fault.Hit(fault.FileFetched)
	}
	f.Lost = ""
	if t.Ear == nil || f.Heard != "" || (f.Kind != chat.MediaVoice && f.Kind != chat.MediaAudio) {
		return f
	}
	return t.hear(ctx, f)
}

var errDeaf = errors.New("nothing here understands speech")

// hear fills in the words of a recording. One that nobody could understand is
// still a file, except a voice message.
func (t teller) hear(ctx context.Context, f chat.FileRef) chat.FileRef {
	words, err := t.Ear.Hear(ctx, f)
	switch {
	case ctx.Err() != nil:
		return f
	case err != nil && f.Kind == chat.MediaAudio:
		t.log.InfoContext(ctx, "recording not understood", "turn", t.order.Turn.ID, "err", err)
		return f
	case err != nil:
		return t.unheard(ctx, f, err)
	}
	f.Heard = words
	t.heard(ctx, f)
	return f
}

// there reports whether a file that was fetched before is still in its place.
func there(path string) bool {
	if path == "" {
		return false
	}
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// fetch gets a file and lays it into the workspace's folder.
func (k *Keeper) fetch(ctx context.Context, o Order, f chat.FileRef) (chat.FileRef, error) {
	if k.cfg.FileMax > 0 && f.Size > k.cfg.FileMax {
		return f, errOverLimit
	}
	d, err := openDay(o.Workspace, time.Now())
	if err != nil {
		return f, err
	}
	defer d.close()
	kept := f
	err = k.persist(ctx, o, func() (err error) {
		kept, err = k.attempt(ctx, o, d, f)
		return err
	})
	if err != nil {
		return f, err
	}
	k.tidy(o.Workspace, time.Now())
	return kept, nil
}

// persist does something until it works, or is of no use.
func (k *Keeper) persist(ctx context.Context, o Order, do func() error) error {
	pause := firstPause
	for try := 1; ; try++ {
		err := do()
		if err == nil {
			return nil
		}
		var e *chat.Error
		if ctx.Err() != nil || try == tries || !errors.As(err, &e) || (e.Code != chat.Network && e.Code != chat.Wait) || e.After > patience {
			return err
		}
		k.log.InfoContext(ctx, "file not fetched yet", "turn", o.Turn.ID, "try", try, "err", err)
		select {
		case <-time.After(max(pause, e.After)):
		case <-ctx.Done():
		}
		pause *= 2
	}
}

// attempt is one try.
func (k *Keeper) attempt(ctx context.Context, o Order, d *day, f chat.FileRef) (chat.FileRef, error) {
	part, err := d.begin()
	if err != nil {
		return f, err
	}
	defer part.drop()
	part.limit = k.cfg.FileMax
	if err := k.Source.Fetch(ctx, o.Turn.Place.Account, f, part); err != nil {
		if part.over {
			return f, errOverLimit
		}
		return f, err
	}
	return part.keep(f)
}

// errOverLimit says that a file is larger than the operator wants.
var errOverLimit = &chat.Error{Code: chat.Full, Err: errors.New("larger than the configured limit")}

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"cligate/internal/chat"
)

// Health is what the ledger tells about itself.
type Health struct {
	OK     bool
	Detail string    // one sentence for the operator, empty when OK
	Since  time.Time // of the last change
}

// space watches the room on the disk. A ballast file is kept for the day the
// disk is full: giving it up leaves room to bring to an end, and to tell, what
// was accepted. From then on nothing new is taken, until there is room for the
// ballast again.
type space struct {
	path  string
	size  int64 // of the ballast, ≤ 0 = none
	every time.Duration
	log   *slog.Logger
	now   func() time.Time

	mu    sync.Mutex
	state Health

	retry *time.Ticker // runs while the disk is full; the writer's own
	tell  chan Health
	wg    sync.WaitGroup
}

func newSpace(path string, cfg Config) *space {
	s := &space{
		path: path, size: cfg.Ballast, every: cfg.Recheck, log: cfg.Log, now: cfg.Now,
		state: Health{OK: true, Since: cfg.Now()}, tell: make(chan Health, 16),
	}
	s.wg.Go(func() {
		for h := range s.tell {
			if cfg.OnHealth != nil {
				cfg.OnHealth(h)
			}
		}
	})
	return s
}

// start makes the ballast. Without room for it the ledger starts as it would
// go on: taking nothing new.
func (s *space) start() {
	if err := s.keep(); err != nil {
		s.turn(false, err)
	}
}

func (s *space) close() {
	if s.retry != nil {
		s.retry.Stop()
	}
	close(s.tell)
	s.wg.Wait()
}

func (s *space) health() Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// refuse returns the error for new messages while the disk is full.
func (s *space) refuse() error {
	if s.health().OK {
		return nil
	}
	return chat.E(chat.Unavailable, "the disk is full", nil)
}

// full notes that a write found no room and gives the ballast up. It reports
// whether that can have helped.
func (s *space) full(cause error) bool {
	err := os.Remove(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Error("give up the ballast", "err", err)
	}
	s.turn(false, cause)
	return err == nil
}

// again is when to look whether there is room again; never while all is well.
func (s *space) again() <-chan time.Time {
	if s.retry == nil {
		return nil
	}
	return s.retry.C
}

// resume takes up work again when there is room for the ballast and for what
// probe writes.
func (s *space) resume(probe func() error) {
	// Twice the size: with the ballast there must still be room to work.
	if free := freeSpace(filepath.Dir(s.path)); s.size > 0 && free >= 0 && free < 2*s.size {
		return
	}
	if err := s.keep(); err != nil {
		s.log.Debug("no room for the ballast yet", "err", err)
		return
	}
	if err := probe(); err != nil {
		s.log.Debug("the ledger cannot be written yet", "err", err)
		if isNoSpace(err) {
			s.full(err)
		}
		return
	}
	s.turn(true, nil)
}

// turn changes the state and tells it.
func (s *space) turn(ok bool, cause error) {
	s.mu.Lock()
	changed := s.state.OK != ok
	if changed {
		s.state = Health{OK: ok, Since: s.now()}
		if !ok {
			s.state.Detail = fmt.Sprintf("the disk is full: new messages are not taken until %d MiB are free", 2*max(s.size, 0)>>20+1)
		}
	}
	h := s.state
	s.mu.Unlock()
	if !changed {
		return
	}
	if ok {
		s.log.Info("the disk has room again; taking messages")
		s.retry.Stop()
		s.retry = nil
	} else {
		s.log.Error("the disk is full; taking no new messages", "err", cause)
		s.retry = time.NewTicker(s.every)
	}
	select {
	case s.tell <- h:
	default: // a listener that is 16 changes behind is told by Health
	}
}

// keep makes sure that the ballast is there in its full size, in real blocks.
func (s *space) keep() error {
	if s.size <= 0 {
		return nil
	}
	if fi, err := os.Stat(s.path); err == nil && fi.Size() == s.size {
		return nil
	}
	f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("make the ballast: %w", err)
	}
	err = fill(f, s.size)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("make the ballast: %w", err), os.Remove(s.path))
	}
	return nil
}

func fill(f *os.File, size int64) error {
	err := allocate(f.Fd(), size)
	if err == nil || isNoSpace(err) {
		return err
	}
	zeros := make([]byte, 1<<16)
	for left := size; left > 0; left -= int64(len(zeros)) {
		if _, err := f.Write(zeros[:min(left, int64(len(zeros)))]); err != nil {
			return err
		}
	}
	return f.Sync()
}

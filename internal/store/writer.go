package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"cligate/internal/chat"
)

// batchLimit is how many requests may share one commit.
const batchLimit = 256

// houseKeeping is how often the log is emptied and free pages are given back.
const houseKeeping = time.Hour

// settled is how long after the start the log gets its room: a start has more
// urgent things to write.
const settled = time.Second

// request is one write. Its fate is decided by whoever takes it first: the
// writer, or the caller who stops waiting.
type request struct {
	fn     func(context.Context, *tx) error
	intake bool // comes from outside; refused while the disk is full
	taken  atomic.Bool
	err    error
	done   chan struct{}
}

// writer owns the only connection that writes. Everything that was asked for
// while a commit was under way shares the next one.
type writer struct {
	pool  *sql.DB
	conn  *sql.Conn
	now   func() time.Time
	log   *slog.Logger
	space *space
	wal   string // the file of SQLite's write-ahead log

	queue chan *request
	stop  chan struct{}
	once  sync.Once
	over  chan struct{} // closed when the loop has ended
	end   error         // of the loop; read after over
}

func newWriter(pool *sql.DB, conn *sql.Conn, sp *space, wal string, cfg Config) *writer {
	return &writer{
		pool: pool, conn: conn, now: cfg.Now, log: cfg.Log, space: sp, wal: wal,
		queue: make(chan *request, batchLimit), stop: make(chan struct{}), over: make(chan struct{}),
	}
}

// do waits until r is durable or refused. When ctx ends before the writer took
// r, nothing is written; after that the outcome is waited for.
func (w *writer) do(ctx context.Context, r *request) error {
	if r.intake {
		if err := w.space.refuse(); err != nil {
			return err
		}
	}
	r.done = make(chan struct{})
	select {
	case <-w.stop:
		return errClosed()
	default:
	}
	select {
	case w.queue <- r:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.over:
		return errClosed()
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		if r.taken.CompareAndSwap(false, true) {
			return context.Cause(ctx)
		}
	case <-w.over:
		if r.taken.CompareAndSwap(false, true) {
			return errClosed()
		}
	}
	<-r.done
	return r.err
}

func errClosed() error { return chat.E(chat.Unavailable, "the ledger is closed", nil) }

// run is the writer's goroutine. It ends when stop is closed and what was
// queued by then is written.
func (w *writer) run(ctx context.Context) {
	defer close(w.over)
	defer w.space.close()
	tick := time.NewTicker(houseKeeping)
	defer tick.Stop()
	calm := time.NewTimer(settled)
	defer calm.Stop()
	for {
		select {
		case r := <-w.queue:
			w.batch(ctx, w.gather(r))
		case <-calm.C:
			w.reserve(ctx)
		case <-w.space.again():
			w.space.resume(func() error { return w.probe(ctx) })
		case <-tick.C:
			if err := w.keepHouse(ctx); err != nil {
				w.log.ErrorContext(ctx, "ledger house keeping", "err", err)
			}
			w.reserve(ctx)
		case <-w.stop:
			for {
				select {
				case r := <-w.queue:
					w.batch(ctx, w.gather(r))
					continue
				default:
				}
				break
			}
			w.end = w.finish(ctx)
			return
		}
	}
}

// reserve makes room for the log. Without it commits are slower, no more.
func (w *writer) reserve(ctx context.Context) {
	if !w.space.health().OK {
		return
	}
	if err := reserveLog(w.wal); err != nil {
		w.log.DebugContext(ctx, "no room reserved for the log", "err", err)
	}
}

// gather takes what is queued already, up to the limit of a batch.
func (w *writer) gather(first *request) []*request {
	rs := make([]*request, 0, 1+len(w.queue))
	take := func(r *request) {
		if r.taken.CompareAndSwap(false, true) {
			rs = append(rs, r)
		}
	}
	take(first)
	for len(rs) < batchLimit {
		select {
		case r := <-w.queue:
			take(r)
		default:
			return rs
		}
	}
	return rs
}

// batch writes rs and answers each of them.
func (w *writer) batch(ctx context.Context, rs []*request) {
	if len(rs) == 0 {
		return
	}
	err := w.commit(ctx, rs)
	// What is in flight was asked for before anybody knew: the reserve pays
	// for it.
	if isNoSpace(err) && w.space.full(err) {
		err = w.commit(ctx, rs)
	}
	var broke *breakError
	if len(rs) > 1 && (errors.As(err, &broke) || isNoSpace(err)) {
		// One of them spoiled the transaction of all: each for itself.
		for _, r := range rs {
			if err := w.commit(ctx, []*request{r}); err != nil {
				r.err = err
			}
		}
		err = nil
	}
	for _, r := range rs {
		if err != nil {
			r.err = err
		}
		close(r.done)
	}
}

// commit runs rs in one transaction. An error means that none of them is
// written; the error of a single request is noted in it.
func (w *writer) commit(ctx context.Context, rs []*request) error {
	if _, err := w.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		// Should an earlier rollback have failed, this is the next chance.
		return errors.Join(fmt.Errorf("begin: %w", err), w.rollback(ctx))
	}
	for _, r := range rs {
		if err := w.one(ctx, r, len(rs) > 1); err != nil {
			return errors.Join(&breakError{err}, w.rollback(ctx))
		}
	}
	if _, err := w.conn.ExecContext(ctx, "COMMIT"); err != nil {
		return errors.Join(fmt.Errorf("commit: %w", err), w.rollback(ctx))
	}
	return nil
}

// breakError is the error of a request that ended the transaction of all.
type breakError struct{ error }

// Unwrap returns the request's own error.
func (b *breakError) Unwrap() error { return b.error }

// one runs a request. Its own error undoes it alone: by a savepoint, or, when
// it is alone, with its transaction.
func (w *writer) one(ctx context.Context, r *request, shared bool) error {
	r.err = nil
	if shared {
		if _, err := w.conn.ExecContext(ctx, "SAVEPOINT one"); err != nil {
			return fmt.Errorf("savepoint: %w", err)
		}
	}
	err := r.fn(ctx, &tx{handle: w.conn, now: w.now()})
	if err != nil && (!shared || isBroken(err)) {
		return err
	}
	r.err = err
	if !shared {
		return nil
	}
	if err != nil {
		if _, err := w.conn.ExecContext(ctx, "ROLLBACK TO one"); err != nil {
			return fmt.Errorf("undo one: %w", err)
		}
	}
	if _, err := w.conn.ExecContext(ctx, "RELEASE one"); err != nil {
		return fmt.Errorf("release one: %w", err)
	}
	return nil
}

// rollback ends a transaction that SQLite may have ended by itself.
func (w *writer) rollback(ctx context.Context) error {
	_, err := w.conn.ExecContext(ctx, "ROLLBACK")
	if err != nil && w.idle() {
		return nil
	}
	return err
}

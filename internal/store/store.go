// Package store is the ledger: the only record of what was accepted, asked,
// answered and sent. It is SQLite in one file, and nobody else speaks SQL.
//
// Every station declares the part of the ledger that it uses; this package has
// one small type per part (DB.Inbox, DB.Turns, DB.Outbox …), one file each. It
// decides nothing: it checks that a state move is allowed, carries it out by
// compare-and-set, and keeps together what belongs together.
//
// Guarantees. A write returns after the commit that holds it is on stable
// storage (WAL, synchronous FULL); writes of concurrent callers share commits,
// and one that is refused takes no other with it. Reads run beside the writer
// and see every write that has returned. A stored body that was changed on
// disk is reported with the name of its row and never used. When the disk is
// full, new messages are refused and everything else goes on as long as the
// reserve lasts; nothing that was accepted is lost.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/migrations"
)

// Config says where the ledger lives.
type Config struct {
	Dir string // the data directory; made when missing
	Log *slog.Logger
	// Now is the clock; nil = time.Now.
	Now func() time.Time
	// Ballast is the size in bytes of the file that is given up when the disk
	// is full; 0 = 16 MiB, negative = none.
	Ballast int64
	// Recheck is how often a full disk is looked at again; 0 = 5 s.
	Recheck time.Duration
	// OnHealth is told every change of the health, in order, on a goroutine of
	// its own: it may write to the ledger. May be nil.
	OnHealth func(Health)
}

// Validate reports what is missing.
func (c Config) Validate() error {
	if c.Dir == "" {
		return errors.New("no data directory")
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Ballast == 0 {
		c.Ballast = 16 << 20
	}
	if c.Recheck <= 0 {
		c.Recheck = 5 * time.Second
	}
	return c
}

// DB is the open ledger. Its methods and those of its views may be called from
// any goroutine.
type DB struct {
	*core
	lock *lock
	once sync.Once
	err  error // of Close
}

// Open opens the ledger of the data directory, or makes it. It takes the lock
// of the directory, brings the schema up to date (an existing database is
// backed up first) and checks the file. Every error is one sentence that a
// person can act upon.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	return open(ctx, cfg, migrations.Files)
}

func open(ctx context.Context, cfg Config, steps fs.FS) (_ *DB, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	cfg = cfg.withDefaults()
	d := dir(cfg.Dir)
	if err := d.prepare(cfg.Log); err != nil {
		return nil, err
	}
	l, err := takeLock(d.lockFile())
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(explain(err), l.release())
		}
	}()
	if err := d.prepareFile(); err != nil {
		return nil, err
	}
	w, err := openWriter(ctx, cfg, d, steps)
	if err != nil {
		return nil, err
	}
	c := &core{w: w, readers: openReaders(d.file())}
	return &DB{core: c, lock: l}, nil
}

// Health says whether the ledger can take new messages.
func (db *DB) Health() Health { return db.w.space.health() }

// Close waits for the writes that were asked for, checkpoints, notes the clean
// end and gives the lock back. It may be called twice. Later calls of any
// method end with chat.Unavailable.
func (db *DB) Close() error {
	db.once.Do(func() {
		err := db.readers.Close() // first: a reader would hold the checkpoint up
		db.err = errors.Join(err, db.w.close(), db.lock.release())
	})
	return db.err
}

// core is what all views share.
type core struct {
	w       *writer
	readers *sql.DB
}

// readLimit bounds every read: a forgotten one would keep the log growing.
const readLimit = 2 * time.Second

// write runs fn in a transaction of the writer and returns when it is durable.
// fn may run more than once; it sets its results from scratch each time. An
// error of fn undoes what fn did, and nothing else.
func (c *core) write(ctx context.Context, fn func(context.Context, *tx) error) error {
	return explain(c.w.do(ctx, &request{fn: fn}))
}

// accept is write for what comes in from outside: it is refused while the disk
// is full, so that what was accepted before can come to its end.
func (c *core) accept(ctx context.Context, fn func(context.Context, *tx) error) error {
	return explain(c.w.do(ctx, &request{fn: fn, intake: true}))
}

// read runs fn on the read-only pool.
func (c *core) read(ctx context.Context, fn func(context.Context, handle) error) error {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	return explain(fn(ctx, c.readers))
}

// missing is the error for a row that is not there.
func missing(what string, id int64) error {
	return chat.E(chat.Missing, "", fmt.Errorf("no %s %d", what, id))
}

// conflict is the error for a compare-and-set that came too late.
func conflict(what string, id int64) error {
	return chat.E(chat.Conflict, "", fmt.Errorf("%s %d has moved on", what, id))
}

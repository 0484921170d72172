package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/mattn/go-sqlite3"

	"cligate/internal/fault"
)

const (
	metaClean = "clean_shutdown" // "1" between a clean end and the next start
	metaProbe = "space_probe"
)

// quickCheckLimit is the size above which a file that was closed cleanly is
// not checked at start, because that takes seconds.
const quickCheckLimit = 1 << 30

// openWriter opens the writing connection, brings the file up to date and
// starts the writer.
func openWriter(ctx context.Context, cfg Config, d dir, steps fs.FS) (_ *writer, err error) {
	// What the last start left behind may be the only free room there is.
	sp := newSpace(d.ballast(), cfg)
	pool := sql.OpenDB(writerConnector(d.file()))
	pool.SetMaxOpenConns(1)
	ctx = context.WithoutCancel(ctx) // a half-done start is worse than a late one
	defer func() {
		if err != nil {
			sp.close()
			err = errors.Join(err, pool.Close())
		}
	}()
	conn, err := pool.Conn(ctx)
	if isNoSpace(err) && sp.full(err) {
		conn, err = pool.Conn(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	w := newWriter(pool, conn, sp, d.log(), cfg)
	err = w.begin(ctx, d, steps)
	if isNoSpace(err) && sp.full(err) {
		err = w.begin(ctx, d, steps)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if sp.health().OK {
		sp.start()
	}
	// Ends by close: the loop's stop channel.
	go w.run(ctx)
	return w, nil
}

// begin checks the file, migrates it and notes that it is in use.
func (w *writer) begin(ctx context.Context, d dir, steps fs.FS) error {
	m := migrator{conn: w.conn, dir: d, log: w.log, now: w.now}
	fresh, err := m.inspect(ctx, steps)
	if err != nil {
		return err
	}
	if !fresh {
		if err := w.check(ctx, d.file()); err != nil {
			return err
		}
	}
	if err := m.run(ctx, fresh); err != nil {
		return err
	}
	return w.setMeta(ctx, metaClean, "0")
}

// check looks for damage: always after an unclean end, and after a clean one
// while that is quick.
func (w *writer) check(ctx context.Context, file string) error {
	clean, err := w.meta(ctx, metaClean)
	if err != nil {
		return fmt.Errorf("read the database: %w", err)
	}
	if fi, err := os.Stat(file); err == nil && clean == "1" && fi.Size() >= quickCheckLimit {
		w.log.InfoContext(ctx, "ledger is large and was closed cleanly; not checked", "bytes", fi.Size())
		return nil
	}
	if clean != "1" {
		w.log.WarnContext(ctx, "the last run did not end cleanly; checking the ledger")
	}
	return quickCheck(ctx, w.conn)
}

func quickCheck(ctx context.Context, h handle) error {
	said, err := list(ctx, h, value[string], "PRAGMA quick_check(5)")
	if err != nil {
		return fmt.Errorf("check the database: %w", err)
	}
	if len(said) == 1 && said[0] == "ok" {
		return nil
	}
	return sentence("the database is damaged (%q); move it away and restore a backup", said)
}

func (w *writer) meta(ctx context.Context, key string) (string, error) {
	all, err := list(ctx, w.conn, value[string], "SELECT value FROM meta WHERE key = ?", key)
	if err != nil || len(all) == 0 {
		return "", err
	}
	return all[0], nil
}

const putMeta = `INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`

func (w *writer) setMeta(ctx context.Context, key, val string) error {
	if _, err := w.conn.ExecContext(ctx, putMeta, key, val); err != nil {
		return fmt.Errorf("note %s: %w", key, err)
	}
	return nil
}

// probe finds out whether a write of some size is possible.
func (w *writer) probe(ctx context.Context) error {
	return w.commit(ctx, []*request{{fn: func(ctx context.Context, t *tx) error {
		if _, err := t.exec(ctx, "INSERT INTO meta (key, value) VALUES (?, hex(zeroblob(65536)))", metaProbe); err != nil {
			return err
		}
		_, err := t.exec(ctx, "DELETE FROM meta WHERE key = ?", metaProbe)
		return err
	}}})
}

// keepHouse empties the log, gives free pages back, and keeps what SQLite knows
// about the sizes of the tables up to date, which grow while we run.
func (w *writer) keepHouse(ctx context.Context) error {
	if _, err := w.conn.ExecContext(ctx, "PRAGMA incremental_vacuum(256)"); err != nil {
		return fmt.Errorf("give free pages back: %w", err)
	}
	if _, err := w.conn.ExecContext(ctx, "PRAGMA optimize"); err != nil {
		return fmt.Errorf("optimize: %w", err)
	}
	return w.checkpoint(ctx)
}

func (w *writer) checkpoint(ctx context.Context) error {
	fault.Hit(fault.Checkpoint)
	_, err := list(ctx, w.conn, func(r row) (bool, error) {
		var busy, log, done int64
		err := r.Scan(&busy, &log, &done)
		return busy != 0, err
	}, "PRAGMA wal_checkpoint(TRUNCATE)")
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// close lets the writer finish what is queued and waits for its end.
func (w *writer) close() error {
	w.once.Do(func() { close(w.stop) })
	<-w.over
	return w.end
}

// finish is the last thing that the writer does.
func (w *writer) finish(ctx context.Context) error {
	var errs []error
	if _, err := w.conn.ExecContext(ctx, "PRAGMA optimize"); err != nil {
		errs = append(errs, fmt.Errorf("optimize: %w", err))
	}
	errs = append(errs, w.setMeta(ctx, metaClean, "1"), w.checkpoint(ctx), w.conn.Close(), w.pool.Close())
	return errors.Join(errs...)
}

// idle reports whether no transaction is open.
func (w *writer) idle() bool {
	idle := false
	err := w.conn.Raw(func(c any) error {
		sc, ok := c.(*sqlite3.SQLiteConn)
		idle = ok && sc.AutoCommit()
		return nil
	})
	return err == nil && idle
}

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mattn/go-sqlite3"

	"cligate/internal/fault"
)

// Backup copies the ledger, as it is now, to a new file at path while work
// goes on. The copy is checked; it is there in full or not at all. Message
// bodies are in it: the file is for its owner only.
func (db *DB) Backup(ctx context.Context, path string) error {
	conn, err := db.readers.Conn(ctx)
	if err != nil {
		return explain(fmt.Errorf("back up: %w", err))
	}
	err = backup(ctx, conn, path)
	return explain(errors.Join(err, conn.Close()))
}

// backup copies the database behind src to path.
func backup(ctx context.Context, src *sql.Conn, path string) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the backup directory: %w", err)
	}
	part := path + ".part"
	defer func() {
		if err != nil {
			err = errors.Join(err, removeAll(part, part+"-journal", part+"-wal", part+"-shm"))
		}
	}()
	if err := removeAll(part, part+"-journal", part+"-wal", part+"-shm"); err != nil {
		return err
	}
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("make the backup: %w", err)
	}
	if err := errors.Join(copyTo(ctx, src, part), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	fault.Hit(fault.Checkpoint)
	if err := os.Rename(part, path); err != nil {
		return fmt.Errorf("name the backup: %w", err)
	}
	return syncDir(filepath.Dir(path))
}

// copyTo copies all pages in one step, which is one snapshot of the source,
// and checks the copy.
func copyTo(ctx context.Context, src *sql.Conn, path string) (err error) {
	db := sql.OpenDB(newConnector(path, nil, settings))
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	dest, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dest.Close()) }()
	err = src.Raw(func(s any) error {
		return dest.Raw(func(d any) error { return copyPages(d, s) })
	})
	if err != nil {
		return err
	}
	// One file, without a log beside it.
	if _, err := first(ctx, dest, value[string], "PRAGMA journal_mode = DELETE"); err != nil {
		return err
	}
	return quickCheck(ctx, dest)
}

func copyPages(dest, src any) error {
	d, ok1 := dest.(*sqlite3.SQLiteConn)
	s, ok2 := src.(*sqlite3.SQLiteConn)
	if !ok1 || !ok2 {
		return errors.New("not a connection of the SQLite driver")
	}
	b, err := d.Backup("main", s, "main")
	if err != nil {
		return err
	}
	done, err := b.Step(-1)
	if err == nil && !done {
		err = errors.New("the database is busy")
	}
	return errors.Join(err, b.Finish())
}

func removeAll(paths ...string) error {
	var errs []error
	for _, p := range paths {
		if err := os.Remove(p); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

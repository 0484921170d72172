package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"cligate/internal/fault"
)

// migrator brings the schema up to date: forward only, each step in one
// transaction together with its number, so that a kill leaves the old schema
// or the new one and nothing between.
type migrator struct {
	conn  *sql.Conn
	dir   dir
	log   *slog.Logger
	now   func() time.Time
	steps []step
	at    int // the schema of the file
}

type step struct {
	no   int
	name string
	text string
}

// inspect reads the steps and the schema of the file, and refuses what is not
// ours or newer than us. fresh means that the file is empty.
func (m *migrator) inspect(ctx context.Context, files fs.FS) (fresh bool, err error) {
	if m.steps, err = readSteps(files); err != nil {
		return false, err
	}
	app, err := first(ctx, m.conn, value[int64], "PRAGMA application_id")
	if err != nil {
		return false, fmt.Errorf("read the database: %w", err)
	}
	at, err := first(ctx, m.conn, value[int64], "PRAGMA user_version")
	if err != nil {
		return false, fmt.Errorf("read the database: %w", err)
	}
	tables, err := first(ctx, m.conn, value[int64], "SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return false, fmt.Errorf("read the database: %w", err)
	}
	m.at = int(at)
	switch {
	case app == 0 && at == 0 && tables == 0:
		return true, nil
	case app != appID:
		return false, sentence("%s is the database of another program; choose another data directory", m.dir.file())
	case m.at > len(m.steps):
		return false, sentence("%s was written by a newer cligate (schema %d, this one knows %d); install the newer cligate, or restore a backup from before the update",
			m.dir.file(), m.at, len(m.steps))
	}
	return false, nil
}

// run applies what is missing. An existing file is backed up before.
func (m *migrator) run(ctx context.Context, fresh bool) error {
	if m.at == len(m.steps) {
		return nil
	}
	if !fresh {
		name := fmt.Sprintf("cligate-schema%d-%s.db", m.at, m.now().UTC().Format("20060102-150405"))
		path := filepath.Join(string(m.dir), "backup", name)
		if err := backup(ctx, m.conn, path); err != nil {
			return fmt.Errorf("back up before the migration: %w", err)
		}
		m.log.InfoContext(ctx, "backed up before a migration", "backup", path, "schema", m.at)
	}
	for _, s := range m.steps[m.at:] {
		if err := m.apply(ctx, s); err != nil {
			return fmt.Errorf("migration %s: %w", s.name, err)
		}
	}
	return nil
}

func (m *migrator) apply(ctx context.Context, s step) error {
	if _, err := m.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	// The numbers are constants of ours; a pragma takes no parameters.
	end := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", appID, s.no)
	for _, text := range []string{s.text, end} {
		if _, err := m.conn.ExecContext(ctx, text); err != nil {
			_, undo := m.conn.ExecContext(ctx, "ROLLBACK")
			return errors.Join(err, undo)
		}
	}
	fault.Hit(fault.MigrationStep)
	if _, err := m.conn.ExecContext(ctx, "COMMIT"); err != nil {
		_, undo := m.conn.ExecContext(ctx, "ROLLBACK")
		return errors.Join(err, undo)
	}
	m.at = s.no
	return nil
}

// readSteps reads NNNN_name.sql files, which must be numbered from 1 without a
// gap.
func readSteps(files fs.FS) ([]step, error) {
	names, err := fs.Glob(files, "*.sql") // sorted
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	steps := make([]step, 0, len(names))
	for i, name := range names {
		digits, _, _ := strings.Cut(name, "_")
		if no, err := strconv.Atoi(digits); err != nil || no != i+1 {
			return nil, fmt.Errorf("migration %s is not number %d", name, i+1)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read migration: %w", err)
		}
		steps = append(steps, step{no: i + 1, name: name, text: string(text)})
	}
	return steps, nil
}

//go:build faults

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"cligate/internal/fault"
)

// killedAt runs a job that dies at a fault point.
func killedAt(t *testing.T, dir, job string, p fault.Point, hit int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir, childJob+"="+job, fmt.Sprintf("CLIGATE_FAULT=%s:%d", p, hit))
	cmd.Stderr = t.Output()
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("the child was not killed: %v", err)
	}
}

func TestKillInAMigrationLeavesTheOldSchemaOrTheNew(t *testing.T) {
	t.Parallel()
	for hit := 1; hit <= 2; hit++ {
		l := openTest(t)
		l.say(1)
		must(t, l.Close())
		killedAt(t, l.cfg.Dir, "update", fault.MigrationStep, hit)
		db := sqlOpen(filepath.Join(l.cfg.Dir, "cligate.db"))
		at := ok[int](t)(first(t.Context(), db, value[int], "PRAGMA user_version"))
		tables := ok[int](t)(first(t.Context(), db, value[int], "SELECT count(*) FROM sqlite_schema WHERE name IN ('two', 'tri')"))
		must(t, db.Close())
		if at != hit || tables != hit-1 {
			t.Errorf("killed in step %d: schema %d with %d of the new tables", hit+1, at, tables)
		}
		more, err := laterSteps()
		must(t, err)
		again := openWith(t, l.cfg.Dir, more)
		if c := ok[Counts](t)(again.Books().Counts(t.Context())); c.New != 1 {
			t.Errorf("%d messages", c.New)
		}
	}
	dir := t.TempDir() // the very first step
	killedAt(t, dir, "open", fault.MigrationStep, 1)
	openIn(t, Config{Dir: dir, Ballast: -1}).say(1)
}

func TestKillInACheckpointOrBackupLeavesThemWholeOrAbsent(t *testing.T) {
	t.Parallel()
	for _, job := range []string{"open", "backup"} {
		l := openTest(t)
		for i := range 30 {
			l.say(i)
		}
		must(t, l.Close())
		killedAt(t, l.cfg.Dir, job, fault.Checkpoint, 1)
		if _, err := os.Stat(filepath.Join(l.cfg.Dir, "copy.db")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("half a backup has the name of a whole one: %v", err)
		}
		again := openIn(t, l.cfg)
		if c := ok[Counts](t)(again.Books().Counts(t.Context())); c.New != 30 {
			t.Errorf("%d messages", c.New)
		}
		must(t, again.Backup(t.Context(), filepath.Join(l.cfg.Dir, "copy.db"))) // over what the kill left
		if _, err := os.Stat(filepath.Join(l.cfg.Dir, "copy.db.part")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("left over: %v", err)
		}
	}
}

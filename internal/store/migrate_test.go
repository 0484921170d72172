package store

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"cligate/internal/chat"
	"cligate/migrations"
)

// steps is the real migrations and more of them, as a later binary has them.
func steps(t *testing.T, more ...string) fstest.MapFS {
	t.Helper()
	all := fstest.MapFS{}
	names, err := fs.Glob(migrations.Files, "*.sql")
	must(t, err)
	for _, name := range names {
		b, err := fs.ReadFile(migrations.Files, name)
		must(t, err)
		all[name] = &fstest.MapFile{Data: b}
	}
	for i, text := range more {
		all[fmt.Sprintf("%04d_more.sql", len(names)+1+i)] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

func openWith(t *testing.T, dir string, files fs.FS) *ledger {
	t.Helper()
	db, err := open(t.Context(), Config{Dir: dir, Ballast: -1}, files)
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return &ledger{DB: db, t: t}
}

func (l *ledger) schema() []string {
	l.t.Helper()
	return ok[[]string](l.t)(list(l.t.Context(), l.readers, value[string],
		`SELECT type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%' ORDER BY type, name`))
}

func TestSchemaIsTheSameHoweverItWasReached(t *testing.T) {
	t.Parallel()
	more := []string{
		"ALTER TABLE meta ADD COLUMN more TEXT NOT NULL DEFAULT 'm'; CREATE INDEX i2 ON meta (more);",
		"CREATE TABLE extra (id INTEGER PRIMARY KEY) STRICT; INSERT INTO extra VALUES (1);",
	}
	whole := openWith(t, t.TempDir(), steps(t, more...))
	dir := t.TempDir()
	for n := range len(more) + 1 {
		l := openWith(t, dir, steps(t, more[:n]...))
		l.say(n)
		must(t, l.Close())
	}
	stepwise := openWith(t, dir, steps(t, more...))
	a, b := whole.schema(), stepwise.schema()
	if len(a) != len(b) || len(a) < 20 {
		t.Fatalf("%d objects from scratch, %d step by step", len(a), len(b))
	}
	for i := range a {
		if a[i] != b[i] {
			t.Errorf("from scratch: %s\nstep by step: %s", a[i], b[i])
		}
	}
	if c := ok[Counts](t)(stepwise.Books().Counts(t.Context())); c.New != 3 {
		t.Errorf("%d messages survived the migrations", c.New)
	}
	// Each step was preceded by a copy of what was there.
	copies, err := filepath.Glob(filepath.Join(dir, "backup", "cligate-schema*.db"))
	must(t, err)
	if len(copies) != 2 {
		t.Errorf("backups %v", copies)
	}
}

func TestFailedMigrationLeavesTheOldSchema(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := openWith(t, dir, steps(t))
	l.say(1)
	before := l.schema()
	must(t, l.Close())
	_, err := open(t.Context(), Config{Dir: dir, Ballast: -1}, steps(t, "CREATE TABLE half (x); CREATE TABLE meta (y);"))
	if err == nil {
		t.Fatal("a broken migration passed")
	}
	again := openWith(t, dir, steps(t))
	if after := again.schema(); len(after) != len(before) {
		t.Errorf("schema %v", after)
	}
	if c := ok[Counts](t)(again.Books().Counts(t.Context())); c.New != 1 {
		t.Errorf("%d messages", c.New)
	}
}

func TestBackupOfAnUpdateCanBeGoneBackTo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := openWith(t, dir, steps(t))
	l.say(1)
	must(t, l.Close())
	must(t, openWith(t, dir, steps(t, "CREATE TABLE extra (x TEXT) STRICT;")).Close())
	_, err := open(t.Context(), Config{Dir: dir, Ballast: -1}, steps(t))
	wantSentence(t, err, "newer cligate")
	copies, err := filepath.Glob(filepath.Join(dir, "backup", fmt.Sprintf("cligate-schema%d-*.db", len(steps(t)))))
	must(t, err)
	if len(copies) != 1 {
		t.Fatalf("backups %v", copies)
	}
	back := t.TempDir()
	must(t, os.Rename(copies[0], filepath.Join(back, "cligate.db")))
	old := openWith(t, back, steps(t))
	if c := ok[Counts](t)(old.Books().Counts(t.Context())); c.New != 1 {
		t.Errorf("%d messages", c.New)
	}
	old.say(2)
}

func TestMigrationsAreNumberedWithoutAGap(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{{"0002_x.sql"}, {"0001_x.sql", "0003_y.sql"}, {"x.sql"}, {"0001_x.sql", "0001_y.sql"}} {
		files := fstest.MapFS{}
		for _, n := range names {
			files[n] = &fstest.MapFile{Data: []byte("SELECT 1")}
		}
		if _, err := readSteps(files); err == nil {
			t.Errorf("%v passed", names)
		}
	}
}

func TestBackupIsWholeAndWhileWorkGoesOn(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	for i := range 50 {
		l.say(i)
	}
	path := filepath.Join(t.TempDir(), "new", "copy.db")
	done := make(chan struct{})
	go func() { // ends with the backup: it is waited for
		defer close(done)
		for i := 50; i < 80; i++ {
			m := message(i)
			if _, err := l.Inbox().Record(t.Context(), "bot", "", []chat.Inbound{m}); err != nil {
				t.Error(err)
			}
		}
	}()
	must(t, l.Backup(t.Context(), path))
	<-done
	must(t, l.Backup(t.Context(), path)) // replaces the older one
	fi, err := os.Stat(path)
	must(t, err)
	if fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %o", fi.Mode().Perm())
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("left beside the copy: %v", entries)
	}
	dir := t.TempDir()
	must(t, os.Rename(path, filepath.Join(dir, "cligate.db")))
	again := openIn(t, Config{Dir: dir, Ballast: -1})
	if c := ok[Counts](t)(again.Books().Counts(t.Context())); c.New != 80 {
		t.Errorf("%d messages", c.New)
	}
	if err := l.Backup(t.Context(), "/dev/null/x"); err == nil {
		t.Error("an impossible path is no error")
	}
}

func TestPermissionsOfASessionSurviveTheirNewTable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var before fstest.MapFS
	for name, f := range steps(t) {
		if name[:4] == "0001" {
			before = fstest.MapFS{name: f}
		}
	}
	old := openWith(t, dir, before)
	_, err := old.w.conn.ExecContext(t.Context(), `INSERT INTO conversation (id, at) VALUES (5, 1);
INSERT INTO session (id, conversation, agent, workspace, seed, state, created_at, used_at) VALUES (7, 5, 'claude', '/w', 'seed', 'open', 1, 1);
INSERT INTO rule (id, session, digest, ask, person, at) VALUES (3, 7, 'd', 1, '9', 4)`)
	must(t, err)
	must(t, old.Close())
	l := openWith(t, dir, steps(t))
	got := ok[string](t)(readOne(t, l, `SELECT id || ' ' || session || ' ' || conversation || ' ' || agent || ' ' || workspace || ' ' || digest || ' ' || person || ' ' || at FROM rule`))
	if got != "3 7 5 claude /w d 9 4" {
		t.Errorf("rule %s", got)
	}
}

func readOne(t *testing.T, l *ledger, query string) (string, error) {
	t.Helper()
	return first(t.Context(), l.readers, value[string], query)
}

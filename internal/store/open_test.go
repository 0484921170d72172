package store

import (
	"bytes"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cligate/internal/chat"
)

// sqlOpen opens the file as another program with our settings would.
func sqlOpen(file string) *sql.DB {
	db := sql.OpenDB(writerConnector(file))
	db.SetMaxOpenConns(1)
	return db
}

func wantSentence(t *testing.T, err error, words ...string) {
	t.Helper()
	wantCode(t, err, chat.Unavailable)
	for _, w := range words {
		if !strings.Contains(chat.DetailOf(err), w) {
			t.Errorf("%q does not say %q", chat.DetailOf(err), w)
		}
	}
}

func TestSettingsHoldOnEveryConnection(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	want := map[string]string{
		"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000", "auto_vacuum": "2",
		"journal_size_limit": "67108864", "wal_autocheckpoint": "1000", "cell_size_check": "1", "trusted_schema": "0",
		"temp_store": "2", "application_id": fmt.Sprint(appID), "query_only": "0", "user_version": fmt.Sprint(len(steps(t))),
	}
	check := func(h handle, want map[string]string) {
		for name, v := range want {
			if got := ok[string](t)(first(t.Context(), h, value[string], "PRAGMA "+name)); got != v {
				t.Errorf("%s is %s, want %s", name, got, v)
			}
		}
	}
	check(l.w.conn, want)
	check(l.readers, map[string]string{"query_only": "1", "trusted_schema": "0", "busy_timeout": "5000"})
	if _, err := l.readers.ExecContext(t.Context(), "DELETE FROM meta"); err == nil {
		t.Error("a reader can write")
	}
}

func TestDirectoryIsClosedToOthers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "data")
	l := openIn(t, Config{Dir: dir, Ballast: 1 << 16})
	l.say(1)
	modes := func() map[string]os.FileMode {
		got := map[string]os.FileMode{}
		for _, name := range []string{".", "cligate.db", "cligate.db-wal", "cligate.db-shm", "cligate.lock", "ballast"} {
			fi, err := os.Stat(filepath.Join(dir, name))
			must(t, err)
			got[name] = fi.Mode().Perm()
		}
		return got
	}
	check := func() {
		for name, m := range modes() {
			if want := os.FileMode(0o600); (name == "." && m != 0o700) || (name != "." && m != want) {
				t.Errorf("%s has mode %o", name, m)
			}
		}
	}
	check()
	must(t, l.Close())
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Chmod(filepath.Join(dir, "cligate.db"), 0o644))
	var log bytes.Buffer
	openIn(t, Config{Dir: dir, Ballast: 1 << 16, Log: slog.New(slog.NewTextHandler(&log, nil))}).say(2)
	check()
	if !strings.Contains(log.String(), "open to other users") {
		t.Errorf("log: %s", &log)
	}
}

func TestSharedDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o777|os.ModeSticky))
	_, err := Open(t.Context(), Config{Dir: dir})
	wantSentence(t, err, "shared by all users")
	fi, err := os.Stat(dir)
	must(t, err)
	if fi.Mode().Perm() != 0o777 {
		t.Error("the directory was changed")
	}
}

func TestSecondDaemonIsToldWhoWasFirst(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	_, err := Open(t.Context(), l.cfg)
	wantSentence(t, err, "another cligate", fmt.Sprintf("pid %d", os.Getpid()))
	l.say(1) // the first is not disturbed
	must(t, l.Close())
	openIn(t, l.cfg)
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	l.say(1)
	must(t, l.Close())
	file := filepath.Join(l.cfg.Dir, "cligate.db")
	db := sqlOpen(file)
	_, err := db.ExecContext(t.Context(), "PRAGMA user_version = 99")
	must(t, err)
	must(t, db.Close())
	before, err := os.ReadFile(file)
	must(t, err)
	_, err = Open(t.Context(), l.cfg)
	wantSentence(t, err, "newer cligate", "99", "backup")
	after, err := os.ReadFile(file)
	must(t, err)
	if !bytes.Equal(before, after) {
		t.Error("the refused database was changed")
	}
}

func TestForeignFileIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(t *testing.T, file string)
		want string
	}{
		"no database": {func(t *testing.T, file string) {
			must(t, os.WriteFile(file, bytes.Repeat([]byte("text\n"), 2000), 0o600))
		}, "not a database"},
		"another program's": {func(t *testing.T, file string) {
			db := sqlOpen(file)
			_, err := db.ExecContext(t.Context(), "CREATE TABLE x (y)")
			must(t, err)
			must(t, db.Close())
		}, "another program"},
		"a directory": {func(t *testing.T, file string) { must(t, os.Mkdir(file, 0o700)) }, "cannot open the database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c.make(t, filepath.Join(dir, "cligate.db"))
			_, err := Open(t.Context(), Config{Dir: dir, Ballast: -1})
			wantSentence(t, err, c.want)
		})
	}
	_, err := Open(t.Context(), Config{})
	if err == nil {
		t.Error("no directory is no error")
	}
}

func TestDamagedFileIsRefused(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	roots := ok[int64](t)(first(t.Context(), l.readers, value[int64], "PRAGMA page_count"))
	for i := range 100 {
		l.say(i)
	}
	must(t, l.Close())
	file := filepath.Join(l.cfg.Dir, "cligate.db")
	b, err := os.ReadFile(file)
	must(t, err)
	for i := 4096 * int(roots); i < 4096*int(roots+8); i += 4096 { // the headers of pages that no start reads
		copy(b[i:], "\xff\xff\xff\xff\xff\xff\xff\xff")
	}
	must(t, os.WriteFile(file, b, 0o600))
	_, err = Open(t.Context(), l.cfg)
	wantSentence(t, err, "damaged", "backup")
}

func TestUncleanEndIsNoticed(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	var log bytes.Buffer
	cfg := l.cfg
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	must(t, l.Close())
	must(t, openIn(t, cfg).Close())
	if log.Len() != 0 {
		t.Errorf("a clean end is not clean: %s", &log)
	}
	db := sqlOpen(filepath.Join(l.cfg.Dir, "cligate.db"))
	_, err := db.ExecContext(t.Context(), putMeta, metaClean, "0")
	must(t, err)
	must(t, db.Close())
	must(t, openIn(t, cfg).Close())
	if !strings.Contains(log.String(), "did not end cleanly") {
		t.Errorf("log: %s", &log)
	}
}

func TestCleanEndLeavesOneFile(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	l.say(1)
	must(t, l.Close())
	if fi, err := os.Stat(filepath.Join(l.cfg.Dir, "cligate.db-wal")); err == nil && fi.Size() != 0 {
		t.Errorf("%d bytes are left in the log", fi.Size())
	}
}

func TestOddPathsAreFine(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a b?c#d%20e&mode=memory")
	l := openIn(t, Config{Dir: dir, Ballast: -1})
	l.say(1)
	ok[Counts](t)(l.Books().Counts(t.Context()))
	must(t, l.Close())
	if fi, err := os.Stat(filepath.Join(dir, "cligate.db")); err != nil || fi.Size() == 0 {
		t.Errorf("file %v, %v", fi, err)
	}
}

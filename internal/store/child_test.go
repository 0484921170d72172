package store

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"testing/fstest"

	"cligate/migrations"
)

// childJob says what a child process does until it is killed.
const childJob = "CLIGATE_STORE_JOB"

// doJob does one thing and ends, unless a fault point kills it before.
func doJob(dir, job string) error {
	ctx := context.Background()
	files := fs.FS(migrations.Files)
	if job == "update" {
		more, err := laterSteps()
		if err != nil {
			return err
		}
		files = more
	}
	db, err := open(ctx, Config{Dir: dir, Ballast: -1}, files)
	if err != nil {
		return err
	}
	if job == "backup" {
		return errors.Join(db.Backup(ctx, filepath.Join(dir, "copy.db")), db.Close())
	}
	return db.Close()
}

// laterSteps is the real first migration and two later ones.
func laterSteps() (fs.FS, error) {
	b, err := fs.ReadFile(migrations.Files, "0001_init.sql")
	if err != nil {
		return nil, err
	}
	return fstest.MapFS{
		"0001_init.sql": {Data: b},
		"0002_two.sql":  {Data: []byte("CREATE TABLE two (x TEXT) STRICT")},
		"0003_tri.sql":  {Data: []byte("CREATE TABLE tri (x TEXT) STRICT")},
	}, nil
}

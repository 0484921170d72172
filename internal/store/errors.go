package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"syscall"

	"github.com/mattn/go-sqlite3"

	"cligate/internal/chat"
)

// explain gives an error of SQLite the code that says what it means to the
// caller. Errors with a code stay as they are.
func explain(err error) error {
	var coded *chat.Error
	if err == nil || errors.As(err, &coded) {
		return err
	}
	switch {
	case isNoSpace(err):
		return chat.E(chat.Unavailable, "the disk is full", err)
	case errors.Is(err, sql.ErrConnDone), err.Error() == "sql: database is closed":
		return chat.E(chat.Unavailable, "the ledger is closed", err)
	case isCode(err, sqlite3.ErrBusy), isCode(err, sqlite3.ErrLocked):
		return chat.E(chat.Unavailable, "another program has locked the database", err)
	case isCode(err, sqlite3.ErrIoErr):
		return chat.E(chat.Unavailable, "the disk reports an error", err)
	case isCode(err, sqlite3.ErrReadonly):
		return chat.E(chat.Unavailable, "the database cannot be written: the disk is read-only", err)
	case isCode(err, sqlite3.ErrNotADB):
		return chat.E(chat.Unavailable, "the database file is not a database; restore a backup or move it away", err)
	case isCode(err, sqlite3.ErrCorrupt):
		return chat.E(chat.Unavailable, "the database is damaged; restore a backup", err)
	case isCode(err, sqlite3.ErrInterrupt):
		return errors.Join(context.DeadlineExceeded, err)
	}
	return err
}

func isCode(err error, code sqlite3.ErrNo) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.Code == code
}

// isNoSpace reports whether err means that the disk is full.
func isNoSpace(err error) bool {
	var e sqlite3.Error
	if errors.As(err, &e) && (e.Code == sqlite3.ErrFull || e.SystemErrno == syscall.ENOSPC || e.SystemErrno == syscall.EDQUOT) {
		return true
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// isTaken reports whether err is a refused second row of something unique.
func isTaken(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && (e.ExtendedCode == sqlite3.ErrConstraintUnique || e.ExtendedCode == sqlite3.ErrConstraintPrimaryKey)
}

// isBroken reports whether err ends the whole transaction, not only the
// statement.
func isBroken(err error) bool {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case sqlite3.ErrFull, sqlite3.ErrIoErr, sqlite3.ErrNomem, sqlite3.ErrCorrupt, sqlite3.ErrNotADB,
		sqlite3.ErrReadonly, sqlite3.ErrBusy, sqlite3.ErrInterrupt, sqlite3.ErrCantOpen:
		return true
	}
	return false // the others end the statement only
}

// diskError says in one sentence why a file of ours cannot be used.
func diskError(what string, err error) error {
	switch {
	case errors.Is(err, syscall.EROFS):
		return chat.E(chat.Unavailable, "cannot "+what+": the disk is read-only; choose a data directory that can be written", err)
	case errors.Is(err, fs.ErrPermission):
		return chat.E(chat.Unavailable, "cannot "+what+": permission denied; give it to the user who runs cligate", err)
	case isNoSpace(err):
		return chat.E(chat.Unavailable, "cannot "+what+": the disk is full", err)
	}
	return chat.E(chat.Unavailable, "cannot "+what, err)
}

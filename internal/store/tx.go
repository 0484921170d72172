package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"cligate/internal/chat"
)

// handle is what a query needs: the writer's connection or the read-only pool.
type handle interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// tx is a handle inside a write.
type tx struct {
	handle
	now time.Time
}

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := t.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// insert runs a statement and returns the id of the new row.
func (t *tx) insert(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := t.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// row is one row of a result.
type row interface{ Scan(dest ...any) error }

// list reads all rows of a query.
func list[T any](ctx context.Context, h handle, scan func(row) (T, error), query string, args ...any) (_ []T, err error) {
	rows, err := h.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// first reads the first row of a query; chat.Missing when there is none.
func first[T any](ctx context.Context, h handle, scan func(row) (T, error), query string, args ...any) (_ T, err error) {
	var zero T
	rows, err := h.QueryContext(ctx, query, args...)
	if err != nil {
		return zero, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if rows.Next() {
		return scan(rows)
	}
	if err := rows.Err(); err != nil {
		return zero, err
	}
	return zero, chat.E(chat.Missing, "", sql.ErrNoRows)
}

// A plus before a column in a query ("ORDER BY +t.id") tells SQLite not to use
// that column's index: the small partial index of open rows is the better one,
// and it cannot know that few rows are open.

// value scans a single column.
func value[T any](r row) (T, error) {
	var v T
	err := r.Scan(&v)
	return v, err
}

// micros is a time as it is stored: UTC microseconds, 0 = none.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"net/url"
	"os"
	"time"

	"github.com/mattn/go-sqlite3"
)

// appID marks our files ("ClGt"), so that a foreign database is recognised.
const appID = 0x436c4774

// connector opens connections that are set up before anybody gets them: what
// the DSN has no word for is set by the hook, on every connection.
type connector struct {
	driver *sqlite3.SQLiteDriver
	dsn    string
}

// Connect opens one connection. Opening is short and not interruptible.
func (c *connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }

// Driver returns the driver.
func (c *connector) Driver() driver.Driver { return c.driver }

const settings = `
PRAGMA journal_size_limit = 67108864;
PRAGMA wal_autocheckpoint = 1000;
PRAGMA cell_size_check = on;
PRAGMA trusted_schema = off;
PRAGMA temp_store = memory;
PRAGMA mmap_size = 0;
PRAGMA checkpoint_fullfsync = on;
PRAGMA fullfsync = on;
`

func newConnector(file string, values url.Values, hook string) *connector {
	dsn := "file:" + (&url.URL{Path: file}).EscapedPath() + "?" + values.Encode()
	return &connector{dsn: dsn, driver: &sqlite3.SQLiteDriver{
		ConnectHook: func(c *sqlite3.SQLiteConn) error {
			_, err := c.Exec(hook, nil)
			return err
		},
	}}
}

// writerConnector is for the one connection that writes.
func writerConnector(file string) *connector {
	values := url.Values{
		"_txlock":          {"immediate"},
		"_journal_mode":    {"WAL"},
		"_synchronous":     {"FULL"},
		"_busy_timeout":    {"5000"},
		"_mutex":           {"no"}, // database/sql uses a connection from one goroutine at a time
		"_foreign_keys":    {"on"},
		"_cache_size":      {"-2048"},
		"_stmt_cache_size": {"64"},
	}
	if fi, err := os.Stat(file); err == nil && fi.Size() == 0 {
		// Counts before the first table only; later it would be a write to a
		// file that may not be ours.
		values.Set("_auto_vacuum", "incremental")
	}
	return newConnector(file, values, settings)
}

// openReaders opens the pool that reads. Connections come when needed and go
// when idle: each has a page cache of its own. One that is merely not needed at
// the moment stays, because opening one reads the whole schema.
func openReaders(file string) *sql.DB {
	db := sql.OpenDB(newConnector(file, url.Values{
		"mode":             {"ro"},
		"_query_only":      {"1"},
		"_busy_timeout":    {"5000"},
		"_mutex":           {"no"},
		"_cache_size":      {"-512"},
		"_stmt_cache_size": {"32"},
	}, settings))
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	db.SetConnMaxIdleTime(time.Minute)
	return db
}

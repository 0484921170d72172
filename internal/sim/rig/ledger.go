package rig

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/mattn/go-sqlite3" // the driver

	"cligate/internal/sim/oracle"
)

// book is the ledger of a rig's daemon, read from outside.
type book struct {
	data string // the data directory
	tb   testing.TB
}

// Query reads rows of the ledger, beside a living daemon or after its death.
// The connection is read-only, so it repairs nothing.
func (b book) Query(each func(*sql.Rows) error, text string, args ...any) error {
	file := url.URL{Scheme: "file", Opaque: url.PathEscape(filepath.Join(b.data, "cligate.db"))}
	db, err := sql.Open("sqlite3", file.String()+"?mode=ro&_query_only=1&_busy_timeout=5000")
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.QueryContext(b.tb.Context(), text, args...)
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Count returns the number that a query of the ledger yields.
func (b book) Count(text string, args ...any) (n int) {
	b.tb.Helper()
	if err := b.Query(func(rows *sql.Rows) error { return rows.Scan(&n) }, text, args...); err != nil {
		b.tb.Fatal(err)
	}
	return n
}

// Values returns the first column of a query of the ledger, as text.
func (b book) Values(text string, args ...any) (out []string) {
	b.tb.Helper()
	err := b.Query(func(rows *sql.Rows) error {
		var s string
		err := rows.Scan(&s)
		out = append(out, s)
		return err
	}, text, args...)
	if err != nil {
		b.tb.Fatal(err)
	}
	return out
}

// Ledger is what the daemon wrote down.
func (b book) Ledger() oracle.Ledger {
	b.tb.Helper()
	var l oracle.Ledger
	for _, read := range []func(*oracle.Ledger) error{b.integrity, b.inbound, b.turns, b.outbox, b.asks} {
		if err := read(&l); err != nil {
			b.tb.Fatal(err)
		}
	}
	return l
}

func (b book) integrity(l *oracle.Ledger) error {
	return b.Query(func(rows *sql.Rows) error { return rows.Scan(&l.Integrity) }, "PRAGMA integrity_check(1)")
}

func (b book) inbound(l *oracle.Ledger) error {
	return b.Query(func(rows *sql.Rows) error {
		var in oracle.Inbound
		var body []byte
		if err := rows.Scan(&in.ID, &in.Chat, &in.State, &in.Turn, &body); err != nil {
			return err
		}
		var m struct{ Text string }
		if err := json.Unmarshal(body, &m); err != nil {
			return fmt.Errorf("inbound %d: %w", in.ID, err)
		}
		in.Text = m.Text
		l.Inbound = append(l.Inbound, in)
		return nil
	}, `SELECT i.id, p.chat, i.state, coalesce(x.turn, 0), i.body FROM inbound i JOIN place p ON p.id = i.place
LEFT JOIN turn_input x ON x.inbound = i.id WHERE i.kind IN ('text', 'file') ORDER BY i.id`)
}

func (b book) turns(l *oracle.Ledger) error {
	return b.Query(func(rows *sql.Rows) error {
		var t oracle.Turn
		err := rows.Scan(&t.ID, &t.Session, &t.State, &t.Tries)
		l.Turns = append(l.Turns, t)
		return err
	}, `SELECT t.id, t.session, t.state, (SELECT count(*) FROM attempt a WHERE a.turn = t.id) FROM turn t ORDER BY t.id`)
}

func (b book) outbox(l *oracle.Ledger) error {
	return b.Query(func(rows *sql.Rows) error {
		var o oracle.Outbox
		err := rows.Scan(&o.ID, &o.Turn, &o.Chat, &o.Class, &o.State, &o.Msg)
		l.Outbox = append(l.Outbox, o)
		return err
	}, `SELECT o.id, o.turn, p.chat, o.class, o.state, coalesce(c.msg, '') FROM outbox o JOIN place p ON p.id = o.place
LEFT JOIN receipt c ON c.outbox = o.id ORDER BY o.id`)
}

func (b book) asks(l *oracle.Ledger) error {
	return b.Query(func(rows *sql.Rows) error {
		var a oracle.Ask
		err := rows.Scan(&a.ID, &a.State)
		l.Asks = append(l.Asks, a)
		return err
	}, `SELECT id, state FROM ask ORDER BY id`)
}

// Keys returns the keys of what was said that stand in the input of a turn.
func (r *Rig) Keys(turn int64) []string {
	r.tb.Helper()
	var body []byte
	err := r.Query(func(rows *sql.Rows) error { return rows.Scan(&body) }, "SELECT body FROM turn WHERE id = ?", turn)
	if err != nil {
		r.tb.Fatal(err)
	}
	var in struct {
		Pieces []struct {
			Text string `json:"text"`
		} `json:"pieces"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		r.tb.Fatal(err)
	}
	var words []string
	for _, p := range in.Pieces {
		words = append(words, strings.Fields(p.Text)...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var keys []string
	for _, s := range r.said {
		if slices.Contains(words, s.Key) {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

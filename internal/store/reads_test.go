package store

import (
	"context"
	"time"

	"cligate/internal/chat"
)

// What only the tests read and write.

// Entry is one line of the audit trail.
type Entry struct {
	ID     int64
	At     time.Time
	Actor  string
	Action string
	Detail string
}

// DeadLetter is something that was given up.
type DeadLetter struct {
	ID     int64
	Kind   string // outbox, inbound
	Ref    int64  // the row
	Reason string
	At     time.Time
}

// Trail returns the last lines of the audit trail, newest first.
func (v Books) Trail(ctx context.Context, limit int) (es []Entry, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		es, err = list(ctx, h, func(r row) (e Entry, err error) {
			return e, r.Scan(&e.ID, fromMicros(&e.At), &e.Actor, &e.Action, &e.Detail)
		}, `SELECT id, at, actor, action, detail FROM audit ORDER BY id DESC LIMIT ?`, limit)
		return err
	})
	return es, err
}

// DeadLetters returns what was given up, newest first.
func (v Books) DeadLetters(ctx context.Context, limit int) (ds []DeadLetter, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		ds, err = list(ctx, h, func(r row) (d DeadLetter, err error) {
			return d, r.Scan(&d.ID, &d.Kind, &d.Ref, &d.Reason, fromMicros(&d.At))
		}, `SELECT id, kind, ref, reason, at FROM dead ORDER BY id DESC LIMIT ?`, limit)
		return err
	})
	return ds, err
}

// Meta returns a note of the gateway about itself, empty when there is none.
func (v Books) Meta(ctx context.Context, key string) (string, error) {
	var val string
	err := v.read(ctx, func(ctx context.Context, h handle) (err error) {
		val, err = first(ctx, h, value[string], `SELECT value FROM meta WHERE key = ?`, key)
		return err
	})
	if chat.CodeOf(err) == chat.Missing {
		return "", nil
	}
	return val, err
}

// SetMeta writes such a note.
func (v Books) SetMeta(ctx context.Context, key, val string) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, putMeta, key, val)
		return err
	})
}

// Person returns what is known about a person; chat.Missing.
func (v People) Person(ctx context.Context, account, id string) (p chat.Person, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		p, err = first(ctx, h, func(r row) (p chat.Person, err error) {
			return p, r.Scan(&p.ID, &p.Name, &p.Lang)
		}, `SELECT ext, name, lang FROM person WHERE account = ? AND ext = ?`, account, id)
		return err
	})
	return p, err
}

// PlaceByID returns a place; chat.Missing.
func (v Places) PlaceByID(ctx context.Context, id int64) (p chat.Place, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		p, err = first(ctx, h, scanPlace, `SELECT `+placeCols+` FROM place p WHERE p.id = ?`, id)
		return err
	})
	return p, err
}

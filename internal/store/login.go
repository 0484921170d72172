package store

import (
	"context"
	"fmt"
	"time"

	"cligate/internal/chat"
)

// AddLogin is described at web.Logins.
func (v Logins) AddLogin(ctx context.Context, l chat.Login) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		// What has expired is of no use to anybody.
		if _, err := t.exec(ctx, `DELETE FROM login WHERE expires_at <= ?`, micros(t.now)); err != nil {
			return fmt.Errorf("forget old logins: %w", err)
		}
		return addLogin(ctx, t, "once", l)
	})
}

func addLogin(ctx context.Context, t *tx, kind string, l chat.Login) error {
	_, err := t.exec(ctx, `INSERT INTO login (hash, kind, person, expires_at, at) VALUES (?, ?, ?, ?, ?)`,
		l.Hash, kind, l.Person, micros(l.Expires), micros(t.now))
	if err != nil {
		return fmt.Errorf("add login: %w", err)
	}
	return nil
}

const findLogin = `SELECT hash, person, expires_at FROM login WHERE hash = ? AND kind = ?`

func scanLogin(r row) (chat.Login, error) {
	var l chat.Login
	err := r.Scan(&l.Hash, &l.Person, fromMicros(&l.Expires))
	return l, err
}

// ExchangeLogin is described at web.Logins.
func (v Logins) ExchangeLogin(ctx context.Context, once string, session chat.Login, now time.Time) (person string, err error) {
	err = v.write(ctx, func(ctx context.Context, t *tx) error {
		l, err := first(ctx, t, scanLogin, findLogin, once, "once")
		if err != nil {
			return fmt.Errorf("find login token: %w", err)
		}
		if !now.Before(l.Expires) {
			return chat.E(chat.Expired, "", fmt.Errorf("the login token is too old"))
		}
		if _, err := t.exec(ctx, `DELETE FROM login WHERE hash = ?`, once); err != nil {
			return fmt.Errorf("use login token: %w", err)
		}
		person, session.Person = l.Person, l.Person
		if err := addLogin(ctx, t, "web", session); err != nil {
			return err
		}
		return writeAudit(ctx, t, person, "login", "web")
	})
	return person, err
}

// CheckLogin is described at web.Logins.
func (v Logins) CheckLogin(ctx context.Context, hash string, now time.Time) (l chat.Login, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		l, err = first(ctx, h, scanLogin, findLogin+` AND expires_at > ?`, hash, "web", micros(now))
		return err
	})
	return l, err
}

// ExtendLogin is described at web.Logins.
func (v Logins) ExtendLogin(ctx context.Context, hash string, expires time.Time) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, `UPDATE login SET expires_at = ? WHERE hash = ? AND kind = 'web'`, micros(expires), hash)
		return err
	})
}

// RevokeLogin is described at web.Logins.
func (v Logins) RevokeLogin(ctx context.Context, hash string) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, `DELETE FROM login WHERE hash = ? AND kind = 'web'`, hash)
		return err
	})
}

package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"cligate/internal/chat"
)

// Wrong codes of one sender within the window, after which codes are not even
// looked at.
const (
	pairingTries  = 5
	pairingWindow = 10 * time.Minute
)

// Pairing is a code that gives a role to the first who sends it.
type Pairing struct {
	Code    string // only its hash is stored
	Account string // empty = any
	Role    chat.Role
	By      string
	Expires time.Time
}

// NewPairing stores the hash of a code.
func (v People) NewPairing(ctx context.Context, p Pairing) error {
	if hashCode(p.Code) == hashCode("") || !p.Role.Covers(chat.RoleViewer) {
		return chat.E(chat.Invalid, "", fmt.Errorf("a pairing needs a code and a role, not %q", p.Role))
	}
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, `INSERT INTO pairing (hash, account, role, made_by, expires_at, at) VALUES (?, ?, ?, ?, ?, ?)`,
			hashCode(p.Code), p.Account, p.Role, p.By, micros(p.Expires), micros(t.now))
		if err != nil {
			return fmt.Errorf("new pairing: %w", err)
		}
		return writeAudit(ctx, t, p.By, "pairing", fmt.Sprintf("%s %s", p.Role, p.Account))
	})
}

// hashCode is the SHA-256 of a code as people write it down: case, blanks and
// dashes do not matter.
func hashCode(code string) string {
	code = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, code)
	sum := sha256.Sum256([]byte(code))
	return hex.EncodeToString(sum[:])
}

type storedPairing struct {
	id            int64
	role          chat.Role
	by            string
	expires, used time.Time
	usedBy        string
}

// Redeem is described at receive.Access. The person who used a code may send
// it again while it is valid: a redelivered message is not a second try.
func (v People) Redeem(ctx context.Context, account string, p chat.Person, code string, now time.Time) (role chat.Role, err error) {
	var refused error // what the sender is told; the count of tries is kept
	err = v.accept(ctx, func(ctx context.Context, t *tx) error {
		role, refused = chat.RoleNone, nil
		tries, err := countTries(ctx, t, account, p.ID, now)
		if err != nil {
			return err
		}
		if tries >= pairingTries {
			refused = chat.E(chat.Full, "", fmt.Errorf("%d wrong codes", tries))
			return nil
		}
		role, refused, err = redeemCode(ctx, t, account, p, code, now)
		if err != nil || chat.CodeOf(refused) != chat.Denied {
			return err
		}
		_, err = t.exec(ctx, `INSERT INTO pairing_try (account, person, tries, since) VALUES (?1, ?2, 1, ?3)
ON CONFLICT (account, person) DO UPDATE SET tries = ?4, since = CASE ?4 WHEN 1 THEN ?3 ELSE since END`,
			account, p.ID, micros(now), tries+1)
		return err
	})
	if err == nil {
		err = refused
	}
	return role, err
}

// countTries is how many wrong codes a sender has sent within the window.
func countTries(ctx context.Context, t *tx, account, person string, now time.Time) (int, error) {
	n, err := first(ctx, t, value[int], `SELECT tries FROM pairing_try WHERE account = ? AND person = ? AND since > ?`,
		account, person, micros(now.Add(-pairingWindow)))
	if chat.CodeOf(err) == chat.Missing {
		return 0, nil
	}
	return n, err
}

func redeemCode(ctx context.Context, t *tx, account string, p chat.Person, code string, now time.Time) (_ chat.Role, refused, err error) {
	s, err := first(ctx, t, func(r row) (s storedPairing, err error) {
		return s, r.Scan(&s.id, &s.role, &s.by, fromMicros(&s.expires), fromMicros(&s.used), &s.usedBy)
	}, `SELECT id, role, made_by, expires_at, used_at, used_by FROM pairing WHERE hash = ? AND account IN ('', ?)`, hashCode(code), account)
	who := account + "/" + p.ID
	switch {
	case chat.CodeOf(err) == chat.Missing:
		return "", chat.E(chat.Denied, "", fmt.Errorf("unknown code")), nil
	case err != nil:
		return "", nil, fmt.Errorf("find pairing: %w", err)
	case !now.Before(s.expires):
		return "", chat.E(chat.Expired, "", fmt.Errorf("pairing %d is too old", s.id)), nil
	case !s.used.IsZero() && s.usedBy != who:
		return "", chat.E(chat.Denied, "", fmt.Errorf("pairing %d is used", s.id)), nil
	}
	g := chat.Grant{Account: account, Person: p.ID, Role: s.role, By: "pairing by " + s.by}
	old, err := liveGrant(ctx, t, g)
	switch {
	case err != nil && chat.CodeOf(err) != chat.Missing:
		return "", nil, fmt.Errorf("find grant: %w", err)
	case err != nil && !s.used.IsZero(): // revoked since: the code is not worth anything any more
		return "", chat.E(chat.Denied, "", fmt.Errorf("pairing %d is used", s.id)), nil
	case err == nil && old.Role.Covers(s.role): // a code never takes rights away
		g = old
	default:
		if g, err = makeGrant(ctx, t, g); err != nil {
			return "", nil, err
		}
	}
	return g.Role, nil, usePairing(ctx, t, s.id, account, p, now)
}

func usePairing(ctx context.Context, t *tx, id int64, account string, p chat.Person, now time.Time) error {
	if _, err := t.exec(ctx, `UPDATE pairing SET used_by = ?, used_at = ? WHERE id = ?`, account+"/"+p.ID, micros(now), id); err != nil {
		return fmt.Errorf("use pairing %d: %w", id, err)
	}
	if _, err := t.exec(ctx, `DELETE FROM pairing_try WHERE account = ? AND person = ?`, account, p.ID); err != nil {
		return fmt.Errorf("forget tries: %w", err)
	}
	return seePerson(ctx, t, account, p, chat.Place{})
}

package store

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

const grantCols = `id, account, chat, person, role, granted_by, at FROM access`

func scanGrant(r row) (chat.Grant, error) {
	var g chat.Grant
	err := r.Scan(&g.ID, &g.Account, &g.Chat, &g.Person, &g.Role, &g.By, fromMicros(&g.At))
	return g, err
}

// Role is described at receive.Access. A grant of the person comes before one
// of everybody.
func (v People) Role(ctx context.Context, account, chatID string, direct bool, person string) (chat.Role, error) {
	if direct {
		chatID = ""
	}
	var role chat.Role
	err := v.read(ctx, func(ctx context.Context, h handle) (err error) {
		role, err = first(ctx, h, value[chat.Role], `SELECT role FROM access
WHERE account = ? AND chat = ? AND person IN (?, '*') AND revoked_at = 0 ORDER BY person = '*' LIMIT 1`, account, chatID, person)
		return err
	})
	if chat.CodeOf(err) == chat.Missing {
		return chat.RoleNone, nil
	}
	return role, err
}

// Grants returns the grants in force, oldest first.
func (v People) Grants(ctx context.Context) (gs []chat.Grant, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		gs, err = list(ctx, h, scanGrant, `SELECT `+grantCols+` WHERE revoked_at = 0 ORDER BY id`)
		return err
	})
	return gs, err
}

// Grant gives a role. A grant in force for the same person and chat is
// replaced when its role is another, and kept otherwise. Who was noted as a
// stranger there is one no longer.
func (v People) Grant(ctx context.Context, g chat.Grant) (made chat.Grant, err error) {
	err = v.write(ctx, func(ctx context.Context, t *tx) (err error) {
		made, err = makeGrant(ctx, t, g)
		return err
	})
	return made, err
}

func makeGrant(ctx context.Context, t *tx, g chat.Grant) (chat.Grant, error) {
	if g.Person == "" || !g.Role.Covers(chat.RoleViewer) {
		return g, chat.E(chat.Invalid, "", fmt.Errorf("a grant needs a person and a role, not %q and %q", g.Person, g.Role))
	}
	old, err := liveGrant(ctx, t, g)
	switch {
	case err != nil && chat.CodeOf(err) != chat.Missing:
		return g, fmt.Errorf("find grant: %w", err)
	case err == nil && old.Role == g.Role:
		return old, nil
	case err == nil:
		if err := revokeGrant(ctx, t, old.ID, g.By); err != nil {
			return g, err
		}
	}
	g.At = t.now
	g.ID, err = t.insert(ctx, `INSERT INTO access (account, chat, person, role, granted_by, at) VALUES (?, ?, ?, ?, ?, ?)`,
		g.Account, g.Chat, g.Person, g.Role, g.By, micros(t.now))
	if err != nil {
		return g, fmt.Errorf("grant: %w", err)
	}
	_, err = t.exec(ctx, `DELETE FROM stranger WHERE account = ?1 AND person = ?2 AND (chat = ?3 OR ?3 = '' AND direct = 1)`,
		g.Account, g.Person, g.Chat)
	if err != nil {
		return g, fmt.Errorf("forget stranger: %w", err)
	}
	return g, writeAudit(ctx, t, g.By, "grant", fmt.Sprintf("%d %s %s/%s %s", g.ID, g.Role, g.Account, g.Chat, g.Person))
}

// liveGrant is the grant in force for the person and chat of g.
func liveGrant(ctx context.Context, t *tx, g chat.Grant) (chat.Grant, error) {
	return first(ctx, t, scanGrant, `SELECT `+grantCols+` WHERE account = ? AND chat = ? AND person = ? AND revoked_at = 0`,
		g.Account, g.Chat, g.Person)
}

// Revoke ends a grant, for good: a later grant is another row. chat.Missing:
// there is none in force with that id.
func (v People) Revoke(ctx context.Context, id int64, by string) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error { return revokeGrant(ctx, t, id, by) })
}

func revokeGrant(ctx context.Context, t *tx, id int64, by string) error {
	n, err := t.exec(ctx, `UPDATE access SET revoked_at = ? WHERE id = ? AND revoked_at = 0`, micros(t.now), id)
	if err != nil {
		return fmt.Errorf("revoke grant %d: %w", id, err)
	}
	if n == 0 {
		return missing("grant", id)
	}
	return writeAudit(ctx, t, by, "revoke", fmt.Sprint(id))
}

// DirectPlace returns the direct chat of a person who has written to the bot;
// chat.Missing.
func (v People) DirectPlace(ctx context.Context, account, id string) (p chat.Place, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		p, err = first(ctx, h, scanPlace, `SELECT `+placeCols+` FROM person w JOIN place p ON p.id = w.direct
WHERE w.account = ? AND w.ext = ?`, account, id)
		return err
	})
	return p, err
}

// OwnerPlaces returns the direct chats of the owners of all accounts who have
// written to the bot: where the operator is told things.
func (v People) OwnerPlaces(ctx context.Context) (ps []chat.Place, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		ps, err = list(ctx, h, scanPlace, `SELECT DISTINCT `+placeCols+` FROM access a
JOIN person w ON w.account = a.account AND w.ext = a.person JOIN place p ON p.id = w.direct
WHERE a.role = 'owner' AND a.chat = '' AND a.revoked_at = 0 ORDER BY p.id`)
		return err
	})
	return ps, err
}

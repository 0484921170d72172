package store

import "context"

// Group is a chat of several people.
type Group struct {
	Chat  string
	Title string
}

// Groups returns the groups of an account in which the bot was spoken to, the
// newest first.
func (v People) Groups(ctx context.Context, account string, limit int) (gs []Group, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		gs, err = list(ctx, h, func(r row) (g Group, err error) { return g, r.Scan(&g.Chat, &g.Title) },
			`SELECT chat, max(title) FROM place WHERE account = ? AND direct = 0 GROUP BY chat ORDER BY max(id) DESC LIMIT ?`, account, limit)
		return err
	})
	return gs, err
}

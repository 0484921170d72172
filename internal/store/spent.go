package store

import (
	"context"
	"fmt"
	"time"

	"cligate/internal/chat"
)

// Spent is described at turn.Spending.
func (v Books) Spent(ctx context.Context, session int64, since time.Time) (u chat.Usage, err error) {
	where, args := `usage <> '' AND ended_at >= ?`, []any{micros(since)}
	if session != 0 {
		where, args = where+` AND session = ?`, append(args, session)
	}
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		u, err = first(ctx, h, func(r row) (u chat.Usage, err error) {
			return u, r.Scan(&u.In, &u.Out, &u.CostUSD)
		}, `SELECT coalesce(sum(usage ->> '$.in'), 0), coalesce(sum(usage ->> '$.out'), 0), coalesce(sum(usage ->> '$.cost'), 0.0)
FROM turn WHERE `+where, args...)
		return err
	})
	if err != nil {
		return u, fmt.Errorf("sum up usage: %w", err)
	}
	return u, nil
}

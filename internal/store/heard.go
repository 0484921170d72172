package store

import (
	"context"
	"strings"
)

// metaHeard is before an agent's name the key under which it is kept what that
// agent said about itself.
const metaHeard = "heard/"

// Hear keeps what an agent said about itself, for the time when it does not run.
func (v Books) Hear(ctx context.Context, agent, said string) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, putMeta, metaHeard+agent, said)
		return err
	})
}

// Heard returns what agents said about themselves, by name.
func (v Books) Heard(ctx context.Context) (map[string]string, error) {
	all := map[string]string{}
	err := v.read(ctx, func(ctx context.Context, h handle) error {
		rows, err := list(ctx, h, func(r row) (p [2]string, err error) { return p, r.Scan(&p[0], &p[1]) },
			`SELECT key, value FROM meta WHERE substr(key, 1, length(?1)) = ?1`, metaHeard)
		for _, p := range rows {
			all[strings.TrimPrefix(p[0], metaHeard)] = p[1]
		}
		return err
	})
	return all, err
}

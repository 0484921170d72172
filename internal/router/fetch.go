package router

import (
	"context"

	"cligate/internal/chat"
)

// fetch has the files of a turn that waits fetched meanwhile: what cannot be
// had is told early, and a service keeps nothing for ever. The turn itself
// fetches what is missing then.
func (d *desk) fetch(ctx context.Context, t chat.Turn, s seat) {
	if d.incoming == nil || !t.Input.HasFiles() {
		return
	}
	lang := d.lang(s.conv, t.By)
	d.wg.Go(func() {
		if _, err := d.incoming.Prepare(ctx, t, s.sess.Workspace, lang); err != nil && ctx.Err() == nil {
			d.cfg.Log.DebugContext(ctx, "files of a waiting turn not fetched", "turn", t.ID, "err", err)
		}
	})
}

// ready is the input of a queued turn as an agent gets it.
func (d *desk) ready(ctx context.Context, t chat.Turn, workspace, lang string) (chat.Input, error) {
	if d.incoming == nil || !t.Input.HasFiles() {
		return t.Input, nil
	}
	return d.incoming.Prepare(ctx, t, workspace, lang)
}

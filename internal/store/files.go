package store

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

// KeepFiles is described at inbox.Ledger.
func (v Runs) KeepFiles(ctx context.Context, turn int64, files []chat.FileRef) (in chat.Input, err error) {
	if len(files) == 0 {
		t, err := Turns(v).TurnByID(ctx, turn)
		if err == nil && t.State.Final() {
			return t.Input, conflict("turn", turn)
		}
		return t.Input, err
	}
	err = v.write(ctx, func(ctx context.Context, t *tx) error {
		q, err := turnByID(ctx, t, turn)
		if err != nil {
			return fmt.Errorf("turn %d: %w", turn, err)
		}
		if q.State.Final() {
			return conflict("turn", turn)
		}
		in = q.Input
		for i, p := range in.Pieces {
			changed := replaceFiles(p.Files, files)
			if len(changed) == 0 {
				continue
			}
			in.Pieces[i].Files = changed
			if err := setFiles(ctx, t, p.Inbound, files); err != nil {
				return err
			}
		}
		return setInput(ctx, t, turn, in)
	})
	return in, err
}

// replaceFiles returns a list with those of files in it that it has under the
// same ID; nil when there are none.
func replaceFiles(list, files []chat.FileRef) []chat.FileRef {
	var out []chat.FileRef
	for i, have := range list {
		for _, f := range files {
			if f.ID != have.ID {
				continue
			}
			if out == nil {
				out = append(out, list...)
			}
			out[i] = f
		}
	}
	return out
}

// setFiles changes the files of a stored message.
func setFiles(ctx context.Context, t *tx, inbound int64, files []chat.FileRef) error {
	if inbound == 0 {
		return nil
	}
	return reviseMessage(ctx, t, inbound, func(m *chat.Message) {
		if changed := replaceFiles(m.Files, files); changed != nil {
			m.Files = changed
		}
	})
}

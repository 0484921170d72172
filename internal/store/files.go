package store

import (
	"context"
	"fmt"
	"slices"

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
// same ID, and behind a quotation those that came with it; nil when there are
// none.
func replaceFiles(list, files []chat.FileRef) []chat.FileRef {
	known := func(id string) bool {
		return slices.ContainsFunc(list, func(f chat.FileRef) bool { return f.ID == id })
	}
	var out []chat.FileRef
	changed := false
	for _, have := range list {
		now := have
		var with []chat.FileRef
		for _, f := range files {
			switch {
			case f.ID == have.ID:
				now, changed = f, true
			case f.Of == have.ID && !known(f.ID):
				with, changed = append(with, f), true
			}
		}
		out = append(append(out, now), with...)
	}
	if !changed {
		return nil
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

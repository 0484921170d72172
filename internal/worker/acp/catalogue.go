package acp

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

const (
	maxListed = 50 // sessions in a list
	maxPages  = 20 // that are asked for to fill it
	maxTitle  = 80 // characters
)

// Terminal implements worker.Terminal; nil where the agent's own command line
// cannot go on with a session.
func (d *Driver) Terminal(nativeID string) []string {
	if len(d.cfg.Terminal) == 0 {
		return nil
	}
	return append(append([]string{d.cfg.Command}, d.cfg.Terminal...), nativeID)
}

// Sessions implements worker.Cataloguer: it starts the agent and asks it. An
// agent that cannot list is chat.Unsupported.
func (d *Driver) Sessions(ctx context.Context, workspace string) ([]worker.Native, error) {
	w, said, err := d.present(ctx, workspace, worker.Spec{Workspace: workspace})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if !d.abilities(said).Has(worker.Catalogue) {
		return nil, chat.E(chat.Unsupported, "", errors.New("the agent lists no sessions"))
	}
	limit, cancel := context.WithTimeoutCause(ctx, d.cfg.LoadTimeout, errLate)
	defer cancel()
	var all []worker.Native
	ask := listSessions{Dir: workspace}
	for range maxPages {
		raw, err := w.session.conn.call(limit, "session/list", ask)
		if err != nil {
			return nil, w.session.openError(ctx, err, chat.LoadTimeout)
		}
		page, err := decode[listed](raw)
		if err != nil {
			return nil, chat.E(chat.Protocol, "", err)
		}
		all = append(all, page.of(workspace)...)
		if page.Next == "" || page.Next == ask.Cursor || len(all) >= maxListed {
			break
		}
		ask.Cursor = page.Next
	}
	slices.SortStableFunc(all, func(a, b worker.Native) int { return b.Used.Compare(a.Used) })
	return all[:min(len(all), maxListed)], nil
}

// of are the sessions of a workspace. Agents may list those of others, too.
func (l listed) of(workspace string) (out []worker.Native) {
	for _, s := range l.Sessions {
		if s.ID == "" || s.Dir != "" && filepath.Clean(s.Dir) != filepath.Clean(workspace) {
			continue
		}
		used, err := time.Parse(time.RFC3339, s.Updated)
		if err != nil {
			used = time.Time{}
		}
		out = append(out, worker.Native{ID: s.ID, Title: chat.Clip(cmp.Or(s.Title, s.ID), maxTitle), Used: used})
	}
	return out
}

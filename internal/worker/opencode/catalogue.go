package opencode

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"cligate/internal/worker"
)

var (
	_ worker.Cataloguer = (*Driver)(nil)
	_ worker.Terminal   = (*Driver)(nil)
)

const (
	askedFor = "200" // sessions that the server is asked for; other folders' are among them
	maxShown = 50
)

// Terminal implements worker.Terminal.
func (d *Driver) Terminal(nativeID string) []string {
	return []string{d.cfg.Command, "--session", nativeID}
}

// Sessions implements worker.Cataloguer. It starts a server for the workspace
// where none runs.
func (d *Driver) Sessions(ctx context.Context, workspace string) ([]worker.Native, error) {
	if err := checkWorkspace(workspace); err != nil {
		return nil, err
	}
	l, err := d.acquire(ctx, filepath.Clean(workspace))
	if err != nil {
		return nil, err
	}
	defer d.release(l)
	var all []sessionInfo
	if err := l.server.api.quick(ctx, http.MethodGet, "/session?roots=true&limit="+askedFor, nil, &all); err != nil {
		return nil, openError(ctx, l.server, err)
	}
	dir, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		dir = workspace
	}
	var out []worker.Native
	for _, s := range all {
		here := s.Directory == dir || s.Directory == filepath.Clean(workspace)
		if !here || s.ParentID != "" || s.Time.Archived > 0 || !idGrammar.MatchString(s.ID) {
			continue
		}
		out = append(out, worker.Native{ID: s.ID, Title: oneLine(s.Title), Used: time.UnixMilli(s.Time.Updated)})
	}
	slices.SortFunc(out, func(a, b worker.Native) int { return b.Used.Compare(a.Used) })
	return out[:min(len(out), maxShown)], nil
}

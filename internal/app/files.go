package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/command"
	"cligate/internal/files"
	"cligate/internal/platform"
	"cligate/internal/turn"
	"cligate/internal/worker/proc"
)

// openSpool opens the spool and removes what an earlier life left in it.
func (a *App) openSpool(ctx context.Context) error {
	var err error
	if a.spool, err = files.OpenSpool(filepath.Join(a.cfg.DataDir, "spool")); err != nil {
		return err
	}
	return a.sweepSpool(ctx, 0)
}

const (
	sweepEvery = 6 * time.Hour
	// sweepAge spares what was stored for a row that is not committed yet.
	sweepAge = 24 * time.Hour
)

// sweepSpool removes the files that no row needs any more. What the web chat
// has shown stays for a while.
func (a *App) sweepSpool(ctx context.Context, older time.Duration) error {
	since := time.Time{}
	if a.cfg.Files.Keep > 0 {
		since = time.Now().Add(-a.cfg.Files.Keep)
	}
	keep, err := a.db.Outbox().Spooled(ctx, WebAccount, since)
	if err != nil {
		return fmt.Errorf("find the files that are needed: %w", err)
	}
	n, err := a.spool.Sweep(keep, older)
	if n > 0 {
		a.log.InfoContext(ctx, "files removed that nobody needs any more", "files", n)
	}
	return err
}

// tidyFolders removes what agents put into the workspaces long ago.
func (a *App) tidyFolders() {
	for _, w := range workspaces(a.cfg) {
		a.core.box.Tidy(w.Path)
	}
}

// tidyFiles sweeps now and then until ctx ends.
func (a *App) tidyFiles(ctx context.Context) {
	a.tidyFolders()
	for sleep(ctx, sweepEvery) {
		a.tidyFolders()
		if err := a.sweepSpool(ctx, sweepAge); err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "files that nobody needs stay", "err", err)
		}
	}
}

// outgoing are the files that leave workspaces, as the stations want them.
type outgoing struct {
	box      *files.Box
	adapters map[string]platform.Adapter
}

var (
	_ turn.Files    = outgoing{}
	_ command.Files = outgoing{}
)

func (a *App) outgoing(adapters map[string]platform.Adapter) outgoing {
	return outgoing{files.NewBox(a.spool, gitOf{a.starter}, files.Config{
		Most: a.cfg.Files.MaxMB * mb, Keep: a.cfg.Files.Keep, Private: []string{a.cfg.DataDir}, Log: a.log,
	}), adapters}
}

// sends is o for turns, where agents may send files.
func sends(may bool, o outgoing) turn.Files {
	if !may {
		return nil
	}
	return o
}

// fetches is o for commands, where people may fetch files.
func fetches(may bool, o outgoing) command.Files {
	if !may {
		return nil
	}
	return o
}

// limit is the largest file that an account sends; 0 = any size.
func (o outgoing) limit(account string) int64 {
	if a, ok := o.adapters[account]; ok {
		return a.Traits().MaxUpload
	}
	return 0
}

// Begin implements turn.Files.
func (o outgoing) Begin(s chat.Session, turn int64) (string, error) { return o.box.Begin(s, turn) }

// Collect implements turn.Files.
func (o outgoing) Collect(t chat.Turn, s chat.Session, lang string) []chat.Reply {
	return o.box.Collect(s, t.ID, lang, o.limit(t.Place.Account))
}

// Discard implements turn.Files.
func (o outgoing) Discard(outs []chat.Out) { o.box.Discard(outs) }

// Left implements turn.Files.
func (o outgoing) Left(s chat.Session, turn int64) string { return o.box.Left(s, turn) }

// Fetch implements command.Files.
func (o outgoing) Fetch(ctx context.Context, w command.Where) (chat.Reply, error) {
	return o.box.Fetch(ctx, w.Workspace, w.Path, w.Lang, o.limit(w.Account))
}

// List implements command.Files.
func (o outgoing) List(ctx context.Context, w command.Where) command.Listing {
	l := o.box.List(ctx, w.Workspace, w.Path, w.Lang)
	out := command.Listing{Text: l.Text}
	for _, e := range l.Entries {
		out.Entries = append(out.Entries, command.FileEntry{Path: e.Path, Dir: e.Dir})
	}
	return out
}

// gitOf asks git.
type gitOf struct{ starter *proc.Starter }

const (
	gitTime = 5 * time.Second
	gitMost = 1 << 20 // bytes of an answer
)

// Ignored implements files.Git. A repository is what its owner made of it, so
// nothing that its configuration names is run.
func (g gitOf) Ignored(ctx context.Context, dir string, names []string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	path, err := proc.Find("git")
	if err != nil {
		return nil, fmt.Errorf("find git: %w", err)
	}
	p, err := g.starter.Start(ctx, proc.Spec{
		Path: path, Dir: dir, Env: append(proc.BuildEnv(), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0"),
		Args: []string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "check-ignore", "-z", "--stdin"},
	})
	if err != nil {
		return nil, fmt.Errorf("ask git what it ignores: %w", err)
	}
	defer p.Close()
	defer context.AfterFunc(ctx, func() { _ = p.Close() })()
	if err := p.SetWriteDeadline(time.Now().Add(gitTime)); err != nil {
		return nil, fmt.Errorf("ask git what it ignores: %w", err)
	}
	var ask bytes.Buffer
	for _, n := range names {
		ask.WriteString("./" + n + "\x00") // never read as a pattern's magic
	}
	asked := make(chan error, 1)
	go func() { // ends with the process at the latest
		_, err := p.Write(ask.Bytes())
		asked <- errors.Join(err, p.CloseWrite())
	}()
	raw, err := io.ReadAll(io.LimitReader(p, gitMost))
	if err = errors.Join(err, <-asked); err != nil {
		return nil, fmt.Errorf("ask git what it ignores: %w", err)
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		return nil, fmt.Errorf("ask git what it ignores: %w", ctx.Err())
	}
	switch code, _ := p.Exit(); code {
	case 0, 1: // some are ignored, or none
	default:
		return nil, fmt.Errorf("git ended with code %d: %s", code, p.Stderr())
	}
	var bad []string
	for n := range strings.SplitSeq(string(raw), "\x00") {
		if n = strings.TrimPrefix(n, "./"); n != "" {
			bad = append(bad, n)
		}
	}
	return bad, nil
}

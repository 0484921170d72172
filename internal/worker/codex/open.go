package codex

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/worker"
	"cligate/internal/worker/rpc"
)

// Open implements worker.Driver. The server chooses a session's id; it is
// known as soon as the session has something to remember.
func (d *Driver) Open(ctx context.Context, s worker.Spec) (worker.Worker, error) {
	if err := checkSpec(s); err != nil {
		return nil, err
	}
	if err := checkWorkspace(s.Workspace); err != nil {
		return nil, err
	}
	s.Workspace = filepath.Clean(s.Workspace)
	limit, late := d.cfg.StartTimeout, chat.StartTimeout
	if s.NativeID != "" || s.Fork != "" {
		limit, late = d.cfg.ResumeTimeout, chat.LoadTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, chat.E(late, "", errors.New("the session was not ready in time")))
	defer cancel()
	srv, release, err := d.pool.take(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	w, err := openThread(ctx, srv, s)
	if err != nil {
		return nil, errors.Join(err, release())
	}
	w.release = release
	return w, nil
}

func checkWorkspace(dir string) error {
	if !filepath.IsAbs(dir) {
		return chat.E(chat.Invalid, "workspace", fmt.Errorf("workspace %q is not absolute", dir))
	}
	info, err := os.Stat(dir)
	if err != nil {
		return chat.E(chat.Invalid, "workspace", err)
	}
	if !info.IsDir() {
		return chat.E(chat.Invalid, "workspace", fmt.Errorf("workspace %q is no directory", dir))
	}
	return nil
}

// openThread starts, resumes or forks a thread in a process.
func openThread(ctx context.Context, srv *server, s worker.Spec) (*Worker, error) {
	if s.Mode == "" {
		s.Mode = modeAsk
	}
	p := policyOf(s.Mode)
	params := object{
		"cwd": s.Workspace, "approvalPolicy": p.approval, "sandbox": p.sandbox, "approvalsReviewer": "user",
	}
	if s.Model != "" {
		params["model"] = s.Model
	}
	method := doStart
	switch {
	case s.NativeID != "":
		if err := awaitFree(ctx, srv, s.NativeID); err != nil {
			return nil, err
		}
		method = doResume
		params["threadId"], params["excludeTurns"] = s.NativeID, true
	case s.Fork != "": // also of one that a worker of ours has
		method = doFork
		params["threadId"], params["excludeTurns"] = s.Fork, true
	}
	got, err := openPatiently(ctx, srv, method, params)
	if err != nil {
		return nil, err
	}
	w := newWorker(srv, s, got)
	if err := srv.join(w); err != nil {
		return nil, err
	}
	return w, nil
}

// awaitFree waits until no worker of ours has a thread any more: one may be
// about to leave.
func awaitFree(ctx context.Context, srv *server, thread string) error {
	other := srv.find(thread)
	if other == nil {
		return nil
	}
	late := time.NewTimer(heldFor)
	defer late.Stop()
	select {
	case <-other.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-late.C:
		return chat.E(chat.Conflict, "", fmt.Errorf("thread %s has a worker already", thread))
	}
}

// How long to wait for a session that another process still has, or is about
// to let go: one that was killed a moment ago, a terminal that was just left.
const (
	heldFor   = 3 * time.Second
	heldPause = 100 * time.Millisecond
)

// openPatiently opens a thread, again and again while it is held by another.
func openPatiently(ctx context.Context, srv *server, method string, params object) (opened, error) {
	enough := time.Now().Add(heldFor)
	for {
		var got opened
		err := srv.conn.Call(ctx, method, params, &got)
		switch {
		case err == nil && got.Thread.ID == "":
			return got, chat.E(chat.Protocol, "", errors.New("a thread without an id"))
		case err == nil:
			return got, nil
		case !held(err) || time.Now().After(enough):
			return got, openFailure(srv, err)
		}
		pause := time.NewTimer(heldPause)
		select {
		case <-pause.C:
		case <-srv.conn.Done():
		case <-ctx.Done():
		}
		pause.Stop()
	}
}

// What the server says about a session that it does not open.
const (
	saysNoRollout = "no rollout found"
	saysWriter    = "already has an active writer"
	saysInUse     = "in use by another"
	saysClosing   = "is closing"
	saysNoThread  = "thread not found"
)

// refused reports whether err is the server's no in these words.
func refused(err error, words ...string) bool {
	var no *rpc.Error
	if !errors.As(err, &no) {
		return false
	}
	for _, w := range words {
		if strings.Contains(no.Message, w) {
			return true
		}
	}
	return false
}

// held reports whether another process has the session.
func held(err error) bool { return refused(err, saysWriter, saysInUse, saysClosing) }

// openFailure is why a session was not opened.
func openFailure(srv *server, err error) error {
	var no *rpc.Error
	switch {
	case errors.Is(err, rpc.ErrGone):
		<-srv.gone
		return chat.E(chat.Crashed, "", exitOf(srv.proc))
	case !errors.As(err, &no):
		return err
	case refused(err, saysNoRollout):
		return chat.E(chat.NoSession, "", err)
	case held(err):
		return chat.E(chat.Unavailable, i18n.T(i18n.Default, "codex.in_use"), err)
	case refused(err, "unknown variant"):
		return chat.E(chat.TooOld, needed(srv.version), err)
	}
	return chat.E(classify(0, "", no.Message), shorten(no.Message), err)
}

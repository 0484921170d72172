package web

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"cligate/internal/chat"
	"cligate/internal/web/api"
)

// listenUnix binds the socket for its owner only. The directory around it is
// private, so nobody can connect before the mode is set. What an earlier daemon
// left behind is replaced; a daemon that still answers is an error.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	var l net.Listener
	err := api.ShortPath(path, func(short string) error {
		if err := clearStale(ctx, short, path); err != nil {
			return err
		}
		var (
			lc  net.ListenConfig
			err error
		)
		if l, err = lc.Listen(ctx, "unix", short); err != nil {
			return fmt.Errorf("listen on %s: %w", path, err)
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false) // the short path is gone by then
		return os.Chmod(short, 0o600)
	})
	if err != nil {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
		return nil, err
	}
	return &ownSocket{Listener: l, path: path}, nil
}

func clearStale(ctx context.Context, short, path string) error {
	info, err := os.Lstat(short)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at %s: %w", path, err)
	case info.Mode()&fs.ModeSocket == 0:
		return chat.E(chat.Conflict, path+" is in the way and is no socket", nil)
	}
	d := net.Dialer{Timeout: time.Second}
	c, err := d.DialContext(ctx, "unix", short)
	if err == nil {
		return errors.Join(chat.E(chat.Conflict, "another CliGate answers on "+path, nil), c.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("look who listens on %s: %w", path, err)
	}
	if err := os.Remove(short); err != nil {
		return fmt.Errorf("remove the socket of an ended daemon: %w", err)
	}
	return nil
}

// ownSocket removes its file when it is closed.
type ownSocket struct {
	net.Listener
	path string
}

// Close implements net.Listener.
func (o *ownSocket) Close() error {
	err := o.Listener.Close()
	if err == nil {
		if rm := os.Remove(o.path); rm != nil && !errors.Is(rm, fs.ErrNotExist) {
			err = fmt.Errorf("remove the socket: %w", rm)
		}
	}
	return err
}

// peer is who is at the other end of a unix connection.
type peer struct {
	pid, uid int
	start    uint64 // with pid it names the process, also when the pid is used again
	err      error
}

type peerKey struct{}

// markPeer notes with each connection who made it, as the kernel saw it then.
func (s *Server) markPeer(ctx context.Context, c net.Conn) context.Context {
	p := peerOf(c)
	if p.err == nil && s.parts.Lineage != nil {
		p.start, _, p.err = s.parts.Lineage(p.pid)
	}
	return context.WithValue(ctx, peerKey{}, p)
}

// peerRefusal says why the peer of a unix connection is refused; nil = it is
// not. Only our own user and root may talk, and no process of an agent's: with
// the socket it could approve its own requests. A process that the kernel
// cannot name to us (another process namespace) is not trusted either, nor one
// that has ended: whoever holds its connection now was not there to be asked.
func (s *Server) peerRefusal(r *http.Request) error {
	p, ok := r.Context().Value(peerKey{}).(peer)
	switch {
	case !ok:
		return errors.New("no peer")
	case p.err != nil:
		return fmt.Errorf("ask for the peer: %w", p.err)
	case p.uid != os.Geteuid() && p.uid != 0:
		return fmt.Errorf("user %d", p.uid)
	case p.pid <= 0:
		return errors.New("process in another namespace")
	case s.parts.Lineage == nil:
		return nil
	}
	switch start, agent, err := s.parts.Lineage(p.pid); {
	case err != nil:
		return fmt.Errorf("process %d: %w", p.pid, err)
	case start != p.start:
		return fmt.Errorf("process %d is another one now", p.pid)
	case agent:
		return fmt.Errorf("process %d belongs to an agent", p.pid)
	}
	return nil
}

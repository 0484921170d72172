package opencode

import (
	"context"
	"errors"
	"sync"

	"cligate/internal/chat"
)

// pool holds the servers that run, one for each workspace. The last session
// that leaves a server ends it.
type pool struct {
	mu      sync.Mutex
	tenants map[string]*lease
}

// lease is a server and how many use it.
type lease struct {
	dir    string
	refs   int           // guarded by the pool
	ready  chan struct{} // closed when the start has ended, well or not
	server *server       // nil when the start failed; written before ready is closed
	err    error
	cancel context.CancelFunc // ends a start that nobody waits for any more
}

// dead reports whether the server was there and is not any more.
func (l *lease) dead() bool {
	select {
	case <-l.ready:
	default:
		return false
	}
	return l.err != nil || isClosed(l.server.life.Done())
}

// acquire returns the server of a workspace and starts it where there is none.
// What is acquired must be released.
func (d *Driver) acquire(ctx context.Context, dir string) (*lease, error) {
	d.pool.mu.Lock()
	l := d.pool.tenants[dir]
	if l == nil || l.dead() {
		starting, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), d.cfg.StartTimeout,
			chat.E(chat.StartTimeout, "", errors.New("the server was not ready in time")))
		l = &lease{dir: dir, ready: make(chan struct{}), cancel: cancel}
		d.pool.tenants[dir] = l
		go func() { // release waits for its end
			defer close(l.ready)
			defer cancel()
			l.server, l.err = d.startServer(starting, dir)
		}()
	}
	l.refs++
	d.pool.mu.Unlock()
	select {
	case <-l.ready:
	case <-ctx.Done():
		d.release(l)
		return nil, context.Cause(ctx)
	}
	if l.err != nil {
		err := l.err
		d.release(l)
		return nil, err
	}
	return l, nil
}

// release gives a server back and ends it when nobody uses it any more; it
// waits for that end.
func (d *Driver) release(l *lease) {
	d.pool.mu.Lock()
	l.refs--
	last := l.refs == 0
	if last && d.pool.tenants[l.dir] == l {
		delete(d.pool.tenants, l.dir)
	}
	d.pool.mu.Unlock()
	if !last {
		return
	}
	l.cancel()
	<-l.ready
	if l.server != nil {
		l.server.close()
	}
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

package codex

import (
	"context"
	"sync"
)

// pool are the processes, one per workspace. Everybody who uses one counts; the
// last one ends it.
type pool struct {
	start func(ctx context.Context, dir string) (*server, error)

	mu    sync.Mutex
	slots map[string]*slot
}

// slot is the process of a workspace: it starts, serves, ends.
type slot struct {
	server *server       // nil while it starts
	users  int           // 0 = it starts or ends
	next   chan struct{} // closed when it has started, or is gone
}

// take returns the process of a workspace, and how to give it back. Of several
// who want one at the same time one starts it. A process that is gone or does
// not obey is left to those who have it.
func (p *pool) take(ctx context.Context, dir string) (*server, func() error, error) {
	for {
		p.mu.Lock()
		sl := p.slots[dir]
		switch {
		case sl == nil:
			sl = &slot{next: make(chan struct{})}
			p.slots[dir] = sl
			p.mu.Unlock()
			return p.open(ctx, dir, sl)
		case sl.users > 0 && sl.server.usable():
			sl.users++
			p.mu.Unlock()
			return sl.server, p.giver(dir, sl), nil
		case sl.users > 0:
			delete(p.slots, dir)
			p.mu.Unlock()
			continue
		}
		wait := sl.next
		p.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

// open starts the process of a new slot.
func (p *pool) open(ctx context.Context, dir string, sl *slot) (*server, func() error, error) {
	s, err := p.start(ctx, dir)
	p.mu.Lock()
	defer p.mu.Unlock()
	close(sl.next)
	if err != nil {
		delete(p.slots, dir)
		return nil, nil, err
	}
	sl.server, sl.users, sl.next = s, 1, make(chan struct{})
	return s, p.giver(dir, sl), nil
}

// giver returns the function that gives a process back, once.
func (p *pool) giver(dir string, sl *slot) func() error {
	var once sync.Once
	var err error
	return func() error {
		once.Do(func() { err = p.give(dir, sl) })
		return err
	}
}

func (p *pool) give(dir string, sl *slot) error {
	p.mu.Lock()
	sl.users--
	last := sl.users == 0
	p.mu.Unlock()
	if !last {
		return nil
	}
	err := sl.server.close() // meanwhile nobody starts another one here
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slots[dir] == sl {
		delete(p.slots, dir)
	}
	close(sl.next)
	return err
}

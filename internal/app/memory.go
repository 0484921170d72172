package app

import (
	"context"
	"runtime/debug"
	"time"

	"cligate/internal/worker/proc/runner"
)

// calmTime is how long nothing must happen before memory is given back.
const calmTime = time.Second

// memory gives back what is only needed while there is work: the garbage of
// the heap, and the pages of the program file that an idle daemon does not
// touch. Together that is half of what a busy one has. A daemon that has turns
// all the time never gets here.
type memory struct {
	used    chan struct{}
	release func()
}

func newMemory() *memory {
	return &memory{used: make(chan struct{}, 1), release: func() {
		debug.FreeOSMemory()
		runner.Slim()
	}}
}

// touch notes that there was work. It does not block.
func (m *memory) touch() {
	select {
	case m.used <- struct{}{}:
	default:
	}
}

// run works until ctx ends. The start of the daemon counts as work.
func (m *memory) run(ctx context.Context) {
	t := time.NewTimer(calmTime)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.used:
			t.Reset(calmTime)
		case <-t.C:
			m.release()
		}
	}
}

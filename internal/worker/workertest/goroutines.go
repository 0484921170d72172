package workertest

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// wantNoGoroutine marks the goroutines that the test starts from now on, and
// checks at its very end that all of a driver's are gone. It must be called
// before anything that cleans up is registered. The process starter's own are
// not looked at: it outlives its processes.
func wantNoGoroutine(t *testing.T) {
	t.Helper()
	mark := fmt.Sprintf("%s-%d", t.Name(), time.Now().UnixNano())
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("rule", mark)))
	t.Cleanup(func() {
		var left []string
		if !eventually(min(5*time.Second, patience()), func() bool { left = goroutines(mark); return len(left) == 0 }) {
			t.Errorf("goroutines are left:\n%s", strings.Join(left, "\n\n"))
		}
	})
}

// goroutines returns the stacks of the drivers' goroutines with a mark.
func goroutines(mark string) (left []string) {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		return []string{err.Error()}
	}
	for block := range strings.SplitSeq(b.String(), "\n\n") {
		switch {
		case !strings.Contains(block, mark), !strings.Contains(block, "/internal/worker/"):
		case strings.Contains(block, "testing.tRunner"), strings.Contains(block, "/proc.(*Starter)"):
		default:
			left = append(left, block)
		}
	}
	return left
}

// eventually waits until ok and reports whether that came in time.
func eventually(most time.Duration, ok func() bool) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(most); !ok(); <-tick.C {
		if time.Now().After(late) {
			return false
		}
	}
	return true
}

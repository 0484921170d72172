package proc

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func TestManyAgentsNeedFewThreads(t *testing.T) {
	n := 200
	if testing.Short() {
		n = 20
	}
	s, _ := starter(t)
	var wg sync.WaitGroup
	for range n {
		p := start(t, s, Spec{Path: "/bin/cat", Dir: "/", Env: []string{"PATH=/bin"}})
		wg.Go(func() { _, _ = io.Copy(io.Discard, p) })
	}
	threads, _ := os.ReadDir("/proc/self/task")
	if len(threads) > 24 {
		t.Errorf("%d agents cost %d threads", n, len(threads))
	}
	var pss []int
	s.mu.Lock()
	for p := range s.live {
		pss = append(pss, pssOf(p.control.pid))
	}
	s.mu.Unlock()
	slices.Sort(pss)
	t.Logf("%d agents: %d threads, runner PSS median %d KiB, largest %d KiB", n, len(threads), pss[len(pss)/2], pss[len(pss)-1])
	if mid := pss[len(pss)/2]; mid > 3<<10 && !raceEnabled {
		t.Errorf("a runner costs %d KiB", mid)
	}
	runtime.GC()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

// pssOf returns the proportional set size of a process in KiB, 0 where it may
// not be read.
func pssOf(pid int) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Pss:" {
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return 0
}

// BenchmarkStart measures a start with the spare runner and one without.
func BenchmarkStart(b *testing.B) {
	s, err := New(Config{Token: newToken()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	spec := Spec{Path: "/bin/cat", Dir: "/", Env: []string{"PATH=/bin"}}
	for _, spare := range []bool{true, false} {
		b.Run(fmt.Sprintf("spare=%v", spare), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				settle(s, spare)
				b.StartTimer()
				p, err := s.Start(b.Context(), spec)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				_ = p.Close()
				b.StartTimer()
			}
		})
	}
}

// settle waits until the spare runner waits for its order, and takes it away
// where none is wanted.
func settle(s *Starter, spare bool) {
	for {
		s.mu.Lock()
		c := s.spare
		if c != nil && !spare {
			s.spare = nil
		}
		s.mu.Unlock()
		if c != nil && !spare {
			c.discard()
			return
		}
		if c != nil && blocked(c.pid) {
			return
		}
		runtime.Gosched()
	}
}

// blocked reports whether a process waits in recvmsg.
func blocked(pid int) bool {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", pid))
	return strings.Contains(string(b), "unix_stream") || string(b) == "0"
}

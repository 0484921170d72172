//go:build faults

package fault

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// CLIGATE_FAULT=point:n kills the process, as kill -9 would, at the n-th hit.
var (
	point, count = parse(os.Getenv("CLIGATE_FAULT"))
	hits         atomic.Int64
)

func parse(s string) (Point, int64) {
	name, n, ok := strings.Cut(s, ":")
	if !ok {
		return Point(name), 1
	}
	c, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		panic("fault: bad count in CLIGATE_FAULT: " + s)
	}
	return Point(name), c
}

// Hit kills the process if this is the point and the hit that was asked for.
func Hit(p Point) {
	if p == point && hits.Add(1) == count {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	}
}

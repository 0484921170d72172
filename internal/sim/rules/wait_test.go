package rules

import (
	"time"

	"cligate/internal/sim/rig"
)

// waiter waits where there is no rig.
type waiter struct{}

// within waits until ok says so, at most as long as a rig does, and reports
// whether it did.
func (waiter) within(ok func() bool) bool {
	end := time.NewTimer(rig.Limit)
	defer end.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-end.C:
			return false
		case <-tick.C:
		}
	}
	return true
}

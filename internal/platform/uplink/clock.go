package uplink

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"cligate/internal/platform"
)

// Clock knows how a service's clock differs from this machine's, as its last
// answer said. The zero one knows nothing.
type Clock struct {
	ahead atomic.Int64 // ns, the lowest bit set; 0 = not known
}

// Note takes the time from an answer.
func (c *Clock) Note(h http.Header) {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		c.ahead.Store(int64(time.Until(date)) | 1)
	}
}

// Skew is by how much the service's clock is ahead; false when it is not known.
func (c *Clock) Skew() (time.Duration, bool) {
	n := c.ahead.Load()
	return time.Duration(n), n != 0
}

// mostSkew is how wrong this machine's clock may be. Beyond it the ages of
// messages and of buttons are judged wrongly.
const mostSkew = 30 * time.Second

// Inspect notes whether this machine's clock is right.
func (c *Clock) Inspect(f *platform.Findings, service string) {
	skew, known := c.Skew()
	switch {
	case !known:
	case skew.Abs() > mostSkew:
		f.Bad("clock", fmt.Sprintf("this machine's clock is %s off; have it set by the network (NTP): the ages of messages are judged by it", skew.Abs().Round(time.Second)))
	default:
		f.Good("clock", "agrees with "+service+"'s")
	}
}

package system

import (
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"cligate/internal/chat"
)

// census is how many rows are in each state: "turn running" and the like.
type census map[string]int

// passing are states that rows leave; a row in one of them at the moment of a
// death counts. In the others rows stay for ever: there it counts when one
// came to the state in the life that ended.
var passing = []string{
	"turn queued", "turn running", "turn waiting", "outbox pending", "outbox sending", "ask open", "inbound new",
	"attempt claimed", "attempt ready", "attempt intent", "attempt sent",
}

// wanted are the states in which the long form wants deaths.
var wanted = []string{
	"turn " + string(chat.TurnQueued), "turn " + string(chat.TurnRunning), "turn " + string(chat.TurnWaiting),
	"turn " + string(chat.TurnSucceeded), "turn " + string(chat.TurnFailed), "turn " + string(chat.TurnStopped),
	"turn " + string(chat.TurnInterrupted), "turn " + string(chat.TurnWithdrawn),
	"outbox " + string(chat.OutPending), "outbox " + string(chat.OutSending), "outbox " + string(chat.OutSent),
	"outbox " + string(chat.OutDead), "outbox " + string(chat.OutDropped),
}

func (c census) settled(state string) int {
	if slices.Contains(passing, state) {
		return 0
	}
	return c[state]
}

func (s *storm) census() census {
	c := census{}
	err := s.r.Query(func(rows *sql.Rows) error {
		var state string
		var n int
		err := rows.Scan(&state, &n)
		c[state] = n
		return err
	}, `SELECT 'turn ' || state, count(*) FROM turn GROUP BY state
UNION ALL SELECT 'outbox ' || state, count(*) FROM outbox GROUP BY state
UNION ALL SELECT 'ask ' || state, count(*) FROM ask GROUP BY state
UNION ALL SELECT 'inbound ' || state, count(*) FROM inbound GROUP BY state
UNION ALL SELECT 'attempt ' || state, count(*) FROM attempt GROUP BY state`)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// tally counts deaths by state, over all daemons.
type tally struct {
	mu    sync.Mutex
	kills int
	by    map[string]int
}

func newTally() *tally { return &tally{by: map[string]int{}} }

func (a *tally) add(before, now census) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kills++
	for state, n := range now {
		if n > before.settled(state) {
			a.by[state]++
		}
	}
}

func (a *tally) total() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.kills
}

// rarest is one of the three wanted states with the fewest deaths.
func (a *tally) rarest(rnd *rand.Rand) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := slices.Clone(wanted)
	slices.SortStableFunc(all, func(x, y string) int { return a.by[x] - a.by[y] })
	return all[rnd.IntN(3)]
}

// short lists the wanted states with less than n deaths.
func (a *tally) short(n int) (out []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range wanted {
		if a.by[s] < n {
			out = append(out, s)
		}
	}
	return out
}

// String is the histogram.
func (a *tally) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var b strings.Builder
	for _, s := range slices.Sorted(maps.Keys(a.by)) {
		fmt.Fprintf(&b, "%6d  %s\n", a.by[s], s)
	}
	return b.String()
}

func TestTallyCountsPassingStatesAndArrivals(t *testing.T) {
	t.Parallel()
	a := newTally()
	a.add(census{"turn running": 1, "turn failed": 2}, census{"turn running": 1, "turn failed": 2})
	a.add(census{"turn failed": 2}, census{"turn failed": 3})
	if a.by["turn running"] != 1 || a.by["turn failed"] != 1 || a.total() != 2 {
		t.Errorf("got %v", a.by)
	}
	if s := a.short(1); slices.Contains(s, "turn failed") || !slices.Contains(s, "outbox dead") {
		t.Errorf("short: %v", s)
	}
}

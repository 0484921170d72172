package system

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"cligate/internal/sim/rig"
)

const (
	doomed      = 3009 // a private chat in which the platform refuses everything
	killsEach   = 50   // of one daemon's data
	killsShort  = 40
	killsFull   = 2000
	leastEach   = 20 // kills in every state, in the long form
	judgedAfter = 25 // kills

	// patience is Feishu's: several daemons are killed and started beside each
	// other here, which no machine with a daemon has to bear.
	patience = 10 * time.Second

	killsFeishu = 26 // in the short form
)

// TestChaosRandomKills kills the daemon at random times, many times, while
// several chats talk to it, and asks the oracle in between. CLIGATE_SEED
// repeats a run; CLIGATE_KILLS says how many.
func TestChaosRandomKills(t *testing.T) {
	t.Parallel()
	randomKills(t, killsShort, func(int) string { return "telegram" })
}

// TestChaosRandomKillsOnFeishu does the same there; a third of the daemons is
// delivered to by webhook.
func TestChaosRandomKillsOnFeishu(t *testing.T) {
	t.Parallel()
	randomKills(t, killsFeishu, func(n int) string {
		if n%3 == 1 {
			return "feishu-hook"
		}
		return "feishu"
	})
}

// randomKills is such a test; platform is where the n-th daemon is, besides the
// web chat.
func randomKills(t *testing.T, kills int, platform func(n int) string) {
	t.Helper()
	kills = number(t, "CLIGATE_KILLS", kills)
	if full() {
		kills = number(t, "CLIGATE_KILLS", killsFull)
	}
	seed := number(t, "CLIGATE_SEED", int(time.Now().UnixNano()%1_000_000))
	t.Logf("CLIGATE_SEED=%d", seed)
	all := newTally()
	t.Run("daemons", func(t *testing.T) {
		each := min(killsEach, max(kills/2, 1))
		for n := range (kills + each - 1) / each {
			agent := []string{rig.Claude, rig.Demo}[n%2]
			at := platform(n)
			t.Run(fmt.Sprintf("%d/%s/%s", n, at, agent), func(t *testing.T) {
				t.Parallel()
				newStorm(t, at, agent, uint64(seed+n), all).run(min(each, kills-n*each))
			})
		}
	})
	t.Logf("%d kills; at the moment of death there was\n%s", all.total(), all)
	if full() {
		for _, s := range all.short(leastEach) {
			t.Errorf("less than %d kills in %s", leastEach, s)
		}
	}
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// storm is one daemon that is killed again and again.
type storm struct {
	t     *testing.T
	r     *rig.Rig
	rnd   *rand.Rand
	sky   sky
	crowd []*talker
	lost  *rig.Talk // the doomed chat
	all   *tally
	last  census
}

// sky is what comes from a platform beside messages.
type sky interface {
	// chats are two chats of people who may speak, and the doomed one.
	chats() (ordinary []*rig.Talk, doomed *rig.Talk)
	// strange lets somebody write who may not.
	strange()
	// fail makes a coming call fail, unless one is to fail already.
	fail(rnd *rand.Rand)
}

func newStorm(t *testing.T, platform, agent string, seed uint64, all *tally) *storm {
	s := &storm{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), all: all}
	s.r = rig.New(t, on(platform, rig.Options{Agent: agent, Owners: []int64{3001, 3002, doomed}, Patience: patience}))
	s.sky = newTelegramSky(s.r)
	if s.r.Feishu != nil {
		s.sky = newFeishuSky(s.r)
	}
	var cs []*rig.Talk
	cs, s.lost = s.sky.chats()
	for i, c := range append(cs, s.r.WebChat("east"), s.r.WebChat("west")) {
		s.crowd = append(s.crowd, &talker{storm: s, c: c, name: string(rune('p' + i))})
	}
	return s
}

// run kills the daemon so many times.
func (s *storm) run(kills int) {
	s.r.Start()
	for n := range kills {
		s.live()
		s.die()
		for n := s.rnd.IntN(8); n > 5; n-- { // deaths of a life that has hardly begun
			s.r.Launch()
			s.r.Within(time.Duration(s.rnd.IntN(80))*time.Millisecond, func() bool { return false })
			s.die()
		}
		if s.rnd.IntN(4) == 0 { // it stays away for a moment, and people write
			s.talk(1 + s.rnd.IntN(3))
			if left := s.r.Orphans(); len(left) > 0 {
				s.t.Errorf("left behind by a killed daemon: %v", left)
			}
		}
		if s.rnd.IntN(3) == 0 { // it will die at a fault point, if it gets there
			s.r.Launch(fmt.Sprintf("CLIGATE_FAULT=%s:%d", points[s.rnd.IntN(len(points))], 1+s.rnd.IntN(4)))
			s.r.Ready()
		} else {
			s.r.Start()
		}
		if n%judgedAfter == judgedAfter-1 {
			s.calm()
		}
	}
	s.calm()
	finish(s.t, s.r)
}

// live lets people talk until the moment of death has come: a random one, or
// when a state is seen in which too few deaths have happened yet.
func (s *storm) live() {
	moment := time.Duration(20+s.rnd.IntN(500)) * time.Millisecond
	state := ""
	if s.rnd.IntN(2) == 0 {
		state, moment = s.all.rarest(s.rnd), 2*time.Second
		s.stage(state)
	}
	tick := 0
	s.r.Within(moment, func() bool {
		if tick++; tick%8 == 1 && s.rnd.IntN(3) > 0 {
			s.talk(1)
		}
		s.trouble()
		for _, k := range s.crowd {
			k.look()
		}
		return !s.r.Alive() || state != "" && s.census()[state] > s.last.settled(state)
	})
}

// die kills the daemon and counts in what states that happened.
func (s *storm) die() {
	s.t.Helper()
	s.r.Kill()
	if !s.r.Killed() {
		s.t.Fatalf("the daemon ended by itself, code %d\n%s", s.r.ExitCode(), s.r.Tail())
	}
	now := s.census()
	s.all.add(s.last, now)
	s.last = now
}

// talk lets somebody say something, so many times.
func (s *storm) talk(n int) {
	for range n {
		s.crowd[s.rnd.IntN(len(s.crowd))].speak()
	}
}

// trouble lets the platform fail now and then, and somebody write who may not:
// their messages take ids that the ledger does not know.
func (s *storm) trouble() {
	if s.rnd.IntN(400) == 0 {
		s.sky.strange()
	}
	if s.rnd.IntN(60) == 0 {
		s.sky.fail(s.rnd)
	}
}

// stage makes a rare state likely.
func (s *storm) stage(state string) {
	k := s.crowd[s.rnd.IntN(len(s.crowd))]
	if k.busy() {
		return
	}
	switch state {
	case "turn waiting":
		k.say(k.words().Ask)
	case "turn running", "turn queued", "turn stopped", "turn withdrawn":
		k.say(k.slow)
		k.say(k.words().Echo)
	case "turn failed":
		k.c.Say("fail 400")
	case "outbox dead":
		s.lost.Say("long 1 nothing")
	case "outbox dropped":
		k.say(k.stream)
	default:
		k.say(k.words().Echo)
	}
}

// calm lets everything come to rest, and has it judged.
func (s *storm) calm() {
	s.t.Helper()
	s.r.Until("all is calm", func() bool {
		if !s.r.Alive() { // at a fault point
			s.die()
			s.r.Start()
		}
		for _, k := range s.crowd {
			k.look()
		}
		return s.r.AtRest() && s.r.Count("SELECT count(*) FROM turn WHERE state = 'queued'") == 0
	})
	for _, k := range s.crowd {
		k.stopping = false
		over(s.t, s.r, k.c, "ask:")
	}
	s.r.Judge()
	if s.t.Failed() {
		s.t.FailNow()
	}
}

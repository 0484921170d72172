package system

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"cligate/internal/sim/oracle"
	"cligate/internal/sim/rig"
)

// person uses the daemon through one chat, does the usual things, and copes
// with its deaths as people do: they notice, and something starts it again.
type person struct {
	t      *testing.T
	r      *rig.Rig
	c      *rig.Talk
	name   string
	n      int
	choice string // what to do about an interrupted turn: cont, retry, drop, "" = nothing
	died   int
}

func (p *person) key() string {
	p.n++
	return fmt.Sprintf("%s%d", p.name, p.n)
}

// tell sends a message and notes what must come of it.
func (p *person) tell(write func(key string) (string, []string)) {
	key := p.key()
	text, answer := write(key)
	p.c.Tell(text, key, answer...)
}

// settle waits until everything is over, allows what is asked for, and starts
// the daemon again whenever it died.
func (p *person) settle() {
	p.t.Helper()
	p.until("everything is over", func() bool { return p.r.AtRest() })
}

// until waits for ok in that way.
func (p *person) until(what string, ok func() bool) {
	p.t.Helper()
	p.r.Until(what, func() bool {
		if !p.r.Alive() {
			p.revive()
			return false
		}
		p.c.TryPress("ask:", "Allow")
		return ok()
	})
}

// revive starts the daemon again, without a fault, and does about interrupted
// turns what this person does.
func (p *person) revive() {
	p.t.Helper()
	if !p.r.Killed() {
		p.t.Fatalf("the daemon ended by itself, code %d\n%s", p.r.ExitCode(), p.r.Tail())
	}
	if p.died++; p.died > 1 {
		p.t.Fatal("the daemon died twice")
	}
	p.r.Start()
	if p.choice == "" {
		return
	}
	p.settle()
	for {
		b, ok := p.c.Take(func(b rig.Button) bool { return strings.HasPrefix(b.Data, p.choice+":") })
		if !ok {
			return
		}
		if p.choice == "retry" {
			again(p.t, p.r, b)
		}
		p.settle()
	}
}

// again notes that the messages of the turn that a button names are run again.
func again(t *testing.T, r *rig.Rig, b rig.Button) {
	t.Helper()
	_, id, _ := strings.Cut(b.Data, ":")
	turn, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range r.Keys(turn) {
		r.Again(key)
	}
}

// day is the usual: a question, a long run with a stop button, a permission, a
// long answer, several messages at once, a stop. It ends early when the daemon
// died, but for the long form of the tests.
func (p *person) day() {
	p.t.Helper()
	w := p.r.Words()
	for _, do := range []func(){
		func() { p.tell(w.Echo) },
		func() { p.tell(func(k string) (string, []string) { return w.Stream(k, 40) }) },
		func() { p.tell(w.Ask) },
		func() { p.tell(func(k string) (string, []string) { return w.Long(k, 150) }) },
		func() { p.tell(func(k string) (string, []string) { return w.Files(k, 2, p.n%2 == 0) }) },
		func() {
			p.tell(func(k string) (string, []string) { return "note " + k, nil })
			p.tell(w.Echo)
		},
		func() {
			p.tell(func(k string) (string, []string) { return w.Slow(k, 4) })
			p.until("the turn runs", func() bool {
				return p.r.Count("SELECT count(*) FROM turn WHERE state = 'running'") > 0 || p.died > 0 && p.r.AtRest()
			})
			p.c.Say("/stop")
		},
	} {
		do()
		p.settle()
		if p.died > 0 && !full() {
			return
		}
	}
}

// last proves that life goes on: one more message is answered.
func (p *person) last() {
	p.t.Helper()
	key := p.key()
	text, answer := p.r.Words().Echo(key)
	p.c.Put(text, oracle.Said{Key: key, Answer: answer, Allowed: true})
	p.c.Await(answer...)
	p.settle()
}

// closing is how long the buttons of what is over may stay: they are taken off
// when everything else has been sent.
const closing = 15 * time.Second

// over fails the test for buttons of what is over: at rest no request is open
// and no turn can be stopped or removed.
func over(t *testing.T, r *rig.Rig, c *rig.Talk, verbs ...string) {
	t.Helper()
	for _, verb := range verbs {
		gone := func() bool {
			_, _, ok := c.Find(verb)
			return !ok
		}
		if !r.Within(closing, gone) {
			m, b, _ := c.Find(verb)
			t.Errorf("at rest chat %s still offers %s (%s) on %q", c.Chat, b.Data, b.Label, m.Text)
		}
	}
}

package system

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

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
	for _, text := range p.r.Values(`SELECT i.body FROM turn t JOIN turn_input x ON x.turn = t.id
JOIN inbound i ON i.id = x.inbound WHERE t.state = 'interrupted' AND t.choice = ''`) {
		if p.choice == "retry" {
			p.again(text)
		}
	}
	for p.c.TryPress(p.choice + ":") {
		p.settle()
	}
}

// again notes that the stored message is run again.
func (p *person) again(body string) {
	p.t.Helper()
	var m struct{ Text string }
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		p.t.Fatal(err)
	}
	for i := range p.n {
		if key := fmt.Sprintf("%s%d", p.name, i+1); slices.Contains(strings.Fields(m.Text), key) {
			p.r.Again(key)
		}
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

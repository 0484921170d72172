package system

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cligate/internal/sim/feishu"
	"cligate/internal/sim/oracle"
	"cligate/internal/sim/rig"
)

// away is a rig whose daemon has worked on one platform and is down now.
func away(t *testing.T, platform, agent string) (*rig.Rig, *person) {
	t.Helper()
	r := rig.New(t, on(platform, rig.Options{Agent: agent, Owners: []int64{2001}}))
	r.Start()
	p := &person{t: t, r: r, c: place(r, platform, 0), name: "w"}
	p.last()
	r.Kill()
	return r, p
}

func TestMessagesOfAShortAbsenceAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	for _, w := range [][2]string{{"telegram", rig.Claude}, {"telegram", rig.Demo}, {"feishu", rig.Claude}, {"feishu-hook", rig.Demo}} {
		t.Run(w[0]+"/"+w[1], func(t *testing.T) {
			t.Parallel()
			r, p := away(t, w[0], w[1])
			if r.Feishu != nil {
				r.Feishu.Ladder(3*time.Second, time.Hour) // pushed again when we say so
			}
			for n := range 5 { // three seconds apart: they are no companions
				key := p.key()
				text, answer := r.Words().Echo(key)
				r.Expect(oracle.Said{Chat: p.c.Chat, Key: key, Answer: answer, Allowed: true})
				p.c.SayAt(time.Now().Add(time.Duration(3*n-15)*time.Second), text)
			}
			r.Start()
			pushAgain(r)
			p.settle()
			r.Judge()
			if strings.Contains(p.c.Text(), "older than") {
				t.Error("there is a question about messages of three seconds ago")
			}
			finish(t, r)
		})
	}
}

// pushAgain hands over what waits at Feishu as its ladder does, which says each
// event some time after it failed: in the order in which they happened.
func pushAgain(r *rig.Rig) {
	if r.Feishu == nil {
		return
	}
	r.Until("the daemon is connected", func() bool { return r.Hears() })
	for _, d := range r.Feishu.Deliveries() {
		if d.Acked {
			continue
		}
		r.Until("an event is taken", func() bool {
			all := r.Feishu.Deliveries()
			if all[slices.IndexFunc(all, func(x feishu.Delivery) bool { return x.ID == d.ID })].Acked {
				return true
			}
			r.Feishu.PushAgain(d.ID) // one that came while the daemon starts is refused
			return false
		})
	}
}

// old says things that the service kept for twenty hours and returns the answers.
func old(p *person, n int) (answers []string) {
	for range n {
		key := p.key()
		text, answer := p.r.Words().Echo(key)
		p.r.Expect(oracle.Said{Chat: p.c.Chat, Key: key, Answer: answer, Allowed: true})
		p.c.SayAt(time.Now().Add(-20*time.Hour), text)
		answers = append(answers, answer...)
	}
	return answers
}

// asked waits for the one question about old messages.
func asked(t *testing.T, p *person) {
	t.Helper()
	p.c.Await("older than 6 h")
	if n := strings.Count(p.c.Text(), "older than"); n != 1 {
		t.Errorf("%d questions", n)
	}
	if n := p.r.Count("SELECT count(*) FROM turn"); n != 1 { // the one of before
		t.Errorf("%d turns before anybody chose", n)
	}
}

func TestOldMessagesAreAskedAboutOnceAndRunOnRequest(t *testing.T) {
	t.Parallel()
	for _, platform := range []string{"telegram", "feishu"} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			r, p := away(t, platform, rig.Claude)
			old(p, 3)
			r.Start()
			asked(t, p)
			r.Kill() // the question survives, and is not asked again
			r.Start()
			asked(t, p)
			p.c.Press("aged:run")
			p.settle()
			p.last()
			r.Judge()
			finish(t, r)
		})
	}
}

func TestAnOldMessageThatComesLaterJoinsTheQuestion(t *testing.T) {
	t.Parallel()
	for _, platform := range []string{"telegram", "feishu"} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			r, p := away(t, platform, rig.Claude)
			r.Start()
			for n := 1; n <= 3; n++ {
				old(p, 1)
				p.c.Await(fmt.Sprintf("%d message(s) arrived that are older than 6 h", n), fmt.Sprintf("w%d", n+1))
				r.Rest()
			}
			asked(t, p)
			p.c.Press("aged:run")
			p.settle()
			p.last()
			r.Judge()
			finish(t, r)
		})
	}
}

func TestOldMessagesAreDroppedOnRequest(t *testing.T) {
	t.Parallel()
	r, p := away(t, "telegram", rig.Claude)
	answers := old(p, 3)
	r.Start()
	asked(t, p)
	p.c.Press("aged:drop")
	p.c.Await("dropped")
	p.last()
	r.Judge()
	for _, a := range answers {
		if strings.Contains(p.c.Text(), a) {
			t.Errorf("%s is shown", a)
		}
	}
	if got := r.Values("SELECT state FROM inbound WHERE state = 'expired'"); len(got) != 3 {
		t.Errorf("%d messages expired", len(got))
	}
	finish(t, r)
}

func TestLimitOfOldMessagesIsConfigurable(t *testing.T) {
	t.Parallel()
	r, p := away(t, "telegram", rig.Claude)
	old(p, 1)
	r.Start("CLIGATE_MESSAGE_AGE=24h")
	p.settle()
	p.last()
	r.Judge()
	if strings.Contains(p.c.Text(), "older than") {
		t.Error("there is a question")
	}
	finish(t, r)
}

package system

import (
	"strings"
	"testing"
	"time"

	"cligate/internal/sim/oracle"
	"cligate/internal/sim/rig"
)

// away is a rig whose daemon has worked and is down now.
func away(t *testing.T, agent string) (*rig.Rig, *person) {
	t.Helper()
	r := rig.New(t, rig.Options{Agent: agent})
	r.Start()
	p := &person{t: t, r: r, c: r.Chat(rig.Owner), name: "w"}
	p.last()
	r.Kill()
	return r, p
}

func TestMessagesOfAShortAbsenceAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{rig.Claude, rig.Demo} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			r, p := away(t, agent)
			for range 5 {
				key := p.key()
				text, answer := r.Words().Echo(key)
				r.Expect(oracle.Said{Chat: p.c.Chat, Key: key, Answer: answer, Allowed: true})
				p.c.SayAt(time.Now().Add(-3*time.Second), text)
			}
			r.Start()
			p.settle()
			r.Judge()
			if strings.Contains(p.c.Text(), "older than") {
				t.Error("there is a question about messages of three seconds ago")
			}
			finish(t, r)
		})
	}
}

// old says things that Telegram kept for twenty hours and returns the answers.
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
	r, p := away(t, rig.Claude)
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
}

func TestOldMessagesAreDroppedOnRequest(t *testing.T) {
	t.Parallel()
	r, p := away(t, rig.Claude)
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
	r, p := away(t, rig.Claude)
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

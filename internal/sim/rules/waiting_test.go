package rules

import (
	"strings"
	"testing"

	"cligate/internal/sim/rig"
)

// The daemon dies when the words are stored and nobody has offered them to the
// agent.
func TestWordsMeantInPlaceOfATurnOutliveTheDaemon(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{NoTelegram: true})
	r.Start("CLIGATE_FAULT=turn-merged:4")
	u := user{r.WebChat("room"), t, r}
	u.remember("plum")
	u.Say("hang")
	u.runs()
	u.Say("say later")
	r.Until("it waits", func() bool { return r.Count("SELECT count(*) FROM turn WHERE state = 'queued'") == 1 })
	u.Say("/instead what was the word?")
	r.Until("the point is reached", func() bool { return !r.Alive() })
	if !r.Killed() {
		t.Fatalf("not by the fault\n%s", r.Tail())
	}
	r.Start()
	u.Await("the word was plum", "later")
	r.Rest()
	all := u.Text()
	told := strings.Index(all, start("turn.replaced", ""))
	answer, last := strings.Index(all, "the word was plum"), strings.LastIndex(all, "later")
	if told < 0 || answer < told || last < answer {
		t.Errorf("shown\n%s", all)
	}
	if _, b, ok := u.Find("cont:"); ok {
		t.Errorf("what was replaced is offered: %+v", b)
	}
}

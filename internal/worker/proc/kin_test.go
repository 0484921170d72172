package proc

import (
	"bufio"
	"fmt"
	"slices"
	"testing"
	"time"

	"cligate/internal/worker/proc/runner"
)

func TestOnlyWhatCameLaterIsEnded(t *testing.T) {
	s, _ := starter(t)
	p := start(t, s, playing("spawn"))
	lines := bufio.NewScanner(p)
	spawn := func() {
		t.Helper()
		if _, err := fmt.Fprintln(p, "one more"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() {
			t.Fatal("the agent is gone")
		}
	}
	spawn()
	before := tree(p)
	kin := p.Kin()
	if n := kin.EndYounger(nil); n != 0 {
		t.Errorf("%d were killed before anything came", n)
	}
	spawn()
	spawn()
	if n := kin.EndYounger(func(args []string) bool { return slices.Contains(args, "sleep") }); n != 0 {
		t.Errorf("%d were killed that were to be spared", n)
	}
	if n := kin.EndYounger(nil); n != 2 {
		t.Errorf("%d were killed, want 2", n)
	}
	eventually(t, 2*time.Second, "the younger gone", func() bool { return len(tree(p)) == len(before) })
	if left := survivors(before); len(left) != len(before) {
		t.Errorf("%d of %d older ones live", len(left), len(before))
	}
	spawn() // and the agent goes on
}

func TestOnlyWhatIsMarkedIsEnded(t *testing.T) {
	s, _ := starter(t)
	p := start(t, s, playing("spawn"))
	lines := bufio.NewScanner(p)
	spawn := func(mark string) {
		t.Helper()
		if _, err := fmt.Fprintln(p, mark); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() {
			t.Fatal("the agent is gone")
		}
	}
	for _, mark := range []string{"mine", "other", "mine too", "mine"} {
		spawn(mark)
	}
	if n := p.EndMarked(); n != 0 {
		t.Errorf("without a mark %d were killed", n)
	}
	if n := p.EndMarked("SPAWN_MARK=mine"); n != 2 {
		t.Errorf("%d were killed, want 2", n)
	}
	eventually(t, 2*time.Second, "those gone", func() bool { return len(survivors(tree(p))) == 3 }) // the agent, and two more
}

func tree(p *Process) []runner.Entry { return runner.Descendants(p.control.pid) }

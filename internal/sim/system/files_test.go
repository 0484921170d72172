package system

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"cligate/internal/fault"
	"cligate/internal/sim/oracle"
	"cligate/internal/sim/rig"
)

// TestFaultDuringLongFinalsAndFiles kills the daemon at every message of an
// answer of several parts and of the files behind another.
func TestFaultDuringLongFinalsAndFiles(t *testing.T) {
	t.Parallel()
	platforms, hits := []string{"telegram", "group", "feishu"}, []int{2, 5}
	if full() {
		platforms, hits = append(platforms, "supergroup", "web", "feishu-group"), []int{1, 2, 3, 4, 5, 6, 7}
	}
	for _, platform := range platforms {
		for _, at := range []fault.Point{fault.ResultReceived, fault.TurnFinished, fault.SendIntended, fault.SendDone} {
			for _, hit := range hits {
				turns := at == fault.ResultReceived || at == fault.TurnFinished
				if turns {
					hit = (hit + 1) / 2
				}
				if turns && hit > 2 {
					continue // there are two turns
				}
				t.Run(fmt.Sprintf("%s/%s/%d", platform, at, hit), func(t *testing.T) {
					t.Parallel()
					r := rig.New(t, on(platform, rig.Options{Agent: rig.Demo, Owners: []int64{2001}}))
					r.Start("CLIGATE_FAULT=" + string(at) + ":" + strconv.Itoa(hit))
					p := &person{t: t, r: r, name: "f", c: place(r, platform, 0)}
					w := r.Words()
					p.tell(func(k string) (string, []string) { return w.Files(k, 3, hit%2 == 0) })
					p.settle()
					p.tell(func(k string) (string, []string) { return w.Long(k, 260) })
					p.settle()
					if p.died == 0 {
						t.Fatalf("%s was not passed %d times", at, hit)
					}
					p.last()
					r.Judge()
					finish(t, r)
				})
			}
		}
	}
}

// A file that is lost, or is there twice, is no secret to the oracle.
func TestLostAndDoubledFilesWouldBeSeen(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Agent: rig.Demo})
	r.Start()
	p := &person{t: t, r: r, c: r.Chat(rig.Owner), name: "s"}
	p.tell(func(k string) (string, []string) { return r.Words().Files(k, 2, true) })
	p.settle()
	good := r.World()
	if bad := oracle.Judge(good); len(bad) > 0 {
		t.Fatal(bad)
	}
	file := slices.IndexFunc(good.Shown, func(s oracle.Shown) bool { return s.File })
	if file < 0 {
		t.Fatalf("no file is shown: %+v", good.Shown)
	}
	twice, lost := good, good
	twice.Shown = append(slices.Clone(good.Shown), good.Shown[file])
	lost.Shown = slices.Delete(slices.Clone(good.Shown), file, file+1)
	for name, w := range map[string]oracle.World{"twice": twice, "lost": lost} {
		if len(oracle.Judge(w)) == 0 {
			t.Errorf("a file that is %s is not seen", name)
		}
	}
	finish(t, r)
}

package runner

import (
	"os"
	"testing"
)

func TestLineageKnowsItsOwn(t *testing.T) {
	t.Parallel()
	self, ok := Inspect(os.Getpid())
	if !ok {
		t.Fatal("this process is not in /proc")
	}
	for _, c := range []struct {
		name  string
		root  int
		below bool
	}{
		{"its parent", self.Parent, true},
		{"the first process", 1, true},
		{"itself", self.PID, false},
		{"nobody", 1 << 30, false},
	} {
		start, below, err := Lineage(self.PID, c.root)
		if err != nil || below != c.below || start != self.Start {
			t.Errorf("%s: started %d, below %v, %v", c.name, start, below, err)
		}
	}
	if _, _, err := Lineage(1<<30, 1); err == nil {
		t.Error("a process that is not there has a lineage")
	}
}

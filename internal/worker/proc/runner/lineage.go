package runner

import "errors"

// lineageTries is how often a walk starts again because the tree changed under
// it.
const lineageTries = 16

// Lineage reports whether a process lives below root, and when it started: with
// the pid that names it for ever. An error means that nobody can tell: the
// process has ended, or its ancestors end faster than they can be asked.
//
// It walks upwards, and each answer is about a process that was there when it
// was asked. A walk over a list of all processes could miss one whose parent
// ends between two looks.
func Lineage(pid, root int) (start uint64, below bool, err error) {
	for range lineageTries {
		self, ok := Inspect(pid)
		if !ok || self.Zombie {
			return 0, false, errEnded
		}
		below, known := under(self, root)
		if again, ok := Inspect(pid); !ok || again.Zombie || again.Start != self.Start {
			return 0, false, errEnded
		}
		if known {
			return self.Start, below, nil
		}
	}
	return 0, false, errors.New("its ancestors change too fast")
}

var errEnded = errors.New("the process has ended")

// under follows the parents of e; known is false when one of them was gone, or
// was replaced, before it could be asked.
func under(e Entry, root int) (below, known bool) {
	for e.Parent > 0 {
		if e.Parent == root {
			return true, true
		}
		parent, ok := Inspect(e.Parent)
		if !ok || parent.Start > e.Start {
			return false, false
		}
		e = parent
	}
	return false, true
}

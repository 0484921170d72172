package lab

import (
	"testing"

	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

// acts is what to say to a real agent so that our model makes it do an act.
// What is missing here only a stand-in can be made to do.
var acts = map[workertest.Act]string{
	workertest.Remember:   "remember the word plum",
	workertest.Recall:     "what was the word?",
	workertest.Stream:     "stream 250 10",
	workertest.Approval:   "run touch approved",
	workertest.Question:   "ask",
	workertest.FreeAnswer: "ask",
	workertest.FailLogin:  "fail 401",
	workertest.FailQuota:  "fail 429 0 quota",
}

// Kit is the conformance suite's view of this lab: newDriver makes a driver for
// l.Command and l.Env with l.Starter; unknown is a well-formed id of a session
// that never was. The test may take acts away that this agent cannot be made to
// do (delete from Say, say why in Lacks), or say them in other words.
func (l *Lab) Kit(unknown string, newDriver func(t *testing.T) worker.Driver) workertest.Kit {
	k := workertest.Kit{
		Driver: newDriver, Unknown: unknown, Left: l.Left,
		Say: map[workertest.Act]string{}, Lacks: map[workertest.Act]string{},
	}
	for _, a := range workertest.Acts() {
		if text, ok := acts[a]; ok {
			k.Say[a] = text
		} else {
			k.Lacks[a] = "only a stand-in does that when it is told to"
		}
	}
	return k
}

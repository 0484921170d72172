package command

import (
	"strings"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

type asleep struct{ Workers }

func (asleep) Live(int64) (worker.Info, bool) { return worker.Info{}, false }

func TestTheAgentsOwnIDIsOneShortPlainLine(t *testing.T) {
	t.Parallel()
	s := &Set{Deps: Deps{Workers: asleep{}}}
	got := sessionLine(s, Call{Lang: "en"}, chat.Session{ID: 7, NativeID: "../x\n\x1b[31m\u202e" + strings.Repeat("s", 100_000)})
	if len(got) > 200 || strings.ContainsAny(got, "\n\x1b\u202e") || !strings.Contains(got, "../x [31ms") {
		t.Errorf("%.300q", got)
	}
}

package rules

import (
	"strings"
	"testing"

	"cligate/internal/sim/rig"
	"cligate/internal/sim/telegram"
)

// A chat that wants documents gets its answers as such, also after a restart,
// and classic ones from a server that has none.
func TestAChatGetsTheFormOfAnswersThatItChose(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{Agent: rig.Demo})
	table := func() (found telegram.Message) {
		t.Helper()
		last := int64(0)
		for _, m := range u.r.Telegram.Messages(rig.Token, rig.Owner) {
			last = m.ID
		}
		u.Say("markdown")
		if !u.r.Within(rig.Limit, func() bool {
			for _, m := range u.r.Telegram.Visible(rig.Token, rig.Owner) {
				// The live message shows the same text, with a button.
				if found = m; m.ID > last && strings.Contains(m.Text, "The end.") && len(m.Buttons) == 0 {
					return true
				}
			}
			return false
		}) {
			t.Fatalf("no answer\n%s", u.r.Tail())
		}
		return found
	}
	if table().Rich != nil {
		t.Error("nobody asked for a document")
	}
	u.ask("/rich on", "your app shows documents")
	if table().Rich == nil {
		t.Error("the answer is no document")
	}
	u.r.Kill()
	u.r.Start()
	if table().Rich == nil {
		t.Error("the choice did not outlive a kill")
	}
	u.r.Telegram.SetRich(false)
	if m := table(); m.Rich != nil || len(m.Entities) == 0 {
		t.Errorf("from an older server came %+v", m)
	}
	u.ask("/rich off", text("command.rich_now_off"))
}

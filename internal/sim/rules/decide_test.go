package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cligate/internal/sim/rig"
	"cligate/internal/sim/telegram"
)

// In a group every word for the bot carries its name, before or behind.
func TestVerdictThatNamesTheBotDecidesInAGroup(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{})
	tg := u.r.Telegram
	tg.AddChat(team, telegram.Group, "Team")
	boss := u.in(u.r.ChatAs(team, rig.Owner))
	boss.Say("@rig_bot run touch made")
	request := boss.news(nil, "touch made")
	known := boss.known()
	boss.Say("@rig_bot 允许。") // no reply: which request is meant is not guessed
	boss.news(known, text("router.answer_reply"))
	var number int64
	_, _ = fmt.Sscan(request.ID, &number)
	tg.Say(rig.Token, telegram.Say{Chat: team, From: rig.Owner, Text: "Allow! @rig_bot", ReplyTo: number})
	boss.news(known, "ran:")
	if _, err := os.Stat(filepath.Join(u.r.Dir, "work", "made")); err != nil {
		t.Error(err)
	}
	u.quiet(1)
	for _, p := range u.prompts() {
		if strings.Contains(p, "允许") || strings.Contains(p, "llow") {
			t.Errorf("the agent was told %q", p)
		}
	}
}

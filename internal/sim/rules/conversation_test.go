package rules

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"cligate/internal/sim/rig"
)

// terminal runs `cligate chat` with these lines and returns what it printed.
func terminal(t *testing.T, r *rig.Rig, lines ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), rig.Build(t).Daemon, "chat", "--name", "desk")
	cmd.Dir = r.Dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.Home(), "CLIGATE_DATA_DIR=" + r.DataDir(), "LANG=C.UTF-8"}
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Errorf("cligate chat: %v\n%s", err, out.String())
	}
	return strings.ReplaceAll(out.String(), "**", "")
}

// native is the agent's id in what /status printed.
func native(t *testing.T, said string) string {
	t.Helper()
	line := find(said, "command.status_session", "session", `\d+`, "native", `(\S+)`, "worker", `.+`)
	if line == nil {
		t.Fatalf("no session in %q", said)
	}
	return line[1]
}

// A conversation outlives kill -9 in every way of talking.
func TestConversationSurvivesAKillOnEveryWayIn(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{rig.Claude, rig.Demo} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			tg := house(t, rig.Options{Agent: agent, Feishu: rig.Socket})
			fs := tg.in(tg.r.FeishuChat(rig.Owner))
			web := tg.in(tg.r.WebChat("room"))
			tg.remember("plum")
			tg.recall("plum")
			web.remember("pear")
			web.recall("pear")
			fs.remember("quince")
			fs.recall("quince")
			said := terminal(t, tg.r, "remember the word fig", "what was the word?", "/status")
			onTG, onWeb, onFeishu, inTerminal := tg.status(), web.status(), fs.status(), native(t, said)
			if !strings.Contains(strings.ToLower(said), "the word was fig") {
				t.Errorf("the terminal shows %s", said)
			}
			tg.r.Kill()
			tg.r.Start()
			tg.kept(onTG, "plum")
			web.kept(onWeb, "pear")
			fs.kept(onFeishu, "quince")
			said = terminal(t, tg.r, "what was the word?", "/status")
			if !strings.Contains(strings.ToLower(said), "the word was fig") || native(t, said) != inTerminal {
				t.Errorf("session %s, then the terminal shows %s", inTerminal, said)
			}
			tg.r.Stop()
			if left := tg.r.Orphans(); len(left) > 0 {
				t.Error(left)
			}
		})
	}
}

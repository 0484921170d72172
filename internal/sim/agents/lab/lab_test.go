//go:build agents

package lab_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cligate/internal/sim/agents/lab"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// once is how each agent answers one prompt and ends.
var once = map[string][]string{
	"claude":   {"-p"},
	"codex":    {"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"},
	"gemini":   {"--skip-trust", "-y", "-p"},
	"opencode": {"run"},
	"pi":       {"-p"},
	"qwen":     {"-y", "-p"},
	"copilot":  {"--allow-all-tools", "-p"},
}

func TestEveryAgentReachesTheModel(t *testing.T) { //nolint:paralleltest // they are heavy: one at a time
	for name, args := range once {
		t.Run(name, func(t *testing.T) {
			l := lab.New(t, name)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, l.Command, append(args, "say plum\nrun echo fig\nsay pear")...)
			cmd.Dir, cmd.Env = l.Workspace(t), l.Env
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "pear") {
				t.Errorf("%v:\n%s", err, out)
			}
			for i, r := range l.Server.Requests() {
				t.Logf("%s: %q with %d tools, refused %q", r.Path, r.Users, len(r.Tools), r.Refused)
				if dir := os.Getenv("DUMP"); dir != "" {
					_ = os.WriteFile(filepath.Join(dir, name+"-"+string(rune('0'+i))+".json"), r.Body, 0o644)
				}
			}
		})
	}
}

func TestWhatAnAgentLeavesIsTold(t *testing.T) {
	t.Parallel()
	l := lab.New(t, "claude")
	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	cmd.Env = l.Env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if left := l.Left(); len(left) != 1 || !strings.HasSuffix(left[0], "sleep 60 ") {
		t.Errorf("left: %q", left)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	if left := l.Left(); len(left) != 0 {
		t.Errorf("still left: %q", left)
	}
}

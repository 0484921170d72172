package proc

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEnvironmentIsAnAllowList(t *testing.T) {
	t.Parallel()
	environ := []string{
		"PATH=/bin", "HOME=/h", "LC_TIME=C", "https_proxy=p", "SECRET=s", "AWS_SECRET_ACCESS_KEY=k",
		"CLIGATE_TELEGRAM_TOKEN=t", "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_USE_BEDROCK=1",
		"CLAUDE_CONFIG_DIR=/c", "ANTHROPIC_API_KEY=a", "ANTHROPIC_BASE_URL=b", "=odd", "CODEX_SANDBOX=x", "EMPTY=",
	}
	for name, c := range map[string]struct{ allow, want []string }{
		"nothing more": {nil, []string{"HOME=/h", "LC_TIME=C", "PATH=/bin", "https_proxy=p"}},
		"named": {
			[]string{"ANTHROPIC_API_KEY", "ABSENT", "EMPTY"},
			[]string{"ANTHROPIC_API_KEY=a", "EMPTY=", "HOME=/h", "LC_TIME=C", "PATH=/bin", "https_proxy=p"},
		},
		"set wins": {
			[]string{"HOME=/other", "NEW=a=b", "CLAUDECODE=mine"},
			[]string{"CLAUDECODE=mine", "HOME=/other", "LC_TIME=C", "NEW=a=b", "PATH=/bin", "https_proxy=p"},
		},
		"pattern passes no mark of an outer session": {
			[]string{"CLAUDE*", "CLIGATE_*", "CODEX_*", "CLAUDECODE"},
			[]string{"CLAUDE_CODE_USE_BEDROCK=1", "CLAUDE_CONFIG_DIR=/c", "HOME=/h", "LC_TIME=C", "PATH=/bin", "https_proxy=p"},
		},
	} {
		if got := buildEnv(environ, c.allow); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

// A token that an agent session handed to the daemon dies with that session.
func TestCredentialsOfAnOuterSessionAreNotInherited(t *testing.T) {
	t.Parallel()
	own := []string{"ANTHROPIC_API_KEY=a", "ANTHROPIC_AUTH_TOKEN=b", "CLAUDE_CODE_OAUTH_TOKEN=c"}
	inside := append([]string{"CLAUDECODE=1"}, own...)
	for name, c := range map[string]struct{ environ, allow, want []string }{
		"the operator's own":       {own, []string{"ANTHROPIC_*", "CLAUDE_CODE_*"}, own},
		"inside an agent session":  {inside, []string{"ANTHROPIC_*", "CLAUDE_CODE_*"}, own[:1]},
		"wanted by name all right": {inside, []string{"ANTHROPIC_*", "CLAUDE_CODE_*", "CLAUDE_CODE_OAUTH_TOKEN"}, []string{own[0], own[2]}},
	} {
		if got := buildEnv(c.environ, c.allow); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

func TestFindLooksWhereInstallersPutPrograms(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("PATH", t.TempDir())
	if _, err := Find("some-agent"); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("absent: %v", err)
	}
	for _, version := range []string{"v20.1.0", "v22.3.0"} {
		dir := filepath.Join(home, ".nvm/versions/node", version, "bin")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "some-agent"), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Find("some-agent")
	if err != nil || !strings.Contains(got, "v22.3.0/bin/some-agent") {
		t.Errorf("found %q, %v", got, err)
	}
	if same, err := Find(got); err != nil || same != got {
		t.Errorf("a path: %q, %v", same, err)
	}
	env := withDir([]string{"A=b", "PATH=/bin"}, filepath.Dir(got))
	if want := "PATH=/bin:" + filepath.Dir(got); env[1] != want {
		t.Errorf("got %q, want %q", env[1], want)
	}
	if again := withDir(env, filepath.Dir(got)); !slices.Equal(again, env) {
		t.Errorf("added twice: %q", again)
	}
}

func TestStderrMasksSecrets(t *testing.T) {
	t.Parallel()
	tl := newTail([]string{"MY_API_KEY=abcdefgh12345", "GREETING=good morning", "X_TOKEN=short"})
	for _, secret := range []string{
		"abcdefgh12345", "sk-ant-REDACTED", "ghp_REDACTED", "123456789:AAabcdefghijklmnopqrstuvwxyz012345_",
		"eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl", "Bearer abcdef0123456789",
	} {
		tl.add([]byte("before " + secret + " after\n"))
	}
	tl.add([]byte("https://user:pass@host/x good morning"))
	got := tl.String()
	for _, bad := range []string{"abcdefgh12345", "abcdefghijkl", "eyJ", "ef0123", "pass@"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q is visible in %q", bad, got)
		}
	}
	if !strings.Contains(got, "good morning") || strings.Count(got, "before") != 6 {
		t.Errorf("too much is masked: %q", got)
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	tl := newTail(nil)
	var all strings.Builder
	for i := range 3000 {
		piece := strings.Repeat(string(rune('a'+i%26)), i%97)
		all.WriteString(piece)
		tl.add([]byte(piece))
		if i%250 != 0 {
			continue
		}
		s := all.String()
		if want := s[max(0, len(s)-tailSize):]; tl.String() != want {
			t.Fatalf("after %d pieces the tail differs", i+1)
		}
	}
}

package claude

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"
)

// The test binary plays the stand-in.
func TestMain(m *testing.M) {
	if os.Getenv("PLAY_CLAUDE") != "" {
		os.Exit(Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// stream is the command line of a session.
var stream = []string{
	"-p", "--input-format=stream-json", "--output-format=stream-json", "--verbose", "--include-partial-messages", "--permission-prompt-tool=stdio",
}

func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), "PLAY_CLAUDE=1", "SIM_CLAUDE_DIR="+dir)
	return cmd
}

func TestWhatTheRealOneRefusesIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	used := uuid.NewString()
	live(t, dir, "--session-id="+used).turn("say hi").kill()
	tests := []struct {
		name string
		args []string
		says string
	}{
		{"unknown option", append(stream, "--nonsense=x"), "unknown option '--nonsense=x'"},
		{"a prompt as an argument", append(stream, "hello"), "unknown option 'hello'"},
		{"no UUID", append(stream, "--session-id=abc"), "Must be a valid UUID"},
		{"id in use", append(stream, "--session-id="+used), "already in use"},
		{"unknown session", append(stream, "--resume="+uuid.NewString()), "No conversation found with session ID"},
		{"session that is no id", append(stream, "--resume=../x"), "No conversation found"},
		{"both", append(stream, "--session-id="+used, "--resume="+used), "cannot be used with"},
		{"not verbose", []string{"-p", "--input-format=stream-json", "--output-format=stream-json"}, "requires --verbose"},
		{"mode", append(stream, "--permission-mode=none"), "is invalid"},
		{"no permissions", append(stream, "--permission-mode=bypassPermissions"), "not launched with"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, err := command(t, dir, tt.args...).CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), tt.says) {
				t.Errorf("%v, %s", err, out)
			}
		})
	}
	for _, e := range journal(t, dir, KindStart, KindResume)[1:] {
		t.Errorf("a refused start is in the journal: %+v", e)
	}
}

func TestALineThatIsNoJSONEndsIt(t *testing.T) {
	t.Parallel()
	cmd := command(t, t.TempDir(), stream...)
	cmd.Stdin = strings.NewReader("hello\n")
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Error(err)
	}
}

func TestATranscriptSurvivesAKill(t *testing.T) {
	t.Parallel()
	dir, id := t.TempDir(), uuid.NewString()
	live(t, dir, "--session-id="+id).turn("remember the word plum").kill()
	got := live(t, dir, "--resume="+id).turn("what was the word?")
	if got.last["result"] != "the word was plum" || got.last["session_id"] != id {
		t.Errorf("result = %v", got.last)
	}
}

func TestTwoProcessesOfOneSessionAreABreach(t *testing.T) {
	t.Parallel()
	dir, id := t.TempDir(), uuid.NewString()
	first := live(t, dir, "--session-id="+id).turn("say hi")
	live(t, dir, "--resume="+id).turn("say hi").kill()
	if n := len(journal(t, dir, KindOverlap)); n != 1 {
		t.Errorf("%d breaches noted, want 1", n)
	}
	first.kill()
	live(t, dir, "--resume="+id).turn("say hi").kill()
	if n := len(journal(t, dir, KindOverlap)); n != 1 {
		t.Errorf("a killed process still counts: %d", n)
	}
}

func TestAnApprovalOfAnotherInputIsABreach(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := live(t, dir)
	s.send(`{"type":"user","uuid":"u","message":{"role":"user","content":"run touch ` + filepath.Join(dir, "mark") + `"}}`)
	ask := s.until("control_request")
	s.send(fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"behavior":"allow","updatedInput":{"command":"id"}}}}`, ask["request_id"]))
	s.until("result")
	if len(journal(t, dir, KindOverlap)) != 1 || len(journal(t, dir, KindTool)) != 0 {
		t.Error("another input than the one asked about was taken")
	}
}

func TestEveryPromptIsInTheJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	live(t, dir).turn("say one").turn("say two")
	var texts []string
	for _, e := range journal(t, dir, KindPrompt) {
		texts = append(texts, e.Text+" "+fmt.Sprint(e.ID != ""))
	}
	if strings.Join(texts, ",") != "say one true,say two true" {
		t.Errorf("journal = %v", texts)
	}
}

func TestSeveralWaitingMessagesBecomeOneRun(t *testing.T) {
	t.Parallel()
	s := live(t, t.TempDir())
	for i, text := range []string{"stream 5 40", "say one", "say two"} {
		s.send(fmt.Sprintf(`{"type":"user","uuid":"u%d","message":{"role":"user","content":%q}}`, i, text))
		if i == 0 {
			s.until("stream_event") // it is at work
		}
	}
	s.until("result")
	if got := s.until("result"); got["result"] != "two" {
		t.Errorf("result = %v", got)
	}
}

// session is a live stand-in.
type session struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.Writer
	out  *bufio.Reader
	last map[string]any // the last result
}

func live(t *testing.T, dir string, more ...string) *session {
	t.Helper()
	cmd := command(t, dir, append(append([]string(nil), stream...), more...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, cmd: cmd, in: in, out: bufio.NewReader(out)}
	t.Cleanup(s.kill)
	return s
}

func (s *session) send(line string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

// until reads up to the next message of a type.
func (s *session) until(kind string) map[string]any {
	s.t.Helper()
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			s.t.Fatalf("no %s: %v", kind, err)
		}
		var m map[string]any
		if json.Unmarshal(line, &m) == nil && m["type"] == kind {
			return m
		}
	}
}

func (s *session) turn(text string) *session {
	s.t.Helper()
	s.send(fmt.Sprintf(`{"type":"user","uuid":%q,"message":{"role":"user","content":%q}}`, uuid.NewString(), text))
	s.last = s.until("result")
	return s
}

func (s *session) kill() {
	_ = s.cmd.Process.Signal(syscall.SIGKILL)
	_ = s.cmd.Wait()
}

func journal(t *testing.T, dir string, kinds ...string) []Entry {
	t.Helper()
	all, err := Journal(dir)
	if err != nil {
		t.Fatal(err)
	}
	var some []Entry
	for _, e := range all {
		for _, k := range kinds {
			if e.Kind == k {
				some = append(some, e)
			}
		}
	}
	return some
}

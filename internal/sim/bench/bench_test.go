package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/claude"
	"cligate/internal/worker/proc"
	"cligate/internal/worker/workertest"
)

func TestTheBusiestWindowIsFound(t *testing.T) {
	t.Parallel()
	second := int64(time.Second)
	at := []int64{9 * second, 0, second, second + 1, 2*second - 1, 2 * second}
	if n := busiest(at, time.Second); n != 3 {
		t.Errorf("%d in a second, want 3", n)
	}
	if n := busiest(nil, time.Second); n != 0 {
		t.Errorf("%d of nothing", n)
	}
}

func TestTheBudgetAllowsABurstAndThenOneASecond(t *testing.T) {
	t.Parallel()
	b, at := newBudget(), time.Unix(1000, 0)
	took := 0
	for range 10 {
		if b.take(1, at) {
			took++
		}
	}
	if took != chatBurst {
		t.Errorf("%d at once, want %d", took, chatBurst)
	}
	if !b.take(1, at.Add(time.Second)) || b.take(1, at.Add(time.Second)) {
		t.Error("not one after a second")
	}
	others := 0
	for chat := range int64(100) {
		if b.take(chat+2, at.Add(time.Second)) {
			others++
		}
	}
	if others >= allBurst {
		t.Errorf("%d in other chats in the same moment", others)
	}
}

func TestRowsShowMedianSpreadRatioAndVerdict(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := rows(&out, []figure{
		{metric: "a", unit: "ms", ref: []float64{1, 3, 2}, ours: []float64{4, 8, 6}, goal: "≤ 2×", reached: timesAtMost(2)},
		{metric: "b", ours: []float64{0}, goal: "0", reached: atMost(0)},
		{metric: "c"},
	})
	want := "| a, ms | 2 [1..3] | 6 [4..8] | 3 | ≤ 2× | no |\n| b | – | 0 |  | 0 | yes |\n| c | – | – |  |  |  |\n"
	if err != nil || out.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out.String(), want)
	}
}

func TestOnlyTheEndOfATextIsAnAnswer(t *testing.T) {
	t.Parallel()
	if tag, f, ok := parseAnswer("some text re17 100 250"); !ok || tag != "17" || f.read != 100 || f.wrote != 250 {
		t.Errorf("%q %+v %v", tag, f, ok)
	}
	for _, text := range []string{"", "re17 1", "17 1 2", "re17 x 2", "re17 1 2 and more"} {
		if _, _, ok := parseAnswer(text); ok {
			t.Errorf("%q is taken for an answer", text)
		}
	}
}

func TestWhatWasNeitherAnsweredNorReportedIsCounted(t *testing.T) {
	t.Parallel()
	open := map[string]int64{"slow 100 1": 1, "m 2": 1, "slow 100 3": 2, "m 4": 2}
	calls := []call{
		{method: "sendMessage", chat: 1, text: "interrupted", offers: true},
		{method: "sendMessage", chat: 1, text: "re2 1 1"},
		{method: "sendMessage", chat: 2, text: "working", buttons: true},
	}
	if n := unheard(open, calls); n != 2 {
		t.Errorf("%d, want 2", n)
	}
	journal := filepath.Join(t.TempDir(), "journal")
	if err := os.WriteFile(journal, []byte("m 1\nm 2\nm 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := repeated(journal); n != 1 {
		t.Errorf("%d given twice, want 1", n)
	}
}

// ask calls a method of the fake API.
func ask(t *testing.T, a *api, method string, form url.Values) string {
	t.Helper()
	resp, err := http.PostForm(a.address+"/bot1:x/"+method, form)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestUpdatesComeAgainUntilTheyAreConfirmed(t *testing.T) {
	t.Parallel()
	a, err := openAPI(t.Context(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.close)
	got := a.say(5, "m 1")
	for range 2 {
		if s := ask(t, a, "getUpdates", url.Values{"offset": {"1"}}); !strings.Contains(s, `"text":"m 1"`) {
			t.Fatal(s)
		}
	}
	if s := ask(t, a, "getUpdates", url.Values{"offset": {"2"}, "timeout": {"0"}}); strings.Contains(s, "m 1") {
		t.Error(s)
	}
	ask(t, a, "sendMessage", url.Values{"chat_id": {"5"}, "text": {"re1 7 8"}})
	f := <-got
	if f.read != 7 || f.wrote != 8 || f.handed == 0 || f.at < f.handed {
		t.Errorf("%+v", f)
	}
	if n := len(a.log(0)); n != 1 {
		t.Errorf("%d calls but for polls, want 1", n)
	}
}

func buildAgent(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	source, agent := filepath.Join(dir, "agent.c"), filepath.Join(dir, "agent")
	if err := os.WriteFile(source, agentSource, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "gcc", "-O2", "-Wall", "-Werror", "-o", agent, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return agent
}

func TestTheAgentSpeaksTheDriversDialect(t *testing.T) {
	t.Parallel()
	agent := buildAgent(t)
	starter, err := proc.New(proc.Config{Token: "bench-" + uuid.NewString()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = starter.Close() })
	driver := claude.New(claude.Config{Command: agent}, starter, slog.New(slog.DiscardHandler))
	traits, err := driver.Probe(t.Context())
	if err != nil || !traits.LoggedIn {
		t.Fatalf("%+v, %v", traits, err)
	}
	seed := uuid.NewString()
	w, err := driver.Open(t.Context(), worker.Spec{Session: 1, Workspace: t.TempDir(), Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	for i, text := range []string{"m 1", "slow 1 2", "stream 5 24 100 3", "tools 2 100 4", "line 5 5", "flood 1 6", "noise 1 7"} {
		a, err := workertest.Prompt(t, w, text, nil)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if tag, _, ok := parseAnswer(strings.ReplaceAll(a.Text(), "|", "")); !ok || tag != text[len(text)-1:] {
			t.Errorf("%s: answer %.200q", text, a.Text())
		}
		if tools := len(a.Of(chat.EventTool)); i == 3 && tools != 4 {
			t.Errorf("%d events of tools, want 4", tools)
		}
	}
	if w.NativeID() != seed {
		t.Errorf("session %q, want %q", w.NativeID(), seed)
	}
}

func TestThePlainAgentAnswersTheRodsPrompts(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), buildAgent(t))
	cmd.Stdin = strings.NewReader(`{"type":"user","message":{"role":"user","content":"m 9"}}` + "\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(out) {
		var m struct{ Type, Result string }
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if tag, _, ok := parseAnswer(m.Result); m.Type == "result" && (!ok || tag != "9") {
			t.Errorf("result %q", m.Result)
		}
	}
}

package claude

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

func TestFailuresOfTheModelHaveTheirClass(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	agent := w.open(t, nil)
	for script, want := range map[string]chat.Code{
		"fail 401":     chat.LoggedOut,
		"fail 403":     chat.LoggedOut,
		"fail login":   chat.LoggedOut,
		"fail expired": chat.LoggedOut,
		"fail 429":     chat.Quota,
		"fail limit":   chat.Quota,
		"fail 529":     chat.Overloaded,
		"fail 500":     chat.Overloaded,
		"fail 404":     chat.ModelUnknown,
		"fail network": chat.Network,
		"fail context": chat.ContextFull,
		"fail 400":     chat.AgentError,
		"cut":          chat.Network,
	} {
		began := time.Now()
		a, err := workertest.Prompt(t, agent, script, nil)
		if chat.CodeOf(err) != want {
			t.Errorf("%s: %v, want %s", script, err, want)
		}
		if strings.Contains(a.Blocks(), "API Error") || strings.Contains(a.Blocks(), "/login") {
			t.Errorf("%s: the failure is shown as an answer: %q", script, a.Blocks())
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("%s took %v", script, took)
		}
	}
	a, err := workertest.Prompt(t, agent, "say alive", nil)
	if err != nil || a.Blocks() != "alive|" {
		t.Errorf("after all that: %q, %v", a.Blocks(), err)
	}
	if n := len(w.journal(t, "start", "resume")); n != 1 {
		t.Errorf("%d processes", n)
	}
}

func TestALimitTellsWhenItEnds(t *testing.T) {
	t.Parallel()
	_, err := workertest.Prompt(t, newWorld(t, nil).open(t, nil), "fail limit", nil)
	wantCode(t, err, chat.Quota)
	e := err.(*chat.Error) //nolint:errorlint // the test wants the very value
	if e.After < 59*time.Minute || e.After > time.Hour || !strings.Contains(e.Detail, "resets in an hour") {
		t.Errorf("error = %+v", e)
	}
}

func TestARetryIsProgressAndNotTheEnd(t *testing.T) {
	t.Parallel()
	a, err := workertest.Prompt(t, newWorld(t, nil).open(t, nil), "fail 529 3\nsay fine", nil)
	if err != nil || a.Blocks() != "fine|" {
		t.Fatalf("%q, %v", a.Blocks(), err)
	}
	r := a.Of(chat.EventRetry)
	if len(r) != 3 || r[0].Code != chat.Overloaded || r[0].Text != "529 overloaded (1/10)" {
		t.Errorf("retries = %+v", r)
	}
}

func TestAnExpiredLoginIsToldAtTheFirstRefusal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	a, err := workertest.Prompt(t, w.open(t, nil), "fail 401", nil)
	wantCode(t, err, chat.LoggedOut)
	if n := len(a.Of(chat.EventRetry)); n != 1 {
		t.Errorf("%d refusals were waited for", n)
	}
	if n := len(w.journal(t, "interrupt")); n != 1 {
		t.Error("the agent goes on trying")
	}
}

func TestGarbageIsSkippedAndStrangeRequestsAreAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	agent := w.open(t, nil)
	a, err := workertest.Prompt(t, agent, "say before\ngarbage\nsay after", nil)
	if err != nil || a.Blocks() != "before|after|" {
		t.Errorf("%q, %v", a.Blocks(), err)
	}
	if id := agent.NativeID(); id == "" {
		t.Error("an empty id took the place of a known one")
	}
	waitFor(t, "refusal", func() bool { return strings.Contains(w.log.String(), "unknown request of the agent refused") })
}

func TestALineOverTheCapIsSkipped(t *testing.T) {
	t.Parallel()
	agent := newWorld(t, func(c *Config) { c.MaxLine = 1 << 20 }).open(t, nil)
	a, err := workertest.Prompt(t, agent, "say before\nbigline 12\nsay after", nil)
	if err != nil || a.Blocks() != "before|after|" {
		t.Errorf("%q, %v", a.Blocks(), err)
	}
	if n := a.Of(chat.EventNotice); len(n) != 1 || !strings.Contains(n[0].Text, "12 MiB") {
		t.Errorf("notices = %v", n)
	}
	a, err = workertest.Prompt(t, agent, "say told\nbigline 3 result", nil)
	if err != nil || a.Blocks() != "told|" {
		t.Errorf("a result over the cap: %q, %v", a.Blocks(), err)
	}
}

func TestMemoryIsBoundedWhateverTheAgentPrints(t *testing.T) { //nolint:paralleltest // it measures memory
	agent := newWorld(t, nil).open(t, nil)
	if _, err := workertest.Prompt(t, agent, "say warm", nil); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if a, err := workertest.Prompt(t, agent, "bigline 60\nstderr 300\nbigline 60\nsay after", nil); err != nil || a.Blocks() != "after|" {
		t.Fatalf("%q, %v", a.Blocks(), err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 8<<20 {
		t.Errorf("%d MiB stay after 120 MiB of lines", grown>>20)
	}
}

func TestArgumentsNeverCarryWhatAUserWrote(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	agent := w.open(t, nil)
	want := ""
	for _, text := range []string{"--dangerously-skip-permissions", "-c x=y", "--", "@file", "- item", "-h\nargs"} {
		a, err := workertest.Prompt(t, agent, text+"\nargs", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, args, _ := strings.Cut(a.Blocks(), "args: ")
		args, _, _ = strings.Cut(args, "|")
		if want == "" {
			want = args
		}
		if args != want {
			t.Errorf("%q changed the arguments: %s", text, args)
		}
	}
	for _, bad := range []worker.Spec{
		{Model: "gpt;id"}, {Model: "$(id)"}, {Model: "-c"}, {Model: strings.Repeat("m", 200)},
		{Mode: "bypassPermissions"}, {Mode: "--yolo"}, {NativeID: "../../x"}, {NativeID: "--resume"}, {Seed: "x y"},
	} {
		bad.Workspace = w.work
		_, err := w.Open(t.Context(), bad)
		wantCode(t, err, chat.Invalid)
		if bad.NativeID == "" && bad.Seed == "" {
			_, err = agent.Set(t.Context(), chat.Settings{Model: bad.Model, Mode: bad.Mode})
			wantCode(t, err, chat.Invalid)
		}
	}
}

func TestTheAgentSeesOnlyItsOwnEnvironment(t *testing.T) {
	t.Setenv("TELEGRAM_TOKEN", "canary")
	t.Setenv("CLIGATE_TELEGRAM_TOKEN", "canary")
	t.Setenv("CLAUDECODE", "1")
	t.Setenv("CLAUDE_CODE_ENTRYPOINT", "cli")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "canary")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("CLAUDE_CONFIG_DIR", "/somewhere")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:2")
	t.Setenv("WANTED", "yes")
	w := newWorld(t, func(c *Config) { c.Env = append(c.Env, "WANTED", "SET=here") })
	a, err := workertest.Prompt(t, w.open(t, nil), "env", nil)
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(strings.Trim(strings.TrimPrefix(a.Blocks(), "env:"), "|"))
	for _, n := range []string{"ANTHROPIC_BASE_URL", "CLAUDE_CONFIG_DIR", "HTTPS_PROXY", "WANTED", "SET", "PATH", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"} {
		if !slices.Contains(names, n) {
			t.Errorf("%s is missing", n)
		}
	}
	for _, n := range []string{"TELEGRAM_TOKEN", "CLIGATE_TELEGRAM_TOKEN", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "AWS_SECRET_ACCESS_KEY"} {
		if slices.Contains(names, n) {
			t.Errorf("%s reaches the agent", n)
		}
	}
}

func TestSettingsApplyNowOrWithTheNextTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	agent := w.open(t, nil)
	if applied, err := agent.Set(t.Context(), chat.Settings{Model: "sim-small", Mode: "acceptEdits"}); err != nil || applied != chat.AppliedNow {
		t.Fatalf("%v, %v", applied, err)
	}
	a, err := workertest.Prompt(t, agent, "say hi", nil)
	if err != nil || a.Of(chat.EventUsage)[0].Usage.Model != "sim-small" || agent.Info().Model != "sim-small" {
		t.Errorf("model = %q, %v", agent.Info().Model, err)
	}
	b := workertest.NewHost(nil)
	cancel, result := workertest.Begin(t, agent, "hang", b)
	b.Await(t, "start", func(es []chat.Event) bool { return len(es) > 0 })
	if applied, err := agent.Set(t.Context(), chat.Settings{}); err != nil || applied != chat.AppliedNext {
		t.Errorf("%v, %v", applied, err)
	}
	cancel(errStop)
	<-result
}

func TestASettingThatIsNotNamedStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	agent := w.open(t, func(s *worker.Spec) { s.Model, s.Mode = "sim-large", "plan" })
	for _, s := range []chat.Settings{{Model: "sim-small"}, {}, {Mode: "acceptEdits"}, {Mode: "acceptEdits"}} {
		if _, err := agent.Set(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, e := range w.journal(t, "set") {
		got = append(got, e.Text)
	}
	if want := []string{"model sim-small", "mode acceptEdits"}; !slices.Equal(got, want) {
		t.Errorf("told the agent %q, want %q", got, want)
	}
}

func TestProbeTellsVersionAndLogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	got, err := w.Probe(t.Context())
	if err != nil || got.Version != "2.1.332" || !got.LoggedIn || got.Hint != "" || !got.Can.Has(worker.Resume) || !got.Can.Has(worker.Approvals) {
		t.Errorf("traits = %+v, %v", got, err)
	}
	if err := os.WriteFile(w.dir+"/logged-out", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err = w.Probe(t.Context())
	if err != nil || got.LoggedIn || got.Hint == "" {
		t.Errorf("traits = %+v, %v", got, err)
	}
	none := newWorld(t, func(c *Config) { c.Command = "no-such-agent-here" })
	got, err = none.Probe(t.Context())
	wantCode(t, err, chat.NotInstalled)
	if got.Hint == "" {
		t.Error("no word about how to install it")
	}
	_, err = none.Open(t.Context(), worker.Spec{Workspace: none.work, Seed: uuid.NewString()})
	wantCode(t, err, chat.NotInstalled)
	if d := chat.DetailOf(err); d != "no-such-agent-here" {
		t.Errorf("what was looked for is not told but %q", d)
	}
}

func TestInfoIsWhatTheAgentSays(t *testing.T) {
	t.Parallel()
	info := newWorld(t, nil).open(t, nil).Info()
	if info.Version != "2.1.332" || info.Model != "sim-large" || !slices.Contains(info.Models, "sim-small") ||
		!slices.Contains(info.Modes, "plan") || len(info.Commands) != 3 || info.Commands[0].Name != "compact" {
		t.Errorf("info = %+v", info)
	}
}

func TestAWorkspaceMustBeThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, dir := range []string{"", "relative", w.work + "/none", "/dev/null"} {
		_, err := w.Open(t.Context(), worker.Spec{Workspace: dir, Seed: uuid.NewString()})
		wantCode(t, err, chat.Invalid)
	}
}

func TestManySessionsDoNotMix(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	results := make(chan string, 4)
	for i := range 4 {
		agent := w.open(t, func(s *worker.Spec) { s.Session = int64(i) })
		go func() { // its result is received below
			a, err := workertest.Prompt(t, agent, fmt.Sprintf("stream 20 2\nsay number %d", i), nil)
			if err != nil {
				results <- err.Error()
				return
			}
			results <- strings.Split(a.Blocks(), "|")[1]
		}()
	}
	var got []string
	for range 4 {
		got = append(got, <-results)
	}
	slices.Sort(got)
	if want := []string{"number 0", "number 1", "number 2", "number 3"}; !slices.Equal(got, want) {
		t.Errorf("answers = %v", got)
	}
}

func TestAnAgentThatIsTooOldIsToldWithBothVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Env = append(c.Env, "SIM_CLAUDE_VERSION=1.0.128") })
	_, err := w.Open(t.Context(), worker.Spec{Session: 1, Workspace: w.work, Seed: uuid.NewString()})
	wantCode(t, err, chat.TooOld)
	if d := chat.DetailOf(err); !strings.Contains(d, "1.0.128") || !strings.Contains(d, oldest) {
		t.Errorf("detail %q", d)
	}
	tr, err := w.Probe(t.Context())
	wantCode(t, err, chat.TooOld)
	if tr.Version != "1.0.128" || tr.Hint == "" {
		t.Errorf("traits %+v", tr)
	}
}

package acp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

func TestProbeLearnsFromTheAgent(t *testing.T) {
	s, token := starter(t)
	d, err := New(self(t, "demo"), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Probe(t.Context())
	if err != nil || got.Agent != "demo" || got.Version == "" || !got.Can.Has(worker.Resume) || !got.LoggedIn || !got.Can.Has(worker.Approvals) {
		t.Errorf("got %+v, %v", got, err)
	}
	if left := workertest.Left(token)(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestAnAgentThatIsNotThereIsReportedWithTheWayToGetIt(t *testing.T) {
	s, _ := starter(t)
	for _, command := range []string{"no-such-agent-anywhere", "/no/such/agent", "/etc/passwd"} {
		d, err := New(Config{Name: "x", Command: command, Install: "Install it so."}, s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Probe(t.Context()); chat.CodeOf(err) != chat.NotInstalled || chat.DetailOf(err) != "Install it so." {
			t.Errorf("%s: probe: %v", command, err)
		}
		if _, err := d.Open(t.Context(), worker.Spec{Workspace: "/"}); chat.CodeOf(err) != chat.NotInstalled {
			t.Errorf("%s: open: %v", command, err)
		}
	}
	d, err := New(Config{Name: "x", Command: "no-such-agent-anywhere"}, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Open(t.Context(), worker.Spec{Workspace: "/"}); chat.DetailOf(err) != "no-such-agent-anywhere" {
		t.Errorf("what was looked for is not told: %v", err)
	}
}

func TestAnAgentWithoutItsSwitchIsReported(t *testing.T) {
	s, _ := starter(t)
	for command, want := range map[string]chat.Code{"/bin/sleep": chat.StartTimeout, "/bin/true": chat.Crashed} {
		d, err := New(Config{Name: "x", Command: command, Args: []string{"30"}, StartTimeout: 300 * time.Millisecond}, s, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Open(t.Context(), worker.Spec{Workspace: "/"})
		if chat.CodeOf(err) != want || !strings.Contains(chat.DetailOf(err), command[5:]) {
			t.Errorf("%s: %v, want %s", command, err, want)
		}
	}
}

// slow is a host that takes its time.
type slow struct {
	*workertest.Host
	n int
}

func (s *slow) Emit(ctx context.Context, e chat.Event) error {
	if s.n++; s.n%500 == 0 {
		<-time.After(20 * time.Millisecond)
	}
	return s.Host.Emit(ctx, e)
}

func TestTheEndOfAFastAgentIsNotLostOnASlowHost(t *testing.T) {
	s, _ := starter(t)
	d, err := New(self(t, "rough"), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := d.Open(t.Context(), worker.Spec{Workspace: "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	h := &slow{Host: workertest.NewHost(nil)}
	if err := w.Prompt(t.Context(), ask("burst"), h); err != nil {
		t.Fatal(err)
	}
	if got := len(h.Text()); got < 5_000_000 {
		t.Errorf("%d bytes arrived", got)
	}
	<-w.Done()
}

func TestAnAgentMayDieAtAnyMoment(t *testing.T) {
	t.Parallel()
	for i := range 200 {
		at := i % 5
		s := newScript(methods{
			"session/prompt": func(s *script, id, _ string) {
				switch at {
				case 0:
					go s.Close()
				case 1:
					s.say("x")
					go s.Close()
				case 2:
					s.line(`{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":%s}`, claudeAsks)
					go s.Close()
				case 3:
					s.line(`{"id":%s,"result":{"stopReason":"end_turn"}}`, id)
					go s.Close()
				}
			},
		})
		w := mustOpen(t, s, Config{})
		if at == 4 {
			go s.Close() // while the prompt is written
		}
		err := w.Prompt(t.Context(), ask(strings.Repeat("long ", 1000)), workertest.NewHost(nil))
		if at != 3 && chat.CodeOf(err) != chat.Crashed {
			t.Fatalf("%d: %v", at, err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestChangesOfSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opened string
		on     methods
		want   string // what the agent got
		code   chat.Code
	}{
		"by set_model": {
			`{"sessionId":"s1","models":{"currentModelId":"a","availableModels":[{"modelId":"a"},{"modelId":"b"}]}}`, nil,
			`session/set_model {"sessionId":"s1","modelId":"b"}`, chat.CodeNone,
		},
		"by option": {
			`{"sessionId":"s1","configOptions":[{"id":"model","category":"model","currentValue":"a","options":[{"value":"b"}]}]}`, nil,
			`session/set_config_option {"sessionId":"s1","configId":"model","value":"b"}`, chat.CodeNone,
		},
		"none": {`{"sessionId":"s1"}`, nil, "", chat.Unsupported},
		"not offered": {
			`{"sessionId":"s1","models":{"availableModels":[{"modelId":"a"}]}}`, nil, "", chat.ModelUnknown,
		},
		"by the name of one that nobody can type": {
			`{"sessionId":"s1","models":{"availableModels":[{"modelId":"$x|b(b)","name":"b"}]}}`, nil,
			`session/set_model {"sessionId":"s1","modelId":"$x|b(b)"}`, chat.CodeNone,
		},
		"refused": {
			`{"sessionId":"s1","models":{"availableModels":[{"modelId":"a"},{"modelId":"b"}]}}`,
			methods{"session/set_model": fails(`{"code":-32602,"message":"what?"}`)},
			`session/set_model {"sessionId":"s1","modelId":"b"}`, chat.ModelUnknown,
		},
	} {
		on := methods{"session/new": gives(c.opened)}
		for m, f := range c.on {
			on[m] = f
		}
		s := newScript(on)
		w := mustOpen(t, s, Config{})
		applied, err := w.Set(t.Context(), chat.Settings{Model: "b"})
		if chat.CodeOf(err) != c.code || err == nil && applied != chat.AppliedNow {
			t.Errorf("%s: %v, %v", name, applied, err)
		}
		s.mu.Lock()
		if c.want != "" && !slices.Contains(s.seen, c.want) {
			t.Errorf("%s: the agent got %q", name, s.seen)
		}
		s.mu.Unlock()
		if err == nil && w.Info().Model != "b" {
			t.Errorf("%s: info says %q", name, w.Info().Model)
		}
	}
}

func TestInfoFollowsTheAgent(t *testing.T) {
	t.Parallel()
	s := newScript(methods{"session/prompt": does("end_turn", func(s *script) {
		s.update(`"sessionUpdate":"available_commands_update","availableCommands":[{"name":"/compact","description":"d"},{"name":"plan"}]`)
		s.update(`"sessionUpdate":"config_option_update","configOptions":[{"id":"model","category":"model","currentValue":"z"}]`)
		s.say("ok")
	})})
	w := mustOpen(t, s, Config{})
	if err := w.Prompt(t.Context(), ask("hi"), workertest.NewHost(nil)); err != nil {
		t.Fatal(err)
	}
	i := w.Info()
	if fmt.Sprint(i.Commands) != "[{compact d} {plan }]" || i.Model != "z" || i.Version != "1.2" {
		t.Errorf("got %+v", i)
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range presets() {
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	bad := Config{StartTimeout: -1, MaxLine: -1}
	if err := bad.Validate(); err == nil || strings.Count(err.Error(), "\n") < 3 {
		t.Errorf("got %v, want every problem", err)
	}
	if c, known := Preset("something-else"); known || c.Name != "something-else" {
		t.Errorf("got %+v, %v", c, known)
	}
}

package acp

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

func TestAnAgentThatNobodyKnowsBeginsInAModeThatAsks(t *testing.T) {
	t.Parallel()
	modes := func(current string, ids ...string) string {
		var all []string
		for _, id := range ids {
			all = append(all, `{"id":"`+id+`"}`)
		}
		return `{"sessionId":"s1","modes":{"currentModeId":"` + current + `","availableModes":[` + strings.Join(all, ",") + `]}}`
	}
	for name, c := range map[string]struct{ opened, want string }{
		"its own, which asks":      {modes("build", "auto", "build"), "build"},
		"the plain one":            {modes("auto", "auto", "plan", "default"), "default"},
		"one that asks":            {modes("auto", "yolo", "auto", "read-only"), "read-only"},
		"one that changes nothing": {modes("agent", "read-only", "agent", "agent-full-access"), "read-only"},
		"none that asks":           {modes("auto", "auto", "yolo"), "auto"},
		"by an address":            {modes("https://x/y#autopilot", "https://x/y#autopilot", "https://x/y#agent"), "https://x/y#agent"},
		"nobody says what it has":  {`{"sessionId":"s1","modes":{"currentModeId":"auto"}}`, ""},
	} {
		for _, id := range []string{"", "s1"} {
			s := newScript(methods{"session/new": gives(c.opened), "session/load": gives(c.opened)})
			w, err := openOn(t, s, Config{}, worker.Spec{NativeID: id})
			must(t, err)
			got := ""
			if set := s.got("session/set_mode"); len(set) > 0 {
				got = set[len(set)-1]
			}
			if c.want == "" && got != "" || c.want != "" && !strings.Contains(got, `"modeId":"`+c.want+`"`) {
				t.Errorf("%s: set %s", name, got)
			}
			if mode := w.Info().Mode; mode != c.want[strings.LastIndexByte(c.want, '#')+1:] && c.want != "" {
				t.Errorf("%s: in mode %q", name, mode)
			}
		}
	}
}

func TestWhatSwitchesTheAskingOffIsSwitchedOnAtEveryOpen(t *testing.T) {
	t.Parallel()
	cfg := copilot()
	for _, id := range []string{"", "s1"} {
		s := newScript(methods{"session/new": gives(`{"sessionId":"s1","modes":{"currentModeId":"x#autopilot","availableModes":[{"id":"http://x#agent"},{"id":"http://x#autopilot"}]}}`),
			"session/load": gives(`{}`)})
		_, err := openOn(t, s, cfg, worker.Spec{NativeID: id})
		must(t, err)
		if got := s.got("session/set_config_option"); len(got) != 1 || !strings.Contains(got[0], `"configId":"allow_all","value":"off"`) {
			t.Errorf("%q: set %q", id, got)
		}
	}
	// It refuses: then the session is not opened.
	s := newScript(methods{"session/set_config_option": fails(`{"code":-32602,"message":"no"}`)})
	if _, err := openOn(t, s, cfg, worker.Spec{}); err == nil {
		t.Error("opened all the same")
	}
}

func TestCommandsThatEndTheAskingAreNeitherOfferedNorPassedOn(t *testing.T) {
	t.Parallel()
	s := newScript(methods{"session/new": func(s *script, id, _ string) {
		s.update(`"sessionUpdate":"available_commands_update","availableCommands":[{"name":"compact","description":"c"},{"name":"/allow-all"},{"name":"yolo"}]`)
		s.line(`{"id":%s,"result":{"sessionId":"s1"}}`, id)
	}, "session/prompt": does("end_turn", func(s *script) { s.say("done") })})
	w := mustOpen(t, s, copilot())
	if got := w.Info().Commands; len(got) != 1 || got[0].Name != "compact" {
		t.Errorf("offered %+v", got)
	}
	for _, text := range []string{"/allow-all on", " /Yolo", "/autopilot\nnow", "/permissions"} {
		if err := w.Prompt(t.Context(), ask(text), workertest.NewHost(nil)); chat.CodeOf(err) != chat.Unasked {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"/compact", "allow-all", "say /allow-all"} {
		must(t, w.Prompt(t.Context(), ask(text), workertest.NewHost(nil)))
	}
}

func TestALateReplayIsNoAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pings := 0
		s := newScript(methods{"session/prompt": does("end_turn", func(s *script) { s.say("new") }),
			"session/load": func(s *script, id, _ string) {
				s.line(`{"id":%s,"result":{}}`, id)
				go func() { // ends by itself
					for range 5 {
						time.Sleep(100 * time.Millisecond)
						s.say("old")
					}
				}()
			},
			methodPing: func(s *script, id, _ string) { // a busy machine: the rest comes only now
				if pings++; pings < 3 {
					s.say("old")
				}
				s.line(`{"id":%s,"error":{"code":-32601,"message":"no"}}`, id)
			}})
		d := &Driver{cfg: Config{Name: "x", Command: "x"}.withDefaults(), log: newDiscard()}
		w := newWorker(t.Context(), d, s, worker.Spec{NativeID: "s1", Workspace: "/w"})
		must(t, opening{w.session}.open(t.Context()))
		h := workertest.NewHost(nil)
		must(t, w.Prompt(t.Context(), ask("hi"), h))
		if h.Text() != "new" || pings != 3 {
			t.Errorf("%q after %d pings", h.Text(), pings)
		}
		must(t, w.Close())
	})
}

func TestCostIsPerTurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		loaded bool
		reads  []float64 // -1 = none; the first is from before the first turn
		want   []float64
	}{
		"new":                        {false, []float64{-1, 1, 3, 3}, []float64{1, 2, 0}},
		"loaded, nothing known":      {true, []float64{-1, 10, 12}, []float64{0, 2}},
		"loaded, told while loading": {true, []float64{10, 11, 12}, []float64{1, 1}},
		"begun anew":                 {false, []float64{-1, 5, 1}, []float64{5, 1}},
		"never told":                 {false, []float64{-1, -1}, []float64{0}},
	} {
		s := sums{loaded: c.loaded}
		read := func(v float64) {
			if v < 0 {
				return
			}
			u, _ := decode[update]([]byte(`{"cost":{"amount":0,"currency":"USD"}}`))
			u.Cost.Amount = v
			s.take(u)
		}
		read(c.reads[0])
		var got []float64
		for _, v := range c.reads[1:] {
			s.begin()
			read(v)
			got = append(got, s.end())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	s := sums{}
	s.begin()
	u, _ := decode[update]([]byte(`{"cost":{"amount":7,"currency":"EUR"}}`))
	s.take(u)
	if got := s.end(); got != 0 {
		t.Errorf("%v of another currency is told as dollars", got)
	}
}

func TestTokensOfEachCallAreAddedUp(t *testing.T) {
	t.Parallel()
	s := newScript(methods{"session/prompt": does("end_turn", func(s *script) {
		for range 2 {
			s.update(`"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""},"_meta":{"usage":{"inputTokens":100,"outputTokens":7}}`)
		}
	}), "session/new": gives(`{"sessionId":"s1","models":{"currentModelId":"m","availableModels":[{"modelId":"m","_meta":{"contextLimit":5000}}]}}`)})
	h := workertest.NewHost(nil)
	must(t, mustOpen(t, s, Config{}).Prompt(t.Context(), ask("hi"), h))
	told := h.Of(chat.EventUsage)
	u := told[len(told)-1].Usage
	if u.In != 200 || u.Out != 14 || u.Used != 107 || u.Window != 5000 || u.Model != "m" {
		t.Errorf("%+v", u)
	}
}

func TestAToolThatWasAskedAboutIsShown(t *testing.T) {
	t.Parallel()
	for effect, want := range map[chat.Effect][]chat.ToolState{
		chat.EffectAllow: {chat.ToolRunning, chat.ToolDone}, chat.EffectDeny: {chat.ToolFailed},
	} {
		s := newScript(methods{"session/prompt": does("end_turn", func(s *script) {
			s.line(`{"id":1,"method":"session/request_permission","params":%s}`, geminiAsks)
			for len(s.answers()) == 0 {
				<-time.After(time.Millisecond)
			}
			if strings.Contains(s.answers()[0], "proceed_once") {
				s.update(`"sessionUpdate":"tool_call_update","toolCallId":"run_shell_command__8a2e21f2","status":"completed","kind":"execute"`)
			}
		})})
		h := workertest.NewHost(workertest.Say(chat.Answer{Effect: effect}))
		must(t, mustOpen(t, s, Config{}).Prompt(t.Context(), ask("hi"), h))
		var got []chat.ToolState
		for _, e := range h.Of(chat.EventTool) {
			got = append(got, e.Tool.State)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v", effect, got)
		}
	}
}

func TestAPlanIsShownAsOne(t *testing.T) {
	t.Parallel()
	params := `{"sessionId":"s1","toolCall":{"toolCallId":"p","title":"Ready?","kind":"switch_mode","content":[{"type":"content","content":{"type":"text","text":"1. look"}}]},"options":[
		{"optionId":"auto","name":"Yes, all","kind":"allow_always"},{"optionId":"ask","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}`
	q, got := asked(t, methodPermission, params, workertest.Say(chat.Answer{Effect: chat.EffectAllow}))
	if q.Kind != chat.AskPlan || q.Detail != "1. look" || !strings.Contains(got, `"ask"`) || len(q.Options) != 2 {
		t.Errorf("asked %+v, answered %s", q, got)
	}
}

func TestAnAgentTooOldForTheProtocolSaysSo(t *testing.T) {
	t.Parallel()
	for stderr, want := range map[string]chat.Code{
		"Unknown arguments: acp":      chat.TooOld,
		"error: unknown option --acp": chat.TooOld,
		"unknown argument: color":     chat.Crashed,
	} {
		s := newScript(methods{"initialize": func(s *script, _, _ string) { go s.Close() }})
		s.stderr = stderr
		if _, err := openOn(t, s, Config{}, worker.Spec{}); chat.CodeOf(err) != want {
			t.Errorf("%s: %v", stderr, err)
		}
	}
}

func TestTheProgramBehindAScriptIsStarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	arch := strings.Replace(runtime.GOARCH, "amd64", "x64", 1)
	script := filepath.Join(dir, "node_modules", "@github", "copilot", "npm-loader.js")
	native := filepath.Join(dir, "node_modules", "@github", "copilot-"+runtime.GOOS+"-"+arch, "copilot")
	for _, f := range []string{script, native} {
		must(t, os.MkdirAll(filepath.Dir(f), 0o700))
		must(t, os.WriteFile(f, []byte("#!/bin/sh\n"), 0o700))
	}
	link := filepath.Join(dir, "copilot")
	must(t, os.Symlink(script, link))
	cfg := copilot()
	if got := cfg.program(link); got != native {
		t.Errorf("starts %q", got)
	}
	if got := cfg.program(native); got != native {
		t.Errorf("starts %q", got)
	}
	must(t, os.Remove(native))
	if got := cfg.program(link); got != link {
		t.Errorf("starts %q", got)
	}
	if got := gemini().program(link); got != link {
		t.Errorf("starts %q", got)
	}
}

func TestAnAnswerThatIsTooLargeIsMissed(t *testing.T) {
	t.Parallel()
	s := newScript(methods{"session/prompt": does("end_turn", func(s *script) {
		s.say(strings.Repeat("x", 3<<20))
		s.say("rest")
	})})
	h := workertest.NewHost(nil)
	must(t, mustOpen(t, s, Config{Name: "x", Command: "x", MaxLine: 1 << 20}).Prompt(t.Context(), ask("hi"), h))
	if n := h.Of(chat.EventNotice); len(n) != 1 || !strings.Contains(n[0].Text, "3 MiB") || h.Text() != "rest" {
		t.Errorf("%+v, %q", n, h.Text())
	}
}

func TestWhatASessionOffersIsLearned(t *testing.T) {
	t.Parallel()
	d := &Driver{cfg: Config{Name: "x", Command: "x"}, log: newDiscard()}
	if d.abilities(presented{}).Has(worker.Efforts) {
		t.Error("before it was seen")
	}
	d.learn(worker.Info{Models: []string{"one"}, Efforts: []string{"low", "high"}})
	if can := d.abilities(presented{}); !can.Has(worker.Efforts) || can.Has(worker.Models) {
		t.Errorf("can %v", can)
	}
	if got := (Config{Quirks: Quirks{Cannot: worker.Abilities{worker.Approvals}}}).abilities(presented{}); got.Has(worker.Approvals) {
		t.Errorf("can %v", got)
	}
}

package acp

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

func TestTheModeIsSetAfterEveryOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		native string
		spec   string
		cfg    string
		opened string
		want   string // the last change of the mode
	}{
		"new, preset":        {cfg: "default", opened: `{"sessionId":"s1","modes":{"currentModeId":"auto","availableModes":[{"id":"default"},{"id":"auto"}]}}`, want: `session/set_mode {"sessionId":"s1","modeId":"default"}`},
		"new, already in it": {cfg: "default", opened: `{"sessionId":"s1","modes":{"currentModeId":"default","availableModes":[{"id":"default"}]}}`, want: `session/set_mode {"sessionId":"s1","modeId":"default"}`},
		"load":               {native: "s1", cfg: "default", opened: `{}`, want: `session/set_mode {"sessionId":"s1","modeId":"default"}`},
		"wish":               {spec: "plan", cfg: "default", opened: `{"sessionId":"s1"}`, want: `session/set_mode {"sessionId":"s1","modeId":"plan"}`},
		"by option":          {cfg: "build", opened: `{"sessionId":"s1","configOptions":[{"id":"m","category":"mode","currentValue":"x","options":[{"value":"build"}]}]}`, want: `session/set_config_option {"sessionId":"s1","configId":"m","value":"build"}`},
		"none known":         {opened: `{"sessionId":"s1"}`, want: ``},
	} {
		s := newScript(methods{"session/new": gives(c.opened), "session/load": gives(c.opened)})
		if _, err := openOn(t, s, Config{Name: "x", Command: "x", Mode: c.cfg}, worker.Spec{NativeID: c.native, Mode: c.spec}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		last := ""
		s.mu.Lock()
		for _, l := range s.seen {
			if strings.HasPrefix(l, "session/set") {
				last = l
			}
		}
		s.mu.Unlock()
		if last != c.want {
			t.Errorf("%s: %q, want %q", name, last, c.want)
		}
	}
}

func TestAModeThatIsRefusedIsNoOpenSession(t *testing.T) {
	t.Parallel()
	s := newScript(methods{"session/set_mode": fails(`{"code":-32602,"message":"no such mode"}`)})
	_, err := openOn(t, s, Config{Name: "x", Command: "x", Mode: "default"}, worker.Spec{})
	if chat.CodeOf(err) != chat.Invalid {
		t.Errorf("got %v", err)
	}
}

func TestOpenErrorsHaveTheirCode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method string
		answer func(*script, string, string)
		native string
		want   chat.Code
		detail string
	}{
		"not logged in by code":  {"session/new", fails(`{"code":-32000,"message":"Authentication required"}`), "", chat.LoggedOut, "log in"},
		"not logged in by words": {"session/new", fails(`{"code":-32603,"message":"Internal error","data":{"details":"API key is missing"}}`), "", chat.LoggedOut, "log in"},
		"unknown by code":        {"session/load", fails(`{"code":-32002,"message":"Resource not found","data":{"sessionId":"id-1"}}`), "id-1", chat.NoSession, ""},
		"unknown by id":          {"session/load", fails(`{"code":-32603,"message":"Session id-1 not found"}`), "id-1", chat.NoSession, ""},
		"unknown by preset":      {"session/load", fails(`{"code":-32603,"message":"Internal error","data":{"details":"Invalid session identifier \"id-1\"."}}`), "id-1", chat.NoSession, ""},
		"service failure keeps":  {"session/load", fails(`{"code":-32603,"message":"Internal error: service failure","data":{"service":"session"}}`), "id-1", chat.AgentError, "service failure"},
		"none found by the id":   {"session/load", fails(`{"code":-32603,"message":"no rollout found for thread id id-1"}`), "id-1", chat.NoSession, ""},
		"none found of others":   {"session/load", fails(`{"code":-32603,"message":"no config found"}`), "id-1", chat.AgentError, ""},
		"file not found keeps":   {"session/load", fails(`{"code":-32603,"message":"config file not found in session folder"}`), "id-1", chat.AgentError, ""},
		"overload keeps":         {"session/load", fails(`{"code":529,"message":"busy"}`), "id-1", chat.Overloaded, ""},
		"expired login keeps":    {"session/load", fails(`{"code":401,"message":"session id-1 unknown, please login"}`), "id-1", chat.LoggedOut, ""},
		"not found of a new one": {"session/new", fails(`{"code":-32002,"message":"Resource not found"}`), "", chat.AgentError, ""},
		"garbage":                {"session/new", gives(`[]`), "", chat.Protocol, ""},
		"error as a text":        {"session/new", fails(`"boom"`), "", chat.AgentError, "boom"},
		"cannot load at all":     {"initialize", gives(`{"protocolVersion":1}`), "id-1", chat.NoSession, ""},
	} {
		s := newScript(methods{c.method: c.answer})
		cfg := Config{Name: "x", Command: "x", Login: "Install it and log in.", Quirks: Quirks{Lost: []string{"Invalid session identifier"}}}
		_, err := openOn(t, s, cfg, worker.Spec{NativeID: c.native})
		if chat.CodeOf(err) != c.want || !strings.Contains(chat.DetailOf(err), c.detail) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

func TestAnAgentThatNeverPresentsItselfIsNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		cfg := Config{Name: "x", Command: "/opt/bin/x-agent", Args: []string{"--acp"}, Login: "Run x-agent once to log in."}
		_, err := openOn(t, newScript(methods{"initialize": silent}), cfg, worker.Spec{})
		if chat.CodeOf(err) != chat.StartTimeout || time.Since(began) != 30*time.Second {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		if d := chat.DetailOf(err); !strings.Contains(d, "x-agent --acp") || !strings.Contains(d, "log in") || strings.Contains(d, "/opt") {
			t.Errorf("detail %q", d)
		}
		_, err = openOn(t, newScript(methods{"session/load": silent}), cfg, worker.Spec{NativeID: "s1"})
		if chat.CodeOf(err) != chat.LoadTimeout {
			t.Errorf("load: %v", err)
		}
	})
}

func TestDeathAtTheStartShowsWhy(t *testing.T) {
	t.Parallel()
	for stderr, want := range map[string]chat.Code{
		"Error: not logged in, please run x login": chat.LoggedOut,
		"segmentation fault":                       chat.Crashed,
	} {
		s := newScript(methods{"initialize": func(s *script, _, _ string) { go s.Close() }})
		s.stderr = stderr
		_, err := openOn(t, s, Config{}, worker.Spec{})
		if chat.CodeOf(err) != want || strings.Contains(chat.DetailOf(err), "segmentation") {
			t.Errorf("%s: %v", stderr, err)
		}
	}
}

func TestTheWishedModelIsSetAtTheOpen(t *testing.T) {
	t.Parallel()
	const two = `{"sessionId":"s1","models":{"currentModelId":"a","availableModels":[{"modelId":"a"},{"modelId":"b"}]}}`
	for name, c := range map[string]struct {
		opened string
		wish   string
		code   chat.Code
		calls  int
	}{
		"another":                {two, "b", chat.CodeNone, 1},
		"the current one":        {two, "a", chat.CodeNone, 0},
		"none":                   {two, "", chat.CodeNone, 0},
		"the agent's own choice": {two, "default", chat.CodeNone, 0},
		"no models at all":       {`{"sessionId":"s1"}`, "b", chat.ModelUnknown, 0},
	} {
		s := newScript(methods{"session/new": gives(c.opened)})
		_, err := openOn(t, s, Config{}, worker.Spec{Model: c.wish})
		if chat.CodeOf(err) != c.code || len(s.got("session/set_model")) != c.calls {
			t.Errorf("%s: %v, %d calls", name, err, len(s.got("session/set_model")))
		}
	}
}

func TestAnAgentThatIsTooOldIsToldWithBothVersions(t *testing.T) {
	t.Parallel()
	for oldest, want := range map[string]chat.Code{"1.3": chat.TooOld, "1.2": chat.CodeNone, "": chat.CodeNone} {
		_, err := openOn(t, newScript(methods{}), Config{Name: "x", Command: "x", Quirks: Quirks{Oldest: oldest}}, worker.Spec{})
		if chat.CodeOf(err) != want {
			t.Errorf("%q: %v, want %q", oldest, err, want)
		}
		if err != nil && !strings.Contains(chat.DetailOf(err), "1.2") && !strings.Contains(chat.DetailOf(err), oldest) {
			t.Errorf("%q: %v", oldest, err)
		}
	}
}

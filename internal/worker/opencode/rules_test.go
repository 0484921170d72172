package opencode

import (
	"encoding/json"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

func TestWhatActsUnaskedIsRecognised(t *testing.T) {
	t.Parallel()
	all := rule{"*", "*", allow}
	for name, c := range map[string]struct {
		rules []rule
		tight bool
	}{
		"nothing":                     {nil, true},
		"everything":                  {[]rule{all}, false},
		"everything, then asked":      {[]rule{all, {"*", "*", ask}}, true},
		"asked, then one tool":        {[]rule{{"*", "*", ask}, {"bash", "*", allow}}, false},
		"asked, then some commands":   {[]rule{{"*", "*", ask}, {"bash", "git *", allow}}, false},
		"some commands, then asked":   {[]rule{{"bash", "git *", allow}, {"bash", "*", ask}}, true},
		"some commands, others asked": {[]rule{{"bash", "git *", allow}, {"edit", "*", ask}}, false},
		"asked for some only":         {[]rule{all, {"*", "x *", ask}}, false},
		"reading":                     {[]rule{{"*", "*", ask}, {"read", "*", allow}, {"grep", "*", allow}}, true},
		"its own folder":              {[]rule{{"*", "*", ask}, {"external_directory", "/tmp/x/*", allow}}, true},
		"every folder":                {[]rule{{"*", "*", ask}, {"external_directory", "*", allow}}, false},
		"an unknown tool":             {[]rule{{"*", "*", ask}, {"deploy", "*", allow}}, false},
	} {
		if got := tight(c.rules); got != c.tight {
			t.Errorf("%s: %v", name, got)
		}
		if !tight(tighten(c.rules, []string{"wild"})) {
			t.Errorf("%s: what is tightened is not tight: %v", name, tighten(c.rules, nil))
		}
	}
}

func TestWhatIsForbiddenStaysForbidden(t *testing.T) {
	t.Parallel()
	got := tighten([]rule{{"*", "*", allow}, {"edit", "*", deny}, {"bash", "git *", allow}, {"read", "*.env", ask}}, nil)
	last := map[string]string{}
	for _, r := range got {
		last[r.Permission+" "+r.Pattern] = r.Action
	}
	for key, want := range map[string]string{"edit *": deny, "bash git *": ask, "read *.env": ask, "* *": ask, "read *": allow} {
		if last[key] != want {
			t.Errorf("%s is %q, want %q", key, last[key], want)
		}
	}
}

// The repository of this test has an agent of its own that asks nobody.
func TestAnAgentOfTheRepositoryAsksToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakeLoose+"=1")
	dir := t.TempDir()
	s := w.open(t, worker.Spec{Workspace: dir, Mode: "wild"})
	info, err := s.api.session(t.Context(), s.id)
	if err != nil {
		t.Fatal(err)
	}
	if !tight(info.Permission) || len(info.Permission) == 0 {
		t.Errorf("the session's rules are %v", info.Permission)
	}
	denied := false
	for _, r := range info.Permission {
		denied = denied || r == rule{"bash", "rm *", deny}
	}
	if !denied {
		t.Error("what the repository forbids is allowed")
	}
	// Opened again, and set to the same mode, it has not more of them.
	n := len(info.Permission)
	if _, err := s.Set(t.Context(), chat.Settings{Mode: "wild"}); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	again := w.open(t, worker.Spec{Workspace: dir, NativeID: s.id, Mode: "wild"})
	if info, err = again.api.session(t.Context(), s.id); err != nil || len(info.Permission) != n {
		t.Errorf("%d rules became %d, %v", n, len(info.Permission), err)
	}
	// A mode of the agent's own needs rules as well: a sub-agent could be the wild one.
	build := w.open(t, worker.Spec{Session: 2, Workspace: dir})
	if info, err = build.api.session(t.Context(), build.id); err != nil {
		t.Fatal(err)
	}
	if !ends(info.Permission, []rule{{"task", "wild", ask}}) {
		t.Errorf("the wild sub-agent starts unasked: %v", info.Permission)
	}
}

func TestTheOperatorsConfigurationIsKeptBelowOurs(t *testing.T) {
	t.Parallel()
	c := Config{Env: []string{`OPENCODE_CONFIG_CONTENT={"model":"a/b","agent":{"build":{"temperature":1,"permission":{"bash":"allow","edit":"deny"}},"mine":{"mode":"primary"}}}`}}
	text, err := c.content()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Model string `json:"model"`
		Agent map[string]struct {
			Temperature int            `json:"temperature"`
			Mode        string         `json:"mode"`
			Permission  map[string]any `json:"permission"`
		} `json:"agent"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	build := got.Agent["build"]
	if got.Model != "a/b" || build.Temperature != 1 || got.Agent["mine"].Mode != "primary" || build.Permission["bash"] != ask {
		t.Errorf("content %s", text)
	}
	if err := (Config{Env: []string{"OPENCODE_CONFIG_CONTENT={"}}).Validate(); err == nil {
		t.Error("half a configuration is accepted")
	}
}

func TestASubAgentAsksThroughItsSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.open(t, worker.Spec{})
	h := say(t, s, "helper", workertest.Allow)
	if h.Text() != "the helper heard once" || len(h.Asked()) != 1 || h.Asked()[0].Detail != "ls" {
		t.Errorf("%q, asked %+v", h.Text(), h.Asked())
	}
	u := h.Of(chat.EventUsage)
	if last := u[len(u)-1].Usage; last.In != 117 || last.Out != 9 || last.CostUSD != 0.502 || last.Used != 116 {
		t.Errorf("figures %+v", last)
	}
}

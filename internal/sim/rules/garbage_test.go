package rules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cligate/internal/sim/rig"
)

// broken are programs that stand where the agent is expected, and how the
// sentence about each begins.
var broken = map[string]struct{ script, told string }{
	"binary and the end":      {"head -c 300000 /dev/urandom; exit 3", "error.crashed"},
	"binary without an end":   {"cat /dev/urandom", ""},
	"one endless line":        {"yes x | tr -d '\\n'", ""},
	"nothing and the end":     {"exit 0", "error.crashed"},
	"a usage text":            {"echo 'usage: claude [--help]' >&2; exit 2", "error.crashed"},
	"valid JSON of no kind":   {`while read -r l; do echo '{"type":42}'; echo '[]'; echo 'null'; done`, ""},
	"a flood of complaints":   {"yes complaint >&2", ""},
	"an answer to no request": {`while read -r l; do echo '{"type":"result","subtype":"success","is_error":false,"result":"I am not who you think"}'; done`, ""},
}

// Whatever stands where the agent is expected: the message ends in one clear
// sentence within the limits, the daemon lives, and with the right program the
// same session goes on.
func TestGarbageFromTheAgentIsOneClearSentence(t *testing.T) {
	t.Parallel()
	for name, c := range broken {
		for _, kind := range []string{rig.Claude, rig.Demo} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				stranded(t, kind, c.script, c.told)
			})
		}
	}
}

// stranded lets a script stand in the agent's place, and then the agent.
func stranded(t *testing.T, kind, script, told string) {
	agent := filepath.Join(t.TempDir(), "agent")
	write(t, agent, "#!/bin/sh\n"+script+"\n")
	u := house(t, rig.Options{Agent: kind, NoTelegram: true, Env: []string{
		"CLIGATE_AGENTS_" + strings.ToUpper(kind) + "_COMMAND=" + agent, "CLIGATE_STALL_NOTICE=2s", "CLIGATE_STALL_STOP=4s",
	}})
	u.Tell("remember the word plum", "plum")
	u.r.Until("the turn is over", func() bool {
		return u.r.Count("SELECT count(*) FROM turn WHERE state = 'failed' OR state = 'stopped'") == 1
	})
	u.r.Rest()
	m, retry, ok := u.Find("retry:")
	if !ok || strings.Contains(m.Text, text("error.internal")[:20]) || strings.ContainsRune(m.Text, '\uFFFD') || len(m.Text) > 1000 {
		t.Errorf("the chat shows %s", u.Text())
	}
	if told != "" && !strings.Contains(m.Text, start(told, titles[kind])) {
		t.Errorf("the chat shows %s", u.Text())
	}
	before := u.status()
	u.r.Until("no process more than one is left", func() bool { return len(u.agents()) <= 1 })
	right := map[string]string{rig.Claude: rig.Build(t).Claude, rig.Demo: rig.Build(t).Daemon}
	write(t, agent, "#!/bin/sh\nexec "+right[kind]+" \"$@\"\n")
	known := u.known()
	u.Forge(m.ID, retry.Data)
	u.r.Again("plum")
	u.news(known, "plum")
	u.recall("plum")
	if now := u.status(); now.session != before.session {
		t.Errorf("session %d became %d", before.session, now.session)
	}
	u.r.Rest()
	u.r.Judge()
	u.r.Stop()
	if left := u.r.Orphans(); len(left) > 0 {
		t.Error(left)
	}
}

func write(t *testing.T, file, body string) {
	t.Helper()
	if err := os.WriteFile(file+"~", []byte(body), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+"~", file); err != nil { // never half of it
		t.Fatal(err)
	}
}

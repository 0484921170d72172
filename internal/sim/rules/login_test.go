package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cligate/internal/i18n"
	"cligate/internal/sim/rig"
)

func TestExpiredLoginIsToldAndWhatWaitsIsHeld(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{NoTelegram: true})
	u.remember("plum")
	before := u.status()
	known := u.known()
	u.Say("slow 1500\nfail expired")
	u.runs()
	for i, words := range []string{"say banana", "say cherry"} {
		u.Say(words)
		u.r.Until("it waits", func() bool { return u.r.Count("SELECT count(*) FROM turn WHERE state = 'queued'") == i+1 })
	}
	want, _, _ := strings.Cut(i18n.T("en", "error.logged_out", "agent", titles[rig.Claude]), "{")
	m := u.news(known, strings.TrimSpace(want))
	if !strings.Contains(m.Text, text("turn.held", "n", 2)) {
		t.Errorf("told %q", m.Text)
	}
	if n := u.r.Count("SELECT count(*) FROM turn WHERE state = 'queued' AND held > 0"); n != 2 {
		t.Errorf("%d turns are held\n%s", n, u.Text())
	}
	u.Press("run:") // somebody has logged in
	u.Await("banana", "cherry")
	u.kept(before, "plum")
	if n := strings.Count(strings.ToLower(u.Text()), strings.ToLower(strings.TrimSpace(want))); n != 1 {
		t.Errorf("told %d times", n)
	}
}

// A new configuration holds for every chat that has not chosen otherwise, in
// the sessions that it has.
func TestChangedConfigurationReachesEveryChatAfterARestart(t *testing.T) {
	t.Parallel()
	o := workspaces(t)
	o.NoTelegram = true
	file := strings.TrimPrefix(o.Env[0], "CLIGATE_CONFIG=")
	u := house(t, o)
	other, own := u.in(u.r.WebChat("another")), u.in(u.r.WebChat("own"))
	before := map[user]status{}
	for _, c := range []user{u, other, own} {
		c.remember("plum")
		before[c] = c.status()
	}
	own.ask("/model sim-small", text("command.applies_now"))
	raw, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, strings.ReplaceAll(string(raw), "sim-small", "sim-large"))
	u.r.Kill()
	u.r.Start()
	for c, want := range map[user]string{u: "sim-large", other: "sim-large", own: "sim-small"} {
		c.kept(before[c], "plum")
		if s := c.status(); s.model != want {
			t.Errorf("%s: model %s, want %s", c.Chat, s.model, want)
		}
	}
}

func TestFiguresOfEqualTurnsAreEqualAndAddUp(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, u user) {
		u.remember("plum")
		first := u.status()
		for range 3 {
			u.recall("plum")
		}
		u.asleep()
		u.recall("plum")
		s := u.status()
		if s.session != first.session {
			t.Fatalf("session %d became %d", first.session, s.session)
		}
		var in, out int
		for _, row := range u.r.Values("SELECT (usage ->> '$.in') || ' ' || (usage ->> '$.out') FROM turn") {
			var i, o int
			if _, err := fmt.Sscan(row, &i, &o); err != nil {
				t.Fatal(row, err)
			}
			in, out = in+i, out+o
		}
		if want := text("command.status_sum") + " " + text("command.status_tokens", "in", in, "out", out); !strings.Contains(s.text, want) {
			t.Errorf("status %s\nwant %s", s.text, want)
		}
		high := u.r.Count("SELECT max(usage ->> '$.out') FROM turn WHERE id > 1")
		low := u.r.Count("SELECT min(usage ->> '$.out') FROM turn WHERE id > 1")
		if low <= 0 || high > 4*low {
			t.Errorf("equal turns used %d to %d tokens", low, high)
		}
	})
}

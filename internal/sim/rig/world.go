package rig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cligate/internal/sim/claude"
	"cligate/internal/sim/oracle"
)

// Rest waits until nothing is under way: everything said was taken, looked at
// and answered, everything queued was sent. Requests of agents must be decided
// by the test, before or meanwhile.
func (r *Rig) Rest() {
	r.tb.Helper()
	if !r.Within(Limit, r.AtRest) {
		r.tb.Fatalf("no rest: %s\n%s", r.busy(), r.Tail())
	}
}

// AtRest reports whether nothing is under way.
func (r *Rig) AtRest() bool { return r.Alive() && r.busy() == "" }

// busy says what is under way; empty when nothing is.
func (r *Rig) busy() string {
	r.mu.Lock()
	talks := slices.Clone(r.talks)
	r.mu.Unlock()
	for _, t := range talks {
		if !t.side.idle() {
			return "chat " + t.Chat + " holds messages"
		}
	}
	open := r.Values(`SELECT 'inbound ' || id || ' ' || state FROM inbound WHERE state IN ('new')
UNION ALL SELECT 'turn ' || id || ' ' || state FROM turn WHERE state IN ('running', 'waiting') OR state = 'queued' AND held = 0
UNION ALL SELECT 'outbox ' || id || ' ' || state FROM outbox WHERE state IN ('pending', 'sending')`)
	return strings.Join(open, ", ")
}

// World is everything the oracle looks at. The web chat can be read only while
// the daemon runs.
func (r *Rig) World() oracle.World {
	r.tb.Helper()
	r.mu.Lock()
	w := oracle.World{Said: slices.Clone(r.said)}
	talks := slices.Clone(r.talks)
	r.mu.Unlock()
	seen := map[string]bool{}
	for _, t := range talks {
		if seen[t.Chat] {
			continue
		}
		seen[t.Chat] = true
		ms, err := t.side.shown()
		if err != nil {
			r.tb.Fatalf("read chat %s: %v\n%s", t.Chat, err, r.Tail())
		}
		for _, m := range ms {
			w.Shown = append(w.Shown, oracle.Shown{Chat: t.Chat, ID: m.ID, Text: m.Text})
		}
	}
	w.Ledger = r.Ledger()
	w.Prompts, w.Overlaps = r.prompts()
	w.Orphans = r.Orphans()
	w.Rates = r.offences()
	w.Leaks = r.leaks(w.Shown)
	return w
}

// Judge fails the test for everything the oracle finds.
func (r *Rig) Judge() {
	r.tb.Helper()
	if bad := oracle.Judge(r.World()); len(bad) > 0 {
		r.tb.Errorf("%s\n%s", strings.Join(bad, "\n"), r.Tail())
	}
}

// prompts is what the agents were given, and what they complained about.
func (r *Rig) prompts() (ps []oracle.Prompt, overlaps []string) {
	r.tb.Helper()
	all, err := claude.Journal(filepath.Join(r.Home(), ".claude"))
	if err != nil {
		r.tb.Fatal(err)
	}
	for _, e := range all {
		switch e.Kind {
		case "prompt":
			ps = append(ps, oracle.Prompt{Session: e.Session, Text: e.Text})
		case "overlap":
			overlaps = append(overlaps, fmt.Sprintf("session %s, process %d: two at a time %s", e.Session, e.PID, e.Text))
		}
	}
	demo := filepath.Join(r.Home(), ".config", "cligate", "demo")
	books, err := filepath.Glob(filepath.Join(demo, "*.jsonl"))
	if err != nil {
		r.tb.Fatal(err)
	}
	for _, file := range books {
		raw, err := os.ReadFile(file)
		if err != nil {
			r.tb.Fatal(err)
		}
		for line := range bytes.Lines(raw) {
			var e struct{ Role, Text string }
			if json.Unmarshal(line, &e) == nil && e.Role == "user" {
				ps = append(ps, oracle.Prompt{Session: strings.TrimSuffix(filepath.Base(file), ".jsonl"), Text: e.Text})
			}
		}
	}
	return ps, overlaps
}

// expected are refusals that a careful client cannot avoid: the probes of a
// doubtful send, and what raced with a person.
var expected = []string{
	"message to edit not found", "message can't be edited", "message is not modified", "message to delete not found",
	"query is too old", "there is no text in the message to edit", "fault: ", "Conflict: terminated by other getUpdates",
}

// offences are calls against the rates of the platform and calls it refused.
func (r *Rig) offences() (out []string) {
	for _, v := range r.Telegram.Violations() {
		out = append(out, fmt.Sprintf("%s in chat %d: %s", v.Method, v.Chat, v.Why))
	}
	for _, c := range r.Telegram.Calls() {
		if c.OK || slices.ContainsFunc(expected, func(s string) bool { return strings.Contains(c.Error, s) }) {
			continue
		}
		out = append(out, fmt.Sprintf("%s in chat %d is refused: %s (%.80s)", c.Method, c.Chat, c.Error, c.Text))
	}
	return out
}

// leaks are places outside the environment in which the token is found.
func (r *Rig) leaks(shown []oracle.Shown) (out []string) {
	secret := []byte(strings.SplitN(Token, ":", 2)[1])
	for _, m := range shown {
		if strings.Contains(m.Text, string(secret)) {
			out = append(out, "chat "+m.Chat)
		}
	}
	err := filepath.WalkDir(r.Dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil // files come and go
		}
		if raw, err := os.ReadFile(path); err == nil && bytes.Contains(raw, secret) {
			out = append(out, path)
		}
		return nil
	})
	if err != nil {
		r.tb.Fatal(err)
	}
	return out
}

package rig

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
		ms, err := whole(t.side).shown()
		if err != nil {
			r.tb.Fatalf("read chat %s: %v\n%s", t.Chat, err, r.Tail())
		}
		for _, m := range ms {
			w.Shown = append(w.Shown, oracle.Shown{Chat: t.Chat, ID: m.ID, Text: m.Text, File: m.File, Open: m.Open})
		}
	}
	if r.Feishu != nil {
		w.Presses = presses(talks)
		feishuWitness{r}.handedOver(w.Said)
	}
	w.Ledger = r.Ledger()
	if r.opts.Agent == Demo {
		apart(&w)
	}
	w.Prompts, w.Overlaps = witness{r}.prompts()
	w.Orphans = r.Orphans()
	w.Rates = append(telegramWitness{r}.offences(), feishuWitness{r}.offences()...)
	w.Leaks = witness{r}.leaks(w.Shown)
	return w
}

// whole is a chat with everything in it.
func whole(s side) side {
	if one, ok := s.(*telegramSide); ok && one.within {
		return &telegramSide{srv: one.srv, chat: one.chat, from: one.from}
	}
	return s
}

// apart expects no answer to messages that became one turn: the demo agent
// takes all that follows its first word for one wish.
func apart(w *oracle.World) {
	inputs := map[int64]int{}
	for _, in := range w.Ledger.Inbound {
		inputs[in.Turn]++
	}
	for i, s := range w.Said {
		for _, in := range w.Ledger.Inbound {
			if in.Turn != 0 && inputs[in.Turn] > 1 && in.Chat == s.Chat && slices.Contains(strings.Fields(in.Text), s.Key) {
				w.Said[i].Answer = nil
			}
		}
	}
}

// settled is how long offences may take to go away.
const settled = 8 * time.Second

// Judge fails the test for everything the oracle finds.
func (r *Rig) Judge() {
	r.tb.Helper()
	// What is written after a while (a request that is closed, once its message
	// is known) may come between the rest and the look at it.
	var bad []string
	r.Within(settled, func() bool {
		bad = oracle.Judge(r.World())
		return len(bad) == 0
	})
	if len(bad) > 0 {
		r.tb.Errorf("%s\n%s\n%s", strings.Join(bad, "\n"), r.Story(), r.Tail())
	}
}

// witness looks at what a rig's daemon left outside its ledger.
type witness struct{ *Rig }

// prompts is what the agents were given, and what they complained about.
func (w witness) prompts() (ps []oracle.Prompt, overlaps []string) {
	w.tb.Helper()
	all, err := claude.Journal(filepath.Join(w.Home(), ".claude"))
	if err != nil {
		w.tb.Fatal(err)
	}
	for _, e := range all {
		switch e.Kind {
		case "prompt":
			ps = append(ps, oracle.Prompt{Session: e.Session, Text: e.Text})
		case "overlap":
			overlaps = append(overlaps, fmt.Sprintf("session %s, process %d: two at a time %s", e.Session, e.PID, e.Text))
		}
	}
	demo := filepath.Join(w.DataDir(), "demo")
	books, err := filepath.Glob(filepath.Join(demo, "*.jsonl"))
	if err != nil {
		w.tb.Fatal(err)
	}
	for _, file := range books {
		raw, err := os.ReadFile(file)
		if err != nil {
			w.tb.Fatal(err)
		}
		for line := range bytes.Lines(raw) {
			var e struct{ Role, Text string }
			if json.Unmarshal(line, &e) != nil {
				continue // the last line may be torn
			}
			switch session := strings.TrimSuffix(filepath.Base(file), ".jsonl"); e.Role {
			case "user":
				ps = append(ps, oracle.Prompt{Session: session, Text: e.Text})
			case "overlap":
				overlaps = append(overlaps, fmt.Sprintf("session %s: two at a time: %s", session, e.Text))
			}
		}
	}
	return ps, overlaps
}

// secrets are what stands in the daemon's environment and may stand nowhere
// else.
var secrets = []string{strings.SplitN(Token, ":", 2)[1], AppSecret, EncryptKey, Verification}

// leaks are places outside the environment in which a secret is found.
func (w witness) leaks(shown []oracle.Shown) (out []string) {
	for _, m := range shown {
		if slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(m.Text, s) }) {
			out = append(out, "chat "+m.Chat)
		}
	}
	err := filepath.WalkDir(w.Dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil // files come and go
		}
		raw, err := os.ReadFile(path)
		for _, s := range secrets {
			if err == nil && slices.ContainsFunc(spellings(s), func(b []byte) bool { return bytes.Contains(raw, b) }) {
				out = append(out, path+": "+s)
			}
		}
		return nil
	})
	if err != nil {
		w.tb.Fatal(err)
	}
	return out
}

// spellings are the forms in which s can stand in a file: as it is, and in the
// base64 of something that contains it, wherever it begins there.
func spellings(s string) [][]byte {
	all := [][]byte{[]byte(s)}
	for before := range 3 {
		// The first and the last letters depend on what stands around.
		coded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + s))
		whole := (before + len(s)) / 3 * 4
		all = append(all, []byte(coded[(before*8+5)/6:whole]))
	}
	return all
}

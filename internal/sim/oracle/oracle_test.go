package oracle

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// good is a world without offence: two questions and a stranger.
func good() World {
	return World{
		Said: []Said{
			{Chat: "a", Key: "k1", Answer: []string{"k1.1", "k1.2"}, Allowed: true},
			{Chat: "a", Key: "k10", Answer: []string{"k10.1"}, Allowed: true},
			{Chat: "b", Key: "k3", Answer: []string{"k3.1"}, Allowed: true},
			{Chat: "c", Key: "k4"},
			{Chat: "a", Key: "k5", Allowed: true, Command: true},
		},
		Shown: []Shown{
			{Chat: "a", ID: "11", Text: "first k1.1"}, {Chat: "a", ID: "12", Text: "then k1.2"}, {Chat: "a", ID: "13", Text: "k10.1"},
			{Chat: "b", ID: "14", Text: "it was interrupted"},
		},
		Presses: []Press{{Chat: "a", Data: "ask:1:allow", Took: time.Second, Within: 3 * time.Second}, {Chat: "a", Data: "ask:1:allow", Code: 200341, Took: 3 * time.Second, Excused: true}},
		Prompts: []Prompt{{"s1", "say k1"}, {"s1", "say k10"}, {"s2", "say k3"}},
		Ledger: Ledger{
			Integrity: "ok",
			Inbound: []Inbound{
				{1, "a", "say k1", "turn", 1}, {2, "a", "say k10", "turn", 2}, {3, "b", "say k3", "turn", 3}, {4, "a", "/status k5", "done", 0},
			},
			Turns: []Turn{{1, 1, "succeeded", 1}, {2, 1, "succeeded", 1}, {3, 2, "interrupted", 1}},
			Outbox: []Outbox{
				{1, 1, "a", "final", "sent", "11"}, {2, 1, "a", "final", "sent", "12"}, {3, 2, "a", "final", "sent", "13"},
				{4, 3, "b", "final", "sent", "14"},
			},
			Asks: []Ask{{1, "answered"}},
		},
	}
}

func TestAGoodWorldHasNoOffence(t *testing.T) {
	t.Parallel()
	if got := Judge(good()); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// defects seeds at least one defect for every rule.
var defects = map[string][]func(*World){
	"accepted messages are stored once": {
		func(w *World) { w.Ledger.Inbound = w.Ledger.Inbound[1:] },
		func(w *World) { w.Ledger.Inbound = append(w.Ledger.Inbound, Inbound{9, "a", "say k1", "turn", 1}) },
	},
	"every message comes to one visible end": {
		func(w *World) { w.Ledger.Inbound[0].State = "new" },
		func(w *World) { w.Ledger.Turns[0].State = "running" },
		func(w *World) { w.Ledger.Outbox[3].State = "dead" },
		func(w *World) { w.Shown = w.Shown[:3] },
		func(w *World) { w.Ledger.Turns = w.Ledger.Turns[1:] },
		func(w *World) { w.Ledger.Inbound[0].State = "done" },
	},
	"a complete answer arrives completely": {
		func(w *World) { w.Shown[1].Text = "then nothing" },
		func(w *World) { w.Shown[0].Text, w.Shown[1].Text = w.Shown[1].Text, w.Shown[0].Text },
	},
	"no answer text is shown twice": {
		func(w *World) { w.Shown = append(w.Shown, Shown{Chat: "a", ID: "15", Text: "again k1.1"}) },
		func(w *World) {
			w.Shown = append(w.Shown, Shown{Chat: "a", ID: "15", Text: "k1.1", File: true}, Shown{Chat: "a", ID: "16", Text: "k1.1", File: true})
		},
		func(w *World) { w.Shown[0].Text = "k1.1 k1.1" },
	},
	"nothing is shown in another chat": {
		func(w *World) { w.Shown = append(w.Shown, Shown{Chat: "b", ID: "15", Text: "k1.2"}) },
	},
	"no prompt is given twice": {
		func(w *World) { w.Prompts = append(w.Prompts, Prompt{"s1", "say k1"}) },
	},
	"what was answered was asked": {
		func(w *World) { w.Prompts = w.Prompts[1:] },
	},
	"answers keep the order of the questions": {
		func(w *World) {
			w.Shown = []Shown{{Chat: "a", ID: "13", Text: "k10.1"}, {Chat: "a", ID: "11", Text: "k1.1"}, {Chat: "a", ID: "12", Text: "k1.2"}, w.Shown[3]}
		},
	},
	"no card is left open": {
		func(w *World) { w.Shown[0].Open = true },
	},
	"presses are answered in time": {
		func(w *World) { w.Presses[1].Excused = false },
		func(w *World) { w.Presses[0].Took = 3500 * time.Millisecond },
		func(w *World) { w.Presses[0].Code = 200672 },
	},
	"strangers cause nothing": {
		func(w *World) { w.Ledger.Inbound = append(w.Ledger.Inbound, Inbound{9, "c", "k4", "ignored", 0}) },
		func(w *World) { w.Prompts = append(w.Prompts, Prompt{"s9", "k4"}) },
	},
	"one live agent a session":      {func(w *World) { w.Overlaps = []string{"s1"} }},
	"no process is left":            {func(w *World) { w.Orphans = []string{"4711 sleep"} }},
	"the platform's rules are kept": {func(w *World) { w.Rates = []string{"beyond the rate"} }},
	"no secret leaks":               {func(w *World) { w.Leaks = []string{"token in the log"} }},
	"the ledger is at rest": {
		func(w *World) { w.Ledger.Turns = append(w.Ledger.Turns, Turn{9, 1, "queued", 0}) },
		func(w *World) {
			w.Ledger.Turns = append(w.Ledger.Turns, Turn{8, 7, "running", 1}, Turn{9, 7, "waiting", 1})
		},
		func(w *World) { w.Ledger.Outbox = append(w.Ledger.Outbox, Outbox{9, 0, "a", "notice", "sending", ""}) },
		func(w *World) { w.Ledger.Outbox[0].Msg = "" },
		func(w *World) { w.Ledger.Asks[0].State = "open" },
	},
	"the ledger is sound": {func(w *World) { w.Ledger.Integrity = "row 3 missing from index" }},
}

func TestEverySeededDefectIsFound(t *testing.T) {
	t.Parallel()
	for _, r := range Rules() {
		if len(defects[r.Name]) == 0 {
			t.Errorf("%s: no defect is seeded", r.Name)
		}
		for i, seed := range defects[r.Name] {
			w := good()
			seed(&w)
			if got := Judge(w); !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, r.Name+": ") }) {
				t.Errorf("%s: defect %d is not found: %q", r.Name, i, got)
			}
		}
	}
}

// turned is a world in which a platform that pushes handed over two messages
// whose answers are in the other order.
func turned(w *World) {
	w.Shown = []Shown{w.Shown[2], w.Shown[0], w.Shown[1], w.Shown[3]}
	now := time.Now()
	w.Said[0].Pushed, w.Said[0].Taken = now, now.Add(time.Second)
	w.Said[1].Pushed, w.Said[1].Taken = now.Add(2*time.Second), now.Add(3*time.Second)
}

func TestOrderIsAskedForOnlyWhereThePlatformKeptIt(t *testing.T) {
	t.Parallel()
	w := good()
	turned(&w)
	if got := Judge(w); len(got) != 1 {
		t.Errorf("handed over one after the other: %q", got)
	}
	w.Said[0].Taken = w.Said[1].Taken // it had to be pushed again
	if got := Judge(w); len(got) > 0 {
		t.Errorf("handed over at the same time: %q", got)
	}
}

func TestARetryMayRepeatAPromptAndItsAnswer(t *testing.T) {
	t.Parallel()
	w := good()
	w.Said[0].Again = 1
	w.Prompts = append(w.Prompts, Prompt{"s1", "say k1"})
	w.Shown = append(w.Shown, Shown{Chat: "a", ID: "15", Text: "k1.1 k1.2"})
	if got := Judge(w); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

func TestAFileMayHoldWhatAMessageBegan(t *testing.T) {
	t.Parallel()
	w := good()
	w.Shown = append(w.Shown, Shown{Chat: "a", ID: "15", Text: "k1.1 k1.2", File: true})
	if got := Judge(w); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

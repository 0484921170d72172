// Package platformtest holds the rules that every adapter keeps, whatever
// service it speaks to. Real adapters pass it against their strict fake server.
package platformtest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
)

// House is an adapter with a service behind it.
type House struct {
	Adapter platform.Adapter
	Place   chat.Place // where messages may be sent to
	// Texts returns what a reader of Place sees, oldest first.
	Texts func() []string
}

// Nobody takes nothing in: the suite sends only.
type nobody struct{}

// Receive implements platform.Inbound.
func (nobody) Receive(_ context.Context, b platform.Batch) ([]chat.Ack, error) {
	return make([]chat.Ack, len(b.Messages)), nil
}

// Cursor implements platform.Inbound.
func (nobody) Cursor(context.Context, string) (string, error) { return "", nil }

// Run runs the suite; open makes a fresh house for each rule.
func Run(t *testing.T, open func(t *testing.T) House) {
	t.Helper()
	for _, r := range []struct {
		name string
		rule func(t *testing.T, h House)
	}{
		{"rendering loses no word", rendersAll},
		{"a reply of nothing gives no message", rendersNothing},
		{"buttons are on the last part, the answered message on the first", placesControls},
		{"a sent message is seen and has an id", sends},
		{"an edit changes the message in place", edits},
		{"an edit of a missing message is told as gone", editsMissing},
		{"removing twice is no failure of another kind", removes},
		{"Run ends with its context, and says nothing", runs},
		{"a call obeys its context", obeys},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.rule(t, open(t))
		})
	}
}

func rendersAll(t *testing.T, h House) {
	words := []string{}
	var sb strings.Builder
	for i := range 3000 {
		w := "w" + strings.Repeat("x", i%7) + string(rune('a'+i%26))
		words = append(words, w)
		sb.WriteString(w + []string{" ", " ", "\n", "\n\n", " **b** "}[i%5])
	}
	var shown strings.Builder
	for _, p := range h.Adapter.Render(chat.Reply{Kind: chat.ReplyAnswer, Markdown: sb.String()}) {
		shown.WriteString(p.Text + " ")
		if p.File != nil {
			shown.Write(p.File.Body)
		}
	}
	rest := shown.String()
	for _, w := range words {
		i := strings.Index(rest, w)
		if i < 0 {
			t.Fatalf("lost %q", w)
		}
		rest = rest[i+len(w):]
	}
}

func rendersNothing(t *testing.T, h House) {
	if h.Adapter.Traits().Local {
		return // it shows what it is given
	}
	if ps := h.Adapter.Render(chat.Reply{Markdown: " \n\n "}); len(ps) != 0 {
		t.Errorf("got %+v", ps)
	}
}

func placesControls(t *testing.T, h House) {
	r := chat.Reply{
		Kind: chat.ReplyAnswer, Markdown: strings.Repeat("some words in a row\n\n", 600), ReplyTo: chat.Ref{ID: "7"},
		Buttons: [][]chat.Button{{{Label: "a", Data: "stop:1"}}},
	}
	ps := h.Adapter.Render(r)
	for i, p := range ps {
		if (len(p.Buttons) > 0) != (i == len(ps)-1) {
			t.Errorf("part %d of %d has %d buttons", i+1, len(ps), len(p.Buttons))
		}
		if (p.ReplyTo.ID == "7") != (i == 0) {
			t.Errorf("part %d of %d answers %+v", i+1, len(ps), p.ReplyTo)
		}
	}
}

func post(t *testing.T, h House, key, text string) chat.Ref {
	t.Helper()
	ps := h.Adapter.Render(chat.Reply{Kind: chat.ReplyNotice, Markdown: text})
	if len(ps) != 1 {
		t.Fatalf("%d parts", len(ps))
	}
	ref, err := h.Adapter.Send(t.Context(), chat.Out{ID: 1, Key: key, Place: h.Place, Class: chat.OutProgress, Op: chat.OpPost, Part: ps[0]})
	if err != nil || ref.Zero() {
		t.Fatalf("sent: %+v, %v", ref, err)
	}
	return ref
}

func sends(t *testing.T, h House) {
	a, b := post(t, h, "k/1", "first"), post(t, h, "k/2", "second")
	if a.ID == b.ID {
		t.Errorf("two messages have the id %s", a.ID)
	}
	if h.Texts == nil {
		return
	}
	if got := h.Texts(); len(got) < 2 || got[len(got)-2] != "first" || got[len(got)-1] != "second" {
		t.Errorf("seen: %q", got)
	}
}

func change(h House, op chat.Op, target chat.Ref, text string) error {
	_, err := h.Adapter.Send(context.Background(), chat.Out{
		Place: h.Place, Class: chat.OutProgress, Op: op, Part: chat.Part{Text: text}, Target: target,
	})
	return err
}

func edits(t *testing.T, h House) {
	if !h.Adapter.Traits().Edits {
		return
	}
	ref := post(t, h, "k/1", "before")
	for _, op := range []chat.Op{chat.OpEdit, chat.OpFinish} {
		if err := change(h, op, ref, "after "+string(op)); err != nil {
			t.Fatal(err)
		}
	}
	if h.Texts == nil {
		return
	}
	if got := h.Texts(); len(got) != 1 || got[0] != "after finish" {
		t.Errorf("seen: %q", got)
	}
}

func editsMissing(t *testing.T, h House) {
	tr := h.Adapter.Traits()
	if !tr.Edits || tr.Local {
		return // every message that it knows is there
	}
	ref := post(t, h, "k/1", "text")
	if err := change(h, chat.OpRemove, ref, ""); err != nil {
		t.Fatal(err)
	}
	if err := change(h, chat.OpEdit, ref, "other"); chat.CodeOf(err) != chat.Gone {
		t.Errorf("edit: %v", err)
	}
}

func removes(t *testing.T, h House) {
	ref := post(t, h, "k/1", "text")
	if err := change(h, chat.OpRemove, ref, ""); err != nil {
		t.Fatal(err)
	}
	if err := change(h, chat.OpRemove, ref, ""); err != nil && chat.CodeOf(err) != chat.Gone {
		t.Error(err)
	}
}

func runs(t *testing.T, h House) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Adapter.Run(ctx, nobody{}) }() // ends with ctx
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("goes on")
	}
}

func obeys(t *testing.T, h House) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.Adapter.Send(ctx, chat.Out{Key: "k", Place: h.Place, Op: chat.OpPost, Part: chat.Part{Text: "x"}})
	switch code := chat.CodeOf(err); {
	case err == nil, code == chat.GiveUp, code == chat.Degrade, code == chat.Park:
		t.Errorf("a call whose context ended: %v", err)
	case errors.Is(err, context.Canceled), code == chat.Network, code == chat.Uncertain, code == chat.Internal:
	default:
		t.Errorf("a call whose context ended: %v", err)
	}
}

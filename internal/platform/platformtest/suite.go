// Package platformtest is the conformance suite of adapters: the rules of the
// contract in package platform, whatever the service. Every adapter's tests
// call Run, with a strict stand-in for the service behind it. It belongs to
// tests only.
package platformtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/platform"
)

// House is an adapter with a service behind it. The adapter does not run yet.
type House struct {
	Adapter platform.Adapter
	Place   chat.Place // where messages may be sent to; a direct chat
	// Store puts a row where the adapter may look it up, and returns it as the
	// sender gets it; nil = the adapter knows no ledger.
	Store func(o chat.Out) chat.Out
	// Texts returns what a reader of Place sees of our messages, oldest first.
	Texts func() []string
	// Say is what a person does in Place, with a client that sends until the
	// service has taken the message. It returns when the service counts the
	// message as acknowledged by the adapter, which runs meanwhile.
	Say func(ctx context.Context, text string) error
}

// send stores a row and sends it.
func (h House) send(ctx context.Context, o chat.Out) (chat.Ref, error) {
	if h.Store != nil {
		o = h.Store(o)
	}
	return h.Adapter.Send(ctx, o)
}

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
		{"a form is sent, or buttons stand for it", asks},
		{"an edit changes the message in place", edits},
		{"an edit of a missing message is told as gone", editsMissing},
		{"removing twice is no failure of another kind", removes},
		{"a doubtful message that arrived is found", settlesArrived},
		{"a doubtful message that did not arrive is sent", settlesLost},
		{"signs of life are no messages", signals},
		{"a call obeys its context", obeys},
		{"Run ends with its context, and says nothing", runs},
		{"what a person writes is acknowledged once it is stored", receives},
		{"what cannot be stored is not acknowledged, and comes again", waitsForTheDisk},
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
	ref, err := h.send(t.Context(), chat.Out{ID: 1, Key: key, Place: h.Place, Class: chat.OutProgress, Op: chat.OpPost, Part: ps[0]})
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
	wantTexts(t, h, "first", "second")
}

func asks(t *testing.T, h House) {
	if !h.Adapter.Traits().Buttons {
		return
	}
	one := chat.Button{Label: "Red", Data: "ask:1:0:0"}
	for n, whole := range []bool{false, true} {
		f := &chat.Form{
			Fields: []chat.Field{{Name: "q0", Options: []string{"Red", "Blue"}}, {Name: "w0", Hint: "Or in words"}},
			Send:   []chat.Button{{Label: "Send", Data: "ask:1:form"}}, Whole: whole,
		}
		ps := h.Adapter.Render(chat.Reply{Kind: chat.ReplyAsk, Markdown: "Which color?", Buttons: [][]chat.Button{{one}}, Form: f})
		if len(ps) != 1 || len(ps[0].Buttons) == 0 {
			t.Fatalf("rendered as %+v", ps) // whoever refuses the form is given the buttons
		}
		if p := ps[0].Form; p != nil && (len(p.Send) != 1 || p.Send[0].Data != "ask:1:form" || len(p.Fields) != 2) {
			t.Errorf("the form became %+v", p)
		}
		ref, err := h.send(t.Context(), chat.Out{ID: int64(n + 1), Key: fmt.Sprint("k/", n), Place: h.Place, Class: chat.OutAsk, Op: chat.OpPost, Part: ps[0]})
		if err != nil || ref.Zero() {
			t.Fatalf("sent: %+v, %v", ref, err)
		}
	}
	wantTexts(t, h, "Which color?", "Which color?")
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
	wantTexts(t, h, "after finish")
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
	wantTexts(t, h)
}

// doubtful stores a row that may have been sent before; the message before it
// is known.
func doubtful(t *testing.T, h House) chat.Out {
	t.Helper()
	before := post(t, h, "k/1", "before")
	o := chat.Out{
		ID: 2, Key: "k/2", Place: h.Place, Class: chat.OutFinal, Op: chat.OpPost,
		Part: h.Adapter.Render(chat.Reply{Kind: chat.ReplyNotice, Markdown: "doubtful"})[0],
	}
	if h.Store != nil {
		o = h.Store(o)
	}
	o.Unsure = &chat.Unsure{Since: before.Num}
	return o
}

func settlesArrived(t *testing.T, h House) {
	if !h.Adapter.Traits().Settles {
		return
	}
	o := doubtful(t, h)
	first := o
	first.Unsure = nil
	want, err := h.Adapter.Send(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := h.Adapter.Send(t.Context(), o)
		if err != nil || got.ID != want.ID {
			t.Errorf("found %+v, want %+v; %v", got, want, err)
		}
	}
	wantTexts(t, h, "before", "doubtful")
}

func settlesLost(t *testing.T, h House) {
	o := doubtful(t, h)
	ref, err := h.Adapter.Send(t.Context(), o)
	if !h.Adapter.Traits().Settles {
		if chat.CodeOf(err) != chat.Uncertain {
			t.Errorf("an adapter that cannot settle says %v", err)
		}
		wantTexts(t, h, "before")
		return
	}
	if err != nil || ref.Zero() {
		t.Errorf("sent: %+v, %v", ref, err)
	}
	wantTexts(t, h, "before", "doubtful")
}

func signals(t *testing.T, h House) {
	ref := post(t, h, "k/1", "text")
	for _, s := range []chat.Signal{
		{Kind: chat.SignalTyping}, {Kind: chat.SignalReact, Emoji: "👀"}, {Kind: chat.SignalReact}, {Kind: "no such sign"},
	} {
		for _, to := range []chat.Ref{ref, {}, {ID: "no such message"}} {
			_ = h.Adapter.Signal(t.Context(), h.Place, to, s) // best effort
		}
	}
	wantTexts(t, h, "text")
}

func wantTexts(t *testing.T, h House, want ...string) {
	t.Helper()
	if got := h.Texts(); !slices.Equal(got, want) {
		t.Errorf("a reader sees %q, want %q", got, want)
	}
}

func runs(t *testing.T, h House) {
	if err := start(t, h, &ledger{})(); err != nil {
		t.Error(err)
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
	if err := h.Adapter.Fetch(ctx, chat.FileRef{ID: "1"}, io.Discard); err == nil {
		t.Error("a file came although the context had ended")
	}
	wantTexts(t, h)
}

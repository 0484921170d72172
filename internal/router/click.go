package router

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cligate/internal/chat"
)

// click takes the press of a button. The data names a row; what the press may
// do is checked against that row, the place and the role. Data that means
// nothing does nothing.
func (r *Router) click(ctx context.Context, in chat.Inbound) error {
	if r.clicks.Mine(in.Data) {
		if _, err := r.clicks.Press(ctx, in); err != nil { // the gate's work, unless it died before
			return fmt.Errorf("settle press: %w", err)
		}
		return r.settle(ctx, in, chat.InboundDone, chat.CodeNone)
	}
	if what, ok := strings.CutPrefix(in.Data, "aged:"); ok {
		return r.agedClick(ctx, in, what)
	}
	name, arg, ok := r.set.Click(in.Data)
	if !ok {
		return r.settle(ctx, in, chat.InboundDone, chat.Invalid)
	}
	return r.command(ctx, in, name, arg)
}

// once are the verbs after which no button of the message means anything.
var once = []string{"cont", "retry", "drop", "run", "clear", "undo", "aged"}

// linesBack is how far back the message of a button is looked for.
const linesBack = 200

// unbutton makes the edit that takes used buttons off the message that was
// pressed; nothing when it cannot be found. The text stays as it was sent.
func (r *Router) unbutton(ctx context.Context, in chat.Inbound) []chat.Out {
	verb, _, _ := strings.Cut(in.Data, ":")
	if in.Kind != chat.KindClick || (verb != "rm" && !slices.Contains(once, verb)) {
		return nil
	}
	lines, err := r.desk.History.Lines(ctx, in.Conversation, time.Time{}, linesBack)
	if err != nil {
		r.complain(ctx, "message of a button not found", in.ID, err)
		return nil
	}
	i := slices.IndexFunc(lines, func(l chat.Line) bool { return l.Outbox != 0 && !l.Ref.Zero() && l.Ref.ID == in.Ref.ID })
	if i < 0 {
		return nil
	}
	part := lines[i].Part
	part.Buttons = without(part.Buttons, in.Data, verb == "rm")
	return []chat.Out{{
		Key: fmt.Sprintf("in/%d/unbutton", in.ID), Place: in.Place, Class: chat.OutNotice,
		Op: chat.OpEdit, Part: part, Target: lines[i].Ref,
	}}
}

// without returns the buttons that stay: none, or all but those with data.
func without(rows [][]chat.Button, data string, others bool) [][]chat.Button {
	var out [][]chat.Button
	for _, row := range rows {
		row = slices.DeleteFunc(slices.Clone(row), func(b chat.Button) bool { return !others || b.Data == data })
		if len(row) > 0 {
			out = append(out, row)
		}
	}
	return out
}

package router

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cligate/internal/chat"
)

// buttons takes presses.
type buttons struct {
	clicks  Clicks
	end     *ender
	intake  *intake
	old     old
	changes changes
}

// press takes the press of a button. The data names a row; what the press may
// do is checked against that row, the place and the role. Data that means
// nothing does nothing.
func (b buttons) press(ctx context.Context, in chat.Inbound) error {
	if b.clicks.Mine(in.Data) {
		if _, err := b.clicks.Press(ctx, in); err != nil { // the gate's work, unless it died before
			return fmt.Errorf("settle press: %w", err)
		}
		return b.end.settle(ctx, in, chat.InboundDone, chat.CodeNone)
	}
	if what, ok := strings.CutPrefix(in.Data, "aged:"); ok {
		return b.old.press(ctx, in, what)
	}
	if what, ok := strings.CutPrefix(in.Data, "edit:"); ok {
		return b.changes.press(ctx, in, what)
	}
	name, arg, ok := b.intake.set.Click(in.Data)
	if !ok {
		return b.end.settle(ctx, in, chat.InboundDone, chat.Invalid)
	}
	if !own(in) {
		return b.end.refuse(ctx, in, []int64{in.ID}, chat.Conversation{}, chat.E(chat.Denied, "", nil))
	}
	return b.intake.command(ctx, in, name, arg)
}

// own reports whether whoever pressed a button may act in the conversation
// that its message belongs to. One that is a person's own in a group is
// nobody else's, except operators'.
func own(in chat.Inbound) bool {
	return in.Place.Person == "" || in.Place.Person == in.Sender.ID || in.Role.Covers(chat.RoleOperator)
}

// once are the verbs after which no button of the message means anything.
var once = []string{"edit", "lost", "cont", "retry", "drop", "run", "clear", "undo", "aged", "recap", "renew"}

// single are the verbs after which the pressed button means nothing, and the
// others of its message still do.
var single = []string{"rm", "now", "rule", "take", "compact", "listen", "sharing"}

// messages are those of ours that people have before them.
type messages struct{ *desk }

// linesBack is how far back the message of a button is looked for.
const linesBack = 200

// unbutton makes the edit that takes used buttons off the message that was
// pressed; nothing when it cannot be found. The text stays as it was sent.
func (d messages) unbutton(ctx context.Context, in chat.Inbound) []chat.Out {
	verb, row, _ := strings.Cut(in.Data, ":")
	if in.Kind != chat.KindClick || (!slices.Contains(single, verb) && !slices.Contains(once, verb)) {
		return nil
	}
	line, ok := d.shown(ctx, in, func(l chat.Line) bool { return l.Ref.ID == in.Ref.ID })
	if !ok {
		return nil
	}
	part := line.Part
	if w := part.Waits; w != nil && !waits(ctx, d.Turns, w.Turn) {
		return nil // it was changed with its turn
	}
	if len(keep(part.Buttons, func(b chat.Button) bool { return b.Data == in.Data })) == 0 {
		return nil // a client has made it up
	}
	part.Buttons = keep(part.Buttons, func(b chat.Button) bool {
		return slices.Contains(single, verb) && b.Data != in.Data && !given(verb, row, b) && d.stillWaits(ctx, b)
	})
	return []chat.Out{{
		Key: fmt.Sprintf("in/%d/unbutton", in.ID), Place: in.Place, Class: chat.OutNotice,
		Op: chat.OpEdit, Part: part, Target: line.Ref,
	}}
}

// shown finds a message of ours that in may be about.
func (d messages) shown(ctx context.Context, in chat.Inbound, wanted func(chat.Line) bool) (chat.Line, bool) {
	lines, err := d.History.Lines(ctx, in.Conversation, time.Time{}, linesBack)
	if err != nil {
		d.cfg.Log.WarnContext(ctx, "message of a button not found", "inbound", in.ID, "err", err)
		return chat.Line{}, false
	}
	i := slices.IndexFunc(lines, func(l chat.Line) bool { return l.Outbox != 0 && !l.Ref.Zero() && wanted(l) })
	if i < 0 {
		return chat.Line{}, false
	}
	return lines[i], true
}

// chosen makes the edit that takes the choices about a turn off the message
// that tells how it ended, after somebody chose by a command.
func (d messages) chosen(ctx context.Context, in chat.Inbound, turn int64) []chat.Out {
	of := func(b chat.Button) bool {
		verb, row, _ := strings.Cut(b.Data, ":")
		row, _, _ = strings.Cut(row, ":")
		return slices.Contains([]string{"cont", "retry", "drop", "renew"}, verb) && row == strconv.FormatInt(turn, 10)
	}
	line, ok := d.shown(ctx, in, func(l chat.Line) bool { return len(keep(l.Part.Buttons, of)) > 0 })
	if !ok {
		return nil
	}
	part := line.Part
	part.Buttons = keep(part.Buttons, func(b chat.Button) bool { return !of(b) })
	return []chat.Out{{
		Key: fmt.Sprintf("in/%d/chosen", in.ID), Place: in.Place, Class: chat.OutNotice, Op: chat.OpEdit, Part: part, Target: line.Ref,
	}}
}

// given reports whether b would take back a turn whose words are on their way
// to the running one. Should that not want them, the notice about it has a
// button of its own.
func given(verb, row string, b chat.Button) bool {
	return verb == "now" && b.Data == "rm:"+row
}

// stillWaits reports whether a button is of use: one that removes a turn is
// not, when the turn waits no more.
func (d messages) stillWaits(ctx context.Context, b chat.Button) bool {
	verb, row, _ := strings.Cut(b.Data, ":")
	if verb != "rm" && verb != "now" {
		return true
	}
	id, err := strconv.ParseInt(row, 10, 64)
	return err == nil && waits(ctx, d.Turns, id)
}

// waits reports whether a turn is queued.
func waits(ctx context.Context, turns Turns, turn int64) bool {
	t, err := turns.TurnByID(ctx, turn)
	return err == nil && t.State == chat.TurnQueued
}

// keep returns the rows of those buttons that stay.
func keep(rows [][]chat.Button, stays func(chat.Button) bool) [][]chat.Button {
	var out [][]chat.Button
	for _, row := range rows {
		row = slices.DeleteFunc(slices.Clone(row), func(b chat.Button) bool { return !stays(b) })
		if len(row) > 0 {
			out = append(out, row)
		}
	}
	return out
}

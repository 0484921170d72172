package router

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/command"
	"cligate/internal/i18n"
)

// agedShown is how many old messages the question about them shows.
const agedShown = 5

// old takes messages that are too old to be run unasked.
type old struct {
	age    time.Duration // 0 = none is
	inbox  Inbox
	desk   *desk
	end    *ender
	intake *intake
}

// is reports whether in is to be asked about before it runs: somebody wrote
// it so long ago that it may not be meant any more. Only its own time counts.
// What waits in a burst was young when it came, and is not looked at again.
func (o old) is(in chat.Inbound) bool {
	return o.age > 0 && in.Kind == chat.KindText && in.Role.Covers(chat.RoleMember) &&
		time.Since(in.SentAt) > o.age
}

// ask asks about the old messages of one place, with one question: while one is
// there that was asked not long ago, it covers these too.
func (o old) ask(ctx context.Context, rows []chat.Inbound) error {
	first := rows[0]
	before, err := o.inbox.Aged(ctx, first.Place.ID)
	if err != nil {
		return fmt.Errorf("read old messages: %w", err)
	}
	ids := make([]int64, len(rows))
	for i, in := range rows {
		ids[i] = in.ID
	}
	if slices.ContainsFunc(before, func(in chat.Inbound) bool { return first.At.Sub(in.At) < o.age }) {
		return o.end.settleWith(ctx, first, ids, chat.InboundAsked, chat.CodeNone, nil)
	}
	c, err := o.desk.conversation(ctx, first.Conversation)
	if err != nil {
		return err
	}
	return o.end.settleWith(ctx, first, ids, chat.InboundAsked, chat.CodeNone, nil, o.question(rows, o.desk.lang(c, first.Sender)))
}

func (o old) question(rows []chat.Inbound, lang string) chat.Reply {
	text := []string{i18n.T(lang, "router.aged", "n", len(rows), "age", span(o.age))}
	for _, in := range rows[:min(agedShown, len(rows))] {
		line := title(chat.Input{Pieces: []chat.Piece{{Text: in.Text}}})
		if line == "" {
			line = i18n.T(lang, "router.aged_file")
		}
		text = append(text, "· "+line)
	}
	if more := len(rows) - agedShown; more > 0 {
		text = append(text, "· …")
	}
	place := strconv.FormatInt(rows[0].Place.ID, 10)
	return chat.Reply{
		Kind: chat.ReplyNotice, Markdown: strings.Join(text, "\n"),
		Buttons: [][]chat.Button{{
			{Label: i18n.T(lang, "router.button_run"), Data: "aged:run:" + place, Style: "primary"},
			{Label: i18n.T(lang, "router.button_drop"), Data: "aged:drop:" + place},
		}},
	}
}

// span is an age limit for people.
func span(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return d.String()
}

// press carries out what was chosen about old messages. People choose
// about their own, operators about all.
func (o old) press(ctx context.Context, in chat.Inbound, what string) error {
	choice, place, _ := strings.Cut(what, ":")
	if place != strconv.FormatInt(in.Place.ID, 10) || !in.Role.Covers(chat.RoleMember) || (choice != "run" && choice != "drop") {
		return o.end.settle(ctx, in, chat.InboundDone, chat.Invalid)
	}
	rows, err := o.inbox.Aged(ctx, in.Place.ID)
	if err != nil {
		return fmt.Errorf("read old messages: %w", err)
	}
	all := len(rows)
	rows = slices.DeleteFunc(rows, func(old chat.Inbound) bool {
		return old.Sender.ID != in.Sender.ID && !in.Role.Covers(chat.RoleOperator)
	})
	if all > 0 && len(rows) == 0 {
		return o.end.tell(ctx, in, chat.InboundRefused, "aged_others")
	}
	key := "aged_dropped"
	if choice == "run" {
		key = "aged_runs"
		err = o.run(ctx, rows)
	} else {
		err = o.drop(ctx, rows)
	}
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		key = "aged_none"
	}
	c, err := o.desk.conversation(ctx, in.Conversation)
	if err != nil {
		return err
	}
	text := i18n.T(o.desk.lang(c, in.Sender), "router."+key, "n", len(rows))
	var more []chat.Out
	if all == len(rows) {
		more = o.desk.unbutton(ctx, in)
	}
	return o.end.settleWith(ctx, in, []int64{in.ID}, chat.InboundDone, chat.CodeNone, more, say(text)...)
}

func (o old) drop(ctx context.Context, rows []chat.Inbound) error {
	ids := make([]int64, len(rows))
	for i, old := range rows {
		ids[i] = old.ID
	}
	if err := o.inbox.Settle(ctx, ids, chat.InboundExpired, chat.Expired, nil); err != nil {
		return fmt.Errorf("drop old messages: %w", err)
	}
	return nil
}

// run takes old messages as if they came now, in order. Those that were
// sent together become one turn. The cap on the queue does not count: somebody
// has just asked for them.
func (o old) run(ctx context.Context, rows []chat.Inbound) error {
	var cur *burst
	flush := func() error {
		if cur == nil {
			return nil
		}
		b := cur
		cur = nil
		return o.intake.turn(ctx, b, true)
	}
	for _, in := range rows {
		if name, arg, ok := command.Parse(in.Text); ok {
			if err := flush(); err != nil {
				return err
			}
			if err := o.intake.command(ctx, in, name, arg); err != nil {
				return err
			}
			continue
		}
		if cur != nil && (cur.author != authorOf(in) || !o.intake.bursts.together(cur.rows[len(cur.rows)-1], in)) {
			if err := flush(); err != nil {
				return err
			}
		}
		if cur == nil {
			cur = &burst{author: authorOf(in)}
		}
		cur.rows = append(cur.rows, in)
	}
	return flush()
}

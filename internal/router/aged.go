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
		return o.end.settleWith(ctx, first, ids, chat.InboundAsked, chat.CodeNone, o.widen(ctx, append(before, rows...), first))
	}
	c, err := o.desk.conversation(ctx, first.Conversation)
	if err != nil {
		return err
	}
	// Not under the key of the message: what a command says, once it runs, has
	// that.
	key := fmt.Sprintf("aged/%d", first.ID)
	outs := o.desk.voice.Compose(first.Place, 0, key, chat.OutNotice, o.question(rows, o.desk.lang(c, first.Sender)))
	return o.end.settleWith(ctx, first, ids, chat.InboundAsked, chat.CodeNone, outs)
}

// widen has the question that was asked already tell of all these messages: some
// came later. It was asked in the place of first, and is changed if it is shown.
func (o old) widen(ctx context.Context, rows []chat.Inbound, first chat.Inbound) []chat.Out {
	c, err := o.desk.conversation(ctx, first.Conversation)
	var lines []chat.Line
	if err == nil {
		lines, err = o.desk.History.Lines(ctx, first.Conversation, time.Time{}, linesBack)
	}
	if err != nil {
		o.desk.cfg.Log.WarnContext(ctx, "question about old messages not changed", "inbound", first.ID, "err", err)
		return nil
	}
	r := o.question(rows, o.desk.lang(c, first.Sender))
	run := r.Buttons[0][0].Data
	for _, l := range slices.Backward(lines) {
		if l.Outbox == 0 || l.Ref.Zero() || !slices.ContainsFunc(l.Part.Buttons, func(row []chat.Button) bool {
			return slices.ContainsFunc(row, func(b chat.Button) bool { return b.Data == run })
		}) {
			continue
		}
		outs := o.desk.voice.Compose(first.Place, 0, fmt.Sprintf("aged/%d/more", first.ID), chat.OutNotice, r)
		for i := range outs {
			outs[i].Op, outs[i].Target = chat.OpEdit, l.Ref
		}
		return outs[:min(1, len(outs))]
	}
	return nil
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
	r := chat.Reply{
		Kind: chat.ReplyNotice, Markdown: strings.Join(text, "\n"),
		Buttons: [][]chat.Button{{
			{Label: i18n.T(lang, "router.button_run"), Data: "aged:run:" + place, Style: "primary"},
			{Label: i18n.T(lang, "router.button_drop"), Data: "aged:drop:" + place},
		}},
	}
	if !rows[0].Place.Direct { // among several people it must be clear who is meant
		r.ReplyTo = rows[0].Ref
	}
	return r
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
	choice, rows, all, err := o.meant(ctx, in, what)
	switch {
	case chat.CodeOf(err) == chat.Invalid:
		return o.end.settle(ctx, in, chat.InboundDone, chat.Invalid)
	case err != nil:
		return err
	case all > 0 && len(rows) == 0:
		return o.end.tell(ctx, in, chat.InboundRefused, "aged_others")
	}
	c, err := o.desk.conversation(ctx, in.Conversation)
	if err != nil {
		return err
	}
	key := "aged_dropped"
	switch {
	case len(rows) == 0:
		key = "aged_none"
	case choice == "run":
		key = "aged_runs"
	}
	text := say(i18n.T(o.desk.lang(c, in.Sender), "router."+key, "n", len(rows)))
	over := func() error {
		var more []chat.Out
		if all == len(rows) {
			more = messages{o.desk}.unbutton(ctx, in)
		}
		return o.end.settleWith(ctx, in, []int64{in.ID}, chat.InboundDone, chat.CodeNone, more, text...)
	}
	if choice == "drop" {
		if err := o.drop(ctx, rows); err != nil {
			return err
		}
		return over()
	}
	slow, err := o.run(ctx, rows)
	switch {
	case err != nil:
		return err
	case len(slow) == 0:
		return over()
	}
	return o.later(ctx, in, slow, text, over)
}

// meant returns the old messages about which in chooses, and how many there are
// of everybody. chat.Invalid: what is pressed is no button of that place.
func (o old) meant(ctx context.Context, in chat.Inbound, what string) (choice string, rows []chat.Inbound, all int, err error) {
	choice, place, _ := strings.Cut(what, ":")
	if place != strconv.FormatInt(in.Place.ID, 10) || !in.Role.Covers(chat.RoleMember) || (choice != "run" && choice != "drop") {
		return "", nil, 0, chat.E(chat.Invalid, "", nil)
	}
	if rows, err = o.inbox.Aged(ctx, in.Place.ID); err != nil {
		return "", nil, 0, fmt.Errorf("read old messages: %w", err)
	}
	busy := o.intake.aside.now() // what an earlier press lets run already
	rows = slices.DeleteFunc(rows, func(old chat.Inbound) bool { return busy[old.ID] })
	all = len(rows)
	rows = slices.DeleteFunc(rows, func(old chat.Inbound) bool {
		return old.Sender.ID != in.Sender.ID && !in.Role.Covers(chat.RoleOperator)
	})
	return choice, rows, all, nil
}

// refusal says why a press about old messages comes to nothing.
func (o old) refusal(ctx context.Context, in chat.Inbound, what, lang string) (chat.Refusal, error) {
	_, rows, all, err := o.meant(ctx, in, what)
	switch {
	case err != nil || len(rows) > 0:
		return chat.Refusal{}, err
	case all > 0:
		return chat.Refusal{Text: i18n.T(lang, "router.aged_others")}, nil
	}
	return chat.Refusal{Text: i18n.T(lang, "router.aged_none"), Spent: true}, nil
}

// later carries out what may take long and then ends the press that lets it
// run: until then a new life of the daemon finds the press again, and with it
// the rest. That it was heard is said at once.
func (o old) later(ctx context.Context, in chat.Inbound, slow []command.Call, text []chat.Reply, over func() error) error {
	if err := o.end.voice.Say(ctx, in.Place, fmt.Sprintf("in/%d", in.ID), text...); err != nil {
		return fmt.Errorf("say that old messages run: %w", err)
	}
	rows := make([]chat.Inbound, len(slow))
	for i, c := range slow {
		rows[i] = c.In
	}
	return o.intake.slow(ctx, in, func() error {
		for _, c := range slow {
			if err := o.intake.carry(ctx, c); err != nil {
				return err
			}
		}
		return over()
	}, rows...)
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
// has just asked for them. Commands that may take long are returned instead.
func (o old) run(ctx context.Context, rows []chat.Inbound) (slow []command.Call, err error) {
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
				return nil, err
			}
			if o.intake.set.Slow(name) {
				c, err := o.intake.call(ctx, in, name, arg)
				if err != nil {
					return nil, err
				}
				slow = append(slow, c)
				continue
			}
			if err := o.intake.command(ctx, in, name, arg); err != nil {
				return nil, err
			}
			continue
		}
		if cur != nil && (cur.author != authorOf(in) || !o.intake.bursts.together(cur.rows[len(cur.rows)-1], in)) {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		if cur == nil {
			cur = &burst{author: authorOf(in)}
		}
		cur.rows = append(cur.rows, in)
	}
	return slow, flush()
}

package router

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/command"
	"cligate/internal/i18n"
)

// same reports whether an edit changes nothing that an agent would see: a link
// preview came, a location moved.
func same(before, now chat.Message) bool {
	if strings.TrimSpace(before.Text) != strings.TrimSpace(now.Text) {
		return false
	}
	for _, f := range now.Files {
		if !slices.ContainsFunc(before.Files, f.Same) {
			return false
		}
	}
	return true
}

// offer is what can be done about an edit of a message that runs already.
func (c changes) offer(t chat.Turn, in chat.Inbound, lang string) [][]chat.Button {
	data := func(verb string) string { return fmt.Sprintf("edit:%s:%d:%s", verb, t.ID, in.Ref.ID) }
	row := []chat.Button{{Label: i18n.T(lang, "router.button_again"), Data: data("again")}}
	if c.desk.Takes(t.Session) {
		row = slices.Insert(row, 0, chat.Button{Label: i18n.T(lang, "router.button_steer"), Data: data("steer"), Style: "primary"})
	}
	return [][]chat.Button{row}
}

// press carries out what was chosen about an edit: the message's newest words
// go to the running turn, or make a turn of their own. People choose about
// their own messages, operators about all.
func (c changes) press(ctx context.Context, in chat.Inbound, what string) error {
	about, err := c.target(ctx, in, what)
	switch chat.CodeOf(err) {
	case chat.CodeNone:
	case chat.Invalid, chat.Missing:
		return c.end.settle(ctx, in, chat.InboundDone, chat.Invalid)
	case chat.Denied:
		return c.end.refuse(ctx, in, []int64{in.ID}, chat.Conversation{}, err)
	default:
		return err
	}
	// Both buttons of a question may be pressed before the first press takes
	// them away; the words are worth one turn.
	version := newest(about.all).ID
	if c.chosen[about.key] == version {
		return c.end.tell(ctx, in, chat.InboundDone, "edit_chosen")
	}
	if about.verb == "steer" {
		err = c.steer(ctx, in, about.turn, newest(about.all))
	} else {
		err = c.again(ctx, in, about.turn, about.all)
	}
	if err == nil {
		c.chosen[about.key] = version
	}
	return err
}

// edited is what a button about an edit names.
type edited struct {
	verb, key string
	turn      chat.Turn      // of the message
	all       []chat.Inbound // its versions
}

// target finds what the press of a button about an edit names. chat.Invalid,
// chat.Missing: nothing. chat.Denied: it is not for whoever pressed it.
func (c changes) target(ctx context.Context, in chat.Inbound, what string) (e edited, err error) {
	e.verb, e.key, _ = strings.Cut(what, ":")
	id, msg, _ := strings.Cut(e.key, ":")
	turn, err := strconv.ParseInt(id, 10, 64)
	if err != nil || e.verb != "steer" && e.verb != "again" {
		return e, chat.E(chat.Invalid, "", nil)
	}
	if e.turn, err = c.desk.Turns.TurnByID(ctx, turn); err == nil && e.turn.Place.ID == in.Place.ID {
		e.all, err = c.desk.Inbox.Versions(ctx, in.Place.ID, msg)
	}
	switch {
	case err != nil:
		return e, fmt.Errorf("find the message that was edited: %w", err)
	case len(e.all) == 0:
		return e, chat.E(chat.Missing, "", nil)
	case !in.Role.Covers(chat.RoleMember), e.all[0].Sender.ID != in.Sender.ID && !in.Role.Covers(chat.RoleOperator):
		return e, chat.E(chat.Denied, "", nil)
	}
	return e, nil
}

// newest is the last version of a message.
func newest(all []chat.Inbound) chat.Inbound { return all[len(all)-1] }

// correction marks new words of an old message for the agent that works on the
// old ones.
const correction = "[correction of a message above; it now reads]\n"

func (c changes) steer(ctx context.Context, in chat.Inbound, t chat.Turn, now chat.Inbound) error {
	conv, err := c.desk.conversation(ctx, in.Conversation)
	if err != nil {
		return err
	}
	p := piece(now)
	p.Inbound, p.Text = 0, correction+p.Text
	wake, said, err := c.desk.Steer(ctx, command.Request{
		Call: command.Call{In: in, Conv: conv}, Session: t.Session, Input: chat.Input{Pieces: []chat.Piece{p}},
	})
	if err != nil {
		return c.end.refuse(ctx, in, []int64{in.ID}, conv, err)
	}
	var rs []chat.Reply
	if said != command.SteerTried {
		rs = say(i18n.T(c.desk.lang(conv, in.Sender), "router.edit_waits"))
	}
	return c.made(ctx, in, wake, rs)
}

// again makes a turn of the same input with the new words and files.
func (c changes) again(ctx context.Context, in chat.Inbound, t chat.Turn, all []chat.Inbound) error {
	conv, err := c.desk.conversation(ctx, in.Conversation)
	if err != nil {
		return err
	}
	o := order{in: in, session: t.Session, names: t.ID, input: chat.Input{Pieces: slices.Clone(t.Input.Pieces)}}
	for i, p := range o.input.Pieces {
		if p.Inbound == all[0].ID {
			o.input.Pieces[i].Text = piece(newest(all)).Text
			for _, v := range all[1:] { // not each mentions every file
				p.Files = chat.RevisedFiles(p.Files, v.Files)
			}
			o.input.Pieces[i].Files = p.Files
		}
	}
	wake, err := c.desk.place(ctx, o)
	if err != nil {
		return c.end.refuse(ctx, in, []int64{in.ID}, conv, err)
	}
	return c.made(ctx, in, wake, nil)
}

// made ends the press of a button that has made a turn.
func (c changes) made(ctx context.Context, in chat.Inbound, wake int64, rs []chat.Reply) error {
	err := c.end.settleWith(ctx, in, []int64{in.ID}, chat.InboundDone, chat.CodeNone, messages{c.desk}.unbutton(ctx, in), rs...)
	if err == nil && wake != 0 {
		c.desk.lanes.Wake(wake)
	}
	return err
}

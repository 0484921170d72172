package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// roomChoice is a setting of a whole chat that an operator chooses from a list.
type roomChoice struct {
	name   string // of the command
	values []roomValue
	get    func(chat.Room) string
	set    func(chat.Room, string) chat.Room
	remark func(s *Set, c Call, value string) string // what else has to be known about a value; may be empty
}

// roomValue is one of them, with what it is called and what its button says.
type roomValue struct{ value, text, button string }

// listening is /listen [mention|reply|all]: which messages of a group are for
// the bot.
func listening() roomChoice {
	return roomChoice{
		name: "listen",
		values: []roomValue{
			{string(chat.ListenMention), "listen_mention", "button_listen_mention"},
			{string(chat.ListenReply), "listen_reply", "button_listen_reply"},
			{string(chat.ListenAll), "listen_all", "button_listen_all"},
		},
		get: func(r chat.Room) string { return string(r.Listen) },
		set: func(r chat.Room, v string) chat.Room { r.Listen = chat.Listen(v); return r },
		remark: func(s *Set, c Call, v string) string {
			at := s.service(c)
			if chat.Listen(v) != chat.ListenAll || at.Overhears || at.Unheard == "" {
				return ""
			}
			return i18n.T(c.Lang, at.Unheard)
		},
	}
}

// sharing is /sharing [shared|person]: whose the session of a group is. What
// was said under the other setting is kept, and found again by returning to it.
func sharing() roomChoice {
	return roomChoice{
		name: "sharing",
		values: []roomValue{
			{string(chat.SharingShared), "sharing_shared", "button_sharing_shared"},
			{string(chat.SharingPerson), "sharing_person", "button_sharing_person"},
		},
		get:    func(r chat.Room) string { return string(r.Sharing) },
		set:    func(r chat.Room, v string) chat.Room { r.Sharing = chat.Sharing(v); return r },
		remark: func(_ *Set, c Call, _ string) string { return c.text("sharing_kept") },
	}
}

func (k roomChoice) run(ctx context.Context, s *Set, c Call) (Result, error) {
	if c.In.Place.Direct {
		return c.say("room_direct"), nil
	}
	p := c.In.Place
	room, err := s.Rooms.Room(ctx, p.Account, p.Chat)
	if err != nil {
		return Result{}, fmt.Errorf("read what the chat is set to: %w", err)
	}
	want := strings.ToLower(c.Arg)
	if want == "" {
		return k.show(s, c, k.get(room.Or(s.cfg.Room)), "_is"), nil
	}
	if !c.In.Role.Covers(chat.RoleOperator) {
		return failed(chat.Denied, "")
	}
	if !slices.ContainsFunc(k.values, func(v roomValue) bool { return v.value == want }) {
		return failed(chat.Invalid, clip(c.Arg))
	}
	if err := s.Rooms.SetRoom(ctx, p.Account, p.Chat, k.set(room, want), p.Account+"/"+c.In.Sender.ID); err != nil {
		return Result{}, fmt.Errorf("set the chat: %w", err)
	}
	return k.show(s, c, want, "_set"), nil
}

// show says what is in force and offers the rest.
func (k roomChoice) show(s *Set, c Call, value, how string) Result {
	name := value
	var row []chat.Button
	for _, v := range k.values {
		if v.value == value {
			name = c.text(v.text)
		} else {
			row = append(row, chat.Button{Label: c.text(v.button), Data: k.name + ":" + v.value})
		}
	}
	text := c.text(k.name+how, "value", name)
	if more := k.remark(s, c, value); more != "" {
		text += "\n" + more
	}
	if !c.In.Role.Covers(chat.RoleOperator) {
		return notice(text)
	}
	return notice(text, row)
}

// service is what the caller's chat service can do.
func (s *Set) service(c Call) Service {
	if s.cfg.Service == nil {
		return Service{}
	}
	return s.cfg.Service(c.In.Place.Account)
}

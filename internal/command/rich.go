package command

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

// rich is /rich [on|off|default]: answers as documents. Nobody can tell whether
// the reader's app shows them, so a sample is shown, followed by a message that
// every app shows.
func rich(ctx context.Context, s *Set, c Call) (Result, error) {
	usual := chat.Choice("")
	if s.cfg.Rich != nil {
		usual = s.cfg.Rich(c.In.Place.Account)
	}
	if usual == "" {
		return c.say("rich_none"), nil
	}
	was := c.Conv
	switch want := chat.Choice(c.Arg); want {
	case "":
		return c.richSample(c.text("rich_now_"+onOff(c.Conv.Rich.Or(usual == chat.ChoiceOn)))+"\n"+c.text("rich_look"), chat.ChoiceOn, chat.ChoiceOff), nil
	case chat.ChoiceOn, chat.ChoiceOff:
		c.Conv.Rich = want
	case defaultName:
		c.Conv.Rich = ""
	default:
		return failed(chat.Invalid, clip(c.Arg))
	}
	if err := s.Conversations.Change(ctx, was, c.Conv); err != nil {
		return Result{}, fmt.Errorf("keep the form of answers: %w", err)
	}
	on := c.Conv.Rich.Or(usual == chat.ChoiceOn)
	text := c.text("rich_now_" + onOff(on))
	if !on || c.clicked() {
		return notice(text), nil
	}
	return c.richSample(text+"\n"+c.text("rich_look"), chat.ChoiceOff), nil
}

func onOff(on bool) string {
	if on {
		return string(chat.ChoiceOn)
	}
	return string(chat.ChoiceOff)
}

// richSample shows what a rich answer looks like, and lets the reader decide.
func (c Call) richSample(text string, choices ...chat.Choice) Result {
	r := notice(text)
	var row []chat.Button
	for _, x := range choices {
		row = append(row, chat.Button{Label: c.text("rich_button_" + string(x)), Data: "rich:" + string(x)})
	}
	r.Replies[0].Buttons = [][]chat.Button{row}
	sample := chat.Reply{Kind: chat.ReplyAnswer, Markdown: c.text("rich_sample"), Rich: chat.ChoiceOn}
	r.Replies = []chat.Reply{sample, r.Replies[0]}
	return r
}

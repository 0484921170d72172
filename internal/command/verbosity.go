package command

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"cligate/internal/chat"
)

// verbosity is /verbosity: how much of a running turn this conversation shows.
func verbosity(ctx context.Context, s *Set, c Call) (Result, error) {
	now := cmp.Or(c.Conv.Verbosity, s.cfg.Verbosity, chat.VerbositySteps)
	if c.Arg == "" {
		return offerVerbosity(c, now), nil
	}
	want := chat.Verbosity(c.Arg)
	switch {
	case c.Arg == defaultName:
		want = ""
	case !want.Known():
		return failed(chat.Invalid, clip(c.Arg))
	}
	was := c.Conv
	c.Conv.Verbosity = want
	if err := s.Conversations.Change(ctx, was, c.Conv); err != nil {
		return Result{}, fmt.Errorf("keep verbosity: %w", err)
	}
	now = cmp.Or(want, s.cfg.Verbosity, chat.VerbositySteps)
	return c.say("verbosity_set", "level", string(now), "meaning", c.text("verbosity_"+string(now))), nil
}

func offerVerbosity(c Call, now chat.Verbosity) Result {
	lines := []string{c.text("verbosity_now", "level", string(now))}
	var row []chat.Button
	for _, v := range []chat.Verbosity{chat.VerbosityFinal, chat.VerbosityStatus, chat.VerbositySteps, chat.VerbosityAll} {
		lines = append(lines, string(v)+" – "+c.text("verbosity_"+string(v)))
		b := chat.Button{Label: string(v), Data: "verbosity:" + string(v)}
		if v == now {
			b.Style = "primary"
		}
		row = append(row, b)
	}
	return notice(strings.Join(lines, "\n"), row)
}

package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cligate/internal/chat"
)

// approve is /approve [#n]: the request that waits is allowed, once.
func approve(ctx context.Context, s *Set, c Call) (Result, error) {
	a, r, err := asked(ctx, s, c, c.Arg)
	if err != nil || r != nil {
		return deref(r), err
	}
	opt, ok := a.Question.With(chat.EffectAllow)
	if !ok {
		return c.say("approve_cannot", "n", a.ID), nil
	}
	return decide(ctx, s, c, a, chat.Answer{Option: opt.ID, Effect: chat.EffectAllow})
}

// asked finds the request that a command means: the one named, the one
// replied to, or the only one that waits. A result instead says why there is
// none.
func asked(ctx context.Context, s *Set, c Call, ref string) (chat.Ask, *Result, error) {
	refuse := func(r Result) (chat.Ask, *Result, error) { return chat.Ask{}, &r, nil }
	open, err := s.Asks.OpenAsks(ctx, c.In.Place.ID)
	if err != nil {
		return chat.Ask{}, nil, fmt.Errorf("read requests: %w", err)
	}
	open = slices.DeleteFunc(open, func(a chat.Ask) bool {
		return a.Question.Kind != chat.AskApproval && a.Question.Kind != chat.AskPlan
	})
	switch {
	case ref != "":
		n, err := number(ref)
		if err != nil {
			return chat.Ask{}, nil, err
		}
		if i := slices.IndexFunc(open, func(a chat.Ask) bool { return a.ID == n }); i >= 0 {
			return open[i], nil, nil
		}
		return refuse(c.say("approve_gone"))
	case !c.In.Reply.Zero():
		switch a, err := s.Asks.AskOfMessage(ctx, c.In.Place.ID, c.In.Reply.ID); {
		case err == nil:
			return a, nil, nil // an old one is refused when it is decided
		case chat.CodeOf(err) != chat.Missing:
			return chat.Ask{}, nil, fmt.Errorf("read request: %w", err)
		}
	}
	switch {
	case len(open) == 0:
		return refuse(c.say("approve_none"))
	case len(open) > 1 || open[0].At.After(c.In.At): // one that the author has not seen is never meant
		return refuse(list(c, open))
	}
	return open[0], nil, nil
}

// list shows the requests that wait, to be named.
func list(c Call, open []chat.Ask) Result {
	lines := []string{c.text("approve_which", "example", open[0].ID)}
	for _, a := range open {
		lines = append(lines, fmt.Sprintf("#%d · %s", a.ID, clip(a.Question.Tool+" "+a.Question.Title)))
	}
	return notice(strings.Join(lines, "\n"))
}

func decide(ctx context.Context, s *Set, c Call, a chat.Ask, ans chat.Answer) (Result, error) {
	ans.By = c.In.Sender
	got, err := s.Desk.Decide(ctx, chat.Decision{
		Ask: a.ID, Answer: ans, Place: c.In.Place, Role: c.In.Role, Inbound: c.In.ID, At: c.In.At,
	})
	title := clip(a.Question.Tool + " " + a.Question.Title)
	switch chat.CodeOf(err) {
	case chat.CodeNone:
		if ans.Effect == chat.EffectDeny {
			return c.say("denied", "title", title), nil
		}
		return c.say("approved", "title", title), nil
	case chat.Conflict:
		return c.say("decided", "name", name(got.Answer.By)), nil
	case chat.Expired, chat.Missing:
		return c.say("approve_gone"), nil
	default:
		return Result{}, err
	}
}

// name is a person for people.
func name(p chat.Person) string {
	if p.Name != "" {
		return p.Name
	}
	return p.ID
}

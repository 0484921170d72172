package command

import (
	"context"
	"strings"

	"cligate/internal/chat"
)

// deny is /deny [#n] [why]: the request that waits is refused, and the agent
// is told why.
func deny(ctx context.Context, s *Set, c Call) (Result, error) {
	ref, why := "", c.Arg
	if strings.HasPrefix(why, "#") {
		ref, why, _ = strings.Cut(why, " ")
	}
	a, r, err := asked(ctx, s, c, ref)
	if err != nil || r != nil {
		return deref(r), err
	}
	opt, _ := a.Question.With(chat.EffectDeny) // without one the effect says it
	return decide(ctx, s, c, a, chat.Answer{Option: opt.ID, Effect: chat.EffectDeny, Text: strings.TrimSpace(why)})
}

package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cligate/internal/i18n"
)

// later starts a turn of the agent's own after a while, as agents do when a
// task in the background has ended. The protocol has no word for that; these
// are the words of an agent that does it. A client that wants none refuses.
func (a *agent) later(s *session, lang string, seconds int) {
	a.work.Go(func() {
		for pause(a.ctx, time.Duration(seconds)*time.Second) {
			ctx, free := s.takeTurn(a.ctx)
			if !free { // somebody else's turn; ours can wait
				seconds = 1
				continue
			}
			over := a.own(ctx, s, lang)
			s.release() // before the client knows that it may go on
			if over != nil {
				a.write(packet{Method: "_qwencode/end_turn", Params: over})
			}
			return
		}
	})
}

// own is that turn. It returns how it ended; nil when nobody wanted it.
func (a *agent) own(ctx context.Context, s *session, lang string) map[string]any {
	turn := fmt.Sprintf("own-%d", len(s.book.lines))
	about := map[string]any{"sessionId": s.book.id, "turnId": turn, "source": "background_notification"}
	var yes json.RawMessage
	if err := a.ask(ctx, "_qwencode/start_turn", about, &yes); err != nil || ctx.Err() != nil {
		return nil
	}
	s.said.Reset()
	s.lang = lang
	s.say(i18n.T(lang, "demo.background"))
	reason := "end_turn"
	if err := s.book.add(entry{Role: roleAgent, Text: s.said.String()}); err != nil {
		reason = "error"
	}
	if ctx.Err() != nil {
		reason = "cancelled"
	}
	about["reason"] = reason
	return about
}

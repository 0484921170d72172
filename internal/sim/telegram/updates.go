package telegram

import (
	"context"
	"slices"
	"time"
)

const maxBatch = 100

// getUpdates confirms everything below the offset at the moment of the call
// and then waits for news. A newer call ends an older one that waits. An
// offset far past the end is ignored.
func (s *Server) getUpdates(ctx context.Context, b *bot, p params) (any, *refusal) {
	offset, timeout := p.num("offset"), min(p.num("timeout"), 50)
	var allowed []string
	p.object("allowed_updates", &allowed)
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.hook != nil && s.on(RuleWebhook) {
		return nil, &refusal{code: 409, text: "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"}
	}
	b.poll++
	mine := b.poll
	s.changed.Broadcast() // an older one ends now
	if offset > 0 && offset <= b.nextID+10 {
		b.updates = slices.DeleteFunc(b.updates, func(u update) bool { return u.id < offset })
	}
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})
	defer stop()
	expired := false
	timer := time.AfterFunc(time.Duration(timeout)*time.Second, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		expired = true
		s.changed.Broadcast()
	})
	defer timer.Stop()
	for {
		s.expire(b)
		out := b.batch(allowed, s.on(RuleUnasked))
		switch {
		case s.closing || ctx.Err() != nil:
			return []any{}, nil
		case b.hook != nil && s.on(RuleWebhook):
			return nil, &refusal{code: 409, text: "Conflict: terminated by setWebhook request"}
		case b.poll != mine && s.on(RulePoll):
			return nil, &refusal{code: 409, text: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"}
		case b.revoked:
			return nil, &refusal{code: 401, text: "Unauthorized"}
		case len(out) > 0 || expired || timeout == 0:
			return out, nil
		}
		s.changed.Wait()
	}
}

// notByDefault are kinds that must be named in allowed_updates.
var notByDefault = []string{"chat_member", "message_reaction", "message_reaction_count"}

func (b *bot) batch(allowed []string, strict bool) []any {
	out := []any{}
	for _, u := range b.updates {
		if strict && !wants(allowed, u.kind) {
			continue
		}
		if len(out) == maxBatch {
			break
		}
		out = append(out, map[string]any{"update_id": u.id, u.kind: u.body})
	}
	return out
}

package store

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

// ruleFor finds who allowed a request for as long as the session, or longer.
// chat.Missing: nobody did. Only the exact digest counts.
func ruleFor(ctx context.Context, t *tx, session int64, digest string) (person string, err error) {
	return first(ctx, t, value[string], `SELECT r.person FROM session s JOIN rule r ON r.conversation = s.conversation
AND r.session IN (0, s.id) AND r.agent = s.agent AND r.workspace = s.workspace AND r.digest = ?
WHERE s.id = ? ORDER BY r.id LIMIT 1`, digest, session)
}

// newRule notes that a was allowed for longer than once. The same rule twice is
// one.
func newRule(ctx context.Context, t *tx, a chat.Ask, d chat.Answer) error {
	if !d.Effect.Lasts() || a.Question.Kind != chat.AskApproval {
		return nil
	}
	scope := a.Session
	if d.Effect == chat.EffectAlways {
		scope = 0
	}
	n, err := t.exec(ctx, `INSERT INTO rule (session, conversation, agent, workspace, digest, ask, person, at)
SELECT ?, s.conversation, s.agent, s.workspace, ?, ?, ?, ? FROM session s WHERE s.id = ?
ON CONFLICT (conversation, session, agent, workspace, digest) DO NOTHING`,
		scope, a.Digest, a.ID, d.By.ID, micros(t.now), a.Session)
	if err != nil {
		return fmt.Errorf("note rule: %w", err)
	}
	if n == 0 {
		return nil
	}
	return writeAudit(ctx, t, d.By.ID, "rule "+string(d.Effect), fmt.Sprintf("ask %d session %d digest %s", a.ID, a.Session, a.Digest))
}

// Rules returns what is allowed in a conversation beyond one request: for all
// of it, and for the given session. The newest come first.
func (v Rules) Rules(ctx context.Context, conversation, session int64) (rs []chat.Rule, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		rs, err = list(ctx, h, scanRule, `SELECT r.id, r.session, r.agent, r.person, coalesce(w.name, ''), r.at, k.id, k.body, k.crc
FROM rule r JOIN ask k ON k.id = r.ask JOIN place p ON p.id = k.place
LEFT JOIN person w ON w.account = p.account AND w.ext = r.person
WHERE r.conversation = ? AND r.session IN (0, ?) ORDER BY r.id DESC`, conversation, session)
		return err
	})
	return rs, err
}

func scanRule(r row) (chat.Rule, error) {
	var u chat.Rule
	var b sealed
	var ask int64
	if err := r.Scan(&u.ID, &u.Session, &u.Agent, &u.By.ID, &u.By.Name, fromMicros(&u.At), &ask, &b.body, &b.crc); err != nil {
		return u, err
	}
	return u, b.open("ask", ask, &u.Question)
}

// Drop ends a rule of a conversation; chat.Missing when there is none.
func (v Rules) Drop(ctx context.Context, conversation, rule int64, by chat.Person) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, `DELETE FROM rule WHERE id = ? AND conversation = ?`, rule, conversation)
		if err != nil {
			return fmt.Errorf("drop rule %d: %w", rule, err)
		}
		if n == 0 {
			return missing("rule", rule)
		}
		return writeAudit(ctx, t, by.ID, "rule removed", fmt.Sprintf("rule %d", rule))
	})
}

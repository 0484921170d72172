package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"cligate/internal/chat"
)

const sessionCols = `s.id, s.conversation, s.agent, s.workspace, s.model, s.mode, s.effort, s.seed, s.begun, s.native_id, s.fork, s.state,
s.title, s.recap, s.briefed, s.adopted, s.parked_at, s.created_at, s.used_at, s.unproven, s.proven_model FROM session s`

func scanSession(r row) (chat.Session, error) {
	var s chat.Session
	err := r.Scan(&s.ID, &s.Conversation, &s.Agent, &s.Workspace, &s.Model, &s.Mode, &s.Effort, &s.Seed, &s.Begun, &s.NativeID, &s.Fork, &s.State,
		&s.Title, &s.Recap, &s.Briefed, &s.Adopted, fromMicros(&s.ParkedAt), fromMicros(&s.CreatedAt), fromMicros(&s.UsedAt), &s.Unproven, &s.Proven)
	return s, err
}

func sessionByID(ctx context.Context, t *tx, id int64) (chat.Session, error) {
	s, err := first(ctx, t, scanSession, `SELECT `+sessionCols+` WHERE s.id = ?`, id)
	if err != nil {
		return s, fmt.Errorf("session %d: %w", id, err)
	}
	return s, nil
}

// SessionByID returns a session; chat.Missing.
func (v Sessions) SessionByID(ctx context.Context, id int64) (s chat.Session, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		s, err = first(ctx, h, scanSession, `SELECT `+sessionCols+` WHERE s.id = ?`, id)
		return err
	})
	return s, err
}

// Sessions is described at router.Conversations.
func (v Sessions) Sessions(ctx context.Context, conversation int64) (ss []chat.Session, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		ss, err = list(ctx, h, scanSession, `SELECT `+sessionCols+` WHERE s.conversation = ? ORDER BY s.used_at DESC, s.id DESC`, conversation)
		return err
	})
	return ss, err
}

// StartSession is described at router.Conversations.
func (v Sessions) StartSession(ctx context.Context, n chat.NewSession) (s chat.Session, err error) {
	err = v.write(ctx, func(ctx context.Context, t *tx) error {
		if n.Cause > 0 {
			s, err = sessionOf(ctx, t, n.Cause)
			if err == nil || chat.CodeOf(err) != chat.Missing {
				return err
			}
		}
		c, err := conversationByID(ctx, t, n.Conversation)
		if err != nil {
			return err
		}
		if s, err = newSession(ctx, t, n); err != nil {
			return err
		}
		return makeCurrent(ctx, t, c, s.ID)
	})
	return s, err
}

// sessionOf finds the session that a cause has made.
func sessionOf(ctx context.Context, t *tx, cause int64) (chat.Session, error) {
	return first(ctx, t, scanSession, `SELECT `+sessionCols+` WHERE s.cause = ? AND s.cause <> 0`, cause)
}

func newSession(ctx context.Context, t *tx, n chat.NewSession) (chat.Session, error) {
	seed, err := uuid.NewRandom()
	if err != nil {
		return chat.Session{}, fmt.Errorf("choose a seed: %w", err)
	}
	adopted := n.NativeID != ""
	if adopted {
		switch of, err := first(ctx, t, value[int64], `SELECT id FROM session WHERE agent = ? AND native_id = ? AND native_id <> '' LIMIT 1`,
			n.Agent, n.NativeID); {
		case err == nil: // two processes would serve one session of the agent's
			return chat.Session{}, conflict("session", of)
		case chat.CodeOf(err) != chat.Missing:
			return chat.Session{}, fmt.Errorf("look for the agent's session: %w", err)
		}
	}
	id, err := t.insert(ctx, `INSERT INTO session
(conversation, agent, workspace, model, mode, effort, seed, begun, native_id, fork, adopted, state, title, recap, cause, created_at, used_at, unproven)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'open', ?, ?, ?, ?, ?, ?)`,
		n.Conversation, n.Agent, n.Workspace, n.Model, n.Mode, n.Effort, seed.String(), adopted, n.NativeID, n.Fork, adopted, n.Title, n.Recap, n.Cause,
		micros(t.now), micros(t.now), n.Model != "")
	if err != nil {
		return chat.Session{}, fmt.Errorf("new session: %w", err)
	}
	return sessionByID(ctx, t, id)
}

// makeCurrent makes a session current and remembers the one that was.
func makeCurrent(ctx context.Context, t *tx, c chat.Conversation, session int64) error {
	_, err := t.exec(ctx, `UPDATE conversation SET previous = CASE session WHEN 0 THEN previous ELSE session END, session = ?
WHERE id = ?`, session, c.ID)
	if err != nil {
		return fmt.Errorf("change the session of conversation %d: %w", c.ID, err)
	}
	return nil
}

// UseSession is described at router.Conversations.
func (v Sessions) UseSession(ctx context.Context, conversation, session int64) (s chat.Session, err error) {
	err = v.write(ctx, func(ctx context.Context, t *tx) error {
		c, err := conversationByID(ctx, t, conversation)
		if err != nil {
			return err
		}
		if s, err = sessionByID(ctx, t, session); err != nil {
			return err
		}
		switch {
		case s.Conversation != conversation:
			return missing("session", session)
		case s.State == chat.SessionLost:
			return chat.E(chat.NoSession, "", fmt.Errorf("session %d is lost", session))
		}
		if c.Session == session {
			return nil
		}
		if err := makeCurrent(ctx, t, c, session); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `UPDATE session SET used_at = ? WHERE id = ?`, micros(t.now), session); err != nil {
			return fmt.Errorf("use session %d: %w", session, err)
		}
		s.UsedAt = t.now
		_, err = t.exec(ctx, `UPDATE conversation SET agent = ?, workspace = ?, model = ?, mode = ?, effort = ? WHERE id = ?`,
			s.Agent, s.Workspace, s.Model, s.Mode, s.Effort, conversation)
		return err
	})
	return s, err
}

// Lose is described at session.Ledger.
func (v Sessions) Lose(ctx context.Context, session int64) (next chat.Session, err error) {
	err = v.write(ctx, func(ctx context.Context, t *tx) error {
		s, err := sessionByID(ctx, t, session)
		if err != nil {
			return err
		}
		if next, err = successorOf(ctx, t, s); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `UPDATE turn SET session = ? WHERE session = ? AND state = 'queued'`, next.ID, session); err != nil {
			return fmt.Errorf("move the queue: %w", err)
		}
		_, err = t.exec(ctx, `UPDATE conversation SET session = ? WHERE id = ? AND session = ?`, next.ID, s.Conversation, session)
		return err
	})
	return next, err
}

// successorOf finds the session that took over from a lost one, over as many
// losses as there were, or makes it.
func successorOf(ctx context.Context, t *tx, s chat.Session) (chat.Session, error) {
	first := s.ID
	for s.ID == first || s.State == chat.SessionLost {
		next, err := sessionOf(ctx, t, -s.ID)
		switch {
		case err == nil:
			s = next
			continue
		case chat.CodeOf(err) != chat.Missing:
			return next, fmt.Errorf("find successor: %w", err)
		}
		if _, err := t.exec(ctx, `UPDATE session SET state = 'lost' WHERE id = ?`, s.ID); err != nil {
			return next, fmt.Errorf("lose session %d: %w", s.ID, err)
		}
		return newSession(ctx, t, chat.NewSession{
			Conversation: s.Conversation, Agent: s.Agent, Workspace: s.Workspace, Model: s.Model, Mode: s.Mode, Effort: s.Effort,
			Title: s.Title, Recap: true, Cause: -s.ID,
		})
	}
	return s, nil
}

// Begun is described at session.Ledger.
func (v Sessions) Begun(ctx context.Context, session int64) error {
	return v.touch(ctx, session, `UPDATE session SET begun = 1 WHERE id = ?`)
}

// Recapped is described at turn.Threads.
func (v Sessions) Recapped(ctx context.Context, session int64) error {
	return v.touch(ctx, session, `UPDATE session SET recap = 0 WHERE id = ?`)
}

// Recap is described at router.Conversations.
func (v Sessions) Recap(ctx context.Context, session int64) error {
	return v.touch(ctx, session, `UPDATE session SET recap = 1 WHERE id = ?`)
}

// Briefed is described at turn.Threads.
func (v Sessions) Briefed(ctx context.Context, session int64, told bool) error {
	return v.touch(ctx, session, `UPDATE session SET briefed = ?2 WHERE id = ?1`, told)
}

// Park is described at router.Conversations.
func (v Sessions) Park(ctx context.Context, session int64, at time.Time) error {
	return v.touch(ctx, session, `UPDATE session SET parked_at = ?2 WHERE id = ?1`, micros(at))
}

// Wish is described at session.Ledger.
func (v Sessions) Wish(ctx context.Context, session int64, k chat.Setting, value string) error {
	column := map[chat.Setting]string{chat.SettingModel: "model", chat.SettingMode: "mode", chat.SettingEffort: "effort"}[k]
	if column == "" {
		return chat.E(chat.Invalid, string(k), nil)
	}
	set := column + ` = ?2`
	if k == chat.SettingModel { // the one before is kept until a turn has succeeded
		set += `, unproven = model <> ?2 OR unproven, proven_model = CASE WHEN unproven THEN proven_model ELSE model END`
	}
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, `UPDATE session SET `+set+` WHERE id = ?1`, session, value)
		if err != nil {
			return fmt.Errorf("change session %d: %w", session, err)
		}
		if n == 0 {
			return missing("session", session)
		}
		if _, err := t.exec(ctx, `UPDATE conversation SET `+column+` = ?2 WHERE session = ?1`, session, value); err != nil {
			return fmt.Errorf("change the conversation of session %d: %w", session, err)
		}
		return nil
	})
}

// Natives is described at router.Conversations.
func (v Sessions) Natives(ctx context.Context, agent, workspace string) (ids []string, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		ids, err = list(ctx, h, value[string], `SELECT native_id FROM session WHERE agent = ? AND workspace = ? AND native_id <> ''`, agent, workspace)
		return err
	})
	return ids, err
}

// Bind is described at session.Ledger.
func (v Sessions) Bind(ctx context.Context, session int64, nativeID string, s chat.Settings) error {
	return v.touch(ctx, session, `UPDATE session SET
	native_id = CASE ?2 WHEN '' THEN native_id ELSE ?2 END,
	model = CASE ?3 WHEN '' THEN model ELSE ?3 END,
	mode = CASE ?4 WHEN '' THEN mode ELSE ?4 END,
	effort = CASE ?5 WHEN '' THEN effort ELSE ?5 END
WHERE id = ?1`, nativeID, s.Model, s.Mode, s.Effort)
}

// touch changes one session; chat.Missing when it is not there.
func (v Sessions) touch(ctx context.Context, session int64, update string, args ...any) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, update, append([]any{session}, args...)...)
		if err != nil {
			return fmt.Errorf("change session %d: %w", session, err)
		}
		if n == 0 {
			return missing("session", session)
		}
		return nil
	})
}

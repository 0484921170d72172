package store

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

// Note is described at receive.Rooms.
func (v Places) Note(ctx context.Context, m chat.Message) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		p := m.Place
		var err error
		switch m.Kind {
		case chat.KindJoined: // perhaps with more rights than before
			_, err = t.exec(ctx, `UPDATE place SET parked = 0 WHERE account = ? AND chat = ? AND parked IN (1, 2)`, p.Account, p.Chat)
		case chat.KindLeft:
			_, err = t.exec(ctx, `UPDATE place SET parked = 1 WHERE account = ? AND chat = ? AND parked = 0`, p.Account, p.Chat)
		case chat.KindRenamed:
			_, err = t.exec(ctx, `UPDATE place SET title = ?, nameless = 0 WHERE account = ? AND chat = ? AND thread = ?`,
				p.Title, p.Account, p.Chat, p.Thread)
		case chat.KindReopened:
			_, err = t.exec(ctx, `UPDATE place SET parked = 0 WHERE account = ? AND chat = ? AND thread = ? AND parked = 2`,
				p.Account, p.Chat, p.Thread)
		case chat.KindMoved:
			if m.Moved != nil {
				err = moveChat(ctx, t, p.Account, p.Chat, *m.Moved)
			}
		case chat.KindText, chat.KindEdit, chat.KindClick, chat.KindRecall, chat.KindGesture:
		}
		if err != nil {
			return fmt.Errorf("note that a place is %s: %w", m.Kind, err)
		}
		return nil
	})
}

// Move is described at reply.Topics.
func (v Outbox) Move(ctx context.Context, account, from string, to chat.Place) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error { return moveChat(ctx, t, account, from, to) })
}

// moveChat carries everything of a chat over to its new address: places and
// their conversations, rights, settings, and what is still to be sent. What is
// over stays where it was: the ids of its messages mean nothing at the new
// address. Once moved, it stays moved.
func moveChat(ctx context.Context, t *tx, account, from string, to chat.Place) error {
	if from == to.Chat || to.Chat == "" {
		return nil
	}
	if _, moved, err := forwarding(ctx, t, chat.Place{Account: account, Chat: from}); moved || err != nil {
		return err
	}
	_, err := t.exec(ctx, `INSERT INTO chat_moved (account, chat, to_chat, space, at) VALUES (?, ?, ?, ?, ?)`,
		account, from, to.Chat, to.Space, micros(t.now))
	if err != nil {
		return fmt.Errorf("note the new address: %w", err)
	}
	old, err := list(ctx, t, scanKnown, knownPlace+`WHERE p.account = ? AND p.chat = ? AND p.moved_to = 0 ORDER BY p.id`, account, from)
	if err != nil {
		return fmt.Errorf("places of the chat: %w", err)
	}
	for _, k := range old {
		n := k.Place
		n.Chat, n.Space = to.Chat, to.Space
		if err := takeOver(ctx, t, k, n); err != nil {
			return fmt.Errorf("move place %d: %w", k.ID, err)
		}
	}
	for _, stmt := range []string{
		// A right that exists at the new address was given there, and counts.
		`UPDATE access SET chat = ?3 WHERE account = ?1 AND chat = ?2 AND revoked_at = 0 AND NOT EXISTS (
	SELECT 1 FROM access n WHERE n.account = ?1 AND n.chat = ?3 AND n.person = access.person AND n.revoked_at = 0)`,
		`UPDATE OR IGNORE chat_setting SET chat = ?3 WHERE account = ?1 AND chat = ?2`,
		`UPDATE OR IGNORE stranger SET chat = ?3 WHERE account = ?1 AND chat = ?2`,
	} {
		if _, err := t.exec(ctx, stmt, account, from, to.Chat); err != nil {
			return fmt.Errorf("carry over rights and settings: %w", err)
		}
	}
	if len(old) == 0 {
		return nil // nobody talked there
	}
	return writeAudit(ctx, t, "", "chat moved", fmt.Sprintf("%s/%s to %s", account, from, to.Chat))
}

// takeOver makes the place at address n, which may exist, what place o was.
func takeOver(ctx context.Context, t *tx, o known, n chat.Place) error {
	k, err := findPlace(ctx, t, n)
	switch {
	case chat.CodeOf(err) == chat.Missing:
		k, err = placeFor(ctx, t, n, o.conversation)
	case err == nil && k.conversation != o.conversation:
		err = join(ctx, t, k.conversation, o.conversation)
	}
	if err != nil {
		return err
	}
	return redirect(ctx, t, o, k.Place)
}

// join has everything of conversation from belong to conversation to, whose
// session stays the current one.
func join(ctx context.Context, t *tx, from, to int64) error {
	for _, stmt := range []string{
		`UPDATE conversation SET session = (SELECT session FROM conversation WHERE id = ?1) WHERE id = ?2 AND session = 0`,
		`UPDATE session SET conversation = ?2 WHERE conversation = ?1`,
		`UPDATE turn SET conversation = ?2 WHERE conversation = ?1`,
		`UPDATE inbound SET conversation = ?2 WHERE conversation = ?1`,
		`UPDATE OR IGNORE rule SET conversation = ?2 WHERE conversation = ?1`,
		`UPDATE place SET conversation = ?2 WHERE conversation = ?1`,
	} {
		if _, err := t.exec(ctx, stmt, from, to); err != nil {
			return fmt.Errorf("join conversations: %w", err)
		}
	}
	return nil
}

// redirect sends on to place n what is under way to or from place o.
func redirect(ctx context.Context, t *tx, o known, n chat.Place) error {
	if err := reshow(ctx, t, o, n); err != nil {
		return err
	}
	for _, stmt := range []string{
		`UPDATE place SET moved_to = ?2 WHERE id = ?1 OR moved_to = ?1`,
		// What changes a message of the old place has nothing left to change.
		`UPDATE outbox AS o SET state = 'dropped', error = 'the message is at an address that is no more'
WHERE o.place = ?1 AND o.op <> 'post' AND o.class <> 'final' AND ` + isOpen + ` AND ?3 <> ?4`,
		// The ids that were known when an intent was written are of another space.
		`UPDATE outbox AS o SET place = ?2, channel = ?4, since = CASE WHEN ?3 <> ?4 THEN 0 ELSE since END WHERE o.place = ?1 AND ` + isOpen,
		`UPDATE ask SET place = ?2 WHERE place = ?1 AND state = 'open'`,
		`UPDATE turn SET place = ?2 WHERE place = ?1 AND state IN ('queued', 'running', 'waiting')`,
		// Who was asked about an old message is asked again: the buttons are gone.
		`UPDATE inbound SET place = ?2, state = 'new', msg = CASE WHEN ?3 <> ?4 THEN '' ELSE msg END WHERE place = ?1 AND state IN ('new', 'asked')`,
	} {
		if _, err := t.exec(ctx, stmt, o.ID, n.ID, o.Channel(), n.Channel()); err != nil {
			return fmt.Errorf("send on: %w", err)
		}
	}
	return nil
}

// reshow has requests that are open shown once more: the buttons of their
// messages cannot be pressed any longer.
func reshow(ctx context.Context, t *tx, o known, n chat.Place) error {
	return again(ctx, t, n, `o.place = ?1 AND o.ask IN (SELECT id FROM ask WHERE place = ?1)`, o.ID)
}

// leftBehind puts a row back to the address at which its message arrived, when
// its chat moved while it was on its way: ids mean something there only. It
// returns the place that took over, where a request is to be shown.
func leftBehind(ctx context.Context, t *tx, id int64, ref chat.Ref) (next chat.Place, late bool, err error) {
	o, err := first(ctx, t, scanOut, `SELECT `+outCols+` WHERE o.id = ?`, id)
	if err != nil || ref.Chat == "" || ref.Chat == o.Place.Chat || o.Op != chat.OpPost {
		return chat.Place{}, false, err
	}
	old, err := first(ctx, t, value[int64], `SELECT id FROM place WHERE account = ? AND chat = ? AND moved_to = ?
ORDER BY thread = ? DESC, id LIMIT 1`, o.Place.Account, ref.Chat, o.Place.ID, o.Place.Thread)
	switch {
	case chat.CodeOf(err) == chat.Missing:
		return chat.Place{}, false, nil
	case err != nil:
		return chat.Place{}, false, err
	}
	_, err = t.exec(ctx, `UPDATE outbox SET place = ?, channel = ? WHERE id = ?`, old, o.Place.Account+"/"+ref.Chat, id)
	return o.Place, true, err
}

// again sends messages of open requests once more, to n.
func again(ctx context.Context, t *tx, n chat.Place, which string, arg int64) error {
	outs, err := list(ctx, t, scanOut, `SELECT `+outCols+` WHERE `+which+` AND o.state = 'sent' AND o.op = 'post'
AND o.ask IN (SELECT id FROM ask WHERE state = 'open') ORDER BY o.id`, arg)
	if err != nil {
		return fmt.Errorf("messages of open requests: %w", err)
	}
	for _, out := range outs {
		out.Key, out.Place = fmt.Sprintf("%s/at/%d", out.Key, n.ID), n
		out.Part.ReplyTo = chat.Ref{}
		if err := insertOut(ctx, t, out); err != nil {
			return fmt.Errorf("show a request again: %w", err)
		}
	}
	return nil
}

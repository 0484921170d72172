package store

import (
	"context"
	"fmt"

	"cligate/internal/chat"
)

// openTopic takes note of a topic that was made for an outbox row: its place,
// the conversation that it leads to, the first words in it. For other rows it
// does nothing, and a second time neither.
func openTopic(ctx context.Context, t *tx, id int64, ref chat.Ref) error {
	o, err := first(ctx, t, scanOut, `SELECT `+outCols+` WHERE o.id = ? AND o.op = 'topic' AND `+isOpen, id)
	if chat.CodeOf(err) == chat.Missing || err == nil && o.Part.Topic == nil {
		return nil
	} else if err != nil {
		return err
	}
	p := o.Place
	p.ID, p.Thread, p.Person, p.Title, p.Nameless = 0, ref.ID, "", o.Part.Topic.Name, false
	k, err := topicPlace(ctx, t, p, *o.Part.Topic)
	if err != nil {
		return err
	}
	for i, part := range o.Part.Topic.Greeting {
		hello := chat.Out{Key: fmt.Sprintf("%s/hello/%d", o.Key, i+1), Place: k.Place, Class: chat.OutNotice, Part: part}
		if err := insertOut(ctx, t, hello); err != nil {
			return fmt.Errorf("greet: %w", err)
		}
	}
	return nil
}

// topicPlace makes the place of a new topic. Somebody may have written there
// already.
func topicPlace(ctx context.Context, t *tx, p chat.Place, want chat.Topic) (known, error) {
	k, err := findPlace(ctx, t, p)
	there := err == nil
	if err != nil && chat.CodeOf(err) != chat.Missing {
		return known{}, fmt.Errorf("find place: %w", err)
	}
	if want.From != 0 {
		return inherit(ctx, t, p, want.From)
	}
	if !there {
		if k, err = newPlace(ctx, t, p); err != nil {
			return known{}, err
		}
	}
	_, err = t.exec(ctx, `UPDATE conversation SET agent = ?, workspace = ? WHERE id = ? AND session = 0`, want.Agent, want.Workspace, k.conversation)
	if err != nil {
		return known{}, fmt.Errorf("bind the workspace: %w", err)
	}
	return k, nil
}

// inherit makes the topic at address p go on with what place from was: the one
// for everybody, and those of single people beside it.
func inherit(ctx context.Context, t *tx, p chat.Place, from int64) (known, error) {
	o, err := knownByID(ctx, t, from)
	if err != nil {
		return known{}, fmt.Errorf("place %d: %w", from, err)
	}
	all, err := list(ctx, t, scanKnown, knownPlace+`WHERE p.account = ? AND p.chat = ? AND p.thread = ? ORDER BY p.id`, o.Account, o.Chat, o.Thread)
	if err != nil {
		return known{}, fmt.Errorf("places of the topic: %w", err)
	}
	for _, k := range all {
		n := p
		n.Person = k.Person
		if err := takeOver(ctx, t, k, n); err != nil {
			return known{}, fmt.Errorf("go on from place %d: %w", k.ID, err)
		}
	}
	return ensure(ctx, t, p)
}

// Shut is described at reply.Topics.
func (v Outbox) Shut(ctx context.Context, id int64, s chat.PlaceState, sure bool, reason string, outs []chat.Out) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		if err := changeOut(ctx, t, id, `UPDATE outbox AS o SET state = CASE WHEN ?2 THEN 'pending' ELSE o.state END, error = ?3
WHERE o.id = ?1 AND `+isOpen, sure, reason); err != nil {
			return err
		}
		// Everybody's conversations in that topic share its fate.
		_, err := t.exec(ctx, `UPDATE place AS q SET parked = ?2 FROM outbox o JOIN place p ON p.id = o.place
WHERE o.id = ?1 AND q.account = p.account AND q.chat = p.chat AND q.thread = p.thread`, id, s)
		if err != nil {
			return fmt.Errorf("hold the place of row %d: %w", id, err)
		}
		return enqueue(ctx, t, outs)
	})
}

// Near is described at reply.Topics.
func (v Outbox) Near(ctx context.Context, o chat.Out) (near chat.Place, err error) {
	err = v.write(ctx, func(ctx context.Context, t *tx) error {
		if o.Place.Thread != "" {
			p := o.Place
			p.ID, p.Thread, p.Title, p.Nameless = 0, "", "", false
			k, err := ensure(ctx, t, p)
			if err != nil {
				return fmt.Errorf("the chat beside the topic: %w", err)
			}
			if near = k.Place; k.state == chat.PlaceOpen {
				return nil
			}
		}
		near, err = first(ctx, t, scanPlace, `SELECT `+placeCols+` FROM turn t
JOIN person w ON w.account = ?2 AND w.ext = json_extract(t.sender, '$.id') JOIN place p ON p.id = w.direct
WHERE t.id = ?1 AND p.parked = 0 AND p.moved_to = 0 AND p.id <> ?3`, o.Turn, o.Place.Account, o.Place.ID)
		return err
	})
	return near, err
}

// Redirect is described at command.Rooms.
func (v Places) Redirect(ctx context.Context, from, to int64) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		o, err := knownByID(ctx, t, from)
		if err != nil {
			return fmt.Errorf("place %d: %w", from, err)
		}
		n, err := knownByID(ctx, t, to)
		if err != nil {
			return fmt.Errorf("place %d: %w", to, err)
		}
		if o.movedTo != 0 || o.ID == n.ID {
			return nil
		}
		return redirect(ctx, t, o, n.Place)
	})
}

// Discard is described at command.Rooms.
func (v Places) Discard(ctx context.Context, place int64) (n int64, err error) {
	err = v.write(ctx, func(ctx context.Context, t *tx) error {
		n, err = t.exec(ctx, `UPDATE outbox AS o SET state = 'dropped', error = 'nobody wanted it any more' WHERE o.place = ? AND `+isOpen, place)
		return err
	})
	return n, err
}

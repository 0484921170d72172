package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"cligate/internal/chat"
)

// Decide is described at receive.Asks.
func (v Asks) Decide(ctx context.Context, d chat.Decision) (a chat.Ask, err error) {
	err = v.write(ctx, func(ctx context.Context, t *tx) (err error) {
		if a, err = askByID(ctx, t, d.Ask); err != nil {
			return err
		}
		if d.At.IsZero() {
			d.At = t.now
		}
		if err := mayDecide(a, d); err != nil {
			return err
		}
		if d.Answer.By, err = named(ctx, t, a.Place.Account, d.Answer.By); err != nil {
			return err
		}
		answer, err := encode(d.Answer)
		if err != nil {
			return err
		}
		_, err = t.exec(ctx, `UPDATE ask SET state = 'answered', answer = ?, used_at = ? WHERE id = ? AND state = 'open'`,
			answer, micros(t.now), d.Ask)
		if err != nil {
			return fmt.Errorf("answer ask %d: %w", d.Ask, err)
		}
		a.State, a.Answer = chat.AskAnswered, d.Answer
		if err := newRule(ctx, t, a, d.Answer); err != nil {
			return err
		}
		if d.Inbound == 0 {
			return nil
		}
		_, err = settleOne(ctx, t, d.Inbound, chat.InboundDone, chat.CodeNone)
		return err
	})
	return a, err
}

// named is p with the name that was known before, where the service did not
// tell it this time.
func named(ctx context.Context, h handle, account string, p chat.Person) (chat.Person, error) {
	if p.Name != "" {
		return p, nil
	}
	name, err := first(ctx, h, value[string], `SELECT name FROM person WHERE account = ? AND ext = ?`, account, p.ID)
	if err != nil && chat.CodeOf(err) != chat.Missing {
		return p, fmt.Errorf("name of a person: %w", err)
	}
	p.Name = name
	return p, nil
}

// mayDecide says whether d can settle a. A transaction is around it, so what
// it sees holds until the commit.
func mayDecide(a chat.Ask, d chat.Decision) error {
	switch {
	case d.Place.ID != a.Place.ID:
		return chat.E(chat.Denied, "", fmt.Errorf("ask %d belongs to another place", a.ID))
	case !a.MayDecide(d.Answer.By, d.Role):
		return chat.E(chat.Denied, "", fmt.Errorf("ask %d belongs to somebody else", a.ID))
	case d.Answer.Effect == chat.EffectAlways && !d.Role.Covers(chat.RoleOperator):
		return chat.E(chat.Denied, "", fmt.Errorf("a standing permission is an operator's to give, ask %d", a.ID))
	case a.State == chat.AskAnswered:
		return conflict("ask", a.ID)
	case a.State != chat.AskOpen, !a.Expires.IsZero() && !d.At.Before(a.Expires):
		return chat.E(chat.Expired, "", fmt.Errorf("ask %d is closed", a.ID))
	}
	return nil
}

// Fill is described at router.Asks. chat.Conflict: the ask is not open.
func (v Asks) Fill(ctx context.Context, ask int64, a chat.Answer) error {
	return v.write(ctx, func(ctx context.Context, t *tx) error {
		old, err := askByID(ctx, t, ask)
		if err != nil {
			return err
		}
		answer, err := encode(merge(old.Answer, a))
		if err != nil {
			return err
		}
		n, err := t.exec(ctx, `UPDATE ask SET answer = ? WHERE id = ? AND state = 'open'`, answer, ask)
		if err != nil {
			return fmt.Errorf("fill ask %d: %w", ask, err)
		}
		if n == 0 {
			return conflict("ask", ask)
		}
		return nil
	})
}

// merge puts the newer answer over the older one: values by question, the rest
// where the newer has it.
func merge(old, newer chat.Answer) chat.Answer {
	values := maps.Clone(old.Values)
	if values == nil {
		values = newer.Values
	} else {
		maps.Copy(values, newer.Values)
	}
	newer.Values = values
	newer.Option = cmp.Or(newer.Option, old.Option)
	newer.Effect = cmp.Or(newer.Effect, old.Effect)
	newer.Text = cmp.Or(newer.Text, old.Text)
	newer.By = cmp.Or(newer.By, old.By)
	return newer
}

// AskOfMessage is described at router.Asks.
func (v Asks) AskOfMessage(ctx context.Context, place int64, msg string) (a chat.Ask, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) (err error) {
		a, err = first(ctx, h, scanAsk, `SELECT `+askCols+` WHERE k.id = (`+outOfMessage("o.ask")+` AND o.ask > 0 ORDER BY o.id DESC LIMIT 1)`,
			place, msg, place)
		return err
	})
	return a, err
}

// outOfMessage selects a column of the outbox rows that became a platform
// message. Its parameters: place, message id, place.
func outOfMessage(col string) string {
	return `SELECT ` + col + ` FROM receipt r JOIN outbox o ON o.id = r.outbox
WHERE r.account = (SELECT account FROM place WHERE id = ?) AND r.msg = ? AND o.place = ?`
}

// AskMessages is described at turn.Recovery. A message that was edited since
// is there once, as it was seen last.
func (v Runs) AskMessages(ctx context.Context, ask int64) (refs []chat.Ref, err error) {
	return Asks(v).AskMessages(ctx, ask)
}

// AskMessages is described at receive.Asks.
func (v Asks) AskMessages(ctx context.Context, ask int64) (refs []chat.Ref, err error) {
	err = v.read(ctx, func(ctx context.Context, h handle) error {
		all, err := list(ctx, h, scanRef, `SELECT r.ref FROM outbox o JOIN receipt r ON r.outbox = o.id
WHERE o.ask = ? AND o.ask > 0 AND o.op <> 'remove' ORDER BY o.id`, ask)
		if err != nil {
			return err
		}
		refs = nil
		for _, ref := range all {
			if i := slices.IndexFunc(refs, func(k chat.Ref) bool { return k.ID == ref.ID }); i >= 0 {
				refs[i] = ref
			} else {
				refs = append(refs, ref)
			}
		}
		return nil
	})
	return refs, err
}

func scanRef(r row) (chat.Ref, error) {
	var ref chat.Ref
	err := r.Scan(fromText(&ref))
	return ref, err
}

package receive

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/fault"
	"cligate/internal/i18n"
)

const (
	askVerb = "ask"
	maxData = 64       // bytes of button data that any service carries
	maxForm = 16 << 10 // bytes of what a form carries; far more than its fields take
	done    = "ok"
)

// Board tells the turn that waits for an ask. It never blocks.
type Board interface {
	Decided(a chat.Ask)
}

// Faces shows asks.
type Faces interface {
	// Face is the message of a that carries its buttons, as a is now: what is
	// answered so far, or how it ended.
	Face(ctx context.Context, a chat.Ask) (chat.Reply, error)
}

// Clicks settles the buttons of asks. The gate calls it before a press is
// acknowledged, the router for presses that a crash left behind; pressing twice
// has the effect of once.
type Clicks struct {
	asks  Asks
	board Board
	faces Faces
	log   *slog.Logger
	done  *memo
}

// NewClicks makes a Clicks. Without faces no message gets a new form at once.
func NewClicks(asks Asks, board Board, faces Faces, log *slog.Logger) *Clicks {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Clicks{asks: asks, board: board, faces: faces, log: log, done: &memo{acks: map[int64]*outcome{}}}
}

// Mine reports whether data belongs to the button of an ask.
func (c *Clicks) Mine(data string) bool { return strings.HasPrefix(data, askVerb+":") }

// toastKey is the text shown at once for the button of a command.
func toastKey(data string) string {
	if strings.HasPrefix(data, "stop:") {
		return "receive.click_stop"
	}
	return "receive.click_taken"
}

// Press decides what the press in says, if its author may, and returns what to
// show. An error means that nothing was decided yet and it may be tried again.
// The same event, given again, gets the same answer and does nothing.
func (c *Clicks) Press(ctx context.Context, in chat.Inbound) (chat.Ack, error) {
	return c.done.do(in.ID, func() (chat.Ack, error) { return c.press(ctx, in) })
}

func (c *Clicks) press(ctx context.Context, in chat.Inbound) (chat.Ack, error) {
	t, ok := parse(in.Data)
	if !ok || size(in.Form) > maxForm {
		return c.alert(in, "click_gone"), nil
	}
	a, err := c.asks.AskByID(ctx, t.ask)
	switch {
	case chat.CodeOf(err) == chat.Missing:
		return c.alert(in, "click_gone"), nil
	case err != nil:
		return chat.Ack{}, fmt.Errorf("read ask: %w", err)
	case a.Place.ID != in.Place.ID: // a button of this place never names an ask of another
		return c.alert(in, "click_gone"), nil
	}
	switch shown, err := c.shows(ctx, a, in.Ref); {
	case err != nil:
		return chat.Ack{}, err
	case !shown:
		return c.alert(in, "click_gone"), nil
	case !a.MayDecide(in.Sender, in.Role):
		return c.alert(in, "click_denied"), nil
	}
	ans, complete, err := answer(a, t, in)
	switch {
	case chat.CodeOf(err) == chat.Nothing && a.State == chat.AskOpen:
		return c.alert(in, "click_empty"), nil
	case chat.CodeOf(err) == chat.Invalid:
		return c.alert(in, "click_gone"), nil
	case !complete && a.State == chat.AskOpen:
		return c.fill(ctx, in, a, ans)
	}
	return c.decide(ctx, in, ans)
}

// shows reports whether ref is a message of a: a button elsewhere names it only
// when somebody made it up. While the message is on its way nobody knows its id.
func (c *Clicks) shows(ctx context.Context, a chat.Ask, ref chat.Ref) (bool, error) {
	refs, err := c.asks.AskMessages(ctx, a.ID)
	if err != nil {
		return false, fmt.Errorf("read the messages of an ask: %w", err)
	}
	return len(refs) == 0 || slices.ContainsFunc(refs, func(r chat.Ref) bool { return r.ID == ref.ID }), nil
}

// fill keeps one more piece of an answer.
func (c *Clicks) fill(ctx context.Context, in chat.Inbound, a chat.Ask, ans chat.Answer) (chat.Ack, error) {
	switch err := c.asks.Fill(ctx, a.ID, ans); chat.CodeOf(err) {
	case chat.CodeNone:
	case chat.Conflict, chat.Missing:
		return c.over(ctx, in, a.ID, c.alert(in, "click_expired"))
	default:
		return chat.Ack{}, fmt.Errorf("keep a part of the answer: %w", err)
	}
	a, err := c.asks.AskByID(ctx, a.ID) // somebody else may have filled in the rest meanwhile
	if err != nil {
		return chat.Ack{}, fmt.Errorf("read ask: %w", err)
	}
	switch t, _ := parse(in.Data); {
	case a.State != chat.AskOpen:
		return c.over(ctx, in, a.ID, c.alert(in, "click_expired"))
	case t.send != "" && a.Question.Unanswered(a.Answer.Values) < 0:
		ans.Values = a.Answer.Values
		return c.decide(ctx, in, ans)
	}
	ack := chat.Ack{Toast: i18n.T(in.Sender.Lang, "receive.click_partial", "done", len(a.Answer.Values), "all", len(a.Question.Queries))}
	ack.Replace = c.face(ctx, a)
	return ack, nil
}

// decide commits a whole answer, by compare-and-set.
func (c *Clicks) decide(ctx context.Context, in chat.Inbound, ans chat.Answer) (chat.Ack, error) {
	t, _ := parse(in.Data)
	a, err := c.asks.Decide(ctx, chat.Decision{
		Ask: t.ask, Answer: ans, Place: in.Place, Role: in.Role, Inbound: in.ID, At: in.At,
	})
	switch chat.CodeOf(err) {
	case chat.CodeNone:
		fault.Hit(fault.ClickStored)
		c.board.Decided(a)
		c.log.InfoContext(ctx, "ask decided", "ask", a.ID, "turn", a.Turn, "effect", ans.Effect, "person", in.Sender.ID)
		return c.closed(ctx, a, c.taken(in, ans.Effect)), nil
	case chat.Conflict:
		if a.Answer.By.ID == in.Sender.ID && a.Answer.Same(ans) { // the same press once more
			c.board.Decided(a)
			return c.closed(ctx, a, c.taken(in, ans.Effect)), nil
		}
		return c.closed(ctx, a, chat.Ack{Alert: true, Toast: i18n.T(in.Sender.Lang, "receive.click_decided", "name", a.Decider())}), nil
	case chat.Expired:
		return c.over(ctx, in, t.ask, c.alert(in, "click_expired"))
	case chat.Denied:
		return c.alert(in, "click_denied"), nil
	case chat.Missing:
		return c.alert(in, "click_gone"), nil
	default:
		return chat.Ack{}, fmt.Errorf("decide: %w", err)
	}
}

// over is ack for a press that came too late: the message says how its ask
// ended, which somebody may have decided at this moment.
func (c *Clicks) over(ctx context.Context, in chat.Inbound, ask int64, ack chat.Ack) (chat.Ack, error) {
	a, err := c.asks.AskByID(ctx, ask)
	switch {
	case err != nil:
		return chat.Ack{}, fmt.Errorf("read ask: %w", err)
	case a.State == chat.AskAnswered:
		ack.Toast = i18n.T(in.Sender.Lang, "receive.click_decided", "name", a.Decider())
	case a.State == chat.AskOpen: // its time is up; the turn has not come to it yet
		a.State = chat.AskExpired
	}
	return c.closed(ctx, a, ack), nil
}

// closed is ack with the message of an ask that is over. The turn changes that
// message, too.
func (c *Clicks) closed(ctx context.Context, a chat.Ask, ack chat.Ack) chat.Ack {
	ack.Replace, ack.Follows = c.face(ctx, a), true
	return ack
}

// face is the message of an ask as it is now. Without it the press is answered
// all the same.
func (c *Clicks) face(ctx context.Context, a chat.Ask) *chat.Reply {
	if c.faces == nil {
		return nil
	}
	r, err := c.faces.Face(ctx, a)
	if err != nil {
		c.log.WarnContext(ctx, "message of an ask not shown anew", "ask", a.ID, "err", err)
		return nil
	}
	return &r
}

func (c *Clicks) taken(in chat.Inbound, e chat.Effect) chat.Ack {
	key := "receive.click_chosen"
	switch e {
	case chat.EffectAllow:
		key = "receive.click_allowed"
	case chat.EffectSession:
		key = "receive.click_session"
	case chat.EffectAlways:
		key = "receive.click_always"
	case chat.EffectDeny:
		key = "receive.click_refused"
	case chat.EffectChoose:
	}
	return chat.Ack{Toast: i18n.T(in.Sender.Lang, key)}
}

func (c *Clicks) alert(in chat.Inbound, key string) chat.Ack {
	return chat.Ack{Alert: true, Toast: i18n.T(in.Sender.Lang, "receive."+key)}
}

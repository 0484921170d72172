package receive

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cligate/internal/chat"
	"cligate/internal/fault"
	"cligate/internal/i18n"
)

const (
	askVerb = "ask"
	maxData = 64 // bytes of button data that any service carries
	done    = "ok"
)

// Board tells the turn that waits for an ask. It never blocks.
type Board interface {
	Decided(a chat.Ask)
}

// Clicks settles the buttons of asks. The gate calls it before a press is
// acknowledged, the router for presses that a crash left behind; pressing twice
// has the effect of once.
type Clicks struct {
	asks  Asks
	board Board
	log   *slog.Logger
	done  *memo
}

// NewClicks makes a Clicks.
func NewClicks(asks Asks, board Board, log *slog.Logger) *Clicks {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Clicks{asks: asks, board: board, log: log, done: &memo{acks: map[int64]*outcome{}}}
}

// Mine reports whether data belongs to the button of an ask.
func (c *Clicks) Mine(data string) bool { return strings.HasPrefix(data, askVerb+":") }

// wellFormed reports whether data could be a button of ours at all.
func wellFormed(data string) bool {
	verb, _, ok := strings.Cut(data, ":")
	if !ok || verb == "" || len(data) > maxData || !utf8.ValidString(data) {
		return false
	}
	return !strings.ContainsFunc(verb, func(r rune) bool { return r < 'a' || r > 'z' }) &&
		!strings.ContainsFunc(data, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// toastKey is the text shown at once for the button of a command.
func toastKey(data string) string {
	if strings.HasPrefix(data, "stop:") {
		return "receive.click_stop"
	}
	return "receive.click_taken"
}

// target is what an ask button's data names: option of query n, or of the
// question itself (n < 0); done closes a query of several choices.
type target struct {
	ask       int64
	n, option int
	done      bool
}

// parse reads ask:<id>:<option>, ask:<id>:<query>:<option> and
// ask:<id>:<query>:ok. Numbers have one form only.
func parse(data string) (target, bool) {
	part := strings.Split(data, ":")
	if len(data) > maxData || len(part) < 3 || len(part) > 4 || part[0] != askVerb {
		return target{}, false
	}
	id, ok := count(part[1], 1<<62)
	if !ok || id == 0 {
		return target{}, false
	}
	t := target{ask: id, n: -1}
	if len(part) == 4 {
		n, ok := count(part[2], 1000)
		if !ok {
			return target{}, false
		}
		t.n = int(n)
		if part[3] == done {
			t.done = true
			return t, true
		}
	}
	o, ok := count(part[len(part)-1], 1000)
	t.option = int(o)
	return t, ok
}

func count(s string, most int64) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0 && n <= most && strconv.FormatInt(n, 10) == s
}

// Press decides what the press in says, if its author may, and returns what to
// show. An error means that nothing was decided yet and it may be tried again.
// The same event, given again, gets the same answer and does nothing.
func (c *Clicks) Press(ctx context.Context, in chat.Inbound) (chat.Ack, error) {
	return c.done.do(in.ID, func() (chat.Ack, error) { return c.press(ctx, in) })
}

func (c *Clicks) press(ctx context.Context, in chat.Inbound) (chat.Ack, error) {
	t, ok := parse(in.Data)
	if !ok {
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
	case !a.MayDecide(in.Sender, in.Role):
		return c.alert(in, "click_denied"), nil
	}
	ans, complete, ok := answer(a, t, in.Sender)
	switch {
	case !ok:
		return c.alert(in, "click_gone"), nil
	case !complete && a.State == chat.AskOpen:
		return c.fill(ctx, in, a, ans)
	}
	return c.decide(ctx, in, ans)
}

// answer is what pressing t makes of a: a whole answer, or one more piece.
func answer(a chat.Ask, t target, by chat.Person) (ans chat.Answer, complete, ok bool) {
	q := a.Question
	if t.n < 0 {
		if t.option >= len(q.Options) {
			return chat.Answer{}, false, false
		}
		o := q.Options[t.option]
		return chat.Answer{Option: o.ID, Effect: o.Effect, By: by}, true, true
	}
	if t.n >= len(q.Queries) || (!t.done && t.option >= len(q.Queries[t.n].Options)) {
		return chat.Answer{}, false, false
	}
	k := q.Queries[t.n]
	ans = chat.Answer{Effect: chat.EffectChoose, By: by, Values: map[string][]string{}}
	for id, v := range a.Answer.Values {
		ans.Values[id] = slices.Clone(v)
	}
	switch {
	case t.done:
		ans.Values[k.ID] = append([]string{}, ans.Values[k.ID]...)
	case k.Multi:
		ans.Values[k.ID] = toggle(ans.Values[k.ID], k.Options[t.option].Value())
		return ans, false, true
	default:
		ans.Values[k.ID] = []string{k.Options[t.option].Value()}
	}
	return ans, q.Unanswered(ans.Values) < 0, true
}

func toggle(vs []string, v string) []string {
	if i := slices.Index(vs, v); i >= 0 {
		return slices.Delete(vs, i, i+1)
	}
	return append(vs, v)
}

// fill keeps one more piece of an answer.
func (c *Clicks) fill(ctx context.Context, in chat.Inbound, a chat.Ask, ans chat.Answer) (chat.Ack, error) {
	switch err := c.asks.Fill(ctx, a.ID, ans); chat.CodeOf(err) {
	case chat.CodeNone:
	case chat.Conflict, chat.Missing:
		return c.alert(in, "click_expired"), nil
	default:
		return chat.Ack{}, fmt.Errorf("keep a part of the answer: %w", err)
	}
	shown := form(a, ans.Values, in.Sender.Lang)
	return chat.Ack{Replace: &shown, Toast: i18n.T(in.Sender.Lang, "receive.click_partial",
		"done", len(ans.Values), "all", len(a.Question.Queries))}, nil
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
		return c.taken(in, ans.Effect), nil
	case chat.Conflict:
		if a.Answer.By.ID == in.Sender.ID && a.Answer.Same(ans) { // the same press once more
			c.board.Decided(a)
			return c.taken(in, ans.Effect), nil
		}
		return chat.Ack{Alert: true, Toast: i18n.T(in.Sender.Lang, "receive.click_decided", "name", name(a.Answer.By))}, nil
	case chat.Expired:
		return c.alert(in, "click_expired"), nil
	case chat.Denied:
		return c.alert(in, "click_denied"), nil
	case chat.Missing:
		return c.alert(in, "click_gone"), nil
	default:
		return chat.Ack{}, fmt.Errorf("decide: %w", err)
	}
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

func name(p chat.Person) string {
	if p.Name != "" {
		return p.Name
	}
	return p.ID
}

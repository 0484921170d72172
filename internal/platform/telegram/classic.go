package telegram

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
)

// classicOnly remembers, until the process ends, that the server has no rich
// messages.
type classicOnly struct{ yes atomic.Bool }

func (c *classicOnly) is() bool { return c.yes.Load() }

// classic returns the classic form of a rich draft when err is a refusal of its
// form. A refusal says that nothing was sent; what may have been sent is never
// sent in another form.
func (s *courier) classic(ctx context.Context, d draft, err error) (draft, bool) {
	var r *refusal
	if d.rich == nil || !errors.As(err, &r) {
		return d, false
	}
	a, _ := judge(err, true)
	switch {
	case r.Status == http.StatusNotFound:
		s.plain.yes.Store(true)
		s.log.WarnContext(ctx, "this server has no rich messages, classic ones are sent until the next start", "err", err)
	case r.says("text is empty"), r.says("text must be non-empty"): // an older server, which looked for a text
	case a == actPlain, a == actOdd, a == actFile:
		s.log.WarnContext(ctx, "rich form refused, sent in the classic one", "chat", d.chat, "err", err)
	default:
		return d, false
	}
	d.rich = nil
	return d, true
}

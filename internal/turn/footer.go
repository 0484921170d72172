package turn

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// FooterItem is one figure below an answer.
type FooterItem string

// The figures. What an agent does not tell is left out, and never shown as
// nothing.
const (
	FooterModel   FooterItem = "model"
	FooterTime    FooterItem = "time"
	FooterTokens  FooterItem = "tokens"
	FooterCost    FooterItem = "cost"
	FooterContext FooterItem = "context" // how much of the window is left
)

// below puts small print below the answer among rs, or below what is said
// instead of one.
func below(e ending, rs []chat.Reply, small string) []chat.Reply {
	at := slices.IndexFunc(rs, func(r chat.Reply) bool { return r.Kind == chat.ReplyAnswer })
	if at < 0 && e.state == chat.TurnSucceeded && len(rs) > 0 && rs[0].File == nil { // it ended well, without words
		at = 0
	}
	if at < 0 {
		return rs
	}
	rs[at].Footer = strings.TrimSpace(rs[at].Footer + "\n" + small)
	return rs
}

// figures are the wanted figures that are known, in one line.
func (w words) figures(items []FooterItem, u chat.Usage) string {
	var out []string
	for _, i := range items {
		if s := w.figure(i, u); s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, " · ")
}

// figure is one figure; empty when it is not known.
func (w words) figure(i FooterItem, u chat.Usage) string {
	switch i {
	case FooterModel:
		return line(u.Model, labelLimit)
	case FooterTime:
		if u.Took >= time.Second {
			return span(u.Took)
		}
		return "<1s"
	case FooterTokens:
		if u.In > 0 || u.Out > 0 {
			return i18n.T(w.lang, "turn.footer.tokens", "in", amount(u.In), "out", amount(u.Out))
		}
	case FooterCost:
		switch {
		case u.CostUSD >= 0.01:
			return dollars(u.CostUSD)
		case u.CostUSD > 0:
			return "<$0.01"
		}
	case FooterContext:
		if u.Window > 0 && u.Used > 0 {
			return i18n.T(w.lang, "turn.footer.context", "percent", max(0, 100-100*u.Used/u.Window))
		}
	}
	return ""
}

// amount is a number as people read it: 950, 12.3k, 1.2M.
func amount(n int64) string {
	short := func(unit int64, sign string) string {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/float64(unit)), ".0") + sign
	}
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 999_950:
		return short(1000, "k")
	}
	return short(1_000_000, "M")
}

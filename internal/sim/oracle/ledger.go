package oracle

import (
	"fmt"
	"slices"
)

// Rules about what the ledger says.

func storedOnce(w World) []string {
	var out []string
	for _, s := range w.Said {
		if n := len(w.inboundOf(s)); s.Allowed && n != 1 {
			out = append(out, fmt.Sprintf("%s is stored %d times", s.Key, n))
		}
	}
	return out
}

var finalStates = []string{"succeeded", "failed", "stopped", "interrupted", "withdrawn", "expired"}

// told are ends that are told by a message of the turn.
var told = []string{"succeeded", "failed", "stopped", "interrupted"}

func settled(w World) []string {
	var out []string
	for _, s := range w.Said {
		if !s.Allowed {
			continue
		}
		for _, in := range w.inboundOf(s) {
			switch {
			case in.State == "turn":
				if why := w.unsettled(in.Turn); why != "" {
					out = append(out, s.Key+": "+why)
				}
			case slices.Contains([]string{"done", "refused", "withdrawn", "expired"}, in.State):
			default:
				out = append(out, fmt.Sprintf("%s is left in state %s", s.Key, in.State))
			}
			if in.State != "turn" && !s.Command && in.State == "done" {
				out = append(out, s.Key+" was taken for a command")
			}
		}
	}
	return out
}

// unsettled says why a turn has no visible end; empty when it has one.
func (w World) unsettled(id int64) string {
	t, ok := w.turn(id)
	if !ok {
		return fmt.Sprintf("turn %d does not exist", id)
	}
	if !slices.Contains(finalStates, t.State) {
		return fmt.Sprintf("turn %d is still %s", id, t.State)
	}
	if !slices.Contains(told, t.State) {
		return ""
	}
	for _, o := range w.Ledger.Outbox {
		if o.Turn == id && o.Class == "final" && o.State == "sent" && w.shown(o) {
			return ""
		}
	}
	return fmt.Sprintf("turn %d %s and nothing shows it", id, t.State)
}

func (w World) shown(o Outbox) bool {
	return slices.ContainsFunc(w.Shown, func(s Shown) bool { return s.Chat == o.Chat && s.ID == o.Msg && s.Text != "" })
}

// succeeded reports whether the turn of s ended well.
func (w World) succeeded(s Said) bool {
	for _, in := range w.inboundOf(s) {
		if t, ok := w.turn(in.Turn); ok && t.State == "succeeded" {
			return true
		}
	}
	return false
}

func atRest(w World) []string {
	var out []string
	active := map[int64]int64{}
	for _, t := range w.Ledger.Turns {
		if !slices.Contains(finalStates, t.State) {
			out = append(out, fmt.Sprintf("turn %d is %s", t.ID, t.State))
		}
		if t.State == "running" || t.State == "waiting" {
			if other, ok := active[t.Session]; ok {
				out = append(out, fmt.Sprintf("turns %d and %d run in session %d", other, t.ID, t.Session))
			}
			active[t.Session] = t.ID
		}
	}
	for _, o := range w.Ledger.Outbox {
		if o.State == "pending" || o.State == "sending" {
			out = append(out, fmt.Sprintf("outbox row %d is %s", o.ID, o.State))
		}
		if o.State == "sent" && o.Msg == "" {
			out = append(out, fmt.Sprintf("outbox row %d is sent without a message id", o.ID))
		}
	}
	for _, a := range w.Ledger.Asks {
		if a.State == "open" {
			out = append(out, fmt.Sprintf("ask %d is open", a.ID))
		}
	}
	return out
}

func sound(w World) []string {
	if w.Ledger.Integrity != "ok" {
		return []string{w.Ledger.Integrity}
	}
	return nil
}

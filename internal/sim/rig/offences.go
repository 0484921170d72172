package rig

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"cligate/internal/sim/feishu"
	"cligate/internal/sim/oracle"
	"cligate/internal/sim/telegram"
)

// telegramWitness knows what the daemon asked of Telegram.
type telegramWitness struct{ *Rig }

// expected are refusals that a careful client cannot avoid: the probes of a
// doubtful send, and what raced with a person.
var expected = []string{
	"message to edit not found", "message can't be edited", "message is not modified", "message to delete not found",
	"query is too old", "file is too big", "there is no text in the message to edit", "fault: ", "Too Many Requests", "Conflict: terminated by other getUpdates",
}

// unstored is how long a wait that the platform asked for may take to be
// stored. A daemon that is killed in that time cannot know of it.
const unstored = 250 * time.Millisecond

// offences are calls against the rates of the platform and calls it refused.
func (w telegramWitness) offences() (out []string) {
	calls := w.Telegram.Calls()
	for _, v := range w.Telegram.Violations() {
		if w.unknowing(v, calls) || w.forgetful(v) {
			continue
		}
		out = append(out, fmt.Sprintf("%s in chat %d at %s: %s%s", v.Method, v.Chat, v.At.Format(clock), v.Why, w.around(v, calls)))
	}
	for _, c := range calls {
		if c.OK || slices.ContainsFunc(expected, func(s string) bool { return strings.Contains(c.Error, s) }) {
			continue
		}
		out = append(out, fmt.Sprintf("%s in chat %d is refused: %s (%.80s)", c.Method, c.Chat, c.Error, c.Text))
	}
	return out
}

const clock = "05.000"

// around tells what happened before a violation.
func (w telegramWitness) around(v telegram.Violation, calls []telegram.Call) string {
	var b strings.Builder
	b.WriteString(w.deathsBefore(v.At))
	for _, c := range calls {
		if c.Chat == v.Chat && !c.At.After(v.At) && v.At.Sub(c.At) < 2*memory {
			fmt.Fprintf(&b, "; %s %s %d %s", c.At.Format(clock), c.Method, c.Code, c.Error)
		}
	}
	return b.String()
}

// unknowing reports whether the daemon died between being told to wait and
// noting it, so that its next life had to be told again.
func (w telegramWitness) unknowing(v telegram.Violation, calls []telegram.Call) bool {
	var told time.Time
	for _, c := range calls {
		if c.Code == http.StatusTooManyRequests && c.Chat == v.Chat && c.At.Before(v.At) {
			told = c.At
		}
	}
	return w.diedUnstored(told, v.At)
}

// memory is how far back the rates of private chats look.
const memory = 3 * time.Second

// forgetful reports whether a call went beyond the rates right after a death:
// a new life begins with a full budget. What the platform then asks for counts.
func (w telegramWitness) forgetful(v telegram.Violation) bool {
	return v.Why == telegram.BeyondRate && w.newborn(v.At)
}

// diedUnstored reports whether the daemon died between being told to wait and
// noting it, and that before some time.
func (d *Daemon) diedUnstored(told, before time.Time) bool {
	return slices.ContainsFunc(d.Deaths(), func(t time.Time) bool {
		return t.After(told) && t.Before(before) && t.Sub(told) < unstored
	})
}

// newborn reports whether the daemon had died shortly before.
func (d *Daemon) newborn(at time.Time) bool {
	return slices.ContainsFunc(d.Deaths(), func(t time.Time) bool { return t.Before(at) && at.Sub(t) < memory })
}

// deathsBefore tells of the deaths shortly before.
func (d *Daemon) deathsBefore(at time.Time) string {
	var b strings.Builder
	for _, t := range d.Deaths() {
		if t.Before(at) && at.Sub(t) < 2*memory {
			fmt.Fprintf(&b, "; died %s", t.Format(clock))
		}
	}
	return b.String()
}

// feishuWitness knows what the daemon asked of Feishu.
type feishuWitness struct{ *Rig }

// offences are calls against the rates of the platform and calls it refused.
func (w feishuWitness) offences() (out []string) {
	if w.Feishu == nil {
		return nil
	}
	calls := w.Feishu.Calls()
	for _, v := range w.Feishu.Violations() {
		if !w.newborn(v.At) {
			out = append(out, fmt.Sprintf("beyond the rate of %s at %s%s", v.Key, v.At.Format(clock), w.around(v.At, calls)))
		}
	}
	for _, c := range calls {
		if c.OK || strings.HasPrefix(c.Error, "fault: ") || feishuWait(c) || slices.Contains(unforeseen, c.Code) {
			continue // rates are judged above
		}
		out = append(out, fmt.Sprintf("%s in chat %s at %s is refused: %d %s (%.80s)%s", c.Method, c.Chat, c.At.Format(clock), c.Code, c.Error, c.Text, w.around(c.At, calls)))
	}
	return out
}

// unforeseen are refusals that nobody can know of before: of a message that
// somebody took back, of a file that is larger than the service hands out, of a
// scope that the app was not granted.
var unforeseen = []int{230011, 234037, 230027}

// feishuWait reports whether a call was answered by a request to wait.
func feishuWait(c feishu.Call) bool { return c.Code == 230020 || c.Code == 99991400 }

// around tells what happened shortly before.
func (w feishuWitness) around(at time.Time, calls []feishu.Call) string {
	const most = 12
	var near []string
	for _, c := range calls {
		if !c.At.After(at) && at.Sub(c.At) < memory {
			near = append(near, fmt.Sprintf("; %s %s %s %s %d", c.At.Format(clock), c.Method, c.Chat, c.Message, c.Code))
		}
	}
	if len(near) > most {
		near = near[len(near)-most:]
	}
	return w.deathsBefore(at) + strings.Join(near, "")
}

// presses is every press of a talk on Feishu. One that could not be handed over
// is excused: no daemon was connected, or the connection was lost with it. One
// that was handed over is answered within the service's time.
func presses(talks []*Talk) (out []oracle.Press) {
	for _, t := range talks {
		s, ok := t.side.(*feishuSide)
		if !ok {
			continue
		}
		for _, p := range s.pressed() {
			out = append(out, oracle.Press{Chat: t.Chat, Data: p.data, At: p.at, Code: p.Code, Took: p.Took, Within: s.within, Why: p.Error,
				Excused: p.unheard()})
		}
	}
	return out
}

// handedOver says of messages on Feishu when they were pushed and acknowledged.
func (w feishuWitness) handedOver(said []oracle.Said) {
	by := map[string]feishu.Delivery{}
	for _, d := range w.Feishu.Deliveries() {
		if d.Message != "" && by[d.Message].ID == "" {
			by[d.Message] = d
		}
	}
	words := map[string][]feishu.Seen{}
	for i, s := range said {
		if words[s.Chat] == nil {
			words[s.Chat] = w.Feishu.Shown(s.Chat)
		}
		for _, m := range words[s.Chat] {
			if !m.FromBot && slices.Contains(strings.Fields(m.Text), s.Key) {
				said[i].Pushed, said[i].Taken = by[m.ID].Pushed, by[m.ID].Taken
			}
		}
	}
}

package reply

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/platform"
)

// What a live message shows at most.
const (
	stepsShown = 6
	textShown  = 1500 // bytes of the answer's tail
	titleShown = 120  // characters of one step
)

// The rhythm of a long turn's live message.
const (
	typingEvery  = 4 * time.Second
	steadyAfter  = 30 * time.Second
	slowAfter    = 5 * time.Minute
	slowEvery    = 10 * time.Second
	heartbeat    = 10 * time.Second // the elapsed time moves on although nothing happens
	signalBudget = 5 * time.Second
)

// Live is the one message of a running turn that changes in place. Its methods
// never block. The answer's text is kept whole; what an edit costs does not
// depend on how long it is.
type Live struct {
	turn    chat.Turn
	lang    string
	agent   string
	voice   *Voice
	adapter platform.Adapter
	began   time.Time
	first   time.Duration // until the first sign of life
	every   time.Duration

	mu   sync.Mutex
	seen view
	over bool
	line string // what remains
	post posting
}

// view is what the turn has shown so far.
type view struct {
	text    strings.Builder
	open    bool // the last block of text goes on
	steps   []chat.Tool
	tools   int
	plan    []chat.Step
	notice  string
	waiting bool
	spoke   bool // there has been text
}

// posting is what became of the live message.
type posting struct {
	timer   *time.Timer
	queued  bool // its first form is (or may be) in the outbox
	ref     chat.Ref
	shown   string // what the platform accepted last
	edited  time.Time
	dirty   bool
	typing  time.Time // the last typing signal
	mute    bool      // typing is refused here
	slowing int       // edits are this many times rarer
}

// Event takes in what the agent reports.
func (l *Live) Event(e chat.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := &l.seen
	switch e.Kind {
	case chat.EventText:
		if !v.open && v.text.Len() > 0 {
			v.text.WriteString("\n\n")
		}
		v.open = true
		v.text.WriteString(e.Text)
		v.notice = ""
		if !v.spoke {
			v.spoke = true
			l.hasten()
		}
	case chat.EventBreak:
		v.open = false
	case chat.EventTool:
		v.open = false
		v.step(e.Tool)
	case chat.EventPlan:
		v.plan = e.Plan
	case chat.EventRetry, chat.EventNotice:
		v.notice = e.Text
	case chat.EventThought, chat.EventSession, chat.EventSent, chat.EventUsage:
		return // no new picture
	default:
		return
	}
	l.touch()
}

func (v *view) step(t *chat.Tool) {
	if t == nil {
		return
	}
	for i := range v.steps {
		if v.steps[i].ID == t.ID {
			if t.Title == "" {
				t.Title = v.steps[i].Title
			}
			v.steps[i] = *t
			return
		}
	}
	v.tools++
	v.steps = append(v.steps, *t)
	if len(v.steps) > 4*stepsShown { // the ones long gone are not shown again
		v.steps = append(v.steps[:0], v.steps[len(v.steps)-2*stepsShown:]...)
	}
}

// Waiting says whether the turn waits for a person.
func (l *Live) Waiting(waiting bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen.waiting != waiting {
		l.seen.waiting = waiting
		l.touch()
	}
}

// Text returns the answer so far.
func (l *Live) Text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen.text.String()
}

// End stops the live message: no further edit leaves, and line is what its
// last word leaves of it (see Voice.Compose).
func (l *Live) End(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over, l.line = true, line
	if l.post.timer != nil {
		l.post.timer.Stop()
	}
}

// arm sets the clock; the lock is held or l is not shared yet.
func (l *Live) arm(d time.Duration) {
	if l.post.timer == nil {
		l.post.timer = time.AfterFunc(d, l.fire)
		return
	}
	l.post.timer.Reset(d)
}

// hasten brings the first sign of life nearer, because there is text to show.
func (l *Live) hasten() {
	if left := l.first - time.Since(l.began); !l.over && !l.post.queued && left > l.voice.cfg.QuietText {
		l.arm(l.voice.cfg.QuietText)
	}
}

// touch notes a new picture and sees that it is shown in time.
func (l *Live) touch() {
	if l.over || l.post.dirty || !l.post.queued {
		l.post.dirty = true
		return
	}
	l.post.dirty = true
	l.arm(max(0, l.interval()-time.Since(l.post.edited)))
}

// interval is the present least time between two edits.
func (l *Live) interval() time.Duration {
	d := l.every
	switch age := time.Since(l.began); {
	case age > slowAfter:
		d = max(d, slowEvery)
	case age > steadyAfter:
		d *= 2
	}
	return d * time.Duration(1+l.post.slowing)
}

// fire is the clock: the first form, an edit that is due, a sign of life.
func (l *Live) fire() {
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		return
	}
	typing := l.adapter.Traits().Typing && !l.seen.waiting && !l.post.mute && time.Since(l.post.typing) >= typingEvery-50*time.Millisecond
	if typing {
		l.post.typing = time.Now()
	}
	fresh := !l.post.queued
	l.post.queued = true
	if !fresh && time.Since(l.post.edited) >= max(heartbeat, l.interval()) {
		l.post.dirty = true // the elapsed time
	}
	l.arm(min(typingEvery, max(l.interval(), 100*time.Millisecond)))
	part, out := chat.Part{}, chat.Out{}
	if fresh {
		part = l.picture()
		out = l.row(part)
	}
	dirty := l.post.dirty && !fresh
	l.mu.Unlock()
	if typing {
		l.voice.sender.signal(l)
	}
	switch {
	case fresh:
		l.voice.sender.introduce(l, out)
	case dirty:
		l.voice.sender.wake(l.turn.Place.Channel())
	}
}

// row is the live message's first form.
func (l *Live) row(part chat.Part) chat.Out {
	return chat.Out{Key: liveKey(l.turn.ID), Place: l.turn.Place, Turn: l.turn.ID, Class: chat.OutProgress, Op: chat.OpPost, Part: part}
}

func liveKey(turn int64) string { return fmt.Sprintf("live/%d", turn) }

// picture renders the present form; the lock is held.
func (l *Live) picture() chat.Part {
	l.post.dirty = false
	v := &l.seen
	var b strings.Builder
	state := "working"
	if v.waiting {
		state = "waiting"
	}
	b.WriteString(i18n.T(l.lang, "reply."+state, "agent", l.agent, "time", elapsed(time.Since(l.began))))
	for _, p := range v.plan {
		mark := "☐ "
		if p.Done {
			mark = "☑ "
		}
		b.WriteString("\n" + mark + clip(p.Text))
	}
	for _, s := range v.steps[max(0, len(v.steps)-stepsShown):] {
		b.WriteString("\n" + marks[s.State] + clip(title(s)))
	}
	if v.notice != "" {
		b.WriteString("\n" + clip(v.notice))
	}
	if text := tail(v.text.String()); text != "" {
		b.WriteString("\n\n" + text)
	}
	r := chat.Reply{Kind: chat.ReplyProgress, Markdown: b.String(), Silent: true, ReplyTo: l.turn.ReplyTo}
	if l.adapter.Traits().Buttons {
		r.Buttons = [][]chat.Button{{{Label: i18n.T(l.lang, "reply.stop"), Data: fmt.Sprintf("stop:%d", l.turn.ID), Style: "danger"}}}
	}
	return l.voice.render(l.turn.Place, r)[0]
}

var marks = map[chat.ToolState]string{chat.ToolRunning: "▸ ", chat.ToolDone: "✓ ", chat.ToolFailed: "✗ "}

func title(t chat.Tool) string {
	switch {
	case t.Title == "":
		return t.Name
	case t.Name == "" || strings.HasPrefix(t.Title, t.Name):
		return t.Title
	}
	return t.Name + ": " + t.Title
}

// clip makes one short line that no Markdown can change: it is shown as code.
func clip(s string) string {
	s = strings.Join(strings.Fields(strings.ReplaceAll(s, "`", "'")), " ")
	if r := []rune(s); len(r) > titleShown {
		s = string(r[:titleShown]) + "…"
	}
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

// tail is the end of the text, from the start of a line.
func tail(s string) string {
	if len(s) <= textShown {
		return strings.TrimSpace(s)
	}
	cut := s[len(s)-textShown:]
	if i := strings.IndexByte(cut, '\n'); i >= 0 && i < textShown/2 {
		cut = cut[i+1:]
	} else {
		cut = strings.ToValidUTF8(cut, "")
	}
	if strings.Count(s[:len(s)-len(cut)], "\n```")%2 == 1 {
		cut = "```\n" + cut // what was cut off opened a block of code
	}
	return "…\n" + strings.TrimSpace(cut)
}

// elapsed is a time for people: 42s, 2m 13s, 1h 5m.
func elapsed(d time.Duration) string {
	s := int(d.Seconds())
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm %ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh %dm", s/3600, s%3600/60)
}

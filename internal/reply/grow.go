package reply

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// A live message that grows shows the answer from its beginning and becomes the
// last word. When it is full, or as old as the service lets one grow, it is
// closed with what it shows, and another one goes on. What closes it is a row of
// the outbox like a part of the last word: it is never dropped.

// page is the text so far. It does not change.
type page struct {
	text   string
	fences fences
}

func (s *story) page() page {
	return page{text: s.text.String(), fences: fences{all: slices.Clone(s.fences.all)}}
}

// since is the text of a message that begins at from.
func (s *story) since(from int) string { return s.page().piece(from, s.text.Len()) }

// piece is the text between two places. Code that began earlier is opened again.
func (p page) piece(from, to int) string {
	text := strings.TrimRight(p.text[from:to], " \n")
	if text == "" || from == 0 {
		return text
	}
	return p.fences.openAt(from) + strings.TrimLeft(text, "\n")
}

// doing is what goes on, for a place beside the text.
func (s *story) doing() string {
	blocks := s.work()
	if s.note != "" {
		blocks = append(blocks, plainLine(s.note))
	}
	if len(blocks) == 0 && s.runes == 0 {
		return i18n.T(s.look.Lang, "reply.working", "agent", s.look.Agent)
	}
	return strings.Join(blocks, "\n\n")
}

// outgrown reports whether the message has to be closed, and another one to be
// begun. size is the length of the text.
func (s *shown) outgrown(size int) bool {
	return s.full && s.rolls < mostRolls || s.aged() && size > s.from
}

// mostRolls is how often a message that is full is followed by another one. What
// the agent says beyond that comes with the last word.
const mostRolls = 3

// aged reports whether the message is as old as one may get.
func (s *shown) aged() bool { return s.until != (time.Time{}) && time.Now().After(s.until) }

// roll closes the message and begins another one, in one transaction. It is
// called again until the rows are stored.
func (l *Live) roll(ctx context.Context) {
	l.mu.Lock()
	outs := l.shown.next
	l.mu.Unlock()
	if outs == nil {
		if outs = l.turnOver(); outs == nil {
			return
		}
	}
	within, cancel := context.WithTimeout(ctx, enqueueLimit)
	defer cancel()
	err := l.sender.ledger.Enqueue(within, outs)
	if err != nil && ctx.Err() == nil {
		l.sender.cfg.Log.DebugContext(ctx, "live message not continued yet", "turn", l.turn.ID, "err", err)
	}
	l.mu.Lock()
	if err == nil {
		l.shown.next = nil
	}
	l.mu.Unlock()
	l.sender.wake(l.turn.Place.Channel())
}

// turnOver makes the rows that close the message and begin another one. From
// now on the text goes on there: the rows are stored at the latest with the last
// word.
func (l *Live) turnOver() []chat.Out {
	l.mu.Lock()
	pg, from, target, rolls := l.story.page(), l.shown.from, l.shown.ref, l.shown.rolls+1
	l.mu.Unlock()
	to := pg.cut(from, l.render)
	closing, ok := one(l.render(chat.Reply{
		Kind: chat.ReplyProgress, Silent: true, Markdown: pg.piece(from, to), Footer: i18n.T(l.story.look.Lang, "reply.continues"),
	}))
	if !ok || to <= from {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shown.ended {
		return nil
	}
	key := fmt.Sprintf("live/%d/%d/%d", l.turn.ID, l.began.UnixMicro(), rolls)
	r := l.story.reply(l.turn.ID, l.traits, to)
	r.Markdown = "" // it may be too much
	open, ok := one(l.render(r))
	if !ok {
		return nil
	}
	row := chat.Out{Key: key, Place: l.turn.Place, Turn: l.turn.ID, Class: chat.OutProgress, Op: chat.OpPost, Part: open, State: chat.OutPending}
	end := row
	end.Key, end.Class, end.Op, end.Part, end.Target = key+"/close", chat.OutFinal, chat.OpFinish, closing, target
	l.shown = shown{key: key, from: to, rolls: rolls, next: []chat.Out{end, row}, line: l.shown.line}
	return l.shown.next
}

// one is the first of parts, without a sound.
func one(parts []chat.Part) (chat.Part, bool) {
	if len(parts) == 0 {
		return chat.Part{}, false
	}
	parts[0].Silent = true
	return parts[0], true
}

// renderer is an adapter's Render.
type renderer func(chat.Reply) []chat.Part

// fitting is the part of a message that grows, whose text begins at from; full
// says that there is more than it takes.
func (p page) fitting(from int, r chat.Reply, render renderer) (part chat.Part, full, ok bool) {
	parts := render(r)
	if full = len(parts) > 1; full {
		r.Markdown = p.piece(from, p.cut(from, render))
		parts = render(r)
	}
	part, ok = one(parts)
	return part, full, ok
}

// cut is where a message ends whose text begins at from: behind the last
// paragraph that fits, else behind the last line.
func (p page) cut(from int, render renderer) int {
	fits := func(to int) bool {
		return len(render(chat.Reply{Kind: chat.ReplyProgress, Markdown: p.piece(from, to)})) < 2
	}
	var ends []int // of lines
	for i := from; ; {
		n := strings.IndexByte(p.text[i:], '\n')
		if n < 0 {
			break
		}
		i += n + 1
		ends = append(ends, i)
	}
	whole := fits(len(p.text))
	n := len(ends)
	if !whole {
		n = sort.Search(len(ends), func(i int) bool { return !fits(ends[i]) })
	}
	for i := n - 1; i >= 0 && ends[i]-from > (ends[n-1]-from)/4; i-- {
		if strings.HasSuffix(p.text[:ends[i]], "\n\n") && p.fences.openAt(ends[i]) == "" {
			return ends[i]
		}
	}
	switch {
	case n > 0:
		return ends[n-1]
	case whole:
		return len(p.text)
	}
	return within(p.text, from, fits)
}

// within is where a line that is too long for a message is cut.
func within(text string, from int, fits func(int) bool) int {
	to := from + sort.Search(len(text)-from, func(i int) bool { return !fits(from + i + 1) })
	if i := strings.LastIndexByte(text[from:to], ' '); i > (to-from)/2 {
		to = from + i + 1
	}
	for to > from && to < len(text) && !utf8.RuneStart(text[to]) {
		to--
	}
	return to
}

// rest takes out of the last word what messages show that are closed, and adds
// to it what a reader of the message may look into. It returns which of rs
// becomes the message's end, -1 when none can, and the row that closes the one
// before, if it is not stored yet.
func (l *Live) rest(rs []chat.Reply, line string) (_ []chat.Reply, at int, before []chat.Out) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.shown.next) > 0 {
		before = l.shown.next[:1:1] // roll may be storing them
	}
	if at = ender(rs); at < 0 {
		return rs, at, before
	}
	rs = slices.Clone(rs)
	r := &rs[at]
	pg, from := l.story.page(), l.shown.from
	if r.Kind == chat.ReplyAnswer && from > 0 && strings.HasPrefix(r.Markdown, strings.TrimRight(pg.text[:from], " \n")) {
		r.Markdown = page{text: r.Markdown, fences: pg.fences}.piece(min(from, len(r.Markdown)), len(r.Markdown))
	}
	if l.story.shows(chat.VerbosityAll) {
		r.Details = l.story.details()
	}
	r.Footer = strings.TrimSpace(line + "\n" + r.Footer)
	return rs, at, before
}

// ender is the reply that a live message becomes: the answer, else the first
// words; -1 when there are none.
func ender(rs []chat.Reply) int {
	if i := slices.IndexFunc(rs, func(r chat.Reply) bool { return r.Kind == chat.ReplyAnswer && r.File == nil }); i >= 0 {
		return i
	}
	return slices.IndexFunc(rs, func(r chat.Reply) bool { return r.File == nil })
}

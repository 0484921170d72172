package web

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/web/api"
)

func TestAFinalIsShownOnceInItsOrder(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.say(key(1), "tell me")
	l := h.listen(h.lines().Cursor)
	l.until(api.EventReady)
	for i := range 3 {
		h.post(chat.Out{Key: fmt.Sprintf("turn/%d", i), Turn: 1, Seq: i + 1, Class: chat.OutFinal, Part: h.part(chat.ReplyAnswer, fmt.Sprintf("part **%d**", i))})
	}
	for i := range 3 {
		m := l.message()
		if m.ID != fmt.Sprintf("turn/%d", i) || m.Class != chat.OutFinal || m.HTML != fmt.Sprintf("<p>part <strong>%d</strong></p>\n", i) {
			t.Errorf("message %d is %+v", i, m)
		}
	}
	h.a.board.typing(room)
	if all := l.until(api.EventTyping); len(all) != 1 {
		t.Errorf("besides: %+v", all)
	}
}

func TestASendRepeatedIsTheSameMessage(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.say(key(1), "tell me")
	o := h.queue(chat.Out{Key: "turn/1", Class: chat.OutFinal, Part: h.part(chat.ReplyAnswer, "once")})
	first := h.send(o)
	o.Unsure = &chat.Unsure{}
	if second := h.send(o); second != first {
		t.Errorf("%v, then %v", first, second)
	}
	if n := len(h.lines().Lines); n != 2 {
		t.Errorf("%d lines, want 2", n)
	}
}

func TestAMessageFromOneBrowserAppearsInTheOther(t *testing.T) {
	t.Parallel()
	h := open(t)
	cur := h.lines().Cursor
	l, elsewhere := h.listen(cur), h.listenTo("other", cur)
	l.until(api.EventReady)
	elsewhere.until(api.EventReady)
	h.say(key(1), "hello there")
	if m := l.message(); m.ID != "in:"+key(1) || m.Key != key(1) || !m.Mine || m.Text != "hello there" {
		t.Errorf("got %+v", m)
	}
	if all := elsewhere.until(api.EventChats); len(all) != 1 || all[0].Chat != room {
		t.Errorf("in another chat: %+v", all)
	}
}

// progress posts a live message and returns what edits it.
func (h *house) progress(turn int64, text string) func(op chat.Op, text string, bs ...chat.Button) {
	k := fmt.Sprintf("live/%d", turn)
	target := h.post(chat.Out{Key: k, Turn: turn, Seq: 1, Class: chat.OutProgress, Part: h.part(chat.ReplyProgress, text)})
	return func(op chat.Op, text string, bs ...chat.Button) {
		h.t.Helper()
		h.send(chat.Out{Place: place(room), Turn: turn, Class: chat.OutProgress, Op: op, Target: target, Part: h.part(chat.ReplyProgress, text, bs...)})
	}
}

func place(chatID string) chat.Place {
	return chat.Place{Platform: "web", Account: "web", Chat: chatID, Direct: true}
}

func TestALiveMessageKeepsItsNewestFormAcrossAReload(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.say(key(1), "work")
	l := h.listen(h.lines().Cursor)
	l.until(api.EventReady)
	edit := h.progress(1, "working")
	if m := l.message(); m.ID != "live/1" || m.Text != "working" || m.Kind != "progress" {
		t.Errorf("first form %+v", m)
	}
	edit(chat.OpEdit, "working harder", chat.Button{Label: "Stop", Data: "stop:1"})
	if m := l.message(); m.ID != "live/1" || m.Text != "working harder" || len(m.Buttons) != 1 {
		t.Errorf("second form %+v", m)
	}
	if ls := h.lines().Lines; len(ls) != 2 || ls[1].Text != "working harder" {
		t.Errorf("a reload shows %+v", ls)
	}
	edit(chat.OpFinish, "2 steps, 3 s")
	if m := l.message(); m.Text != "2 steps, 3 s" || len(m.Buttons) != 0 {
		t.Errorf("last form %+v", m)
	}
	edit(chat.OpRemove, "")
	if all := l.until(api.EventRemove); all[0].ID != "live/1" {
		t.Errorf("removed %+v", all)
	}
	if ls := h.lines().Lines; len(ls) != 1 {
		t.Errorf("a removed message is shown after a reload: %+v", ls)
	}
}

func TestWhatAReaderMayLookIntoIsAPanel(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.say(key(1), "work")
	edit := h.progress(1, "working")
	live := chat.Reply{Kind: chat.ReplyProgress, Markdown: "working", Details: []chat.Panel{{Title: "Empty"}, {Title: "Tools"}}}
	for i := range panelLines + 50 {
		live.Details[1].Lines = append(live.Details[1].Lines, fmt.Sprint("step ", i))
	}
	h.send(chat.Out{Place: place(room), Turn: 1, Class: chat.OutProgress, Op: chat.OpEdit, Target: chat.Ref{ID: "live/1", Chat: room}, Part: h.a.Render(live)[0]})
	m := h.lines().Lines[1] // after a reload
	if len(m.Panels) != 1 || m.Panels[0].Title != "Tools" || len(m.Panels[0].Lines) != panelLines || m.Panels[0].Lines[panelLines-1] != fmt.Sprint("step ", panelLines+49) {
		t.Errorf("panels %+v", m.Panels)
	}
	if edit(chat.OpFinish, "2 steps"); len(h.lines().Lines[1].Panels) != 0 {
		t.Error("what is over has panels")
	}
}

func TestALiveMessageOfAnEarlierDaemonIsGone(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.say(key(1), "work")
	h.progress(1, "working")
	cur := h.lines().Cursor
	h.restart()
	if ls := h.lines().Lines; len(ls) != 1 {
		t.Errorf("still working: %+v", ls)
	}
	if all := h.listen(cur).until(api.EventReset); len(all) != 1 {
		t.Errorf("a reader of the earlier daemon got %+v before it was told to read again", all)
	}
}

func TestMarksTellHowFarAMessageGot(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.say(key(1), "work")
	l := h.listen(h.lines().Cursor)
	l.until(api.EventReady)
	err := h.a.Signal(t.Context(), place(room), chat.Ref{ID: key(1)}, chat.Signal{Kind: chat.SignalReact, Emoji: "😴"})
	if err != nil {
		t.Fatal(err)
	}
	if all := l.until(api.EventMark); all[0].ID != "in:"+key(1) || all[0].Emoji != "😴" {
		t.Errorf("mark %+v", all)
	}
	if m := h.lines().Lines[0]; m.Emoji != "😴" {
		t.Errorf("after a reload %+v", m)
	}
}

// ask stores an open ask and its message.
func (h *house) ask() (chat.Ask, chat.Turn) {
	h.t.Helper()
	ctx := h.t.Context()
	taken := h.say(key(1), "do it")
	p := h.place(room)
	ins, err := h.db.Inbox().Unrouted(ctx, 1)
	if err != nil {
		h.t.Fatal(err)
	}
	s, err := h.db.Sessions().StartSession(ctx, chat.NewSession{Conversation: ins[0].Conversation, Agent: "demo", Workspace: "/w"})
	if err != nil {
		h.t.Fatal(err)
	}
	turn, err := h.db.Turns().NewTurn(ctx, chat.NewTurn{Conversation: s.Conversation, Session: s.ID, Place: p, Origin: chat.OriginUser,
		Inbound: []int64{taken.Inbound}, By: owner, Input: chat.Input{Pieces: []chat.Piece{{Inbound: taken.Inbound, Text: "do it"}}}})
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.db.Runs().Claim(ctx, turn.ID, chat.AttemptSent); err != nil {
		h.t.Fatal(err)
	}
	q := chat.Question{Key: "q1", Kind: chat.AskApproval, Options: []chat.Option{{ID: "ok", Label: "Allow", Effect: chat.EffectAllow}}}
	ask, err := h.db.Asks().Ask(ctx, chat.Ask{Turn: turn.ID, Session: s.ID, Place: p, Asker: owner, Question: q, Digest: "d", Expires: time.Now().Add(time.Hour)},
		func(id int64) []chat.Out {
			part := h.part(chat.ReplyAsk, "May I?", chat.Button{Label: "Allow", Data: fmt.Sprintf("ask:%d:0", id)})
			return []chat.Out{{Key: "ask/1", Place: p, Turn: turn.ID, Seq: 1, Ask: id, Class: chat.OutAsk, Op: chat.OpPost, Part: part}}
		})
	if err != nil {
		h.t.Fatal(err)
	}
	return ask, turn
}

func TestADecidedRequestCannotBePressedAfterARestart(t *testing.T) {
	t.Parallel()
	h := open(t)
	ask, _ := h.ask()
	if ls := h.lines().Lines; len(ls) != 2 || len(ls[1].Buttons) != 1 {
		t.Fatalf("an open request: %+v", ls)
	}
	_, err := h.db.Asks().Decide(t.Context(), chat.Decision{Ask: ask.ID, Place: ask.Place, Role: chat.RoleOwner, At: time.Now(),
		Answer: chat.Answer{Option: "ok", Effect: chat.EffectAllow, By: owner}})
	if err != nil {
		t.Fatal(err)
	}
	h.restart()
	m := h.lines().Lines[1]
	if len(m.Buttons) != 0 || m.Footer != "Answered: Allow (Owner)" {
		t.Errorf("a decided request: %+v", m)
	}
}

// TestADecidedRequestStaysWhereItWas: what was said after it stays after it.
func TestADecidedRequestStaysWhereItWas(t *testing.T) {
	t.Parallel()
	h := open(t)
	_, turn := h.ask()
	page := h.lines()
	asked := page.Lines[1]
	l := h.listen(page.Cursor)
	h.send(chat.Out{Place: h.place(room), Turn: turn.ID, Class: chat.OutAsk, Op: chat.OpFinish,
		Target: chat.Ref{ID: asked.ID, Chat: room}, Part: h.part(chat.ReplyAsk, "May I?\n\n**Allowed**")})
	for {
		if m := l.message(); m.ID == asked.ID {
			if !m.At.Equal(asked.At) {
				t.Errorf("asked at %v, now shown at %v", asked.At, m.At)
			}
			return
		}
	}
}

func TestAReaderThatMissedTooMuchReadsTheHistory(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.say(key(0), "go")
	cur := h.lines().Cursor
	for i := 1; i <= maxMissed+1; i++ {
		h.say(key(i), "more")
	}
	all := h.listen(cur).until(api.EventReset)
	if len(all) > maxMissed+1 {
		t.Errorf("%d events before the reset", len(all))
	}
	for _, bad := range []string{"", "x", "1.2.3", h.a.boot + ".1.2.-3", h.a.boot + ".1.2.x", "other.1.2.3"} {
		if e, ok := h.listen(bad).next(); !ok || e.Kind != api.EventReset {
			t.Errorf("cursor %q: %+v", bad, e)
		}
	}
}

func TestEveryLineIsOnExactlyOnePage(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.say(key(0), "go")
	var want []string
	for i := 1; i <= 57; i++ {
		if i%3 == 0 {
			h.say(key(i), "mine")
			want = append(want, "in:"+key(i))
			continue
		}
		k := fmt.Sprintf("out/%d", i)
		h.post(chat.Out{Key: k, Class: chat.OutFinal, Part: h.part(chat.ReplyAnswer, k)})
		want = append(want, k)
	}
	want = append([]string{"in:" + key(0)}, want...)
	var got []string
	for before := ""; ; {
		p := call[api.Lines](h, "GET", at(room, "lines?limit=7&before="+before), nil)
		var ids []string
		for _, m := range p.Lines {
			ids = append(ids, m.ID)
		}
		got = append(ids, got...)
		if before = p.Before; before == "" {
			break
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("pages hold\n%v, want\n%v", got, want)
	}
}

// reader is a browser that loses its connection again and again.
type reader struct {
	count map[string]int // events per message id
	order []string       // of ours, as first seen
}

func (r *reader) note(e api.Event) {
	if e.Kind != api.EventMessage {
		return
	}
	id := e.Message.ID
	if r.count[id]++; r.count[id] == 1 && !e.Message.Mine {
		r.order = append(r.order, id)
	}
}

// follow reads until it has seen last, and reconnects after a few events each.
func (h *house) follow(cur, last string) *reader {
	h.t.Helper()
	r := &reader{count: map[string]int{}}
	for r.count[last] == 0 {
		l := h.listen(cur)
		for range 1 + rand.IntN(6) {
			e, ok := l.next()
			if !ok || e.Kind == api.EventReset {
				h.t.Fatalf("stream ended with %+v", e)
			}
			r.note(e)
			if r.count[last] > 0 {
				break
			}
		}
		cur = l.cursor
		l.close()
	}
	return r
}

func TestReconnectStormsLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.say(key(0), "go")
	cur := h.lines().Cursor
	const n = 40
	readers := make([]*reader, 4)
	var wg sync.WaitGroup
	for i := range readers {
		wg.Go(func() { readers[i] = h.follow(cur, "out/last") })
	}
	var writers sync.WaitGroup
	for w := range 3 { // people in other browsers
		writers.Go(func() {
			for i := range n {
				h.say(key(1000*(w+1)+i), "hello")
			}
		})
	}
	edit := h.progress(1, "working")
	for i := range n {
		edit(chat.OpEdit, fmt.Sprintf("step %d", i))
		h.post(chat.Out{Key: fmt.Sprintf("out/%03d", i), Class: chat.OutFinal, Part: h.part(chat.ReplyAnswer, "x")})
	}
	writers.Wait()
	h.post(chat.Out{Key: "out/last", Class: chat.OutFinal, Part: h.part(chat.ReplyAnswer, "x")})
	wg.Wait()
	for i, r := range readers {
		for k := range n {
			r.want(t, i, fmt.Sprintf("out/%03d", k))
			for w := range 3 {
				r.want(t, i, "in:"+key(1000*(w+1)+k))
			}
		}
		for k, id := range r.order[:len(r.order)-1] {
			if id != "live/1" && id > r.order[k+1] && r.order[k+1] != "live/1" {
				t.Errorf("reader %d saw %s before %s", i, id, r.order[k+1])
			}
		}
	}
}

func (r *reader) want(t *testing.T, who int, id string) {
	t.Helper()
	if r.count[id] != 1 {
		t.Errorf("reader %d saw %s %d times", who, id, r.count[id])
	}
}

func TestASlowReaderHoldsUpNobody(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.say(key(0), "go")
	cur := h.lines().Cursor
	slow, err := net.Dial("tcp", h.srv.Listener.Addr().String()) // asks, and never reads
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Close() }()
	if err := slow.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(slow, "GET %s HTTP/1.1\r\nHost: x\r\nLast-Event-ID: %s\r\n\r\n", at(room, "events"), cur); err != nil {
		t.Fatal(err)
	}
	fast := h.listen(cur)
	fast.until(api.EventReady)
	edit := h.progress(1, "working")
	big := "\n```\n" + strings.Repeat("word ", 40_000) // 200 KB a form: more than any socket's buffer soon
	begin := time.Now()
	for i := range 60 {
		edit(chat.OpEdit, fmt.Sprintf("%d %s", i, big))
	}
	h.post(chat.Out{Key: "end", Class: chat.OutFinal, Part: h.part(chat.ReplyAnswer, "done")})
	for m := fast.message(); m.ID != "end"; m = fast.message() {
	}
	if took := time.Since(begin); took > writeLimit {
		t.Errorf("the fast reader waited %v", took)
	}
}

func TestThereIsALimitToOpenStreams(t *testing.T) {
	t.Parallel()
	h := open(t)
	cur := h.lines().Cursor
	for range h.a.cfg.Streams {
		h.listen(cur).until(api.EventReady)
	}
	resp, err := h.srv.Client().Get(h.srv.URL + at(room, "events"))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("one more stream: %s", resp.Status)
	}
}

func TestTheBoardForgetsOnlyWithAWord(t *testing.T) {
	t.Parallel()
	b := newBoard()
	s, _ := b.join("a", 10)
	quiet, _ := b.join("never used", 10)
	b.set("a", api.Event{Kind: api.EventRemove, ID: "first"})
	at := b.now()
	for i := range maxForms {
		b.set("a", api.Event{Kind: api.EventRemove, ID: fmt.Sprint(i)})
	}
	if c := b.since(s, at); c.gap || len(c.events) != maxForms {
		t.Errorf("knows all that is remembered: gap %v, %d events", c.gap, len(c.events))
	}
	if c := b.since(s, at-1); !c.gap {
		t.Error("the first change is forgotten without a word")
	}
	at = b.now()
	for i := range maxChats {
		b.set(fmt.Sprint("chat ", i), api.Event{Kind: api.EventRemove, ID: "x"})
	}
	if c := b.since(s, at-1); !c.gap {
		t.Error("a chat is forgotten without a word")
	}
	if c := b.since(quiet, b.now()); c.gap {
		t.Error("a reader who knows everything is sent away")
	}
	b.set("a", api.Event{Kind: api.EventRemove, ID: "again"})
	if c := b.since(s, at-1); !c.gap {
		t.Error("a chat that came back pretends to know its past")
	}
}

func TestWhatAModelWritesIsInert(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.say(key(0), "go")
	for i, evil := range []string{
		`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `<svg/onload=alert(1)>`, `<iframe src="javascript:alert(1)">`,
		`[x](javascript:alert(1))`, `[x](JaVaScRiPt:alert(1))`, "[x](java\tscript:alert(1))", `[x](data:text/html;base64,PHNjcmlwdD4=)`,
		`<javascript:alert(1)>`, `![x](https://evil.example/?leak)`, `[x](https://ok.example "onmouseover=alert(1)")`,
		"```html\"><script>alert(1)</script>\nx\n```", "```\n</code></pre><script>alert(1)</script>\n```", `|<b onclick=alert(1)>|` + "\n|-|\n|<script>|",
		`<a href="javascript:alert(1)">x</a>`, `&lt;script&gt;alert(1)&lt;/script&gt;`, `</div></article><form action=//evil.example>`,
		`<style>@import "//evil.example"</style>`, `[x](vbscript:alert(1))`, "[x]: javascript:alert(1)\n\n[x]", `<https://a.example/"onload="alert(1)>`,
	} {
		k := fmt.Sprintf("evil/%d", i)
		p := h.part(chat.ReplyAnswer, evil)
		h.post(chat.Out{Key: k, Class: chat.OutFinal, Part: p})
		ls := h.lines().Lines
		assertInert(t, evil, ls[len(ls)-1].HTML)
	}
}

var safeLink = regexp.MustCompile(`^href="(https?://|mailto:|tg://)[^"<>]*" target="_blank" rel="noopener noreferrer nofollow"$`)

// assertInert accepts only the tags and attributes that our renderer makes.
func assertInert(t *testing.T, from, html string) {
	t.Helper()
	for rest := html; ; {
		_, after, found := strings.Cut(rest, "<")
		if !found {
			return
		}
		tag, more, closed := strings.Cut(after, ">")
		if !closed {
			t.Errorf("%q became %q: an open tag", from, html)
			return
		}
		name, attrs, _ := strings.Cut(strings.TrimPrefix(tag, "/"), " ")
		switch name {
		case "p", "br", "hr", "ul", "ol", "li", "pre", "code", "strong", "em", "del", "table", "thead", "tbody", "tr", "th", "td", "blockquote", "h1":
			if attrs != "" && !strings.HasPrefix(attrs, `class="language-`) && !strings.HasPrefix(attrs, `align="`) {
				t.Errorf("%q became %q", from, html)
			}
		case "a":
			if attrs != "" && !safeLink.MatchString(attrs) {
				t.Errorf("%q became %q", from, html)
			}
		default:
			t.Errorf("%q became %q: tag %s", from, html, name)
		}
		rest = more
	}
}

package telegram

import (
	"encoding/json"
	"strings"
	"testing"

	"cligate/internal/chat"
	corpus "cligate/internal/sim/answers"
	fakebot "cligate/internal/sim/telegram"
)

func richly(md string) chat.Reply {
	return chat.Reply{Kind: chat.ReplyAnswer, Markdown: md, Rich: chat.ChoiceOn}
}

const tableAnswer = "# T\n\n| a | b |\n|---|--:|\n| `x` | 1 |\n\n- [x] done *now*\n- [ ] [open](https://a.b)\n\n3. three\n\n> q\n\n```go\n\tx := \"$A … $B\"\n```"

// Every real answer that gains from it is accepted as a rich message, and holds
// every word; the classic form of the same part is what it would else have been.
func TestRealAnswersAsRichMessages(t *testing.T) {
	t.Parallel()
	seen := 0
	for name, md := range corpus.Real(t) {
		a, srv, log := strict(t, Config{})
		classic := a.Render(chat.Reply{Kind: chat.ReplyAnswer, Markdown: md})
		parts := a.Render(richly(md))
		if len(parts) != len(classic) {
			t.Errorf("%s: %d rich parts, %d classic ones", name, len(parts), len(classic))
			continue
		}
		for i, p := range parts {
			entities, rich := opened(p)
			if p.Text != classic[i].Text || string(entities) != string(classic[i].Format) {
				t.Errorf("%s: the classic form of part %d is another one", name, i)
			}
			if rich != nil {
				seen++
			}
			if _, err := a.Send(t.Context(), postTo(placeOf(ann, ""), p)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if s := log.String(); strings.Contains(s, "refused") {
			t.Errorf("%s: %s", name, s)
		}
		wholeAnswer(t, md, srv.Visible(testToken, ann))
		if t.Failed() {
			t.Fatalf("%s", name)
		}
	}
	if seen < 30 {
		t.Errorf("only %d rich messages", seen)
	}
}

func TestOnlyAnswersThatGainFromItAreRich(t *testing.T) {
	t.Parallel()
	a, _ := open(t, Config{})
	isRich := func(r chat.Reply) bool {
		_, rich := opened(a.Render(r)[0])
		return rich != nil
	}
	for md, want := range map[string]bool{
		"just *words* and `code`": false, "# one heading\n\ntext": false, tableAnswer: true, "- [ ] task": true,
		"# 1\n\na\n\n# 2\n\nb\n\n# 3\n\nc\n\n# 4\n\nd": true, strings.Repeat("long text. ", 600): true,
	} {
		if isRich(richly(md)) != want {
			t.Errorf("%.20q: rich is %v", md, !want)
		}
	}
	for _, kind := range []chat.ReplyKind{chat.ReplyAsk, chat.ReplyNotice, chat.ReplyProgress} {
		if isRich(chat.Reply{Kind: kind, Markdown: tableAnswer, Rich: chat.ChoiceOn}) {
			t.Errorf("%s is rich", kind)
		}
	}
	if isRich(chat.Reply{Kind: chat.ReplyAnswer, Markdown: tableAnswer}) {
		t.Error("nobody asked for it")
	}
	on, _ := open(t, Config{Rich: true})
	if _, rich := opened(on.Render(chat.Reply{Kind: chat.ReplyAnswer, Markdown: tableAnswer})[0]); rich == nil {
		t.Error("the configured default does not count")
	}
	if _, rich := opened(on.Render(chat.Reply{Kind: chat.ReplyAnswer, Markdown: tableAnswer, Rich: chat.ChoiceOff})[0]); rich != nil {
		t.Error("a chat cannot switch it off")
	}
}

func TestARichMessageSaysWhatTheAuthorSaid(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{})
	r := richly(tableAnswer)
	r.Footer, r.Buttons, r.ReplyTo = "claude · 12 s", [][]chat.Button{{{Label: "a", Data: "b"}}}, chat.Ref{ID: "7"}
	send(t, a, a.Render(r)...)
	m := srv.Visible(testToken, ann)[0]
	want := "‹heading:T›\n‹th:a› │ ‹th:b›\n‹code:x› │ 1\n\n• ☑ done ‹italic:now›\n• ☐ ‹text_link https://a.b:open›\n\n3. three\n\n‹blockquote:q›\n\n‹pre go:    x := \"$A … $B\"›\nclaude · 12 s"
	if got := marked(m); got != want || m.Rich == nil || len(m.Buttons) != 1 {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func send(t *testing.T, a *Adapter, parts ...chat.Part) []chat.Ref {
	t.Helper()
	var refs []chat.Ref
	for _, p := range parts {
		r, err := a.Send(t.Context(), postTo(placeOf(ann, ""), p))
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, r)
	}
	return refs
}

func TestARefusedRichMessageIsSentInItsClassicFormOnce(t *testing.T) {
	t.Parallel()
	for _, why := range []string{"Bad Request: RICH_MESSAGE_BLOCK_INVALID", "Bad Request: can't find field \"cells\"", "Bad Request: something new", "Bad Request: message is too long"} {
		a, srv, _ := strict(t, Config{})
		srv.Fail(fakebot.Fault{Kind: fakebot.Refuse, Method: "sendRichMessage", Times: 1, Text: why})
		part := a.Render(richly(tableAnswer))[0]
		entities, _ := opened(part)
		send(t, a, part)
		ms := srv.Visible(testToken, ann)
		if len(ms) != 1 || ms[0].Rich != nil || ms[0].Text != part.Text || len(ms[0].Entities) != len(decodeEntities(t, chat.Part{Format: entities})) {
			t.Errorf("%s: %+v", why, ms)
		}
		send(t, a, part) // the next one is tried again
		if ms := srv.Visible(testToken, ann); ms[1].Rich == nil {
			t.Errorf("%s: rich messages are off after one refusal", why)
		}
	}
}

func TestAServerWithoutRichMessagesIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	a, srv, log := strict(t, Config{})
	srv.SetRich(false)
	part := a.Render(richly(tableAnswer))[0]
	send(t, a, part, part, part)
	asked := 0
	for _, c := range srv.Calls() {
		if c.Method == "sendRichMessage" {
			asked++
		}
	}
	if ms := srv.Visible(testToken, ann); len(ms) != 3 || asked != 1 || ms[2].Text != part.Text {
		t.Errorf("%d messages, asked %d times", len(ms), asked)
	}
	if strings.Count(log.String(), "no rich messages") != 1 {
		t.Error(log.String())
	}
}

// What is refused for another reason than its form stays what it is.
func TestOtherRefusalsDoNotChangeTheForm(t *testing.T) {
	t.Parallel()
	for kind, code := range map[fakebot.FaultKind]chat.Code{fakebot.TooMany: chat.Wait, fakebot.Forbidden: chat.Park, fakebot.Internal: chat.Uncertain} {
		a, srv, _ := strict(t, Config{})
		srv.Fail(fakebot.Fault{Kind: kind, Method: "sendRichMessage", Times: 1, After: 3, Text: "Forbidden: bot was blocked by the user"})
		_, err := a.Send(t.Context(), postTo(placeOf(ann, ""), a.Render(richly(tableAnswer))[0]))
		if chat.CodeOf(err) != code || len(srv.Visible(testToken, ann)) != 0 {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// A rich message whose fate is unknown is looked for, and there is one copy,
// whether it arrived, or not, or was refused only now.
func TestAnUncertainRichMessageIsNotSentTwice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault  fakebot.FaultKind
		before func(*fakebot.Server) // between the try and the search
		rich   bool
	}{
		"arrived":               {fakebot.Lose, func(*fakebot.Server) {}, true},
		"arrived, cut answer":   {fakebot.CutBody, func(*fakebot.Server) {}, true},
		"not arrived":           {fakebot.Internal, func(*fakebot.Server) {}, true},
		"then an older server":  {fakebot.Internal, func(s *fakebot.Server) { s.SetRich(false) }, false},
		"arrived, older server": {fakebot.Lose, func(s *fakebot.Server) { s.SetRich(false) }, false},
	} {
		a, srv, _ := strict(t, Config{})
		first := send(t, a, chat.Part{Text: "before"})[0]
		srv.Fail(fakebot.Fault{Kind: c.fault, Method: "sendRichMessage", Times: 1})
		o := postTo(placeOf(ann, ""), a.Render(richly(tableAnswer))[0])
		if _, err := a.Send(t.Context(), o); chat.CodeOf(err) != chat.Uncertain {
			t.Fatalf("%s: %v", name, err)
		}
		c.before(srv)
		o.Unsure = &chat.Unsure{Since: first.Num}
		got, err := a.Send(t.Context(), o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ms := srv.Visible(testToken, ann)
		if len(ms) != 2 || ms[1].ID != got.Num || (ms[1].Rich != nil) != c.rich || !strings.Contains(ms[1].Text, "x := ") {
			t.Errorf("%s: %d messages, rich %v", name, len(ms), ms[len(ms)-1].Rich != nil)
		}
	}
}

func TestATextThatWasChangedHasNoRichForm(t *testing.T) {
	t.Parallel()
	a, _ := open(t, Config{})
	p := a.Render(richly(tableAnswer))[0]
	if _, rich := opened(p); rich == nil {
		t.Fatal("no rich form")
	}
	p.Text += "\n\n(sent again)"
	if entities, rich := opened(p); rich != nil || len(entities) == 0 {
		t.Error("the added words would be lost")
	}
	if e, r := opened(chat.Part{Format: json.RawMessage(`[{"type":"bold"}]`)}); r != nil || len(e) == 0 {
		t.Error("rows of earlier versions are not understood")
	}
	if e, r := opened(chat.Part{Format: json.RawMessage(`{"broken`)}); r != nil || e != nil {
		t.Error("a broken form is used")
	}
}

func TestWhatIsTooMuchForARichMessageStaysClassic(t *testing.T) {
	t.Parallel()
	a, _ := open(t, Config{})
	for name, md := range map[string]string{
		"columns": "|" + strings.Repeat("a|", 21) + "\n|" + strings.Repeat("-|", 21) + "\n|" + strings.Repeat("1|", 21),
		"rows":    "|a|\n|-|\n" + strings.Repeat("|1|\n", 600),
		"depth":   "- [ ] t\n\n" + strings.Repeat("> ", 12) + "x",
	} {
		for i, p := range a.Render(richly(md)) {
			if _, rich := opened(p); rich != nil && i == 0 {
				t.Errorf("%s: rich", name)
			}
		}
	}
}

func TestARightToLeftAnswerSaysSo(t *testing.T) {
	t.Parallel()
	a, _ := open(t, Config{})
	for md, want := range map[string]bool{"שלום\n\n- [ ] x": true, "hello שלום\n\n- [ ] x": false, "1. [x] مرحبا": true} {
		_, rich := opened(a.Render(richly(md))[0])
		if strings.Contains(string(rich), `"is_rtl":true`) != want {
			t.Errorf("%q: %s", md, rich)
		}
	}
}

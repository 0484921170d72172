package router_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
)

var approval = chat.Question{Key: "q1", Kind: chat.AskApproval, Tool: "Bash", Title: "rm -rf build", Options: []chat.Option{
	{ID: "yes", Label: "Allow", Effect: chat.EffectAllow},
	{ID: "always", Label: "Allow in this session", Effect: chat.EffectSession},
	{ID: "no", Label: "Deny", Effect: chat.EffectDeny},
}}

// ask has the running turn ask q, and shows it.
func (h *house) ask(q chat.Question) chat.Ask {
	h.t.Helper()
	t := h.runner.last()
	a, err := h.db.Asks().Ask(h.t.Context(), chat.Ask{
		Turn: t.ID, Session: t.Session, Place: t.Place, Asker: t.By, Question: q, Digest: "d" + q.Key,
		State: chat.AskOpen, Expires: time.Now().Add(time.Hour),
	}, func(id int64) []chat.Out {
		var row []chat.Button
		for i := range q.Options {
			row = append(row, chat.Button{Label: q.Options[i].Label, Data: fmt.Sprintf("ask:%d:%d", id, i)})
		}
		for n := range q.Queries {
			for i := range q.Queries[n].Options {
				row = append(row, chat.Button{Label: q.Queries[n].Options[i].Label, Data: fmt.Sprintf("ask:%d:%d:%d", id, n, i)})
			}
		}
		outs := h.voice.Compose(t.Place, 0, fmt.Sprintf("ask/%d", id), chat.OutAsk, chat.Reply{Markdown: q.Title, Buttons: [][]chat.Button{row}})
		return outs
	})
	must(h.t, err)
	h.voice.Wake(t.Place)
	time.Sleep(time.Second) // people read
	synctest.Wait()
	return a
}

// shown is the message of an ask.
func (h *house) shown(a chat.Ask) chat.Ref {
	h.t.Helper()
	h.voice.mu.Lock()
	defer h.voice.mu.Unlock()
	i := slices.IndexFunc(h.voice.sent, func(o chat.Out) bool { return o.Ask == a.ID })
	if i < 0 {
		h.t.Fatal("the ask was not shown")
	}
	return h.voice.refs[i]
}

// faces shows what is answered so far.
type faces struct{}

func (faces) Face(_ context.Context, a chat.Ask) (chat.Reply, error) {
	return chat.Reply{Kind: chat.ReplyAsk, Markdown: fmt.Sprint(a.State, a.Answer.Values)}, nil
}

func (h *house) stored(a chat.Ask) chat.Ask {
	h.t.Helper()
	a, err := h.db.Asks().AskByID(h.t.Context(), a.ID)
	must(h.t, err)
	return a
}

// waiting is a house with a turn that asks q.
func waiting(t *testing.T, q chat.Question, f func(t *testing.T, h *house, a chat.Ask)) {
	play(t, nil, func(t *testing.T, h *house) {
		h.runner.holds("work")
		h.say("work")
		f(t, h, h.ask(q))
	})
}

func TestExactWordInReplyDecides(t *testing.T) {
	for word, want := range map[string]chat.Effect{
		"allow": chat.EffectAllow, "Allow!": chat.EffectAllow, " ALLOW. ": chat.EffectAllow, "允许": chat.EffectAllow, "批准。": chat.EffectAllow,
		"deny": chat.EffectDeny, "Deny…": chat.EffectDeny, "拒绝!": chat.EffectDeny,
		"allow it": "", "yes": "", "do not allow": "", "allow deny": "", "/allow": "", "": "",
	} {
		t.Run(word, func(t *testing.T) {
			waiting(t, approval, func(t *testing.T, h *house, a chat.Ask) {
				h.say(word, replyTo(h.shown(a)))
				got := h.stored(a)
				if got.Answer.Effect != want || (got.State == chat.AskAnswered) != (want != "") {
					t.Errorf("%q: %s %+v", word, got.State, got.Answer)
				}
				if n := len(h.board.decided()); (n == 1) != (want != "") {
					t.Errorf("the turn was told %d times", n)
				}
			})
		})
	}
}

func TestWordOutsideAReplyDecidesNothing(t *testing.T) {
	waiting(t, approval, func(t *testing.T, h *house, a chat.Ask) {
		h.say("allow")
		h.told("Nothing was decided", "in reply to the request", "/approve")
		h.say("允许", replyTo(chat.Ref{ID: "m1"}))
		h.say("", replyTo(h.shown(a)), func(m *chat.Message) { m.Quote = "allow" }) // forwarded words are data
		if got := h.stored(a); got.State != chat.AskOpen {
			t.Errorf("the request is %s by %+v", got.State, got.Answer)
		}
		h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
		if slices.Contains(h.runner.prompts(), "allow") {
			t.Error("the agent was told to allow it")
		}
	})
}

func TestWordForAClosedRequestIsNeverAPrompt(t *testing.T) {
	waiting(t, approval, func(t *testing.T, h *house, a chat.Ask) {
		h.click(fmt.Sprintf("ask:%d:2", a.ID))
		h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
		h.say("allow", replyTo(h.shown(a)))
		h.told("Ann has already answered")
		h.press(h.shown(a), fmt.Sprintf("ask:%d:0", a.ID))
		h.prompts("work")
		if got := h.stored(a); got.Answer.Effect != chat.EffectDeny {
			t.Errorf("answer = %+v", got.Answer)
		}
	})
}

func TestApproveAndDenyDecideWithoutAReply(t *testing.T) {
	waiting(t, approval, func(t *testing.T, h *house, a chat.Ask) {
		h.say("/approve")
		h.told("Allowed: Bash rm -rf build")
		if got := h.stored(a); got.Answer.Option != "yes" || got.Answer.By.ID != owner.ID {
			t.Errorf("answer = %+v", got.Answer)
		}
		q := approval
		q.Key = "q2"
		b := h.ask(q)
		h.say("/deny not on a Friday")
		if got := h.stored(b); got.Answer.Option != "no" || got.Answer.Text != "not on a Friday" {
			t.Errorf("answer = %+v", got.Answer)
		}
		h.say("/approve")
		h.told("Nothing waits")
		if n := len(h.board.decided()); n != 2 {
			t.Errorf("the turn was told %d times", n)
		}
	})
}

func TestApproveNeverGuessesWhichRequestIsMeant(t *testing.T) {
	waiting(t, approval, func(t *testing.T, h *house, a chat.Ask) {
		q := approval
		q.Key, q.Title = "q2", "rm -rf /"
		b := h.ask(q)
		h.say("/approve")
		h.told("which request", "rm -rf build", "rm -rf /")
		if h.stored(a).State != chat.AskOpen || h.stored(b).State != chat.AskOpen {
			t.Fatal("one was chosen")
		}
		h.say(fmt.Sprintf("/approve #%d", a.ID))
		if h.stored(a).Answer.Effect != chat.EffectAllow || h.stored(b).State != chat.AskOpen {
			t.Error("the wrong one was decided")
		}
		h.say(fmt.Sprintf("/approve #%d", a.ID+100))
		h.told("no longer open")
	})
}

func TestRequestThatTheAuthorHasNotSeenIsNotMeant(t *testing.T) {
	play(t, func(s *setup) { s.idle = true }, func(t *testing.T, h *house) {
		q := approvalTurn(t, h)
		h.receive(h.message("/approve"), h.message("free words")) // stored before the question exists
		time.Sleep(time.Second)
		a := h.askOf(q, approval)
		text := chat.Question{Key: "t", Kind: chat.AskText, Title: "why?"}
		b := h.askOf(q, text)
		h.start(false)
		time.Sleep(time.Second)
		if h.stored(a).State != chat.AskOpen || h.stored(b).State != chat.AskOpen {
			t.Errorf("decided: %+v %+v", h.stored(a), h.stored(b))
		}
		h.stop()
	})
}

// approvalTurn makes a running turn without a router.
func approvalTurn(t *testing.T, h *house) chat.Turn {
	t.Helper()
	place, conv, err := h.db.Places().Ensure(t.Context(), direct)
	must(t, err)
	s, err := h.db.Sessions().StartSession(t.Context(), chat.NewSession{Conversation: conv, Agent: "demo", Workspace: "/w/main"})
	must(t, err)
	q, err := h.db.Turns().NewTurn(t.Context(), chat.NewTurn{Conversation: conv, Session: s.ID, Place: place, By: owner})
	must(t, err)
	_, err = h.db.Runs().Claim(t.Context(), q.ID, chat.AttemptSent)
	must(t, err)
	return q
}

func (h *house) askOf(q chat.Turn, what chat.Question) chat.Ask {
	h.t.Helper()
	h.runner.mu.Lock()
	h.runner.ran = append(h.runner.ran, q)
	h.runner.mu.Unlock()
	return h.ask(what)
}

func TestNextPlainMessageAnswersAnOpenQuestion(t *testing.T) {
	waiting(t, chat.Question{Key: "t", Kind: chat.AskText, Title: "which branch?"}, func(t *testing.T, h *house, a chat.Ask) {
		h.say("/status") // a command is no answer
		if h.stored(a).State != chat.AskOpen {
			t.Fatal("a command was taken as the answer")
		}
		h.say("main", func(m *chat.Message) { m.Files = []chat.FileRef{{ID: "f"}} }) // a file would be lost in an answer
		if h.stored(a).State != chat.AskOpen {
			t.Fatal("a message with a file was taken as the answer")
		}
		h.say("main")
		if got := h.stored(a); got.Answer.Text != "main" {
			t.Errorf("answer = %+v", got.Answer)
		}
		h.say("thanks for asking", replyTo(h.shown(a))) // it is closed: this talks about it
		h.say("and then push")
		h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
		h.prompts("work", "main", "thanks for asking", "and then push")
	})
}

func TestOnlyTheAskerOrAnOperatorAnswers(t *testing.T) {
	bob, eve := chat.Person{ID: "2", Name: "Bob"}, chat.Person{ID: "3", Name: "Eve"}
	play(t, nil, func(t *testing.T, h *house) {
		for id, role := range map[string]chat.Role{"2": chat.RoleMember, "3": chat.RoleMember} {
			_, err := h.db.People().Grant(t.Context(), chat.Grant{Account: "bot", Chat: "g1", Person: id, Role: role, By: "1"})
			must(t, err)
		}
		h.runner.holds("[message from Bob (id 2)]\nwork")
		h.say("work", in(team), from(bob))
		a := h.ask(approval)
		h.say("allow", in(team), from(eve), replyTo(h.shown(a)))
		h.told("may not decide")
		h.say("/approve", in(team), from(eve))
		h.told("not allowed")
		ack := h.click(fmt.Sprintf("ask:%d:0", a.ID), in(team), from(eve))
		if !ack.Alert || h.stored(a).State != chat.AskOpen {
			t.Errorf("ack %+v, request %s", ack, h.stored(a).State)
		}
		h.say("allow", in(team), from(bob), replyTo(h.shown(a)))
		if got := h.stored(a); got.Answer.By.ID != "2" {
			t.Errorf("answer = %+v", got.Answer)
		}
		q := approval
		q.Key = "again"
		b := h.ask(q)
		h.click(fmt.Sprintf("ask:%d:2", b.ID), in(team)) // the owner
		if got := h.stored(b); got.Answer.By.ID != owner.ID || got.Answer.Effect != chat.EffectDeny {
			t.Errorf("answer = %+v", got.Answer)
		}
		c := h.ask(chat.Question{Key: "text", Kind: chat.AskText, Title: "why?"})
		h.say("because", in(team), from(eve)) // somebody else's words are a message
		if h.stored(c).State != chat.AskOpen {
			t.Error("somebody else answered")
		}
		h.say("so there", in(team), from(bob))
		if got := h.stored(c); got.Answer.Text != "so there" {
			t.Errorf("answer = %+v", got.Answer)
		}
	})
}

var survey = chat.Question{Key: "c", Kind: chat.AskChoice, Title: "Two things", Queries: []chat.Query{
	{ID: "db", Text: "Which database?", Options: []chat.Option{{ID: "pg", Label: "Postgres"}, {ID: "lite", Label: "SQLite"}}},
	{ID: "os", Text: "Which systems?", Multi: true, Free: true, Options: []chat.Option{{ID: "lin", Label: "Linux"}, {ID: "mac", Label: "macOS"}}},
}}

func TestSeveralQuestionsAreAnsweredOneByOne(t *testing.T) {
	for name, answer := range map[string]func(h *house, a chat.Ask){
		"by words": func(h *house, a chat.Ask) {
			h.say("something else", replyTo(h.shown(a)))
			h.told("one of the options")
			h.say("sqlite", replyTo(h.shown(a)))
			h.told("question 2", "Which systems?")
			h.say("1, macOS")
		},
		"by buttons": func(h *house, a chat.Ask) {
			p := fmt.Sprintf("ask:%d:", a.ID)
			ref := h.shown(a)
			h.press(ref, p+"0:1")
			h.press(ref, p+"1:1")
			h.press(ref, p+"1:1") // taken back
			h.press(ref, p+"1:0")
			ack := h.press(ref, p+"1:1")
			if ack.Replace == nil || !strings.Contains(ack.Replace.Markdown, "lin mac") {
				h.t.Errorf("shown: %+v", ack.Replace)
			}
			if h.stored(a).State != chat.AskOpen {
				h.t.Error("closed before it was done")
			}
			h.press(ref, p+"1:ok")
		},
	} {
		t.Run(name, func(t *testing.T) {
			waiting(t, survey, func(t *testing.T, h *house, a chat.Ask) {
				answer(h, a)
				got := h.stored(a)
				if got.State != chat.AskAnswered || !slices.Equal(got.Answer.Values["db"], []string{"lite"}) ||
					!slices.Equal(got.Answer.Values["os"], []string{"lin", "mac"}) {
					t.Errorf("%s %+v", got.State, got.Answer)
				}
				h.runner.end(h.runner.last().ID, chat.TurnSucceeded)
				h.prompts("work")
				if n := h.unrouted(); n != 0 {
					t.Errorf("%d messages without an end", n)
				}
			})
		})
	}
}

func TestPressThatACrashLeftBehindIsSettled(t *testing.T) {
	play(t, func(s *setup) { s.idle = true }, func(t *testing.T, h *house) {
		a := h.askOf(approvalTurn(t, h), approval)
		// Stored, and the daemon died before it was decided.
		place, conv, err := h.db.Places().Ensure(t.Context(), direct)
		must(t, err)
		m := h.message("", func(m *chat.Message) {
			m.Kind, m.Data, m.Ref = chat.KindClick, fmt.Sprintf("ask:%d:0", a.ID), h.shown(a)
		})
		m.Place = place
		_, err = h.db.Inbox().Record(t.Context(), "bot", "", []chat.Inbound{{Message: m, Conversation: conv, Role: chat.RoleOwner, State: chat.InboundNew}})
		must(t, err)
		h.start(false)
		time.Sleep(time.Second)
		if got := h.stored(a); got.Answer.Effect != chat.EffectAllow {
			t.Errorf("answer = %+v", got.Answer)
		}
		if n := h.unrouted(); n != 0 {
			t.Errorf("%d messages without an end", n)
		}
		h.prompts("")
		h.stop()
	})
}

func TestForgedButtonsDoNothing(t *testing.T) {
	play(t, nil, func(t *testing.T, h *house) {
		h.say("hello")
		other := chat.Place{Platform: "test", Account: "bot", Chat: "c2", Direct: true}
		h.runner.holds("there")
		h.say("there", in(other))
		foreign := h.runner.last()
		before := h.conv()
		for _, data := range []string{
			"", ":", "x", "ask:", "ask:1:0", "ask:99:0", "ask:-1:0", "ask:1:0:0:0", "ask:01:0", "stop:", "stop:x", "stop:0", "stop:-5",
			fmt.Sprintf("stop:%d", foreign.ID), fmt.Sprintf("rm:%d", foreign.ID), fmt.Sprintf("retry:%d", foreign.ID),
			fmt.Sprintf("use:%d", foreign.Session), fmt.Sprintf("undo:%d", foreign.Session), fmt.Sprintf("clear:%d", foreign.Session),
			"aged:run:1", "aged:run:99", "aged:explode:1", "agent:'; DROP TABLE turn", "ws:999", "ws:0", "model:" + strings.Repeat("x", 80),
			`{"a":1}`, "new:", "status:", "help:x", strings.Repeat("stop:1", 20), "stop:1\x00", "\xff\xfe:1",
		} {
			h.press(chat.Ref{ID: "b1"}, data)
		}
		h.prompts("hello", "there")
		if q := h.turn(foreign.ID); q.State != chat.TurnRunning {
			t.Errorf("a turn of another chat is %s", q.State)
		}
		if after := h.conv(); after != before {
			t.Errorf("conversation changed from %+v to %+v", before, after)
		}
		if n := h.unrouted(); n != 0 {
			t.Errorf("%d presses without an end", n)
		}
	})
}

package store

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"cligate/internal/chat"
)

func TestSameCauseStartsOneSession(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	m := l.say(1)[0]
	first := l.session(m)
	n := chat.NewSession{Conversation: m.Conversation, Agent: "claude", Workspace: "/w", Title: "title", Cause: m.ID}
	second := ok[chat.Session](t)(l.Sessions().StartSession(ctx, n))
	again := ok[chat.Session](t)(l.Sessions().StartSession(ctx, n))
	if again.ID != second.ID || second.ID == first.ID || second.Seed == "" || second.Seed == first.Seed || second.Title != "title" {
		t.Errorf("first %+v second %+v again %+v", first, second, again)
	}
	c := ok[chat.Conversation](t)(l.Sessions().ConversationByID(ctx, m.Conversation))
	if c.Session != second.ID || c.Previous != first.ID {
		t.Errorf("conversation %+v", c)
	}
	_, err := l.Sessions().StartSession(ctx, chat.NewSession{Conversation: 999})
	wantCode(t, err, chat.Missing)
}

func TestReturningToASessionTakesItsAgentAndWorkspace(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	m := l.say(1)[0]
	first := l.session(m)
	second := l.session(m)
	must(t, l.Sessions().Change(ctx, chat.Conversation{}, chat.Conversation{ID: m.Conversation, Agent: "codex", Workspace: "/v", Lang: "zh", Rich: chat.ChoiceOn}))
	must(t, l.Sessions().Wish(ctx, second.ID, chat.SettingModel, "x"))
	must(t, l.Sessions().Wish(ctx, first.ID, chat.SettingMode, "plan"))
	used := ok[chat.Session](t)(l.Sessions().UseSession(ctx, m.Conversation, first.ID))
	if !used.UsedAt.After(first.UsedAt) {
		t.Error("use is not noted")
	}
	want := chat.Conversation{
		ID: m.Conversation, Session: first.ID, Previous: second.ID, Agent: "demo", Workspace: "/w", Mode: "plan", Lang: "zh", Rich: chat.ChoiceOn,
	}
	c := ok[chat.Conversation](t)(l.Sessions().ConversationByID(ctx, m.Conversation))
	if c != want || !used.Serves(c) {
		t.Errorf("conversation %+v", c)
	}
	ok[chat.Session](t)(l.Sessions().UseSession(ctx, m.Conversation, first.ID))
	if again := ok[chat.Conversation](t)(l.Sessions().ConversationByID(ctx, m.Conversation)); again != want {
		t.Errorf("using the current session changed %+v", again)
	}
	if all := ok[[]chat.Session](t)(l.Sessions().Sessions(ctx, m.Conversation)); len(all) != 2 || all[0].ID != first.ID {
		t.Errorf("sessions %+v", all)
	}
	other := message(2)
	other.Place.Chat = "c2"
	ms := []chat.Inbound{other}
	ok[[]chat.Recorded](t)(l.Inbox().Record(ctx, "bot", "", ms))
	_, err := l.Sessions().UseSession(ctx, ms[0].Conversation, first.ID)
	wantCode(t, err, chat.Missing)
}

func TestLostSessionHasOneSuccessor(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	s, q, _ := l.running(1)
	queued := l.turn(s, l.say(2)...)
	must(t, l.Sessions().Begun(ctx, s.ID))
	next := ok[chat.Session](t)(l.Sessions().Lose(ctx, s.ID))
	if !next.Recap || next.Agent != s.Agent || next.Workspace != s.Workspace || next.NativeID != "" || next.Begun {
		t.Errorf("successor %+v", next)
	}
	late := l.turn(s, l.say(3)...)
	if again := ok[chat.Session](t)(l.Sessions().Lose(ctx, s.ID)); again.ID != next.ID {
		t.Errorf("a second successor: %+v", again)
	}
	if c := ok[chat.Conversation](t)(l.Sessions().ConversationByID(ctx, s.Conversation)); c.Session != next.ID {
		t.Errorf("conversation %+v", c)
	}
	qs := ok[[]chat.Turn](t)(l.Turns().Queued(ctx, next.ID))
	if len(qs) != 2 || qs[0].ID != queued.ID || qs[1].ID != late.ID {
		t.Errorf("queue of the successor: %+v", qs)
	}
	if a := ok[chat.Turn](t)(l.Turns().Active(ctx, s.ID)); a.ID != q.ID {
		t.Errorf("the running turn moved by itself: %+v", a)
	}
	must(t, l.Runs().Rebind(ctx, q.ID, next.ID))
	if a := ok[chat.Turn](t)(l.Turns().Active(ctx, next.ID)); a.ID != q.ID {
		t.Errorf("active %+v", a)
	}
	_, err := l.Sessions().UseSession(ctx, s.Conversation, s.ID)
	wantCode(t, err, chat.NoSession)
	must(t, l.Sessions().Bind(ctx, next.ID, "native", chat.Settings{Model: "m", Mode: "plan"}))
	must(t, l.Sessions().Bind(ctx, next.ID, "", chat.Settings{Model: "n"}))
	if got := ok[chat.Session](t)(l.Sessions().SessionByID(ctx, next.ID)); got.NativeID != "native" || got.Model != "n" || got.Mode != "plan" {
		t.Errorf("an empty value overwrote a known one: %+v", got)
	}
	must(t, l.Sessions().Recapped(ctx, next.ID))
	if got := ok[chat.Session](t)(l.Sessions().SessionByID(ctx, next.ID)); got.Recap {
		t.Error("the recap is asked for again")
	}
	third := ok[chat.Session](t)(l.Sessions().Lose(ctx, next.ID))
	if last := ok[chat.Session](t)(l.Sessions().Lose(ctx, s.ID)); last.ID != third.ID {
		t.Errorf("losing the first again gives %d, want the one in use, %d", last.ID, third.ID)
	}
}

func TestPastSessionIsLostWithoutTheConversation(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	m := l.say(1)[0]
	first, second := l.session(m), l.session(m)
	ok[chat.Session](t)(l.Sessions().Lose(ctx, first.ID))
	if c := ok[chat.Conversation](t)(l.Sessions().ConversationByID(ctx, m.Conversation)); c.Session != second.ID {
		t.Errorf("conversation %+v", c)
	}
	_, err := l.Sessions().Lose(ctx, 999)
	wantCode(t, err, chat.Missing)
	wantCode(t, l.Sessions().Begun(ctx, 999), chat.Missing)
	wantCode(t, l.Sessions().Change(ctx, chat.Conversation{ID: 999}, chat.Conversation{ID: 999}), chat.Missing)
}

func TestSettingsOfASessionAreStoredExactly(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	s := l.session(l.say(1)[0])
	for _, want := range []chat.Settings{{Model: "m", Mode: "plan", Effort: "high"}, {Effort: "low"}, {}} {
		must(t, l.wish(s.ID, want))
		if got := ok[chat.Session](t)(l.Sessions().SessionByID(ctx, s.ID)); got.Wishes() != want {
			t.Errorf("settings %+v, want %+v", got.Wishes(), want)
		}
	}
	wantCode(t, l.Sessions().Wish(ctx, 999, chat.SettingMode, "plan"), chat.Missing)
}

// wish stores all settings of a session.
func (l *ledger) wish(session int64, s chat.Settings) error {
	for _, k := range []chat.Setting{chat.SettingModel, chat.SettingMode, chat.SettingEffort} {
		if err := l.Sessions().Wish(l.t.Context(), session, k, s.Get(k)); err != nil {
			return err
		}
	}
	return nil
}

func TestSettingThatChangesMeanwhileIsNotTakenBack(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	s, turn, _ := l.running(1)
	must(t, l.wish(s.ID, chat.Settings{Mode: "plan"}))
	was := ok[chat.Conversation](t)(l.Sessions().ConversationByID(ctx, s.Conversation))
	// While somebody chooses a model, a language and how much is shown, the
	// turn ends in which a plan was accepted.
	must(t, l.Runs().Finish(ctx, chat.Ending{Turn: turn.ID, State: chat.TurnSucceeded, Mode: &chat.ModeChange{From: "plan", To: "edits"}}))
	must(t, l.Sessions().Wish(ctx, s.ID, chat.SettingModel, "large"))
	next := was
	next.Lang, next.Verbosity = "zh", chat.VerbosityAll
	must(t, l.Sessions().Change(ctx, was, next))
	want := chat.Settings{Model: "large", Mode: "edits"}
	c := ok[chat.Conversation](t)(l.Sessions().ConversationByID(ctx, s.Conversation))
	if c.Wishes() != want || c.Lang != "zh" || c.Verbosity != chat.VerbosityAll {
		t.Errorf("conversation %+v", c)
	}
	if got := ok[chat.Session](t)(l.Sessions().SessionByID(ctx, s.ID)); got.Wishes() != want {
		t.Errorf("session %+v", got.Wishes())
	}
}

func TestModeOfASessionAndOfItsConversationChangeTogether(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	m := l.say(1)[0]
	old, s := l.session(m), l.session(m)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() { must(t, l.Sessions().Wish(ctx, s.ID, chat.SettingMode, fmt.Sprintf("m%d", i))) })
	}
	all.Wait()
	must(t, l.Sessions().Wish(ctx, old.ID, chat.SettingMode, "other")) // not the current one: nobody else's business
	c := ok[chat.Conversation](t)(l.Sessions().ConversationByID(ctx, m.Conversation))
	if got := ok[chat.Session](t)(l.Sessions().SessionByID(ctx, s.ID)); got.Mode == "" || got.Mode != c.Mode {
		t.Errorf("session %q, conversation %q", got.Mode, c.Mode)
	}
}

func TestSessionOfTheAgentsOwnIsTakenOverOnce(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	m := l.say(1)[0]
	n := chat.NewSession{Conversation: m.Conversation, Agent: "claude", Workspace: "/w", NativeID: "n1", Cause: m.ID}
	s := ok[chat.Session](t)(l.Sessions().StartSession(ctx, n))
	if s.NativeID != "n1" || !s.Adopted || !s.Begun {
		t.Errorf("session %+v", s)
	}
	n.Cause = 0
	_, err := l.Sessions().StartSession(ctx, n)
	wantCode(t, err, chat.Conflict) // two processes would serve it
	if ids := ok[[]string](t)(l.Sessions().Natives(ctx, "claude", "/w")); len(ids) != 1 || ids[0] != "n1" {
		t.Errorf("known %v", ids)
	}
	at := time.Now().Truncate(time.Microsecond)
	must(t, l.Sessions().Park(ctx, s.ID, at))
	if got := ok[chat.Session](t)(l.Sessions().SessionByID(ctx, s.ID)); !got.ParkedAt.Equal(at) {
		t.Errorf("parked at %v", got.ParkedAt)
	}
	must(t, l.Sessions().Park(ctx, s.ID, time.Time{}))
	if got := ok[chat.Session](t)(l.Sessions().SessionByID(ctx, s.ID)); !got.ParkedAt.IsZero() {
		t.Errorf("still parked at %v", got.ParkedAt)
	}
}

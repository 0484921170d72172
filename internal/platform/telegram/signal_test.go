package telegram

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cligate/internal/chat"
	fakebot "cligate/internal/sim/telegram"
)

func TestReactionsComeFromTheAllowedSet(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{})
	id := srv.Say(testToken, fakebot.Say{Chat: ann, Text: "x"})
	p, r := placeOf(ann, ""), ref(ann, id)
	react := func(e string) error {
		return a.Signal(t.Context(), p, r, chat.Signal{Kind: chat.SignalReact, Emoji: e})
	}
	for e := range reactions {
		if err := react(e); err != nil {
			t.Fatalf("%s: %v", e, err)
		}
	}
	if err := react("✍\ufe0f"); err != nil {
		t.Errorf("with a variation selector: %v", err)
	}
	if m := srv.Messages(testToken, ann)[0]; m.Reaction != "✍" {
		t.Errorf("reaction %q", m.Reaction)
	}
	if err := react(""); err != nil || srv.Messages(testToken, ann)[0].Reaction != "" {
		t.Errorf("taking it away: %v", err)
	}
	n := len(srv.Calls())
	if err := react("✅"); chat.CodeOf(err) != chat.Unsupported || len(srv.Calls()) != n {
		t.Errorf("an emoji that is no reaction: %v", err)
	}
}

func TestAChatThatForbidsReactionsIsLeftAlone(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{})
	id := srv.Say(testToken, fakebot.Say{Chat: ann, Text: "x"})
	fakebot.AllowReactions(srv, ann, "👍")
	sig := chat.Signal{Kind: chat.SignalReact, Emoji: "👀"}
	if err := a.Signal(t.Context(), placeOf(ann, ""), ref(ann, id), sig); err == nil {
		t.Error("the refusal is not told")
	}
	n := len(srv.Calls())
	if err := a.Signal(t.Context(), placeOf(ann, ""), ref(ann, id), sig); chat.CodeOf(err) != chat.Unsupported || len(srv.Calls()) != n {
		t.Errorf("asked again, or not told that it is not shown: %v", err) // who cares says it in words
	}
	if err := a.Signal(t.Context(), placeOf(ben, ""), ref(ben, 9999), sig); err == nil || len(srv.Calls()) == n {
		t.Error("another chat is silent, too")
	}
}

func TestTypingStopsWhereItIsRefused(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{})
	srv.Block(testToken, ann, true)
	sig := chat.Signal{Kind: chat.SignalTyping}
	if err := a.Signal(t.Context(), placeOf(ann, ""), chat.Ref{}, sig); chat.CodeOf(err) != chat.Park {
		t.Errorf("got %v", err)
	}
	n := len(srv.Calls())
	if err := a.Signal(t.Context(), placeOf(ann, ""), chat.Ref{}, sig); err != nil || len(srv.Calls()) != n {
		t.Errorf("typed again: %v", err)
	}
}

func TestUnknownSignalsAreRefused(t *testing.T) {
	t.Parallel()
	a, _ := offline(t, Config{}, func(string, url.Values) (int, string) { return no(400, "x") })
	if err := a.Signal(t.Context(), placeOf(ann, ""), chat.Ref{}, chat.Signal{Kind: "wave"}); chat.CodeOf(err) != chat.Unsupported {
		t.Errorf("got %v", err)
	}
	if err := a.Signal(t.Context(), placeOf(ann, ""), chat.Ref{}, chat.Signal{Kind: chat.SignalReact, Emoji: "👀"}); chat.CodeOf(err) != chat.Invalid {
		t.Errorf("got %v", err)
	}
}

// everywhere is one menu for all.
func everywhere(cs map[string][]Command) func(context.Context) ([]Menu, error) {
	return func(context.Context) ([]Menu, error) {
		return []Menu{{Scope: Scope{Kind: ScopeDefault}, Commands: cs}}, nil
	}
}

func TestTheMenuFitsAndIsSetOnlyWhenItDiffers(t *testing.T) {
	t.Parallel()
	many := []Command{{"New", strings.Repeat("开始一个新的会话 ", 60)}, {"new", "twice"}, {"bad name", "x"}, {"", "x"}, {"a-b", ""}}
	for i := range 150 {
		many = append(many, Command{"c" + strings.Repeat("x", i%20) + string(rune('a'+i%26)), "d"})
	}
	a, srv, log := strict(t, Config{})
	have := map[menuKey][32]byte{}
	a.menu.want = everywhere(map[string][]Command{"": many, "zh": {{"new", "新会话"}}})
	a.menu.sync(t.Context(), have)
	a.menu.sync(t.Context(), have)
	if strings.Contains(log.String(), "not updated") {
		t.Fatal(log.String())
	}
	if n := len(entries(many)); n > maxCommands || n < 50 {
		t.Errorf("%d commands", n)
	}
	if d := []rune(entries(many)[0].Description); len(d) != maxDescription || slices.Contains(d, utf8.RuneError) {
		t.Errorf("a description of %d runes: %s", len(d), string(d))
	}
	sets := 0
	for _, c := range srv.Calls() {
		if c.Method == "setMyCommands" {
			sets++
		}
	}
	if sets != 2 {
		t.Errorf("set %d times", sets)
	}
	calls := 0
	same, _ := offline(t, Config{Menus: everywhere(map[string][]Command{"": {{"new", "start"}}})}, func(m string, _ url.Values) (int, string) {
		calls++
		if m == "setMyCommands" {
			t.Error("an unchanged menu is set again")
		}
		return ok(`[{"command":"new","description":"start"}]`)
	})
	same.menu.sync(t.Context(), map[menuKey][32]byte{})
	if calls != 1 {
		t.Errorf("%d calls", calls)
	}
}

func TestAMenuThatCannotBeSetDoesNotStopReceiving(t *testing.T) {
	t.Parallel()
	a, srv, log := strict(t, Config{Menus: everywhere(map[string][]Command{"": {{"new", "start"}}})})
	hang := make(chan struct{})
	defer close(hang)
	srv.Fail(fakebot.Fault{Kind: fakebot.TooMany, Method: "setMyCommands", After: 490})
	srv.Fail(fakebot.Fault{Kind: fakebot.Deaf, Method: "getMyCommands", Until: hang, Times: 1})
	in := newInbox()
	stop := start(t, a, in)
	srv.Say(testToken, fakebot.Say{Chat: ann, Text: "hello"})
	if !srv.Wait(patience, func() bool { return len(in.texts()) == 1 }) {
		t.Error("deaf while the menu hangs")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	b, log2 := open(t, Config{APIURL: srv.URL, Menus: a.menu.want})
	if wait := b.menu.sync(t.Context(), map[menuKey][32]byte{}); wait != 490*time.Second {
		t.Errorf("told to wait 490 s, waits %v", wait)
	}
	if !strings.Contains(log2.String(), "not updated") || strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("logs:\n%s%s", log, log2)
	}
}

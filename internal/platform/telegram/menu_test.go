package telegram

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	fakebot "cligate/internal/sim/telegram"
)

// wishes are the menus that an account is to have, as they change.
type wishes struct {
	mu    sync.Mutex
	menus []Menu
}

func (w *wishes) set(ms ...Menu) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.menus = ms
}

func (w *wishes) get(context.Context) ([]Menu, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.menus, nil
}

func oneMenu(s Scope, names ...string) Menu {
	m := Menu{Scope: s, Commands: map[string][]Command{"": nil, "zh": nil}}
	for _, n := range names {
		m.Commands[""] = append(m.Commands[""], Command{n, "does " + n})
		m.Commands["zh"] = append(m.Commands["zh"], Command{n, "做 " + n})
	}
	return m
}

func TestMenusFollowRolesByScopeAndLanguage(t *testing.T) {
	t.Parallel()
	var w wishes
	all := oneMenu(Scope{Kind: ScopeDefault}, "help")
	groups := oneMenu(Scope{Kind: ScopeGroups}, "help", "new")
	hers := oneMenu(Scope{Kind: ScopeChat, Chat: "11"}, "help", "new", "rules")
	inTeam := oneMenu(Scope{Kind: ScopeMember, Chat: "-500", Person: "11"}, "rules")
	w.set(all, groups, hers, inTeam)
	a, srv, log := strict(t, Config{Menus: w.get})
	start(t, a, newInbox())
	shows := func(scope string, want ...string) {
		t.Helper()
		for _, lang := range []string{"", "zh"} {
			if !srv.Wait(patience, func() bool { return slices.Equal(srv.Menu(testToken, scope, lang), want) }) {
				t.Errorf("%s in %q: %v, want %v\n%s", scope, lang, srv.Menu(testToken, scope, lang), want, log)
			}
		}
	}
	shows("default", "help")
	shows("all_group_chats", "help", "new")
	shows("chat 11", "help", "new", "rules")
	shows("chat_member -500 11", "rules")
	w.set(all, groups) // she has lost her role
	a.RefreshMenus()
	shows("chat 11")
	shows("chat_member -500 11")
	if got := srv.Scopes(testToken); slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "chat") }) {
		t.Errorf("left: %v", got)
	}
}

func TestAMenuThatCouldNotBeTakenAwayIsTakenAwayLater(t *testing.T) {
	t.Parallel()
	var w wishes
	all, hers := oneMenu(Scope{Kind: ScopeDefault}, "help"), oneMenu(Scope{Kind: ScopeChat, Chat: "11"}, "rules")
	w.set(all, hers)
	a, srv, log := strict(t, Config{Menus: w.get})
	start(t, a, newInbox())
	shows := func(lang string, want ...string) bool {
		return srv.Wait(patience, func() bool { return slices.Equal(srv.Menu(testToken, "chat 11", lang), want) })
	}
	if !shows("", "rules") || !shows("zh", "rules") {
		t.Fatalf("no menu\n%s", log)
	}
	cut := srv.Fail(fakebot.Fault{Kind: fakebot.Drop, Method: "deleteMyCommands"})
	w.set(all) // the role is lost
	a.RefreshMenus()
	if !srv.Wait(patience, func() bool { return srv.Used(cut) >= 2 && strings.Count(log.String(), "menu not updated") >= 2 }) {
		t.Fatalf("not tried\n%s", log)
	}
	srv.Heal()
	a.RefreshMenus()
	if !shows("") || !shows("zh") {
		t.Errorf("left: %v\n%s", srv.Scopes(testToken), log)
	}
}

func TestTheMenuOfAPersonIsSetOnceTheyHaveWritten(t *testing.T) {
	t.Parallel()
	const late = 4711
	var w wishes
	w.set(oneMenu(Scope{Kind: ScopeChat, Chat: "4711"}, "new"), oneMenu(Scope{Kind: ScopeDefault}, "help"))
	a, srv, log := strict(t, Config{Menus: w.get})
	start(t, a, newInbox())
	if !srv.Wait(patience, func() bool { return srv.Menu(testToken, "default", "zh") != nil }) {
		t.Fatalf("one chat that is missing keeps the other menus away\n%s", log)
	}
	srv.AddChat(late, fakebot.Private, "Late")
	srv.Say(testToken, fakebot.Say{Chat: late, Text: "/start"})
	if !srv.Wait(patience, func() bool { return slices.Equal(srv.Menu(testToken, "chat 4711", ""), []string{"new"}) }) {
		t.Errorf("no menu\n%s", log)
	}
	if strings.Contains(log.String(), "not updated") {
		t.Errorf("a person who has not written yet is a warning:\n%s", log)
	}
}

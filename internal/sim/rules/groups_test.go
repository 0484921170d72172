package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/sim/rig"
	"cligate/internal/sim/telegram"
	"cligate/internal/web/api"
	"cligate/internal/web/client"
)

// Groups of several people through the whole daemon.

// office is a house in which two owners share a basic group.
func office(t *testing.T, o rig.Options) (ann, ben user) {
	t.Helper()
	o.Owners = []int64{rig.Owner, anyone}
	o.Env = append(o.Env, unhurried)
	r := rig.New(t, o)
	r.Telegram.AddChat(team, telegram.Group, "Team")
	r.Start()
	return user{rig.Topic(r, team, 0, rig.Owner), t, r}, user{rig.Topic(r, team, 0, anyone), t, r}
}

func TestASharedSessionIsToldWhoSpeaksAndAPersonsOwnIsNot(t *testing.T) {
	t.Parallel()
	ann, ben := office(t, rig.Options{})
	ann.remember("plum")
	ben.recall("plum")
	ps := ann.prompts()
	for i, id := range []int64{rig.Owner, anyone} {
		if !strings.Contains(ps[i], fmt.Sprintf("[message from Person %d (id %d)]", id, id)) {
			t.Errorf("prompt %q does not say who speaks", ps[i])
		}
	}
	ann.ask("/sharing person", text("command.sharing_person"))
	ann.remember("fig")
	ben.remember("pear")
	ann.r.Kill()
	ann.r.Start()
	ann.recall("fig")
	ben.recall("pear")
	for _, p := range ann.prompts()[2:] {
		if strings.Contains(p, "[message from") {
			t.Errorf("prompt %q names who speaks", p)
		}
	}
	ann.ask("/sharing shared", text("command.sharing_shared"))
	ben.recall("plum")
	ann.sound()
}

func TestAGestureFindsThePersonsOwnMessage(t *testing.T) {
	t.Parallel()
	ann, ben := office(t, rig.Options{})
	tg := ann.r.Telegram
	tg.Promote(rig.Token, team, map[string]any{})
	tg.MakeAdmin(team)
	ann.ask("/sharing person", text("command.sharing_person"))
	for _, u := range []user{ann, ben} {
		g := u.gate()
		u.answersAfter(g, "done")
	}
	say := func(from int64, words string) int64 {
		return tg.Say(rig.Token, telegram.Say{Chat: team, From: from, Text: "@rig_bot " + words})
	}
	queued := func(n int) {
		ann.r.Until(fmt.Sprintf("%d wait", n), func() bool { return ann.r.Count("SELECT count(*) FROM turn WHERE state = 'queued'") == n })
	}
	his := say(anyone, "say unwanted")
	queued(1)
	hers := say(rig.Owner, "say wanted")
	queued(2)
	tg.React(rig.Token, team, his, anyone, "👎")
	queued(1)
	if left := ann.r.Values("SELECT body FROM turn WHERE state = 'queued'"); len(left) != 1 || !strings.Contains(left[0], "say wanted") {
		t.Errorf("%d waits: %v", hers, left)
	}
	ann.gate().open(t)
	ann.Await("wanted")
	ann.r.Rest()
	if strings.Contains(ann.Text(), "unwanted\n") {
		t.Error("what was taken back ran")
	}
	ann.sound()
}

func TestWhoeverIsAloneWithTheBotInAGroupNeedNotNameIt(t *testing.T) {
	t.Parallel()
	ann, ben := office(t, rig.Options{})
	tg := ann.r.Telegram
	ann.To = ""
	tg.Members(team, 2)
	ann.Say("say alone at last")
	ann.Await("alone at last")
	tg.Join(rig.Token, team, anyone)
	ann.Say("say to nobody")
	ben.Say("say to the bot")
	ann.Await("to the bot")
	ann.r.Rest()
	if strings.Contains(ann.Text(), "to nobody") {
		t.Error("talk of two people is taken for the bot's")
	}
	tg.Leave(rig.Token, team, anyone)
	ann.Say("say alone again")
	ann.Await("alone again")
	ann.sound()
}

func TestAGroupIsHeardAsItIsSet(t *testing.T) {
	t.Parallel()
	ann, _ := office(t, rig.Options{})
	tg := ann.r.Telegram
	to := answerOf(ann, "say reply to this")
	plain := func(key string) {
		tg.Say(rig.Token, telegram.Say{Chat: team, From: rig.Owner, Text: "say " + key + "-plain"})
		tg.Say(rig.Token, telegram.Say{Chat: team, From: rig.Owner, Text: "@rig_bot say " + key + "-mention"})
		tg.Say(rig.Token, telegram.Say{Chat: team, From: rig.Owner, Text: "say " + key + "-reply", ReplyTo: to})
	}
	for _, c := range []struct{ listen, heard string }{
		{"mention", "mention reply"}, {"reply", "reply"}, {"all", "plain mention reply"},
	} {
		ann.ask("/listen "+c.listen, text("command.listen_"+c.listen))
		plain(c.listen)
		ann.r.Rest()
		for _, how := range []string{"plain", "mention", "reply"} {
			key := c.listen + "-" + how
			if got, want := strings.Contains(ann.Text(), key), slices.Contains(strings.Fields(c.heard), how); got != want {
				t.Errorf("%s is answered: %v, in %s", key, got, ann.Text())
			}
		}
	}
	if strings.Contains(ann.Text(), text("telegram.unheard")) {
		t.Error("privacy mode is complained about")
	}
	ann.sound()
}

// answerOf is the message with which something was answered.
func answerOf(u user, words string) int64 {
	u.t.Helper()
	n, err := strconv.ParseInt(u.ask(words, strings.TrimPrefix(words, "say ")).ID, 10, 64)
	if err != nil {
		u.t.Fatal(err)
	}
	return n
}

func TestInPrivacyModeListeningToAllSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	ann, _ := office(t, rig.Options{Privacy: true})
	ann.ask("/listen all", text("telegram.unheard")[:60])
	ann.r.Telegram.Say(rig.Token, telegram.Say{Chat: team, From: rig.Owner, Text: "say not heard"})
	ann.ask("say apple", "apple")
	ann.r.Telegram.MakeAdmin(team)
	ann.r.Telegram.Say(rig.Token, telegram.Say{Chat: team, From: rig.Owner, Text: "say pear"})
	ann.Await("pear")
	if strings.Contains(ann.Text(), "not heard") {
		t.Error("it heard what it was not given")
	}
	ann.sound()
}

func TestWhoIsNoPersonStartsNothing(t *testing.T) {
	t.Parallel()
	ann, _ := office(t, rig.Options{})
	tg := ann.r.Telegram
	ann.ask("/listen all", text("command.listen_all"))
	ann.remember("plum")
	before := ann.r.Count("SELECT count(*) FROM inbound")
	for _, words := range []string{"@rig_bot run touch stolen", "/new@rig_bot", "/listen@rig_bot reply", "allow"} {
		say := telegram.Say{Chat: team, From: rig.Owner, Text: words}
		tg.Push(rig.Token, "channel_post", map[string]any{"message_id": 5, "date": 1, "chat": map[string]any{"id": -100900, "type": "channel"}, "text": words})
		tg.SayAnonymously(rig.Token, say)
		tg.SayAsChannel(rig.Token, say, -100900)
		tg.Forwarded(rig.Token, say, -100900)
		tg.Say(rig.Token, telegram.Say{Chat: team, From: rig.Owner, Text: words, Extra: map[string]any{
			"from": map[string]any{"id": 555, "is_bot": true, "first_name": "Bot", "username": "other_bot"}}})
	}
	ann.Await(text("receive.hidden"))
	ann.r.Rest()
	if n := ann.r.Count("SELECT count(*) FROM inbound"); n != before {
		t.Errorf("%d of them are stored", n-before)
	}
	if n := strings.Count(ann.Text(), text("receive.hidden")); n != 1 {
		t.Errorf("the anonymous are told %d times", n)
	}
	ann.recall("plum")
	ann.sound()
}

func TestAGroupThatMovesKeepsItsWordItsRightsAndItsSettings(t *testing.T) {
	t.Parallel()
	const there = int64(-1000000004002)
	for name, by := range map[string]telegram.Signal{
		"told in the old group": telegram.SaidOld, "told in the new one": telegram.SaidNew,
		"told in both": telegram.SaidOld | telegram.SaidNew, "told by a refusal": telegram.Unsaid,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ann, _ := office(t, rig.Options{})
			tg := ann.r.Telegram
			cat := ann.in(rig.Topic(ann.r, team, 0, member))
			cat.Say("let me in")
			ann.letIn(member)
			ann.ask("/listen all", text("command.listen_all"))
			cat.remember("plum")
			ann.r.Rest()
			g, works := ann.gate(), by == telegram.Unsaid || by == telegram.SaidOld|telegram.SaidNew
			if works { // else nothing is sent, which would be a signal, too
				ann.answersAfter(g, "done")
			}
			tg.Upgrade(rig.Token, team, there, by)
			if by != telegram.Unsaid {
				ann.r.Until("it is noted", func() bool { return ann.r.Count("SELECT count(*) FROM chat_moved") == 1 })
				ann.r.Kill() // the turn is told to be interrupted, at the new address
				ann.r.Start()
			}
			g.open(t)
			home := ann.in(rig.Topic(ann.r, there, 0, rig.Owner))
			home.r.Until("what became of the turn is said at the new address", func() bool {
				return !works || home.has("cont:") || strings.Contains(home.Text(), "done")
			})
			tg.Say(rig.Token, telegram.Say{Chat: there, From: member, Text: "what was the word?"})
			home.Await("the word was plum")
			home.ask("/listen", text("command.listen_all"))
			home.sound("upgraded to a supergroup")
		})
	}
}

// letIn grants somebody who knocked in the group a role there.
func (u user) letIn(id int64) {
	u.t.Helper()
	c := client.New(u.r.Socket(), "en")
	defer c.Close()
	var stranger int64
	u.r.Until("somebody knocks", func() bool {
		p, err := c.Pairs(u.t.Context())
		if err != nil {
			return false
		}
		for _, s := range p.Strangers {
			if s.Person.ID == strconv.FormatInt(id, 10) {
				stranger = s.ID
			}
		}
		return stranger != 0
	})
	if err := c.Approve(u.t.Context(), api.Approval{Stranger: stranger, Role: chat.RoleMember}); err != nil {
		u.t.Fatal(err)
	}
}

package rules

import (
	"strings"
	"testing"

	"cligate/internal/sim/rig"
	"cligate/internal/sim/telegram"
)

// Requests of agents whose topic or group is not where it was.

func TestARequestForADeletedTopicIsDecidedWhereItIsSent(t *testing.T) {
	t.Parallel()
	general := forum(t, rig.Options{})
	tg, u := general.r.Telegram, general.topic(plums)
	u.remember("plum")
	g := u.gate()
	u.answersAfter(g, "first")
	u.Say("run echo decided")
	u.r.Until("it waits", func() bool { return u.r.Count("SELECT count(*) FROM turn WHERE state = 'queued'") == 1 })
	tg.DeleteTopic(rig.Token, lobby, plums)
	g.open(t)
	general.Press("lost:", text("reply.button_here"))
	general.Await("first")
	general.Press("ask:", text("turn.allow"))
	general.Await("ran: decided")
	general.sound("TOPIC_DELETED", "message thread not found", "message to react not found")
}

func TestAnOpenRequestMovesWithItsGroup(t *testing.T) {
	t.Parallel()
	const there = int64(-1000000004002)
	ann, _ := office(t, rig.Options{})
	ann.Say("run echo decided")
	ann.r.Until("it asks", func() bool { return ann.has("ask:") }) // its receipt may be on its way
	ann.r.Telegram.Upgrade(rig.Token, team, there, telegram.SaidOld|telegram.SaidNew)
	home := ann.in(rig.Topic(ann.r, there, 0, rig.Owner))
	home.Press("ask:", text("turn.allow"))
	home.Await("ran: decided")
	home.sound("upgraded to a supergroup")
}

func TestAPrivateTopicIsMadeAndADeletedOneLosesNothing(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Env: []string{unhurried}})
	tg := r.Telegram
	tg.SetFlags(rig.Token, map[string]any{"has_topics_enabled": true})
	r.Start()
	first := tg.MakeTopic(rig.Token, rig.Owner, rig.Owner, "First")
	at := func(thread int64) user { return user{rig.Topic(r, rig.Owner, thread, rig.Owner), t, r} }
	outside := at(0)
	u := at(first)
	u.Say("/topic new Figs")
	figs := int64(0)
	r.Until("it is made", func() bool {
		for id, name := range tg.Topics(rig.Owner) {
			if name == "Figs" {
				figs = id
			}
		}
		return figs != 0
	})
	v := at(figs)
	v.Await("conversation of its own")
	v.remember("fig")
	g := v.gate()
	v.answersAfter(g, "kept answer")
	tg.DeleteTopic(rig.Token, rig.Owner, figs)
	g.open(t)
	outside.Await(text("reply.shut_gone", "name", "Figs"))
	outside.Press("lost:", text("reply.button_topic"))
	var again int64
	r.Until("it is made again", func() bool {
		for id, name := range tg.Topics(rig.Owner) {
			if name == "Figs" && id > figs {
				again = id
			}
		}
		return again != 0
	})
	w := at(again)
	w.Await("kept answer")
	w.recall("fig")
	if strings.Contains(outside.Text()+u.Text(), "kept answer") {
		t.Error("it is shown elsewhere, too")
	}
	w.sound("TOPIC_DELETED", "message thread not found", "message to react not found")
}

func TestAPrivateBotWithoutTopicsSaysSo(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{})
	u.ask("/topic new Figs", text("reply.topic_none"))
	u.remember("plum")
	u.sound("not a forum")
}

package rig_test

import (
	"os"
	"testing"

	"cligate/internal/sim/rig"
)

func TestMain(m *testing.M) {
	code := m.Run()
	rig.Clean()
	os.Exit(code)
}

func TestMessageIsAnsweredAndNothingIsLeft(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{rig.Claude, rig.Demo} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, rig.Options{Agent: agent})
			r.Start()
			c, w := r.Chat(rig.Owner), r.WebChat("garden")
			c.Tell("echo k1 plum", "k1", "plum")
			w.Tell("echo k2 pear", "k2", "pear")
			c.Await("plum")
			w.Await("pear")
			r.Kill()
			c.Tell("echo k3 fig", "k3", "fig")
			r.Start()
			c.Await("fig")
			r.Rest()
			r.Judge()
			r.Stop()
			if left := r.Orphans(); len(left) > 0 {
				t.Error(left)
			}
		})
	}
}

func TestAConversationOnFeishuOutlivesTheDaemon(t *testing.T) {
	t.Parallel()
	for _, way := range []rig.Way{rig.Socket, rig.Hook} {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, rig.Options{Feishu: way, NoTelegram: true})
			r.Start()
			c := r.FeishuChat(rig.Owner)
			c.Tell("remember the word plum k1", "k1")
			c.Await("plum")
			r.Rest()
			r.Kill()
			c.Tell("what was the word? k2", "k2")
			r.Start()
			c.Await("the word was plum")
			c.Say("run touch pear")
			c.Press("ask:", "Allow")
			r.Rest()
			r.Judge()
			r.Stop()
			if left := r.Orphans(); len(left) > 0 {
				t.Error(left)
			}
		})
	}
}

package system

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"cligate/internal/fault"
	"cligate/internal/sim/feishu"
	"cligate/internal/sim/oracle"
	"cligate/internal/sim/rig"
	"cligate/internal/sim/telegram"
)

// points are the fault points that a usual day passes.
var points = []fault.Point{
	fault.UpdatesRead, fault.UpdatesStored, fault.RouterWoken, fault.TurnMerging, fault.TurnMerged, fault.TurnClaimed,
	fault.WorkerSpawned, fault.NativeIDReported, fault.PromptIntended, fault.PromptWritten, fault.MidStream, fault.AskStored,
	fault.AskSent, fault.ClickStored, fault.AgentAnswered, fault.ResultReceived, fault.TurnFinished, fault.ProgressSent,
	fault.SendIntended, fault.SendDone, fault.WaitReceived,
}

// never are combinations that cannot occur.
var never = map[string]string{
	"web/wait-received": "our own page never asks us to wait",
}

// inGroups are points that are tried in a Telegram group as well: what is sent
// there is counted, paced and settled in another way. What needs many messages
// takes minutes there and belongs to the long form.
func inGroups() []fault.Point {
	short := []fault.Point{fault.UpdatesStored, fault.SendIntended, fault.SendDone}
	if full() {
		return append(short, fault.AskSent, fault.ProgressSent)
	}
	return short
}

// choices are what people do about an interrupted turn.
var choices = []string{"", "cont", "retry", "drop"}

// TestFaultEveryPoint kills the daemon at one point, starts it again, lets
// everything come to rest and asks the oracle.
func TestFaultEveryPoint(t *testing.T) {
	t.Parallel()
	hits := 1
	if full() {
		hits = 3
	}
	n := 0
	for _, p := range points {
		for _, platform := range []string{"telegram", "web", "group", "supergroup", "feishu", "feishu-group", "feishu-hook"} {
			for _, agent := range agentsAt(p, platform, n) {
				for hit := 1; hit <= hits; hit++ {
					choice := choices[n%len(choices)]
					n++
					t.Run(fmt.Sprintf("%s/%s/%s/%d", p, platform, agent, hit), func(t *testing.T) {
						t.Parallel()
						dieAt(t, p, platform, agent, hit, choice)
					})
				}
			}
		}
	}
}

// agentsAt are the agents with which a point is passed on a platform. What is
// the platform's and not the agent's business is tried with one of them, in
// turn.
func agentsAt(p fault.Point, platform string, n int) []string {
	both, one := []string{rig.Claude, rig.Demo}, []string{[]string{rig.Claude, rig.Demo}[n%2]}
	switch platform {
	case "web":
		if never[platform+"/"+string(p)] != "" {
			return nil
		}
	case "group", "supergroup":
		if !slices.Contains(inGroups(), p) {
			return nil
		}
	case "feishu":
		if !full() {
			return one
		}
	case "feishu-group":
		if !slices.Contains(inGroups(), p) || !full() && p != fault.SendDone {
			return nil
		}
		return one
	case "feishu-hook":
		if !slices.Contains([]fault.Point{fault.UpdatesRead, fault.UpdatesStored, fault.ClickStored}, p) || !full() && p != fault.ClickStored {
			return nil
		}
		return one
	}
	return both
}

func dieAt(t *testing.T, at fault.Point, platform, agent string, hit int, choice string) {
	days := 3 * hit // a live message is not shown on every day
	var owners []int64
	for n := range days { // each in a chat of its own, whose budget is not used up
		owners = append(owners, int64(2001+n))
	}
	r := rig.New(t, on(platform, rig.Options{Agent: agent, Owners: owners}))
	if at == fault.WaitReceived {
		r.Telegram.Fail(telegram.Fault{Kind: telegram.TooMany, Method: "sendMessage", Times: hit, After: 3})
		if r.Feishu != nil {
			r.Feishu.Fail(feishu.Fault{Kind: feishu.Refuse, Method: "message.create", Times: hit, Status: http.StatusTooManyRequests, Code: tooOften, Reset: 3})
		}
	}
	r.Start("CLIGATE_FAULT=" + string(at) + ":" + strconv.Itoa(hit))
	died := 0
	var p *person
	for round := range days {
		p = &person{t: t, r: r, name: string(rune('a' + round)), choice: choice}
		p.c = place(r, platform, round)
		p.day()
		if died = p.died; died > 0 {
			break
		}
	}
	if died == 0 {
		t.Fatalf("%s was not passed %d times", at, hit)
	}
	p.last()
	r.Judge()
	over(t, r, p.c, "ask:", "stop:", "rm:")
	finish(t, r)
}

// tooOften is Feishu's code for a call beyond the rate of its API.
const tooOften = 99991400

// on makes a rig's daemon be on one platform.
func on(platform string, o rig.Options) rig.Options {
	o.NoTelegram = platform == "web" || strings.HasPrefix(platform, "feishu")
	switch platform {
	case "feishu", "feishu-group":
		o.Feishu = rig.Socket
	case "feishu-hook":
		o.Feishu = rig.Hook
	}
	return o
}

// place is one of several chats of that kind.
func place(r *rig.Rig, platform string, n int) *rig.Talk {
	owner := int64(2001 + n)
	id, kind := owner, telegram.Private
	switch platform {
	case "feishu", "feishu-hook":
		return r.FeishuChat(owner)
	case "feishu-group":
		team := fmt.Sprintf("oc_team%d", n)
		r.Feishu.AddChat(team, feishu.Group, "Team", []string{rig.App}, rig.Person(owner))
		c := r.FeishuAs(team, rig.Person(owner))
		c.To = "@" + rig.AppName
		return c
	case "web":
		return r.WebChat(fmt.Sprintf("chat%d", n))
	case "group":
		id, kind = -owner, telegram.Group
	case "supergroup":
		id, kind = -1000000000000-owner, telegram.Supergroup
	}
	if id == owner {
		return r.Chat(owner)
	}
	r.Telegram.AddChat(id, kind, "Team")
	c := r.ChatAs(id, owner)
	c.To = "@" + rig.Bot
	return c
}

// finish ends the daemon in order and looks for what it left.
func finish(t *testing.T, r *rig.Rig) {
	t.Helper()
	r.Stop()
	if left := r.Orphans(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFaultWhileTheFirstMigrationRuns(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Launch("CLIGATE_FAULT=migration-step:1")
	r.Until("the migration is reached", func() bool { return !r.Alive() })
	if !r.Killed() {
		t.Fatalf("not by the fault\n%s", r.Tail())
	}
	r.Start()
	p := &person{t: t, r: r, c: r.Chat(rig.Owner), name: "m"}
	p.last()
	r.Judge()
	finish(t, r)
}

func TestFaultWhileTheLogIsEmptied(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Start("CLIGATE_FAULT=checkpoint:1")
	p := &person{t: t, r: r, c: r.Chat(rig.Owner), name: "c"}
	p.last()
	r.Signal(syscall.SIGTERM)
	r.Until("the checkpoint is reached", func() bool { return !r.Alive() })
	if !r.Killed() {
		t.Fatalf("not by the fault\n%s", r.Tail())
	}
	p.c.Tell("long 1 c0", "c0", "c0-1")
	r.Start()
	p.c.Await("c0-1")
	p.settle()
	r.Judge()
	finish(t, r)
}

func TestFaultWhileTurnsAreLetEnd(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{rig.Claude, rig.Demo} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, rig.Options{Agent: agent})
			r.Start("CLIGATE_FAULT=draining:1")
			p := &person{t: t, r: r, c: r.Chat(rig.Owner), name: "d"}
			p.tell(func(k string) (string, []string) { return r.Words().Slow(k, 30) })
			p.until("the prompt is written", func() bool { return r.Count("SELECT count(*) FROM attempt WHERE state = 'sent'") > 0 })
			r.Signal(syscall.SIGTERM)
			r.Until("the drain is reached", func() bool { return !r.Alive() })
			if !r.Killed() {
				t.Fatalf("not by the fault\n%s", r.Tail())
			}
			r.Start()
			r.Rest()
			if got := r.Values("SELECT state FROM turn"); len(got) != 1 || got[0] != "interrupted" {
				t.Errorf("the turn is %v", got)
			}
			p.last()
			r.Judge()
			finish(t, r)
		})
	}
}

// The oracle is asked about real runs above. It must see a defect in one.
func TestFaultsWouldBeSeen(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Start()
	p := &person{t: t, r: r, c: r.Chat(rig.Owner), name: "s"}
	p.tell(r.Words().Echo)
	p.settle()
	p.last()
	good := r.World()
	if bad := oracle.Judge(good); len(bad) > 0 {
		t.Fatal(bad)
	}
	for name, spoil := range map[string]func(w *oracle.World){
		"an answer twice":     func(w *oracle.World) { w.Shown = append(w.Shown, oracle.Shown{Chat: p.c.Chat, ID: "9", Text: "s1-1"}) },
		"an answer lost":      func(w *oracle.World) { w.Shown = w.Shown[1:] },
		"a message lost":      func(w *oracle.World) { w.Ledger.Inbound = w.Ledger.Inbound[1:] },
		"a prompt twice":      func(w *oracle.World) { w.Prompts = append(w.Prompts, w.Prompts[0]) },
		"answers turned over": func(w *oracle.World) { w.Shown[0].Text, w.Shown[1].Text = w.Shown[1].Text, w.Shown[0].Text },
		"a turn not ended":    func(w *oracle.World) { w.Ledger.Turns[0].State = "running" },
		"a row not sent":      func(w *oracle.World) { w.Ledger.Outbox[0].State = "sending" },
	} {
		w := r.World()
		spoil(&w)
		if len(oracle.Judge(w)) == 0 {
			t.Errorf("%s is not seen", name)
		}
	}
	finish(t, r)
}

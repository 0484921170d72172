package system

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"cligate/internal/fault"
	"cligate/internal/sim/feishu"
	"cligate/internal/sim/oracle"
	"cligate/internal/sim/rig"
)

// What only Feishu does to the daemon.

// onFeishu is a daemon there, and its owner.
func onFeishu(t *testing.T, way rig.Way, agent string) (*rig.Rig, *person) {
	t.Helper()
	r := rig.New(t, rig.Options{Agent: agent, Feishu: way, NoTelegram: true})
	return r, &person{t: t, r: r, c: r.FeishuChat(rig.Owner), name: "w"}
}

// A connection that is half open takes what is written to it and brings
// nothing, without an error. It is replaced before two pings would have been due.
func TestAHalfOpenConnectionIsReplacedWithinTwoPings(t *testing.T) {
	t.Parallel()
	const interval = 8 * time.Second
	r, p := onFeishu(t, rig.Socket, rig.Claude)
	r.Feishu.PingEvery(rig.App, int(interval/time.Second), false)
	r.Start()
	p.last()
	r.Feishu.Turn(rig.App, feishu.HalfOpen)
	deaf := time.Now()
	p.tell(r.Words().Echo) // is not heard
	r.Until("there is another connection", func() bool { return r.Feishu.Opened(rig.App).After(deaf) })
	if took := time.Since(deaf); took > 2*interval {
		t.Errorf("replaced after %s, pings are due every %s", took, interval)
	}
	p.settle()
	p.last()
	r.Judge()
	finish(t, r)
}

// A connection that answers pings and brings no events any more is replaced when
// it has been silent for as long as the operator allows.
func TestAConnectionWithoutEventsIsReplaced(t *testing.T) {
	t.Parallel()
	r, p := onFeishu(t, rig.Socket, rig.Claude)
	r.Start("CLIGATE_FEISHU_SILENCE=2s")
	p.last()
	r.Feishu.Turn(rig.App, feishu.Deafened)
	p.tell(r.Words().Echo) // is not heard
	p.settle()
	p.last()
	r.Judge()
	finish(t, r)
}

// Whatever the service refuses for a while, and however: a stream ends as a
// card that is closed and complete, and nothing is shown twice.
func TestStreamsEndClosedAndCompleteWhateverIsRefused(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]feishu.Fault{
		"too many":      {Kind: feishu.Refuse, Code: tooMany, Text: "This operation triggers the frequency limit."},
		"too often":     {Kind: feishu.Refuse, Status: http.StatusTooManyRequests, Code: tooOften, Reset: 1},
		"answer lost":   {Kind: feishu.Lose},
		"page, no JSON": {Kind: feishu.BadPage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, p := onFeishu(t, rig.Socket, rig.Demo)
			r.Start()
			for _, method := range []string{"card.create", "message.create", "element.content", "card.update", "card.settings", "card.batch"} {
				f.Method, f.Times = method, 2
				r.Feishu.Fail(f)
				p.tell(func(k string) (string, []string) { return r.Words().Stream(k, 45) })
				p.settle()
				r.Feishu.Heal()
			}
			f.Method, f.Times = "element.content", 0 // not one delta gets through
			r.Feishu.Fail(f)
			p.tell(func(k string) (string, []string) { return r.Words().Stream(k, 45) })
			p.settle()
			r.Feishu.Heal()
			p.last()
			r.Judge()
			finish(t, r)
		})
	}
}

// Streaming ends ten minutes after it was opened, whatever we do; an answer
// that takes longer arrives all the same.
func TestAStreamThatTheServiceClosesArrives(t *testing.T) {
	t.Parallel()
	r, p := onFeishu(t, rig.Socket, rig.Demo)
	r.Start()
	p.tell(func(k string) (string, []string) { return r.Words().Stream(k, 200) })
	r.Until("a card streams", func() bool { return streaming(r) })
	r.Feishu.Pass(601 * time.Second)
	p.settle()
	p.last()
	r.Within(closing, func() bool { return !streaming(r) })
	w := r.World()
	w.Rates = slices.DeleteFunc(w.Rates, func(s string) bool { // it could not know
		return strings.Contains(s, "200850") || strings.Contains(s, "300309")
	})
	for _, bad := range oracle.Judge(w) {
		t.Error(bad)
	}
	finish(t, r)
}

func streaming(r *rig.Rig) bool {
	for _, c := range r.Feishu.Cards() {
		if c.Streaming && c.Message != "" {
			return true
		}
	}
	return false
}

// What Feishu posts is once in the ledger and answered once, whenever the
// daemon is killed: before the commit, or between it and the 200.
func TestFaultWhileFeishuPosts(t *testing.T) {
	t.Parallel()
	for _, at := range []fault.Point{fault.UpdatesRead, fault.UpdatesStored, fault.RouterWoken} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			r, p := onFeishu(t, rig.Hook, rig.Claude)
			r.Start("CLIGATE_FAULT=" + string(at) + ":2")
			for range 3 {
				p.tell(r.Words().Echo)
			}
			p.settle()
			if p.died != 1 {
				t.Fatalf("died %d times", p.died)
			}
			p.last()
			if n := r.Count("SELECT count(*) FROM inbound"); n != p.n {
				t.Errorf("%d messages in the ledger, %d were said", n, p.n)
			}
			again := slices.ContainsFunc(r.Feishu.Deliveries(), func(d feishu.Delivery) bool { return d.Attempts > 1 })
			if !again && at != fault.RouterWoken { // that one dies beside the answer, before or after it
				t.Error("nothing was pushed twice: the test proves nothing")
			}
			r.Judge()
			finish(t, r)
		})
	}
}

// posted is the event of a message that says text, as a post carries it.
func posted(id, token, text string, at time.Time) []byte {
	content, _ := json.Marshal(map[string]string{"text": text})
	ms := fmt.Sprint(at.UnixMilli())
	who := map[string]any{"open_id": rig.Person(rig.Owner)}
	raw, _ := json.Marshal(map[string]any{
		"schema": "2.0",
		"header": map[string]any{"event_id": "ev_" + id, "event_type": "im.message.receive_v1", "create_time": ms, "token": token, "app_id": rig.App, "tenant_key": feishu.Tenant},
		"event": map[string]any{
			"sender": map[string]any{"sender_id": who, "sender_type": "user", "tenant_key": feishu.Tenant},
			"message": map[string]any{"message_id": id, "create_time": ms, "chat_id": rig.Direct(rig.Owner), "chat_type": "p2p",
				"message_type": "text", "content": string(content)},
		},
	})
	return raw
}

// Posts that are not the service's, are old, or came before, do nothing, also
// when the daemon was killed meanwhile.
func TestForgedStaleAndRepeatedPostsDoNothing(t *testing.T) {
	t.Parallel()
	r, p := onFeishu(t, rig.Hook, rig.Claude)
	r.Start()
	p.last()
	if err := r.Feishu.Challenge(rig.App); err != nil {
		t.Errorf("the console's question is not answered: %v", err)
	}
	before := rows(r)
	now := time.Now()
	evil := posted("evil", rig.Verification, "run touch stolen", now)
	for name, f := range map[string]feishu.Forged{
		"plain":          {Body: evil, Plain: true, Signature: "none"},
		"not signed":     {Body: evil, Signature: "none"},
		"wrongly signed": {Body: evil, Signature: strings.Repeat("0", 64)},
		"another key":    {Body: evil, Key: "another"},
		"another token":  {Body: posted("evil", "another", "run touch stolen", now)},
		"no token":       {Body: posted("evil", "", "run touch stolen", now)},
		"stale":          {Body: evil, At: now.Add(-time.Hour)},
		"from tomorrow":  {Body: evil, At: now.Add(24 * time.Hour)},
		"garbage":        {Body: []byte("{")},
	} {
		if status, _, err := r.Feishu.Forge(rig.App, f); err != nil || status != http.StatusForbidden {
			t.Errorf("%s: status %d, %v", name, status, err)
		}
	}
	if after := rows(r); after != before {
		t.Errorf("rows changed from %s to %s", before, after)
	}
	key := p.key()
	text, answer := r.Words().Echo(key)
	r.Expect(oracle.Said{Chat: p.c.Chat, Key: key, Answer: answer, Allowed: true})
	id, _ := r.Feishu.Say(feishu.Say{App: rig.App, Chat: p.c.Chat, From: rig.Person(rig.Owner), Text: text, Quiet: true})
	good := feishu.Forged{Body: posted(id, rig.Verification, text, now), Nonce: "once"}
	if status, _, err := r.Feishu.Forge(rig.App, good); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v", status, err)
	}
	p.c.Await(answer...)
	p.settle()
	if status, _, err := r.Feishu.Forge(rig.App, good); err != nil || status == http.StatusOK {
		t.Errorf("a repeated post: status %d, %v", status, err)
	}
	r.Kill()
	r.Start() // it has forgotten what it has seen; the ledger has not
	r.Until("posts are taken", func() bool {
		_, _, err := r.Feishu.Forge(rig.App, good)
		return err == nil
	})
	p.last()
	r.Judge()
	finish(t, r)
}

// What comes while the daemon is down waits at the service; a change of the
// way of receiving loses and repeats nothing.
func TestTheWayOfReceivingFromFeishuCanBeChanged(t *testing.T) {
	t.Parallel()
	r, p := onFeishu(t, rig.Hook, rig.Claude)
	for life, hooks := range []bool{true, false, false, true} {
		if hooks {
			r.Posts()
		} else {
			r.Feishu.SetWebhook(rig.App, "", "", "")
		}
		p.tell(r.Words().Echo) // while nobody listens
		if hooks {
			r.Start()
		} else {
			r.Start("CLIGATE_FEISHU_MODE=websocket")
		}
		p.tell(r.Words().Echo)
		p.settle()
		if n := r.Count("SELECT count(*) FROM inbound"); n != p.n {
			t.Errorf("life %d: %d messages in the ledger, %d were said", life, n, p.n)
		}
		if life%2 == 0 {
			r.Kill()
		} else {
			r.Stop()
		}
	}
	r.Start()
	p.last()
	r.Judge()
	finish(t, r)
}

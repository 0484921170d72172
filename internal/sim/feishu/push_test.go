package feishu

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/larksuite/oapi-sdk-go/v3"
	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/larksuite/oapi-sdk-go/v3/core/httpserverext"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher/callback"
	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"
)

const patience = 20 * time.Second

// listener is an app built with the real SDK.
type listener struct {
	mu    sync.Mutex
	texts []string
	fail  atomic.Int32 // so many events are answered with an error
	slow  atomic.Int64 // nanoseconds before each answer
	toast atomic.Value // the kind of toast that clicks are answered with
}

func (l *listener) events(token, key string) *dispatcher.EventDispatcher {
	d := dispatcher.NewEventDispatcher(token, key)
	d.OnP2MessageReceiveV1(func(ctx context.Context, e *larkim.P2MessageReceiveV1) error {
		l.mu.Lock()
		l.texts = append(l.texts, *e.Event.Message.Content)
		l.mu.Unlock()
		if n := time.Duration(l.slow.Load()); n > 0 {
			select {
			case <-time.After(n):
			case <-ctx.Done():
			}
		}
		if l.fail.Add(-1) >= 0 {
			return fmt.Errorf("not now")
		}
		return nil
	})
	d.OnP2CardActionTrigger(func(_ context.Context, e *callback.CardActionTriggerEvent) (*callback.CardActionTriggerResponse, error) {
		return &callback.CardActionTriggerResponse{
			Toast: &callback.Toast{Type: l.kind(), Content: "taken from " + e.Event.Operator.OpenID},
			Card:  &callback.Card{Type: "raw", Data: sheet(false, md("a", fmt.Sprintf("chose %v", e.Event.Action.Value["choice"])))},
		}, nil
	})
	return d
}

func (l *listener) kind() string {
	if s, ok := l.toast.Load().(string); ok {
		return s
	}
	return "success"
}

func (l *listener) heard() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.texts)
}

func connect(t *testing.T, c caller, l *listener) {
	t.Helper()
	cli := larkws.NewClient(rig, secret, larkws.WithEventHandler(l.events("", "")), larkws.WithDomain(c.s.URL), larkws.WithLogLevel(larkcore.LogLevelError), larkws.WithAutoReconnect(false))
	go func() { _ = cli.Start(t.Context()) }() // never returns; see the facts about the SDK
	if !c.s.Wait(patience, func() bool { return c.s.Connections(rig) == 1 }) {
		t.Fatal("no connection")
	}
	// The client is not closed: its Close races with its own reader. The end of
	// the server ends the connection.
}

func TestTheRealSDKReceivesOverItsLongConnection(t *testing.T) {
	t.Parallel()
	c, l := start(t), &listener{}
	connect(t, c, l)
	_, ev := c.s.Say(Say{App: rig, Chat: direct, From: anna, Text: "hello"})
	if !c.s.Wait(patience, func() bool { return acked(c, ev) }) || l.heard() != 1 {
		t.Fatalf("%+v", c.s.Deliveries())
	}
	// A group message without a mention is not pushed without its scope.
	c.s.Withdraw(rig, "im:message.group_msg")
	if _, ev := c.s.Say(Say{App: rig, Chat: team, From: anna, Text: "among us"}); ev != "" {
		t.Error("pushed without the scope")
	}
	_, ev = c.s.Say(Say{App: rig, Chat: team, From: anna, Text: "@Rig hello"})
	if ev == "" || !c.s.Wait(patience, func() bool { return acked(c, ev) }) {
		t.Errorf("a mention is not delivered: %+v", c.s.Deliveries())
	}
	// Split frames.
	c.s.Split(64)
	_, ev = c.s.Say(Say{App: rig, Chat: direct, From: anna, Text: "in many pieces"})
	c.s.Ladder(time.Second, time.Millisecond, time.Millisecond, time.Millisecond, time.Millisecond) // the SDK may lose some in its merge
	if !c.s.Wait(patience, func() bool { return acked(c, ev) }) {
		t.Errorf("split: %+v", c.s.Deliveries())
	}
}

func acked(c caller, event string) bool {
	for _, d := range c.s.Deliveries() {
		if d.ID == event {
			return d.Acked
		}
	}
	return false
}

func attempts(c caller, event string) int {
	for _, d := range c.s.Deliveries() {
		if d.ID == event {
			return d.Attempts
		}
	}
	return 0
}

func TestAnEventThatIsNotAcknowledgedInTimeComesAgain(t *testing.T) {
	t.Parallel()
	c, l := start(t), &listener{}
	c.s.Ladder(200*time.Millisecond, 10*time.Millisecond, 10*time.Millisecond)
	connect(t, c, l)
	l.fail.Store(1)
	_, ev := c.s.Say(Say{App: rig, Chat: direct, From: anna, Text: "answered with an error"})
	if !c.s.Wait(patience, func() bool { return acked(c, ev) }) || attempts(c, ev) != 2 {
		t.Errorf("%+v", c.s.Deliveries())
	}
	l.slow.Store(int64(time.Second))
	_, ev = c.s.Say(Say{App: rig, Chat: direct, From: anna, Text: "answered late"})
	if !c.s.Wait(patience, func() bool { return attempts(c, ev) == 3 }) || acked(c, ev) {
		t.Errorf("%+v", c.s.Deliveries())
	}
	l.slow.Store(0)
	// Without the rule nothing comes again.
	c.s.Without(RuleAck)
	l.fail.Store(1)
	before := l.heard()
	_, ev = c.s.Say(Say{App: rig, Chat: direct, From: anna, Text: "once"})
	if !c.s.Wait(patience, func() bool { return l.heard() > before }) || attempts(c, ev) != 1 {
		t.Errorf("%+v", c.s.Deliveries())
	}
}

func TestAClickIsAnsweredInItsAcknowledgement(t *testing.T) {
	t.Parallel()
	c, l := start(t), &listener{}
	connect(t, c, l)
	id := field(c.post(direct, "interactive", sheet(false, md("a", "choose"), map[string]any{"tag": "button", "text": map[string]any{"tag": "plain_text", "content": "Yes"},
		"behaviors": []any{map[string]any{"type": "callback", "value": map[string]any{"choice": "yes"}}}})), "message_id")
	button := c.s.Shown(direct)[0].Buttons[0]
	got := c.s.Press(rig, id, anna, button.Value, nil)
	if !got.Answered || got.Code != 0 || got.Toast != "taken from "+anna || !got.Replaced || c.s.Shown(direct)[0].Text != "chose yes" {
		t.Errorf("%+v, %+v", got, c.s.Shown(direct)[0])
	}
	l.toast.Store("applause")
	if got := c.s.Press(rig, id, anna, button.Value, nil); got.Code != 200672 {
		t.Errorf("a toast of no known kind: %+v", got)
	}
	c.s.Without(RuleClick)
	if got := c.s.Press(rig, id, anna, button.Value, nil); got.Code != 0 {
		t.Errorf("switched off: %+v", got)
	}
	if got := c.s.Press(rig, id, anna, nil, nil); got.Code != 200340 {
		t.Errorf("a button without a value: %+v", got)
	}
	c.s.Disconnect(rig)
	c.s.Ladder(50 * time.Millisecond)
	if !c.s.Wait(patience, func() bool { return c.s.Connections(rig) == 0 }) {
		t.Fatal("still connected")
	}
	if got := c.s.Press(rig, id, anna, button.Value, nil); got.Code != 200341 {
		t.Errorf("nobody there: %+v", got)
	}
}

func TestAConnectionCanBeHalfOpen(t *testing.T) {
	t.Parallel()
	c, l := start(t), &listener{}
	c.s.Ladder(100*time.Millisecond, time.Hour)
	connect(t, c, l)
	for _, m := range []Mood{HalfOpen, Deafened} {
		c.s.Turn(rig, m)
		_, ev := c.s.Say(Say{App: rig, Chat: direct, From: anna, Text: "into the void"})
		if !c.s.Wait(patience, func() bool { return attempts(c, ev) == 1 && c.s.Deliveries()[len(c.s.Deliveries())-1].Error != "" }) || l.heard() != 0 {
			t.Errorf("%v: heard %d, %+v", m, l.heard(), c.s.Deliveries())
		}
	}
	c.s.Turn(rig, Well)
	for _, d := range c.s.Deliveries() {
		c.s.PushAgain(d.ID)
	}
	if !c.s.Wait(patience, func() bool { return l.heard() == 2 }) {
		t.Errorf("heard %d", l.heard())
	}
}

func TestAWebhookIsSealedAndSigned(t *testing.T) {
	t.Parallel()
	c, l := start(t), &listener{}
	hook := httptest.NewServer(http.HandlerFunc(httpserverext.NewEventHandlerFunc(l.events("verify", "encrypt-key"))))
	t.Cleanup(hook.Close)
	c.s.SetWebhook(rig, hook.URL, "encrypt-key", "verify")
	if err := c.s.Challenge(rig); err != nil {
		t.Error(err)
	}
	_, ev := c.s.Say(Say{App: rig, Chat: direct, From: anna, Text: "hello"})
	if !c.s.Wait(patience, func() bool { return acked(c, ev) }) || l.heard() != 1 {
		t.Errorf("%+v", c.s.Deliveries())
	}
	body, _ := json.Marshal(map[string]any{"schema": "2.0", "header": map[string]any{"event_type": "im.message.receive_v1", "token": "verify"}, "event": map[string]any{}})
	for name, f := range map[string]Forged{
		"plain": {Body: body, Plain: true, Signature: "none"}, "another key": {Body: body, Key: "other"}, "a wrong signature": {Body: body, Signature: "00"},
	} {
		if status, _, err := c.s.Forge(rig, f); err != nil || status == http.StatusOK {
			t.Errorf("%s: %d, %v", name, status, err)
		}
	}
}

func TestTheRealSDKSendsAndIsRefusedWithTheServicesCodes(t *testing.T) {
	t.Parallel()
	c := start(t)
	cli := sdk.NewClient(rig, secret, sdk.WithOpenBaseUrl(c.s.URL), sdk.WithLogLevel(larkcore.LogLevelError))
	send := func(chat, text string) *larkim.CreateMessageResp {
		t.Helper()
		content, _ := json.Marshal(map[string]string{"text": text})
		r, err := cli.Im.Message.Create(t.Context(), larkim.NewCreateMessageReqBuilder().ReceiveIdType("chat_id").
			Body(larkim.NewCreateMessageReqBodyBuilder().ReceiveId(chat).MsgType("text").Content(string(content)).Build()).Build())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := send(direct, "hello"); !r.Success() || c.s.Shown(direct)[0].Text != "hello" {
		t.Errorf("%+v", r)
	}
	if r := send("oc_nowhere", "hello"); r.Code != 230001 {
		t.Errorf("%+v", r)
	}
	// A token that was revoked is not fetched anew by the SDK.
	c.s.RevokeTokens(rig)
	if r := send(direct, "again"); r.Code != 99991663 {
		t.Errorf("%+v", r)
	}
}

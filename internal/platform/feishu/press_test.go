package feishu

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
	sim "cligate/internal/sim/feishu"
)

// desk takes what an adapter receives, and answers presses.
type desk struct {
	mu   sync.Mutex
	took []chat.Message
	ack  func(m chat.Message) chat.Ack
}

func (d *desk) Receive(_ context.Context, b platform.Batch) ([]chat.Ack, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	acks := make([]chat.Ack, len(b.Messages))
	for i, m := range b.Messages {
		if m.Kind == chat.KindClick && d.ack != nil {
			acks[i] = d.ack(m)
		}
	}
	d.took = append(d.took, b.Messages...)
	return acks, nil
}

func (d *desk) Cursor(context.Context, string) (string, error) { return "", nil }

func (d *desk) all() []chat.Message {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.took)
}

// running is an adapter that receives until the test ends.
func running(t *testing.T, s *sim.Server, d *desk) *Adapter {
	t.Helper()
	a := adapter(t, s, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx, d) }() // ends with ctx
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	connected(t, s, 1)
	return a
}

// choices is a form of three questions.
func choices() *chat.Form {
	return &chat.Form{
		Fields: []chat.Field{
			{Name: "q0", Label: "1. Color [x](y)", Hint: "Choose one", Options: []string{"Red", "Blue"}, Values: []string{"1"}},
			{Name: "w0", Hint: "Or in your own words"},
			{Name: "q1", Label: "2. Sizes", Hint: "Choose any", Options: []string{"S", "M", "L"}, Multi: true, Values: []string{"0", "2"}},
			{Name: "w2", Label: "3. Name", Hint: "Your answer", Values: []string{"Rosa"}},
		},
		Send: []chat.Button{{Label: "Send", Data: "ask:7:form", Style: "primary"}}, Whole: true,
	}
}

func asked(f *chat.Form, rows ...[]chat.Button) chat.Part {
	ps := form{}.render(chat.Reply{Kind: chat.ReplyAsk, Markdown: "Please say:", Buttons: rows, Form: f})
	return ps[len(ps)-1]
}

func TestQuestionsAreOneFormWithOneButton(t *testing.T) {
	t.Parallel()
	s := service(t)
	_, err := sender(t, s).send(t.Context(), row("a", asked(choices(), []chat.Button{{Label: "1: Red", Data: "ask:7:0:0"}})))
	must(t, err)
	var got []string
	for _, c := range s.Shown(direct)[0].Buttons {
		got = append(got, fmt.Sprintf("%s %s %s %v %v", c.Tag, c.Name, c.Label, c.Labels, c.Filled))
	}
	want := []string{
		"select_static q0 Choose one [Red Blue] 1", "input w0 Or in your own words [] ",
		"multi_select_static q1 Choose any [S M L] [0 2]", "input w2 Your answer [] Rosa", "button send0 Send [] <nil>",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestAnApprovalHasItsButtonsAndAReason(t *testing.T) {
	t.Parallel()
	s := service(t)
	f := &chat.Form{Fields: []chat.Field{{Name: "why", Hint: "Reason"}}, Send: []chat.Button{{Label: "Deny with this reason", Data: "ask:7:why", Style: "danger"}}}
	_, err := sender(t, s).send(t.Context(), row("a", asked(f, []chat.Button{{Label: "Allow", Data: "ask:7:0"}}, []chat.Button{{Label: "Deny", Data: "ask:7:1"}})))
	must(t, err)
	var got []string
	for _, c := range s.Shown(direct)[0].Buttons {
		got = append(got, c.Form+"/"+c.Label)
	}
	if !slices.Equal(got, []string{"/Allow", "/Deny", "form/Reason", "form/Deny with this reason"}) {
		t.Errorf("%q", got)
	}
}

func TestAFormThatIsRefusedBecomesButtons(t *testing.T) {
	t.Parallel()
	s := service(t)
	s.Fail(sim.Fault{Kind: sim.Refuse, Method: "message.create", Times: 1, Code: 230099, Text: "ext=ErrCode: 200621; ErrMsg: x;"})
	_, err := sender(t, s).send(t.Context(), row("a", asked(choices(), []chat.Button{{Label: "1: Red", Data: "ask:7:0:0"}})))
	must(t, err)
	seen := s.Shown(direct)
	if len(seen) != 1 || len(seen[0].Buttons) != 1 || seen[0].Buttons[0].Label != "1: Red" {
		t.Errorf("%+v", seen)
	}
}

// Whatever an agent asks, the card is one that the service takes.
func TestAFormOfAnySizeIsTaken(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("很长的选项 \"<&>\" ", 12)
	for name, n := range map[string]struct{ fields, options int }{"many questions": {60, 4}, "many options": {2, 300}, "one of each": {1, 1}, "long ones": {8, 8}} {
		f := &chat.Form{Send: []chat.Button{{Label: long, Data: "ask:7:form"}}, Whole: true}
		var rows [][]chat.Button
		for i := range n.fields {
			x := chat.Field{Name: fmt.Sprint("q", i), Label: long, Hint: long}
			for k := range n.options {
				x.Options = append(x.Options, long)
				rows = append(rows, []chat.Button{{Label: long, Data: fmt.Sprintf("ask:7:%d:%d", i, k)}})
			}
			f.Fields = append(f.Fields, x)
		}
		s := service(t)
		p := form{}.render(chat.Reply{Kind: chat.ReplyAsk, Markdown: strings.Repeat("字", 3000), Buttons: rows, Form: f})
		if _, err := sender(t, s).send(t.Context(), row("a", p[len(p)-1])); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if seen := s.Shown(direct)[0]; seen.Type != "interactive" || len(seen.Buttons) == 0 {
			t.Errorf("%s: %s, %d", name, seen.Type, len(seen.Buttons))
		}
	}
}

func TestAFormComesBackAsItWasFilledIn(t *testing.T) {
	t.Parallel()
	s := service(t)
	d := &desk{ack: func(chat.Message) chat.Ack {
		return chat.Ack{Toast: "Answered", Follows: true, Replace: &chat.Reply{Kind: chat.ReplyAsk, Markdown: "Answered by Anna"}}
	}}
	a := running(t, s, d)
	ref, err := a.Send(t.Context(), row("a", asked(choices())))
	must(t, err)
	click, err := s.Submit(appID, ref.ID, anna, "Send", map[string]any{"q0": "0", "q1": []string{"1"}, "w0": "两行\n第二行", "w2": ""})
	must(t, err)
	if click.Code != 0 || click.Toast != "Answered" || click.Kind != "success" || !click.Replaced {
		t.Errorf("%+v", click)
	}
	if seen := s.Shown(direct)[0]; seen.Text != "Answered by Anna" || len(seen.Buttons) != 0 {
		t.Errorf("%+v", seen)
	}
	m := d.all()[len(d.all())-1]
	want := map[string][]string{"q0": {"0"}, "q1": {"1"}, "w0": {"两行\n第二行"}, "w2": {}}
	if m.Kind != chat.KindClick || m.Data != "ask:7:form" || fmt.Sprint(m.Form) != fmt.Sprint(want) || m.Sender.Name != "Anna" || !m.Place.Direct {
		t.Errorf("%+v", m)
	}
}

func TestOddFormsAreHarmless(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 10_000)
	many := map[string]any{}
	for i := range 500 {
		many[fmt.Sprint("f", i)] = "x"
	}
	for name, c := range map[string]struct {
		in   any
		want string
	}{
		"none":           {nil, "map[]"},
		"nothing chosen": {map[string]any{"q0": nil, "q1": []any{}, "w0": ""}, "map[q0:[] q1:[] w0:[]]"},
		"other kinds":    {map[string]any{"a": 7, "b": true, "c": map[string]any{"x": 1}, "d": []any{1, "s", nil}}, "map[d:[s]]"},
	} {
		raw, _ := json.Marshal(map[string]any{"header": map[string]any{"event_id": "e", "event_type": eventClick}, "event": map[string]any{
			"operator": map[string]any{"open_id": anna}, "action": map[string]any{"value": map[string]any{"data": "ask:1:form"}, "form_value": c.in},
			"context": map[string]any{"open_message_id": "om_1", "open_chat_id": "oc_1"}}})
		if got := taking(t, reader(), raw); !got.ok || fmt.Sprint(got.msg.Form) != c.want {
			t.Errorf("%s: %v", name, got.msg.Form)
		}
	}
	if got := fields(map[string]any{"w": big}); len([]rune(got["w"][0])) > maxValue {
		t.Error("too long a value")
	}
	if got := fields(many); len(got) > maxFields {
		t.Errorf("%d fields", len(got))
	}
}

// The service, asked for the name and the kind of chat, may be slow.
func TestAPressIsAnsweredWithinASecondWhateverIsNotKnown(t *testing.T) {
	t.Parallel()
	s := service(t)
	d := &desk{ack: func(chat.Message) chat.Ack { return chat.Ack{Toast: "OK"} }}
	a := running(t, s, d)
	ref, err := a.Send(t.Context(), row("a", asked(nil, []chat.Button{{Label: "Allow", Data: "ask:7:0"}})))
	must(t, err)
	for _, method := range []string{"user.get", "chat.get"} {
		s.Fail(sim.Fault{Kind: sim.Hang, Method: method, Times: 5})
	}
	best := time.Minute // of several: the machine may be busy
	for range 3 {
		click := s.Press(appID, ref.ID, anna, map[string]any{"data": "ask:7:0"}, nil)
		if click.Code != 0 || click.Toast != "OK" {
			t.Errorf("%+v", click)
		}
		best = min(best, click.Took)
	}
	if best > time.Second {
		t.Errorf("answered after %s", best)
	}
}

func TestADirectChatThatIsOpenedIsTheSameEventForEver(t *testing.T) {
	t.Parallel()
	s, d := service(t), &desk{}
	running(t, s, d)
	for range 2 {
		_, id := s.Enter(appID, anna)
		if !s.Wait(patience, func() bool { return delivery(s, id).Acked }) {
			t.Fatal("not acknowledged")
		}
	}
	var keys []string
	for _, m := range d.all() {
		if m.Kind == chat.KindJoined {
			keys = append(keys, m.Key)
			if !m.Place.Direct || m.Place.Chat != direct || m.Sender.ID != anna {
				t.Errorf("%+v", m)
			}
		}
	}
	if len(keys) != 2 || keys[0] != keys[1] {
		t.Errorf("%q", keys)
	}
}

func TestTheMenuReachesSomebodyWhoseChatIsNotKnown(t *testing.T) {
	t.Parallel()
	const ben = "ou_ben"
	s, d := service(t), &desk{}
	s.AddPerson(ben, "Ben")
	a := running(t, s, d)
	id := s.Choose(appID, ben, "status")
	if !s.Wait(patience, func() bool { return delivery(s, id).Acked }) {
		t.Fatal("not acknowledged")
	}
	m := d.all()[0]
	if m.Kind != chat.KindText || m.Text != "/status" || m.Place.Chat != ben || !m.Place.Direct || m.Sender.Name != "Ben" {
		t.Fatalf("%+v", m)
	}
	o := row("answer", asked(nil, []chat.Button{{Label: "Stop", Data: "stop:1"}}))
	o.Place = m.Place
	ref, err := a.Send(t.Context(), o)
	must(t, err)
	if click := s.Press(appID, ref.ID, ben, map[string]any{"data": "stop:1"}, nil); click.Code != 0 {
		t.Errorf("%+v", click)
	}
	at, id := s.Enter(appID, ben) // the chat that the answer made
	if got := texts(s, at); !slices.Equal(got, []string{"Please say:"}) {
		t.Errorf("%q", got)
	}
	if !s.Wait(patience, func() bool { return delivery(s, id).Acked }) {
		t.Fatal("not acknowledged")
	}
	if got := d.all(); len(got) != 4 || got[1].Kind != chat.KindMoved || got[1].Place.Chat != ben || got[1].Moved.Chat != at ||
		got[2].Kind != chat.KindClick || got[2].Place.Chat != at || got[3].Kind != chat.KindJoined {
		t.Errorf("%+v", got[1:])
	}
	id = s.Choose(appID, ben, "/new")
	if !s.Wait(patience, func() bool { return delivery(s, id).Acked }) {
		t.Fatal("not acknowledged")
	}
	got := d.all()
	if m := got[len(got)-1]; m.Text != "/new" || m.Place.Chat != at {
		t.Errorf("%+v", m)
	}
}

func TestWhoTakesTheBotInAndOutIsTold(t *testing.T) {
	t.Parallel()
	s, d := service(t), &desk{}
	s.AddChat("oc_team", sim.Group, "Team", nil, anna)
	running(t, s, d)
	for _, id := range []string{s.Invite(appID, "oc_team", anna), s.Expel(appID, "oc_team", anna)} {
		if !s.Wait(patience, func() bool { return delivery(s, id).Acked }) {
			t.Fatal("not acknowledged")
		}
	}
	got := d.all()
	slices.SortFunc(got, func(a, b chat.Message) int { return strings.Compare(string(a.Kind), string(b.Kind)) })
	if len(got) != 2 || got[0].Kind != chat.KindJoined || got[0].Place.Title != "Team" || got[1].Kind != chat.KindLeft || got[1].Place.Direct || got[1].Sender.ID != anna {
		t.Errorf("%+v", got)
	}
}

package telegram

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/platform"
	fakebot "cligate/internal/sim/telegram"
)

const (
	ann    = int64(11)
	ben    = int64(22)
	team   = int64(-500)
	forum  = int64(-1000000000001)
	oldOne = int64(-600)
	newOne = int64(-1000000000002)
)

// strict starts a strict Bot API server with some chats and an adapter for it.
func strict(t *testing.T, cfg Config) (*Adapter, *fakebot.Server, *logged) {
	t.Helper()
	srv := strictServer(t)
	cfg.APIURL = srv.URL
	a, log := open(t, cfg)
	return a, srv, log
}

func strictServer(t *testing.T) *fakebot.Server {
	t.Helper()
	srv, err := fakebot.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	srv.AddBot(testToken, botName, false)
	srv.AddChat(ann, fakebot.Private, "Ann")
	srv.AddChat(ben, fakebot.Private, "Ben")
	srv.AddChat(team, fakebot.Group, "Team")
	srv.AddChat(oldOne, fakebot.Group, "Old")
	srv.AddChat(forum, fakebot.Supergroup, "Forum")
	srv.AddTopic(forum, 77)
	return srv
}

func placeOf(chatID int64, thread string) chat.Place {
	p := outTo(ref(chatID, 1).Chat, chat.OpPost, chat.Part{}).Place
	p.Thread = thread
	if chatID <= firstSupergroup {
		p.Space = p.Chat
	}
	return p
}

func postTo(p chat.Place, part chat.Part) chat.Out {
	return chat.Out{Key: "key", Op: chat.OpPost, Place: p, Part: part}
}

func TestEveryKindOfMessageStaysInItsTopic(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{})
	button := [][]chat.Button{{{Label: "Stop", Data: "stop:1"}}}
	for name, part := range map[string]chat.Part{
		"text":    {Text: "text"},
		"rich":    a.Render(richly(tableAnswer))[0],
		"buttons": {Text: "buttons", Buttons: button},
		"file":    {File: &chat.OutFile{Name: "a.txt", Body: []byte("a")}},
		"reply":   {Text: "reply", ReplyTo: chat.Ref{ID: "11", Chat: placeOf(forum, "").Chat}},
	} {
		for _, thread := range []string{"77", "", "1"} { // 1 is General
			r, err := a.Send(t.Context(), postTo(placeOf(forum, thread), part))
			if err != nil {
				t.Fatalf("%s to topic %q: %v", name, thread, err)
			}
			ms := srv.Messages(testToken, forum)
			i := slices.IndexFunc(ms, func(m fakebot.Message) bool { return m.ID == r.Num })
			want := int64(0)
			if thread == "77" {
				want = 77
			}
			if i < 0 || ms[i].Thread != want {
				t.Errorf("%s for topic %q is in topic %d", name, thread, ms[i].Thread)
			}
		}
	}
	if err := a.Signal(t.Context(), placeOf(forum, "77"), chat.Ref{}, chat.Signal{Kind: chat.SignalTyping}); err != nil {
		t.Error(err)
	}
	calls := srv.Calls()
	if c := calls[len(calls)-1]; c.Method != "sendChatAction" || c.Params["message_thread_id"] != "77" {
		t.Errorf("typing went to %v", c.Params)
	}
}

func TestADeletedTopicIsSaidAndNothingIsSentElsewhere(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{})
	srv.SetTopic(forum, 77, false, true)
	_, err := a.Send(t.Context(), postTo(placeOf(forum, "77"), chat.Part{Text: "x"}))
	if chat.CodeOf(err) != chat.Vanished || !strings.Contains(i18n.Detail("en", err), "topic") {
		t.Errorf("got %v", err)
	}
	if n := len(srv.Visible(testToken, forum)); n != 0 {
		t.Errorf("%d messages appeared elsewhere", n)
	}
}

func TestAMessageThatMissesItsPrivateTopicIsTakenBack(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{}) // this server ignores topics of private chats
	_, err := a.Send(t.Context(), postTo(placeOf(ann, "9"), chat.Part{Text: "secret of another topic"}))
	if chat.CodeOf(err) != chat.Vanished {
		t.Errorf("got %v", err)
	}
	if n := len(srv.Visible(testToken, ann)); n != 0 {
		t.Error("the message stays in the wrong place")
	}
}

func TestAnEditOfAnEqualTextIsASuccess(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{})
	p := placeOf(ann, "")
	r, err := a.Send(t.Context(), postTo(p, chat.Part{Text: "one", Buttons: [][]chat.Button{{{Label: "Stop", Data: "stop:1"}}}}))
	if err != nil {
		t.Fatal(err)
	}
	o := chat.Out{Op: chat.OpEdit, Place: p, Target: r, Part: chat.Part{Text: "two", Buttons: [][]chat.Button{{{Label: "Stop", Data: "stop:1"}}}}}
	for range 2 {
		if got, err := a.Send(t.Context(), o); err != nil || got != r {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	o.Op, o.Part = chat.OpFinish, chat.Part{Text: "two"}
	if _, err := a.Send(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	m := srv.Visible(testToken, ann)[0]
	if m.Text != "two" || len(m.Buttons) != 0 {
		t.Errorf("message %+v", m)
	}
	o.Op = chat.OpRemove
	for range 2 {
		if _, err := a.Send(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	o.Op = chat.OpEdit
	if _, err := a.Send(t.Context(), o); chat.CodeOf(err) != chat.Gone {
		t.Errorf("editing a removed message: %v", err)
	}
}

func TestTheCaptionOfAFileCanBeEdited(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{})
	p := placeOf(ann, "")
	r, err := a.Send(t.Context(), postTo(p, chat.Part{Text: "one", File: &chat.OutFile{Name: "a.md", Body: []byte("a")}}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Send(t.Context(), chat.Out{Op: chat.OpEdit, Place: p, Target: r, Part: chat.Part{Text: "two"}}); err != nil {
		t.Fatal(err)
	}
	if m := srv.Visible(testToken, ann)[0]; m.Text != "two" {
		t.Errorf("caption %q", m.Text)
	}
}

func TestAReplyToADeletedMessageIsStillSent(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{})
	if _, err := a.Send(t.Context(), postTo(placeOf(ann, ""), chat.Part{Text: "x", ReplyTo: chat.Ref{ID: "99999", Chat: "11"}})); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Send(t.Context(), postTo(placeOf(ann, ""), chat.Part{Text: "y", ReplyTo: chat.Ref{ID: "5", Chat: "22"}})); err != nil {
		t.Fatal(err)
	}
	calls := srv.Calls()
	if p := calls[len(calls)-1].Params["reply_parameters"]; p != "" {
		t.Errorf("a message of another chat is replied to: %s", p)
	}
}

func TestATextThatNoMessageHoldsBecomesAFile(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{})
	long := strings.Repeat("word ", 1000)
	r, err := a.Send(t.Context(), postTo(placeOf(ann, ""), chat.Part{Text: long, Buttons: [][]chat.Button{{{Label: "Go", Data: "go:1"}}}}))
	if err != nil {
		t.Fatal(err)
	}
	m := srv.Visible(testToken, ann)[0]
	if m.ID != r.Num || string(m.FileBody) != long || len(m.Buttons) != 1 {
		t.Errorf("message %+v", m)
	}
}

func TestRefusedButtonsDoNotTakeTheTextWithThem(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{})
	bad := [][]chat.Button{{{Label: "Go", Data: strings.Repeat("x", 65)}}}
	r, err := a.Send(t.Context(), postTo(placeOf(ann, ""), chat.Part{Text: "words", Buttons: bad}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Send(t.Context(), chat.Out{Op: chat.OpEdit, Place: placeOf(ann, ""), Target: r, Part: chat.Part{Text: "more", Buttons: bad}}); err != nil {
		t.Fatal(err)
	}
	if m := srv.Visible(testToken, ann)[0]; m.Text != "more" {
		t.Errorf("message %+v", m)
	}
}

func TestAGroupWithANewIDIsToldAndNothingIsSent(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{})
	srv.Migrate(testToken, oldOne, newOne)
	p := placeOf(oldOne, "")
	_, err := a.Send(t.Context(), postTo(p, chat.Part{Text: "hello"}))
	var e *chat.Error
	want := placeOf(newOne, "")
	if !asError(err, &e) || e.Code != chat.Moved || e.To == nil || e.To.Chat != want.Chat || e.To.Space != want.Chat {
		t.Fatalf("%+v", err)
	}
	o := postTo(p, chat.Part{Text: "hello"})
	o.Unsure = &chat.Unsure{Since: 100}
	if _, err := a.Send(t.Context(), o); chat.CodeOf(err) != chat.Moved {
		t.Errorf("a doubtful message: %v", err)
	}
	if n := len(srv.Visible(testToken, newOne)) + len(srv.Visible(testToken, oldOne)); n != 0 {
		t.Errorf("%d messages", n)
	}
}

func TestABlockedChatIsParked(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{})
	srv.Block(testToken, ann, true)
	if _, err := a.Send(t.Context(), postTo(placeOf(ann, ""), chat.Part{Text: "x"})); chat.CodeOf(err) != chat.Park {
		t.Errorf("got %v", err)
	}
	if _, err := a.Send(t.Context(), postTo(placeOf(424242, ""), chat.Part{Text: "x"})); chat.CodeOf(err) != chat.Park {
		t.Errorf("unknown chat: %v", err)
	}
}

func TestToldToWait(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{})
	srv.Fail(fakebot.Fault{Kind: fakebot.TooMany, Method: "sendDocument", After: 33, Times: 1})
	_, err := a.Send(t.Context(), postTo(placeOf(ann, ""), chat.Part{File: &chat.OutFile{Name: "a", Body: []byte("a")}}))
	var e *chat.Error
	if !asError(err, &e) || e.Code != chat.Wait || e.After != 33*time.Second {
		t.Errorf("an upload told to wait: %v", err)
	}
	// Signs of life keep quiet meanwhile.
	n := len(srv.Calls())
	if err := a.Signal(t.Context(), placeOf(ann, ""), chat.Ref{}, chat.Signal{Kind: chat.SignalTyping}); err != nil || len(srv.Calls()) != n {
		t.Errorf("typing during a told wait: %v", err)
	}
}

func TestBudgetsAreKeptUnlessTheServerHasNone(t *testing.T) {
	t.Parallel()
	for _, unpaced := range []bool{false, true} {
		a, err := Open(Config{Account: "bot", Token: "1:a", Unpaced: unpaced}, nil)
		if err != nil {
			t.Fatal(err)
		}
		tr := a.Traits()
		for name, r := range map[string]platform.Rate{"chat": tr.PerChat, "group": tr.PerGroup, "account": tr.PerAccount} {
			if free := r.Every == 0; free != unpaced {
				t.Errorf("unpaced %v: budget of a %s is %+v", unpaced, name, r)
			}
		}
	}
}

package telegram

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
	fakebot "cligate/internal/sim/telegram"
)

const patience = 10 * time.Second

func TestAPressIsAnsweredAfterItIsStored(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{PollTimeout: time.Second})
	r, err := a.Send(t.Context(), postTo(placeOf(ann, ""), chat.Part{Text: "allow?", Buttons: [][]chat.Button{{{Label: "Yes", Data: "ask:1:0"}}}}))
	if err != nil {
		t.Fatal(err)
	}
	in := newInbox()
	in.ack = chat.Ack{Toast: strings.Repeat("好", 300), Alert: true, Replace: &chat.Reply{Kind: chat.ReplyAsk, Markdown: "allowed by **Ann**"}}
	start(t, a, in)
	q := srv.Click(testToken, ann, r.Num, ann, "ask:1:0")
	if !srv.Wait(patience, func() bool { return srv.Answered(testToken, q) }) {
		t.Fatal("the press is not answered")
	}
	<-in.took
	if !srv.Wait(patience, func() bool {
		m := srv.Visible(testToken, ann)[0]
		return m.Text == "allowed by Ann" && len(m.Buttons) == 0
	}) {
		t.Errorf("the message is still %+v", srv.Visible(testToken, ann)[0])
	}
	for _, c := range srv.Calls() {
		if c.Method == "answerCallbackQuery" && (len([]rune(c.Params["text"])) != maxToast || c.Params["show_alert"] != "true") {
			t.Errorf("answered with %d runes, %v", len([]rune(c.Params["text"])), c.Params["show_alert"])
		}
	}
}

func TestAPressThatIsNotStoredIsNotAnswered(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{PollTimeout: time.Second})
	in := newInbox()
	release := make(chan struct{})
	in.fail = func(int) error {
		select {
		case <-release:
			return nil
		default:
			return chat.E(chat.Unavailable, "disk full", nil)
		}
	}
	start(t, a, in)
	q := srv.Click(testToken, ann, 1, ann, "x:1")
	if !srv.Wait(patience, func() bool { in.mu.Lock(); defer in.mu.Unlock(); return in.calls > 0 }) {
		t.Fatal("nothing was handed on")
	}
	if srv.Answered(testToken, q) || srv.Pending(testToken) == 0 {
		t.Error("acknowledged before it was stored")
	}
	close(release)
	if !srv.Wait(patience, func() bool { return srv.Answered(testToken, q) && srv.Pending(testToken) == 0 }) {
		t.Error("not acknowledged after it was stored")
	}
}

func TestAPressThatMeansNothingIsAnsweredToo(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{PollTimeout: time.Second})
	start(t, a, newInbox())
	q := srv.Click(testToken, 31337, 1, ann, "x:1") // a chat the server does not know: no message in the query
	if !srv.Wait(patience, func() bool { return srv.Answered(testToken, q) }) {
		t.Error("the client is left waiting")
	}
}

func TestMessagesOfAPausedDaemonComeInOrderAndOnce(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{PollTimeout: time.Second})
	in := newInbox()
	stop := start(t, a, in)
	srv.Say(testToken, fakebot.Say{Chat: ann, Text: "one"})
	srv.Wait(patience, func() bool { return len(in.texts()) == 1 })
	_ = stop()
	for _, s := range []string{"two", "three", "four"} {
		srv.Say(testToken, fakebot.Say{Chat: ann, Text: s})
	}
	b, _ := open(t, Config{APIURL: srv.URL, PollTimeout: time.Second})
	start(t, b, in)
	if !srv.Wait(patience, func() bool { return len(in.texts()) >= 4 }) {
		t.Fatalf("got %q", in.texts())
	}
	if got := in.texts(); !slices.Equal(got, []string{"one", "two", "three", "four"}) {
		t.Errorf("got %q", got)
	}
}

func TestTwoProgramsOnOneTokenAreNoticed(t *testing.T) {
	t.Parallel()
	alarm := make(chan string, 100)
	a, srv, _ := strict(t, Config{Alarm: func(d string, _ bool) { alarm <- d }})
	start(t, a, newInbox())
	if !srv.Wait(patience, func() bool { return a.Health().Connected }) {
		t.Fatal("not connected")
	}
	b, _ := open(t, Config{APIURL: srv.URL, Alarm: func(d string, _ bool) { alarm <- d }})
	start(t, b, newInbox())
	told := srv.Wait(patience, func() bool {
		srv.SetWebhook(testToken, false) // lets the server look at its waiting polls
		return len(alarm) > 0
	})
	if !told {
		t.Fatal("nobody was told")
	}
	if d := <-alarm; !strings.Contains(d, "another program") {
		t.Errorf("told %q", d)
	}
}

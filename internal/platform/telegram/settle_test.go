package telegram

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	fakebot "cligate/internal/sim/telegram"
)

// doubtful sends a post whose answer is lost, and returns the row as the
// sender would hand it in again. since is what was known before.
func doubtful(t *testing.T, a *Adapter, srv *fakebot.Server, kind fakebot.FaultKind, o chat.Out, since int64, known ...int64) chat.Out {
	t.Helper()
	method := "sendMessage"
	if o.Part.File != nil {
		method = "sendDocument"
	}
	f := srv.Fail(fakebot.Fault{Kind: kind, Method: method, Times: 1})
	if _, err := a.Send(t.Context(), o); chat.CodeOf(err) != chat.Uncertain {
		t.Fatalf("a lost answer: %v, want uncertain", err)
	}
	if srv.Used(f) != 1 {
		t.Fatal("the fault did not strike")
	}
	o.Unsure = &chat.Unsure{Since: since, Known: known}
	return o
}

// texts are the bot's visible messages of a chat.
func texts(srv *fakebot.Server, chatID int64) []string {
	var out []string
	for _, m := range srv.Visible(testToken, chatID) {
		s := m.Text
		if m.File != "" {
			s = m.File + ":" + s
		}
		out = append(out, s)
	}
	return out
}

func TestADoubtfulMessageEndsAsOneCopy(t *testing.T) {
	t.Parallel()
	bold := []byte(`[{"type":"bold","offset":0,"length":3}]`)
	button := [][]chat.Button{{{Label: "Yes", Data: "ask:1:0"}}}
	parts := map[string]chat.Part{
		"text":    {Text: "the answer"},
		"styled":  {Text: "the answer", Format: bold},
		"buttons": {Text: "the answer", Buttons: button},
		"file":    {Text: "caption", File: &chat.OutFile{Name: "a.md", Body: []byte("body")}},
		"no text": {File: &chat.OutFile{Name: "a.md", Body: []byte("body")}},
		"long":    {Text: longWords(5000)},
	}
	faults := []fakebot.FaultKind{fakebot.Lose, fakebot.CutBody, fakebot.Drop, fakebot.BadPage}
	for name, part := range parts {
		for _, where := range []int64{ann, team, forum} {
			for _, fault := range faults {
				t.Run(fmt.Sprintf("%s/%d/%s", name, where, fault), func(t *testing.T) {
					t.Parallel()
					a, srv, _ := strict(t, Config{})
					since := srv.Say(testToken, fakebot.Say{Chat: where, From: ann, Text: "do it"})
					p := placeOf(where, "")
					if name == "long" && fault != fakebot.Drop && fault != fakebot.BadPage {
						return // what is refused at once cannot get lost
					}
					o := doubtful(t, a, srv, fault, postTo(p, part), since)
					// Others talk meanwhile; some of it is known to the ledger.
					known := srv.Say(testToken, fakebot.Say{Chat: where, From: ann, Text: "hello?"})
					srv.Say(testToken, fakebot.Say{Chat: where, From: ann, Text: "unseen"})
					o.Unsure.Known = []int64{known}
					r, err := a.Send(t.Context(), o)
					if err != nil {
						t.Fatal(err)
					}
					vis := srv.Visible(testToken, where)
					if len(vis) != 1 || vis[0].ID != r.Num {
						t.Fatalf("receipt %+v, visible %q", r, texts(srv, where))
					}
				})
			}
		}
	}
}

func longWords(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "abcdefg "[i%8]
	}
	return string(b)
}

func TestSettlingNeverTouchesWhatTheLedgerKnows(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{})
	since := srv.Say(testToken, fakebot.Say{Chat: ann, Text: "do it"})
	o := doubtful(t, a, srv, fakebot.Drop, postTo(placeOf(ann, ""), chat.Part{Text: "final"}), since)
	// Two messages of ours came in between, in this chat and in another one.
	one, err := a.Send(t.Context(), postTo(placeOf(ann, ""), chat.Part{Text: "progress"}))
	if err != nil {
		t.Fatal(err)
	}
	two, err := a.Send(t.Context(), postTo(placeOf(ben, ""), chat.Part{Text: "other chat"}))
	if err != nil {
		t.Fatal(err)
	}
	o.Unsure.Known = []int64{one.Num, two.Num}
	if _, err := a.Send(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if got := texts(srv, ann); !slices.Equal(got, []string{"progress", "final"}) {
		t.Errorf("chat has %q", got)
	}
	if got := texts(srv, ben); !slices.Equal(got, []string{"other chat"}) {
		t.Errorf("the other chat has %q", got)
	}
}

func TestAMessageThatNobodyKnowsIsNoSecondCopy(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]fakebot.FaultKind{"arrived": fakebot.Lose, "not arrived": fakebot.Drop} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, srv, _ := strict(t, Config{})
			since := srv.Say(testToken, fakebot.Say{Chat: ann, Text: "do it"})
			// A live message whose receipt was lost with the daemon.
			if _, err := a.Send(t.Context(), postTo(placeOf(ann, ""), chat.Part{Text: "working…"})); err != nil {
				t.Fatal(err)
			}
			o := doubtful(t, a, srv, fault, postTo(placeOf(ann, ""), chat.Part{Text: "final"}), since)
			if _, err := a.Send(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			if got := texts(srv, ann); !slices.Equal(got, []string{"final"}) {
				t.Errorf("chat has %q", got)
			}
		})
	}
}

func TestBeyondTheBoundTheDoubtIsSaid(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{SettleBound: 8})
	since := srv.Say(testToken, fakebot.Say{Chat: forum, From: ann, Text: "do it"})
	for range 12 {
		srv.Say(testToken, fakebot.Say{Chat: forum, From: ben, Text: "chatter that the bot does not see"})
	}
	o := doubtful(t, a, srv, fakebot.Lose, postTo(placeOf(forum, ""), chat.Part{Text: "final"}), since)
	o.Unsure.Known = []int64{srv.Say(testToken, fakebot.Say{Chat: forum, From: ann, Text: "seen"})}
	if _, err := a.Send(t.Context(), o); chat.CodeOf(err) != chat.Uncertain {
		t.Errorf("got %v, want uncertain", err)
	}
	if got := texts(srv, forum); len(got) != 1 {
		t.Errorf("chat has %q", got)
	}
}

func TestUnseenTalkDoesNotHideTheEarlierCopy(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{})
	since := srv.Say(testToken, fakebot.Say{Chat: forum, From: ann, Text: "do it"})
	for range 32 { // more than the bound, and the ledger knows of none
		srv.Say(testToken, fakebot.Say{Chat: forum, From: ben, Text: "chatter"})
	}
	o := doubtful(t, a, srv, fakebot.Lose, postTo(placeOf(forum, ""), chat.Part{Text: "final"}), since)
	r, err := a.Send(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	vis := srv.Visible(testToken, forum)
	if len(vis) != 1 || vis[0].ID != r.Num || vis[0].Text != "final" {
		t.Errorf("receipt %+v, visible %q", r, texts(srv, forum))
	}
}

func TestNothingKnownCannotBeSettled(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{})
	o := postTo(placeOf(ann, ""), chat.Part{Text: "x"})
	o.Unsure = &chat.Unsure{}
	if _, err := a.Send(t.Context(), o); chat.CodeOf(err) != chat.Uncertain {
		t.Errorf("got %v", err)
	}
	if len(srv.Calls()) != 0 {
		t.Error("calls were made")
	}
}

func TestTroubleWhileSettlingLeavesTheDoubt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault fakebot.Fault
		want  chat.Code
	}{
		"no connection": {fakebot.Fault{Kind: fakebot.Drop, Method: "editMessageText", Times: 1}, chat.Network},
		"a bad page":    {fakebot.Fault{Kind: fakebot.BadPage, Method: "editMessageText", Times: 1}, chat.Network},
		"lost again":    {fakebot.Fault{Kind: fakebot.Lose, Method: "sendMessage", Times: 1}, chat.Wait},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, srv, _ := strict(t, Config{})
			since := srv.Say(testToken, fakebot.Say{Chat: ann, Text: "do it"})
			o := doubtful(t, a, srv, fakebot.Drop, postTo(placeOf(ann, ""), chat.Part{Text: "final"}), since)
			srv.Fail(c.fault)
			if _, err := a.Send(t.Context(), o); chat.CodeOf(err) != c.want {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			srv.Heal()
			r, err := a.Send(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if vis := srv.Visible(testToken, ann); len(vis) != 1 || vis[0].ID != r.Num {
				t.Errorf("receipt %+v, visible %q", r, texts(srv, ann))
			}
		})
	}
}

func TestALongWaitDoesNotStartTheSearchAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		busy := true
		a, _ := offline(t, Config{SettleBound: 6}, func(method string, form url.Values) (int, string) {
			if method == "sendMessage" {
				return ok(`{"message_id":101,"chat":{"id":11}}`)
			}
			asked = append(asked, form.Get("message_id"))
			if busy && len(asked) == 3 {
				return 429, `{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":40}}`
			}
			return no(400, "Bad Request: message to edit not found")
		})
		o := postTo(placeOf(ann, ""), chat.Part{Text: "x"})
		o.Unsure = &chat.Unsure{Since: 100}
		_, err := a.Send(t.Context(), o)
		var e *chat.Error
		if !asError(err, &e) || e.Code != chat.Wait || e.After != 40*time.Second {
			t.Fatalf("got %v", err)
		}
		busy = false
		if r, err := a.Send(t.Context(), o); err != nil || r.Num != 101 {
			t.Fatalf("%+v, %v", r, err)
		}
		if want := []string{"101", "102", "103", "103", "104", "105", "106"}; !slices.Equal(asked, want) {
			t.Errorf("asked for %v, want %v", asked, want)
		}
	})
}

func TestAShortWaitIsSatOutWhileSettling(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{})
	since := srv.Say(testToken, fakebot.Say{Chat: ann, Text: "do it"})
	o := doubtful(t, a, srv, fakebot.Lose, postTo(placeOf(ann, ""), chat.Part{Text: "final"}), since)
	srv.Fail(fakebot.Fault{Kind: fakebot.TooMany, Method: "editMessageText", Times: 1, After: 1})
	began := time.Now()
	if _, err := a.Send(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d < time.Second {
		t.Errorf("came back after %v, told to wait 1 s", d)
	}
	if len(srv.Violations()) != 0 {
		t.Errorf("violations %v", srv.Violations())
	}
}

func TestARefusedFormSettlesTheDoubt(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{})
	srv.Say(testToken, fakebot.Say{Chat: ann, Text: "do it"})
	mine, err := a.Send(t.Context(), postTo(placeOf(ann, ""), chat.Part{Text: "an old one"}))
	if err != nil {
		t.Fatal(err)
	}
	o := postTo(placeOf(ann, ""), chat.Part{Text: "x", Format: []byte(`[{"type":"bold","offset":0,"length":9}]`)})
	o.Unsure = &chat.Unsure{Since: mine.Num - 1}
	if _, err := a.Send(t.Context(), o); chat.CodeOf(err) != chat.Degrade {
		t.Errorf("got %v", err)
	}
}

func TestWhichIDsAreCandidates(t *testing.T) {
	t.Parallel()
	seq := func(from, to int64) []int64 {
		var out []int64
		for n := from; n <= to; n++ {
			out = append(out, n)
		}
		return out
	}
	for name, c := range map[string]struct {
		u    chat.Unsure
		want []int64
		over bool
	}{
		"nothing since":     {chat.Unsure{Since: 100}, seq(101, 120), false},
		"known ones":        {chat.Unsure{Since: 100, Known: []int64{101, 103}}, append([]int64{102}, seq(104, 122)...), false},
		"many unknown":      {chat.Unsure{Since: 100, Known: []int64{118}}, append(seq(101, 117), seq(119, 123)...), false},
		"too many unknown":  {chat.Unsure{Since: 100, Known: []int64{130}}, seq(101, 120), true},
		"all known":         {chat.Unsure{Since: 100, Known: seq(101, 160)}, seq(161, 180), false},
		"no number at all":  {chat.Unsure{}, nil, false},
		"older than since":  {chat.Unsure{Since: 100, Known: []int64{3}}, seq(101, 120), false},
		"known, unordered":  {chat.Unsure{Since: 100, Known: []int64{103, 101, 102}}, seq(104, 123), false},
		"a huge known jump": {chat.Unsure{Since: 100, Known: []int64{1 << 60}}, seq(101, 120), true},
	} {
		got, over := candidates(c.u, 20)
		if !slices.Equal(got, c.want) || over != c.over {
			t.Errorf("%s: %v %v, want %v %v", name, got, over, c.want, c.over)
		}
	}
}

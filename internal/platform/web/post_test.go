package web

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/web/api"
)

func TestAMessageIsDurableWhenItIsAnswered(t *testing.T) {
	t.Parallel()
	h := open(t)
	taken := h.say(key(1), "remember the word plum")
	ins, err := h.db.Inbox().Unrouted(t.Context(), 10)
	if err != nil || len(ins) != 1 {
		t.Fatalf("stored %d messages (%v), want 1", len(ins), err)
	}
	in := ins[0]
	if in.ID != taken.Inbound || in.Text != "remember the word plum" || in.Sender != owner || !in.Addressed ||
		in.Place.Platform != "web" || !in.Place.Direct || in.Place.Chat != room || in.Ref.ID != key(1) {
		t.Errorf("stored as %+v", in)
	}
}

func TestTheSameKeyIsOneMessage(t *testing.T) {
	t.Parallel()
	h := open(t)
	var wg sync.WaitGroup
	fresh := make(chan bool, 20)
	for range cap(fresh) {
		wg.Go(func() { fresh <- h.say(key(1), "once").Fresh })
	}
	wg.Wait()
	close(fresh)
	n := 0
	for f := range fresh {
		if f {
			n++
		}
	}
	h.restart()
	if h.say(key(1), "once").Fresh {
		t.Error("fresh again after a restart")
	}
	if n != 1 || len(h.lines().Lines) != 1 {
		t.Errorf("%d times fresh, %d lines; want 1 and 1", n, len(h.lines().Lines))
	}
}

func TestAKeyBelongsToItsChat(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.say(key(1), "here")
	other := call[api.Taken](h, "POST", at("other", "messages"), api.Post{Key: key(1), Text: "there"})
	if !other.Fresh {
		t.Error("a key of one chat hid a message of another")
	}
}

func TestBadRequestsAreRefusedAndNothingIsStored(t *testing.T) {
	t.Parallel()
	h := open(t)
	good := `"key":"` + key(1) + `"`
	for name, c := range map[string]struct {
		path, body string
		want       int
	}{
		"no JSON":                {at(room, "messages"), `hello`, 400},
		"empty body":             {at(room, "messages"), ``, 400},
		"a list":                 {at(room, "messages"), `[]`, 400},
		"two values":             {at(room, "messages"), `{` + good + `,"text":"a"}{}`, 400},
		"unknown field":          {at(room, "messages"), `{` + good + `,"text":"a","role":"owner"}`, 400},
		"claimed sender":         {at(room, "messages"), `{` + good + `,"text":"a","sender":{"id":"owner"}}`, 400},
		"no key":                 {at(room, "messages"), `{"text":"a"}`, 400},
		"short key":              {at(room, "messages"), `{"key":"a","text":"a"}`, 400},
		"key with a slash":       {at(room, "messages"), `{"key":"aaaa/bbbbb","text":"a"}`, 400},
		"no text":                {at(room, "messages"), `{` + good + `}`, 400},
		"blank text":             {at(room, "messages"), `{` + good + `,"text":" \n\t "}`, 400},
		"too long a text":        {at(room, "messages"), `{` + good + `,"text":"` + strings.Repeat("x", maxText+1) + `"}`, 413},
		"chat name upper case":   {at("ROOM", "messages"), `{` + good + `,"text":"a"}`, 400},
		"chat name with dots":    {at("a..b", "messages"), `{` + good + `,"text":"a"}`, 400},
		"chat name too long":     {at(strings.Repeat("a", 65), "messages"), `{` + good + `,"text":"a"}`, 400},
		"edit without a message": {at(room, "edits"), `{` + good + `,"text":"a"}`, 400},
		"withdraw nothing":       {at(room, "withdrawals"), `{` + good + `}`, 400},
		"click without data":     {at(room, "clicks"), `{` + good + `,"message":"m"}`, 400},
		"click with too much":    {at(room, "clicks"), `{` + good + `,"message":"m","data":"` + strings.Repeat("x", 65) + `"}`, 400},
		"click on nothing":       {at(room, "clicks"), `{` + good + `,"data":"stop:1"}`, 400},
	} {
		if got, body := h.do("POST", c.path, c.body); got != c.want {
			t.Errorf("%s: %d %s, want %d", name, got, body, c.want)
		}
	}
	for _, p := range []string{at(room, "lines?limit=0"), at(room, "lines?limit=x"), at(room, "lines?before=x"), at(room, "fates/x"), at(room, "files/x")} {
		if got, _ := h.do("GET", p, nil); got != 400 {
			t.Errorf("GET %s: %d, want 400", p, got)
		}
	}
	if n := len(h.gate.seen); n != 0 {
		t.Errorf("%d messages got in", n)
	}
}

func TestInvalidTextIsMadeValid(t *testing.T) {
	t.Parallel()
	h := open(t)
	if status, body := h.do("POST", at(room, "messages"), "{\"key\":\""+key(1)+"\",\"text\":\"a\xff\xfeb\"}"); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	if got := h.lines().Lines[0].Text; !strings.HasPrefix(got, "a") || !strings.HasSuffix(got, "b") {
		t.Errorf("text = %q", got)
	}
}

func TestNothingIsTakenWhileTheDaemonIsNotRunning(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.end()
	status, body := h.do("POST", at(room, "messages"), api.Post{Key: key(1), Text: "hello"})
	if status != http.StatusServiceUnavailable {
		t.Errorf("%d %s, want 503", status, body)
	}
	if len(h.lines().Lines) != 0 {
		t.Error("it was taken all the same")
	}
}

func TestTheEndWaitsForAMessageThatIsBeingTaken(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.gate.hold, h.gate.busy = make(chan struct{}), make(chan struct{}, 1)
	posted, closed := make(chan int, 1), make(chan struct{})
	go func() { // ends when the gate lets go
		status, _ := h.do("POST", at(room, "messages"), api.Post{Key: key(1), Text: "hello"})
		posted <- status
	}()
	<-h.gate.busy
	go func() { h.end(); close(closed) }() // ends with the message
	select {
	case <-closed:
		t.Fatal("closed while a message was being taken")
	default:
	}
	close(h.gate.hold)
	<-closed
	if got := <-posted; got != http.StatusOK {
		t.Errorf("status %d", got)
	}
}

func TestAClickReachesTheRowItWasMadeOn(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.say(key(1), "do it")
	ref := h.post(chat.Out{Key: "ask/7", Class: chat.OutAsk, Part: h.part(chat.ReplyAsk, "May I?", chat.Button{Label: "Yes", Data: "ask:7:0"})})
	h.gate.ack = func(chat.Message) chat.Ack {
		return chat.Ack{Toast: "allowed", Replace: &chat.Reply{Kind: chat.ReplyAsk, Markdown: "May I? **Yes**"}}
	}
	other := h.listen(h.lines().Cursor)
	other.until(api.EventReady)
	taken := call[api.Taken](h, "POST", at(room, "clicks"), api.Click{Key: key(2), Message: ref.ID, Data: "ask:7:0"})
	if taken.Toast != "allowed" || taken.Message == nil || taken.Message.ID != "ask/7" || len(taken.Message.Buttons) != 0 {
		t.Errorf("answer %+v", taken)
	}
	got := h.gate.seen[len(h.gate.seen)-1]
	if got.Kind != chat.KindClick || got.Data != "ask:7:0" || got.Ref.ID != ref.ID {
		t.Errorf("click arrived as %+v", got)
	}
	if m := other.message(); m.ID != "ask/7" || m.Text != "May I? **Yes**" || len(m.Buttons) != 0 {
		t.Errorf("the other browser sees %+v", m)
	}
	ls := h.lines().Lines
	if m := ls[len(ls)-1]; len(ls) != 2 || m.Text != "May I? **Yes**" || len(m.Buttons) != 0 {
		t.Errorf("a reload shows %+v", ls)
	}
}

func TestAClickCannotConjureAMessage(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.gate.ack = func(chat.Message) chat.Ack {
		return chat.Ack{Replace: &chat.Reply{Kind: chat.ReplyNotice, Markdown: "conjured"}}
	}
	call[api.Taken](h, "POST", at(room, "clicks"), api.Click{Key: key(2), Message: "made-up", Data: "ask:7:0"})
	if ls := h.lines().Lines; len(ls) != 0 {
		t.Errorf("a click on nothing made %+v", ls)
	}
}

func TestAReplyNamesWhatItRepliesTo(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.say(key(1), "do it")
	call[api.Taken](h, "POST", at(room, "messages"), api.Post{Key: key(2), Text: "allow", Reply: "ask/7"})
	call[api.Taken](h, "POST", at(room, "messages"), api.Post{Key: key(3), Text: "that", Reply: api.MineID(key(1))})
	if got := h.gate.seen; !got[0].Reply.Zero() || got[1].Reply.ID != "ask/7" || got[2].Reply.ID != key(1) {
		t.Errorf("replies to %v, %v, %v", got[0].Reply, got[1].Reply, got[2].Reply)
	}
}

func TestEditsAndWithdrawalsNameTheirMessage(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.say(key(1), "frist")
	call[api.Taken](h, "POST", at(room, "edits"), api.Post{Key: key(2), Message: key(1), Text: "first"})
	call[api.Taken](h, "POST", at(room, "withdrawals"), api.Post{Key: key(3), Message: key(1)})
	want := []struct {
		kind chat.MessageKind
		text string
	}{{chat.KindText, "frist"}, {chat.KindEdit, "first"}, {chat.KindRecall, ""}}
	for i, w := range want {
		if m := h.gate.seen[i]; m.Kind != w.kind || m.Text != w.text || m.Ref.ID != key(1) {
			t.Errorf("event %d is %+v, want %+v", i, m, w)
		}
	}
	if n := len(h.lines().Lines); n != 1 {
		t.Errorf("%d lines, want only the message itself", n)
	}
}

func TestAChatIsNamedAfterItsFirstWords(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.say(key(1), "/status")
	h.say(key(2), "fix the  tests\nand more")
	h.say(key(3), "thanks")
	h.restart()
	h.say(key(4), "again")
	call[api.Taken](h, "POST", at("other", "messages"), api.Post{Key: key(1), Text: strings.Repeat("长", 80)})
	list := call[api.ChatList](h, "GET", api.Chats, nil).Chats
	if len(list) != 2 || list[0].ID != "other" || list[1].ID != room {
		t.Fatalf("chats %+v, want the last used first", list)
	}
	if list[1].Title != "fix the  tests" || list[0].Title != strings.Repeat("长", 59)+"…" {
		t.Errorf("titles %q and %q", list[1].Title, list[0].Title)
	}
}

func TestAFileIsADownloadWhateverItIs(t *testing.T) {
	t.Parallel()
	h := open(t)
	p := h.part(chat.ReplyNotice, "here")
	p.File = &chat.OutFile{Name: "../../evil\"\r\n.html", Body: []byte("<script>alert(1)</script>")}
	h.say(key(1), "a file please")
	h.post(chat.Out{Key: "f/1", Class: chat.OutNotice, Part: p})
	ls := h.lines().Lines
	m := ls[len(ls)-1]
	if m.File == nil || m.File.Size != int64(len(p.File.Body)) {
		t.Fatalf("file %+v", m.File)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.srv.URL+m.File.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := h.srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.Header.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(resp.Header.Get("Content-Disposition"), "attachment") ||
		strings.Contains(resp.Header.Get("Content-Disposition"), "/") {
		t.Errorf("headers %v", resp.Header)
	}
	if status, _ := h.do("GET", strings.Replace(m.File.URL, room, "other", 1), nil); status != http.StatusNotFound {
		t.Errorf("the file of one chat is served in another: %d", status)
	}
}

func TestFateTellsWhenNothingMoreWillCome(t *testing.T) {
	t.Parallel()
	h := open(t)
	if status, _ := h.do("GET", at(room, "fates", key(1)), nil); status != http.StatusNotFound {
		t.Errorf("unknown message: %d, want 404", status)
	}
	taken := h.say(key(1), "/help")
	if f := call[api.Fate](h, "GET", at(room, "fates", key(1)), nil); f.Ended || f.State != chat.InboundNew {
		t.Errorf("a new message: %+v", f)
	}
	if err := h.db.Inbox().Settle(t.Context(), []int64{taken.Inbound}, chat.InboundDone, "", nil); err != nil {
		t.Fatal(err)
	}
	if f := call[api.Fate](h, "GET", at(room, "fates", key(1)), nil); !f.Ended {
		t.Errorf("a command that was carried out: %+v", f)
	}
}

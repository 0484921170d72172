package feishu

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
)

const bot = "ou_bot"

func reader() decoder {
	return decoder{account: "feishu", app: appID, me: func() string { return bot }, now: time.Now, mind: &mind{}}
}

// arrived is the event of a message.
func arrived(m map[string]any, sender map[string]any) []byte {
	msg := map[string]any{"message_id": "om_1", "chat_id": "oc_1", "chat_type": "p2p", "message_type": "text", "create_time": "1700000000123", "content": `{"text":"hi"}`}
	for k, v := range m {
		msg[k] = v
	}
	who := map[string]any{"sender_id": map[string]any{"open_id": anna}, "sender_type": "user", "tenant_key": "ours"}
	for k, v := range sender {
		who[k] = v
	}
	raw, _ := json.Marshal(map[string]any{"schema": "2.0",
		"header": map[string]any{"event_id": "ev_1", "event_type": eventMessage, "create_time": "1700000000200", "app_id": appID, "tenant_key": "ours"},
		"event":  map[string]any{"sender": who, "message": msg}})
	return raw
}

func taking(t *testing.T, d decoder, payload []byte) taken {
	t.Helper()
	got, err := d.take(payload)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestWhereAMessageBelongs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		m      map[string]any
		direct bool
		thread string
		reply  string
	}{
		"a direct chat":                      {map[string]any{}, true, "", ""},
		"a group":                            {map[string]any{"chat_type": "group"}, false, "", ""},
		"a reply in a group is no thread":    {map[string]any{"chat_type": "group", "root_id": "om_0", "parent_id": "om_0"}, false, "", "om_0"},
		"the beginning of a thread":          {map[string]any{"chat_type": "group", "thread_id": "omt_1"}, false, "om_1", ""},
		"in a thread the parent is its root": {map[string]any{"chat_type": "group", "thread_id": "omt_1", "root_id": "om_0", "parent_id": "om_0"}, false, "om_0", ""},
		"a reply in a thread":                {map[string]any{"chat_type": "group", "thread_id": "omt_1", "root_id": "om_0", "parent_id": "om_7"}, false, "om_0", "om_7"},
		"a topic group without a thread id":  {map[string]any{"chat_type": "topic_group", "root_id": "om_0", "parent_id": "om_0"}, false, "om_0", ""},
		"a new topic":                        {map[string]any{"chat_type": "topic_group"}, false, "om_1", ""},
	} {
		got := taking(t, reader(), arrived(c.m, nil))
		p := got.msg.Place
		if !got.ok || p.Direct != c.direct || p.Thread != c.thread || got.msg.Reply.ID != c.reply || p.Chat != "oc_1" || p.Account != "feishu" {
			t.Errorf("%s: %+v", name, got.msg)
		}
	}
}

func TestWhatAMessageSays(t *testing.T) {
	t.Parallel()
	me := map[string]any{"key": "@_user_1", "id": map[string]any{"open_id": bot}, "name": "Rig"}
	ben := map[string]any{"key": "@_user_10", "id": map[string]any{"open_id": "ou_ben"}, "name": "Ben"}
	for name, c := range map[string]struct {
		kind, content string
		mentions      []any
		text          string
		files         []string
		addressed     bool
		odd           string
	}{
		"text":              {"text", `{"text":"hello"}`, nil, "hello", nil, false, ""},
		"the bot mentioned": {"text", `{"text":"@_user_1 hello @_user_10"}`, []any{me, ben}, "hello @Ben", nil, true, ""},
		"a command":         {"text", `{"text":"/status"}`, nil, "/status", nil, true, ""},
		"mention, command":  {"text", `{"text":"@_user_1 /status"}`, []any{me}, "/status", nil, true, ""},
		"command, mention":  {"text", `{"text":"/status @_user_1"}`, []any{me}, "/status", nil, true, ""},
		"all":               {"text", `{"text":"@_all hello"}`, nil, "@all hello", nil, false, ""},
		"post": {"post", `{"title":"Bug","content":[[{"tag":"at","user_id":"@_user_1"},{"tag":"text","text":"see "},{"tag":"a","text":"here","href":"https://x.org"}],[{"tag":"img","image_key":"img_1"}],[{"tag":"code_block","language":"GO","text":"x := 1\n"}]]}`,
			[]any{me}, "Bug\nsee here (https://x.org)\n\n```go\nx := 1\n```", []string{"om_1/img_1/image"}, true, ""},
		"image":    {"image", `{"image_key":"img_1"}`, nil, "", []string{"om_1/img_1/image"}, false, ""},
		"file":     {"file", `{"file_key":"file_1","file_name":"../a.txt"}`, nil, "", []string{"om_1/file_1/file"}, false, ""},
		"audio":    {"audio", `{"file_key":"file_1","duration":2500}`, nil, "", []string{"om_1/file_1/file"}, false, ""},
		"media":    {"media", `{"file_key":"file_1","image_key":"img_1","file_name":"v.mp4"}`, nil, "", []string{"om_1/file_1/file"}, false, ""},
		"sticker":  {"sticker", `{"file_key":"x"}`, nil, "[sticker]", nil, false, ""},
		"location": {"location", `{"name":"Home","longitude":"1","latitude":"2"}`, nil, "[location: Home (2, 1)]", nil, false, ""},
		"a bundle": {"merge_forward", `Merged and Forwarded Message`, nil, "", []string{"om_1/forward/quote"}, false, ""},
		"a card":   {"interactive", `{"title":"Build","elements":[[{"tag":"text","text":"failed"}]]}`, nil, "Build\nfailed", nil, false, ""},
		"a raw card": {"interactive", `{"schema":"2.0","header":{"title":{"tag":"plain_text","content":"Deploy"}},"body":{"elements":[{"tag":"markdown","content":"**failed** on main"},{"tag":"column_set","columns":[{"elements":[{"tag":"button","text":{"tag":"plain_text","content":"Retry"}}]}]}]}}`,
			nil, "Deploy\n**failed** on main\nRetry", nil, false, ""},
		"a card of nodes":      {"interactive", `{"title":null,"elements":[[{"tag":"text","text":"see "},{"tag":"a","href":"https://x.org","text":"this"}],[{"tag":"img","image_key":"i"}],[{"tag":"note","elements":[{"tag":"text","text":"by CI"}]}]]}`, nil, "see this (https://x.org)\n[image]\nby CI", nil, false, ""},
		"a group shared":       {"share_chat", `{"chat_id":"oc_7"}`, nil, "[a group was shared: oc_7]", nil, false, ""},
		"a contact shared":     {"share_user", `{"user_id":"ou_7"}`, nil, "[a contact was shared: ou_7]", nil, false, ""},
		"a folder":             {"folder", `{"file_key":"f","file_name":"docs"}`, nil, "[folder: docs; folders cannot be fetched]", nil, false, ""},
		"a vote":               {"vote", `{"topic":"Lunch","options":["now","later"]}`, nil, "[vote: Lunch; now; later]", nil, false, ""},
		"a task":               {"todo", `{"task_id":"t","summary":{"title":"Fix","content":[[{"tag":"text","text":"the build"}]]}}`, nil, "[todo: Fix the build]", nil, false, ""},
		"a post by lang":       {"post", `{"zh_cn":{"title":"","content":[[{"tag":"text","text":"hello"}]]}}`, nil, "hello", nil, false, ""},
		"an unknown node":      {"post", `{"content":[[{"tag":"new","text":"still words"},{"tag":"emotion","emoji_type":"SMILE"},{"tag":"hr"}]]}`, nil, "still words[SMILE]---", nil, false, ""},
		"an empty post":        {"post", `{}`, nil, "", nil, false, ""},
		"odd types":            {"audio", `{"file_key":"file_1","duration":"2500","file_name":7}`, nil, "", []string{"om_1/file_1/file"}, false, ""},
		"command inside":       {"text", `{"text":"/model @_user_1 opus"}`, []any{me}, "/model opus", nil, true, ""},
		"command, glued":       {"text", `{"text":"/status@_user_1"}`, []any{me}, "/status", nil, true, ""},
		"two and a command":    {"text", `{"text":"@_user_10 @_user_1 /status"}`, []any{me, ben}, "/status", nil, true, ""},
		"two after one":        {"text", `{"text":"/deny @_user_1 ask @_user_10"}`, []any{me, ben}, "/deny ask @Ben", nil, true, ""},
		"another's command":    {"text", `{"text":"/status @_user_10"}`, []any{ben}, "/status @Ben", nil, false, ""},
		"for another":          {"text", `{"text":"@_user_10 /status"}`, []any{ben}, "@Ben /status", nil, false, ""},
		"mention twice":        {"text", `{"text":"@_user_1 stop that @_user_1"}`, []any{me}, "stop that", nil, true, ""},
		"command in a post":    {"post", `{"content":[[{"tag":"at","user_id":"@_user_1"},{"tag":"text","text":" /status"}]]}`, []any{me}, "/status", nil, true, ""},
		"everybody, a command": {"text", `{"text":"@_all /status"}`, nil, "@all /status", nil, false, ""},
		"something":            {"hologram", `{}`, nil, "", nil, false, "hologram"},
		"garbage":              {"text", `nonsense`, nil, "", nil, false, "text"},
	} {
		got := taking(t, reader(), arrived(map[string]any{"chat_type": "group", "message_type": c.kind, "content": c.content, "mentions": c.mentions}, nil))
		var files []string
		for _, f := range got.msg.Files {
			files = append(files, f.ID)
		}
		if got.msg.Text != c.text || fmt.Sprint(files) != fmt.Sprint(c.files) || got.msg.Addressed != c.addressed || got.msg.Unread != c.odd {
			t.Errorf("%s: %+v", name, got.msg)
		}
	}
}

func TestWhatIsKeptOfAnEventHoldsNoToken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ came, kept string }{
		"a message": {`{"schema":"2.0","header":{"event_id":"ev_1","token":"verify"},"event":{"message":{"content":"{\"token\":1}"}}}`,
			`{"event":{"message":{"content":"{\"token\":1}"}},"header":{"event_id":"ev_1"},"schema":"2.0"}`},
		"a press":          {`{"header":{"token":"verify"},"event":{"token":"c-1","action":{"tag":"button"}}}`, `{"event":{"action":{"tag":"button"}},"header":{}}`},
		"an old event":     {`{"uuid":"1","token":"verify","event":{"type":"message"}}`, `{"event":{"type":"message"},"uuid":"1"}`},
		"without a token":  {`{"header": {}, "event": null}`, `{"header": {}, "event": null}`},
		"not of an object": {`["token"]`, `["token"]`},
		"no JSON":          {`token`, `token`},
	} {
		if got := string(kept([]byte(c.came))); got != c.kept {
			t.Errorf("%s: %s", name, got)
		}
	}
	came := strings.Replace(string(arrived(nil, nil)), `"event_id"`, `"token":"verify","event_id"`, 1)
	if got := taking(t, reader(), []byte(came)); strings.Contains(string(got.msg.Raw), "verify") || !strings.Contains(string(got.msg.Raw), "om_1") {
		t.Errorf("kept: %s", got.msg.Raw)
	}
}

func TestProgramsAndOtherTenantsAreNoPeople(t *testing.T) {
	t.Parallel()
	for name, who := range map[string]map[string]any{
		"a program": {"sender_type": "app"}, "another tenant": {"tenant_key": "theirs"},
	} {
		if got := taking(t, reader(), arrived(nil, who)); !got.msg.Sender.Bot {
			t.Errorf("%s: %+v", name, got.msg.Sender)
		}
	}
	if got := taking(t, reader(), arrived(nil, nil)); got.msg.Sender.Bot || got.msg.Sender.ID != anna {
		t.Errorf("a person: %+v", got.msg.Sender)
	}
}

func TestAMessageHasOneKeyHoweverItIsDelivered(t *testing.T) {
	t.Parallel()
	first := arrived(nil, nil)
	again := []byte(strings.ReplaceAll(string(first), "ev_1", "ev_2"))
	if a, b := taking(t, reader(), first), taking(t, reader(), again); a.msg.Key != b.msg.Key || a.msg.Key == "" {
		t.Errorf("%q, %q", a.msg.Key, b.msg.Key)
	}
}

func TestOddEventsStopNobody(t *testing.T) {
	t.Parallel()
	d := reader()
	for _, raw := range []string{
		``, `null`, `[]`, `{"header":{"event_type":"im.message.receive_v1"},"event":null}`, `{"header":{"event_type":"im.message.receive_v1"},"event":{"message":{}}}`,
		`{"header":{"event_type":"card.action.trigger"},"event":{"action":{"value":[]}}}`, `{"header":{"event_type":"im.message.message_read_v1"},"event":{}}`,
		`{"header":{"event_type":"card.action.trigger","event_id":"x"},"event":{"action":{"value":{"data":7}}}}`, `{"header":{"event_type":5}}`,
		`{"header":{"event_type":"im.message.receive_v1","app_id":"cli_other"},"event":{"message":{"message_id":"om_1","chat_id":"oc_1"},"sender":{"sender_id":{"open_id":"ou_1"}}}}`,
	} {
		if got, _ := d.take([]byte(raw)); got.ok {
			t.Errorf("%s became %+v", raw, got.msg)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add(string(arrived(nil, nil)))
	f.Add(string(arrived(map[string]any{"message_type": "post", "content": `{"content":[[{"tag":"at"}]]}`}, nil)))
	f.Fuzz(func(_ *testing.T, raw string) {
		_, _ = reader().take([]byte(raw)) // must not panic beyond what take recovers, nor hang
	})
}

func TestAMessageThatComesUnderAnotherIdIsTheSameAndAnEqualOneIsNot(t *testing.T) {
	t.Parallel()
	one := taking(t, reader(), arrived(nil, nil)).msg
	if again := taking(t, reader(), arrived(map[string]any{"message_id": "om_2"}, nil)).msg; again.Key == one.Key || again.Twin != one.Twin || one.Twin == "" {
		t.Errorf("%q and %q", one.Twin, again.Twin)
	}
	for name, c := range map[string]struct{ m, who map[string]any }{
		"a millisecond later": {map[string]any{"create_time": "1700000000124"}, nil},
		"other words":         {map[string]any{"content": `{"text":"hi!"}`}, nil},
		"another chat":        {map[string]any{"chat_id": "oc_2"}, nil},
		"somebody else":       {nil, map[string]any{"sender_id": map[string]any{"open_id": "ou_other"}}},
	} {
		if other := taking(t, reader(), arrived(c.m, c.who)).msg; other.Twin == one.Twin {
			t.Errorf("%s: taken for the same", name)
		}
	}
	if timeless := taking(t, reader(), arrived(map[string]any{"create_time": ""}, nil)).msg; timeless.Twin != "" {
		t.Errorf("without a time: %q", timeless.Twin)
	}
}

func TestAMessageWithoutAnAuthorIsKeptForWhoeverLooksIntoIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		m, who map[string]any
		fails  bool
	}{
		"no sender":   {nil, map[string]any{"sender_id": nil}, true},
		"a program's": {nil, map[string]any{"sender_id": nil, "sender_type": "app"}, false},
		"no chat":     {map[string]any{"chat_id": ""}, nil, true},
		"no id":       {map[string]any{"message_id": nil}, nil, true},
	} {
		got, err := reader().take(arrived(c.m, c.who))
		if (err != nil) != c.fails || got.ok {
			t.Errorf("%s: %+v, %v", name, got.msg, err)
		}
	}
	// What may be missing, is.
	for _, field := range []string{"create_time", "chat_type", "message_type", "content", "mentions"} {
		if got, err := reader().take(arrived(map[string]any{field: nil}, nil)); err != nil || !got.ok || got.msg.SentAt.IsZero() {
			t.Errorf("without %s: %+v, %v", field, got.msg, err)
		}
	}
}

// FuzzContents reads whatever contents there may be.
func FuzzContents(f *testing.F) {
	for _, kind := range []string{"text", "post", "image", "interactive", "todo", "vote", "merge_forward", "x"} {
		f.Add(kind, `{"text":"@_user_1 /x @_user_2","title":"t","content":[[{"tag":"at","user_id":"@_user_1"},{"tag":"code_block"}]],"elements":[[{"tag":"a"}],{"tag":"div","text":{"content":"x"}}],"zh_cn":{"content":[[]]}}`)
		f.Add(kind, `{"text":7,"content":[7,null,[null]],"duration":"x","options":7,"elements":{"a":[[[[]]]]}}`)
	}
	f.Fuzz(func(t *testing.T, kind, content string) {
		m := incoming{ID: "om_1", Chat: "oc_1", Type: kind, Content: content, Mentions: []mention{{Key: "@_user_1", ID: userID{Open: bot}}, {Key: "@_user_2", Name: "B"}}}
		s := words(m, bot)
		if s.text == "" && s.odd == "" && len(s.files) == 0 && !s.bundle && kind != "text" && kind != "post" && kind != "interactive" {
			t.Errorf("%s %s became nothing", kind, content)
		}
	})
}

func TestAPressCarriesItsPlace(t *testing.T) {
	t.Parallel()
	raw := `{"schema":"2.0","header":{"event_id":"ev_9","event_type":"card.action.trigger","app_id":"cli_rig","tenant_key":"ours"},
"event":{"operator":{"open_id":"ou_anna","tenant_key":"ours"},"action":{"value":{"data":"ask:1:allow","thread":"om_0"}},"context":{"open_message_id":"om_5","open_chat_id":"oc_1"}}}`
	got := taking(t, reader(), []byte(raw))
	m := got.msg
	if !got.ok || !got.click || m.Kind != chat.KindClick || m.Data != "ask:1:allow" || m.Place.Thread != "om_0" || m.Place.Chat != "oc_1" || m.Ref.ID != "om_5" || m.Sender.ID != "ou_anna" || m.Key != "c/ev_9" {
		t.Errorf("%+v", m)
	}
}

func TestAWithdrawalNamesItsMessage(t *testing.T) {
	t.Parallel()
	d := reader()
	recall := []byte(`{"header":{"event_id":"ev_3","event_type":"im.message.recalled_v1","app_id":"cli_rig"},"event":{"message_id":"om_1","chat_id":"oc_1"}}`)
	got := taking(t, d, recall)
	if !got.ok || got.msg.Kind != chat.KindRecall || got.msg.Ref.ID != "om_1" || got.msg.Key != "r/om_1" || got.msg.Sender.ID != "" {
		t.Errorf("%+v", got.msg)
	}
	if late := taking(t, d, arrived(nil, nil)); late.ok {
		t.Errorf("it comes after it was taken back: %+v", late.msg)
	}
}

package telegram

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

const token = "123456:abcdefghijklmnopqrstuvwxyz"

const (
	alice  = int64(11)
	bob    = int64(22)
	group  = int64(-500)
	forum  = int64(-1000000000001)
	moved  = int64(-600)
	target = int64(-1000000000002)
)

type reply struct {
	OK          bool
	Code        int `json:"error_code"`
	Description string
	Result      json.RawMessage
	Parameters  struct {
		After   int   `json:"retry_after"`
		Migrate int64 `json:"migrate_to_chat_id"`
	}
}

func start(t *testing.T, off ...Rule) *Server {
	t.Helper()
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.AddBot(token, "testbot", true)
	s.AddChat(alice, Private, "Alice")
	s.AddChat(bob, Private, "Bob")
	s.AddChat(group, Group, "Team")
	s.AddChat(moved, Group, "Old")
	s.AddChat(forum, Supergroup, "Forum")
	s.AddTopic(forum, 77)
	s.AddTopic(forum, 78)
	s.SetTopic(forum, 78, true, false)
	s.Without(off...)
	return s
}

func call(t *testing.T, s *Server, method string, kv ...any) reply {
	t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(kv); i += 2 {
		v, ok := kv[i+1].(string)
		if !ok {
			b, err := json.Marshal(kv[i+1])
			if err != nil {
				t.Fatal(err)
			}
			v = string(b)
		}
		form.Set(fmt.Sprint(kv[i]), v)
	}
	resp, err := http.PostForm(s.URL+"/bot"+token+"/"+method, form)
	if err != nil {
		return reply{Description: "transport: " + err.Error()}
	}
	return decode(t, resp)
}

func decode(t *testing.T, resp *http.Response) reply {
	t.Helper()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return reply{Description: "transport: " + err.Error()}
	}
	var r reply
	if err := json.Unmarshal(b, &r); err != nil {
		return reply{Code: resp.StatusCode, Description: "not JSON: " + string(b)}
	}
	return r
}

func (r reply) id(t *testing.T) int64 {
	t.Helper()
	var m struct {
		ID int64 `json:"message_id"`
	}
	if err := json.Unmarshal(r.Result, &m); err != nil || m.ID == 0 {
		t.Fatalf("no message in %+v %s", r, r.Result)
	}
	return m.ID
}

func document(t *testing.T, s *Server, name string, body []byte, kv ...string) reply {
	t.Helper()
	return upl(t, s, "document", name, body, kv...)
}

// upl uploads a file as a document or a photo.
func upl(t *testing.T, s *Server, field, name string, body []byte, kv ...string) reply {
	t.Helper()
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	for i := 0; i+1 < len(kv); i += 2 {
		_ = w.WriteField(kv[i], kv[i+1])
	}
	// The standard library would strip the path; a client of another make need not.
	h := make(map[string][]string)
	h["Content-Disposition"] = []string{fmt.Sprintf(`form-data; name=%q; filename*=UTF-8''%s`, field, url.PathEscape(name))}
	h["Content-Type"] = []string{"application/octet-stream"}
	p, err := w.CreatePart(h)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = p.Write(body)
	_ = w.Close()
	resp, err := http.Post(s.URL+"/bot"+token+"/send"+strings.ToUpper(field[:1])+field[1:], w.FormDataContentType(), &buf)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, resp)
}

func keyboard(label, data string) any {
	return map[string]any{"inline_keyboard": [][]Button{{{Text: label, Data: data}}}}
}

// violation is an offence, and the words with which it is refused.
type violation struct {
	want string
	do   func(t *testing.T, s *Server) reply
}

// violations holds one offence against each rule.
var violations = map[Rule]violation{
	RuleLength: {"message is too long", func(t *testing.T, s *Server) reply {
		return call(t, s, "sendMessage", "chat_id", alice, "text", strings.Repeat("x", 4097))
	}},
	RuleEmpty: {"text must be non-empty", func(t *testing.T, s *Server) reply {
		return call(t, s, "sendMessage", "chat_id", alice, "text", " \n\t ")
	}},
	RuleEntities: {"ends in a middle of a UTF-16 symbol", func(t *testing.T, s *Server) reply {
		return call(t, s, "sendMessage", "chat_id", alice, "text", "a😀", "entities", []entity{{Type: "bold", Offset: 0, Length: 2}})
	}},
	RuleParse: {"can't parse entities: Unsupported start tag", func(t *testing.T, s *Server) reply {
		return call(t, s, "sendMessage", "chat_id", alice, "text", "<a@b.c>", "parse_mode", "HTML")
	}},
	RuleSame: {"message is not modified", func(t *testing.T, s *Server) reply {
		id := call(t, s, "sendMessage", "chat_id", alice, "text", "x\ty").id(t)
		return call(t, s, "editMessageText", "chat_id", alice, "message_id", id, "text", " x y ")
	}},
	RuleEditable: {"message can't be edited", func(t *testing.T, s *Server) reply {
		id := s.Say(token, Say{Chat: alice, Text: "mine"})
		return call(t, s, "editMessageText", "chat_id", alice, "message_id", id, "text", "x")
	}},
	RuleExists: {"message to edit not found", func(t *testing.T, s *Server) reply {
		return call(t, s, "editMessageText", "chat_id", alice, "message_id", 9999, "text", "x")
	}},
	RuleChat: {"chat not found", func(t *testing.T, s *Server) reply {
		return call(t, s, "sendMessage", "chat_id", 424242, "text", "x")
	}},
	RuleThread: {"message thread not found", func(t *testing.T, s *Server) reply {
		return call(t, s, "sendMessage", "chat_id", forum, "text", "x", "message_thread_id", 1)
	}},
	RuleReply: {"message to be replied not found", func(t *testing.T, s *Server) reply {
		return call(t, s, "sendMessage", "chat_id", alice, "text", "x", "reply_parameters", map[string]any{"message_id": 9999})
	}},
	RuleButtons: {"BUTTON_DATA_INVALID", func(t *testing.T, s *Server) reply {
		return call(t, s, "sendMessage", "chat_id", alice, "text", "x", "reply_markup", keyboard("a", strings.Repeat("d", 65)))
	}},
	RuleQuery: {"query is too old", func(t *testing.T, s *Server) reply {
		id := s.Click(token, alice, 1, alice, "x")
		call(t, s, "answerCallbackQuery", "callback_query_id", id)
		return call(t, s, "answerCallbackQuery", "callback_query_id", id)
	}},
	RuleReaction: {"REACTION_INVALID", func(t *testing.T, s *Server) reply {
		id := s.Say(token, Say{Chat: alice, Text: "mine"})
		return call(t, s, "setMessageReaction", "chat_id", alice, "message_id", id, "reaction", []map[string]string{{"type": "emoji", "emoji": "✅"}})
	}},
	RuleRate: {"Too Many Requests: retry after", func(t *testing.T, s *Server) reply {
		s.EnforceRates(true)
		var r reply
		for i := range 8 {
			if r = call(t, s, "sendMessage", "chat_id", alice, "text", fmt.Sprint(i)); !r.OK {
				break
			}
		}
		return r
	}},
	RulePoll: {"terminated by other getUpdates request", func(t *testing.T, s *Server) reply {
		first := make(chan reply, 1)
		go func() { first <- call(t, s, "getUpdates", "timeout", 2) }()
		s.Wait(5*time.Second, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.bots[token].poll == 1 })
		call(t, s, "getUpdates", "timeout", 0)
		return <-first
	}},
	RuleWebhook: {"can't use getUpdates method while webhook is active", func(t *testing.T, s *Server) reply {
		s.SetWebhook(token, true)
		return call(t, s, "getUpdates", "timeout", 0)
	}},
	RuleCommands: {"BOT_COMMAND_INVALID", func(t *testing.T, s *Server) reply {
		return call(t, s, "setMyCommands", "commands", []map[string]string{{"command": "Bad-Name", "description": "x"}})
	}},
	RuleCaption: {"message caption is too long", func(t *testing.T, s *Server) reply {
		return document(t, s, "a.txt", []byte("x"), "chat_id", fmt.Sprint(alice), "caption", strings.Repeat("x", 1025))
	}},
	RuleFile: {"file must be non-empty", func(t *testing.T, s *Server) reply {
		return document(t, s, "a.txt", nil, "chat_id", fmt.Sprint(alice))
	}},
	RuleFileName: {"a path in a file name", func(t *testing.T, s *Server) reply {
		return document(t, s, "/home/me/a.txt", []byte("x"), "chat_id", fmt.Sprint(alice))
	}},
	RulePhoto: {"PHOTO_INVALID_DIMENSIONS", func(t *testing.T, s *Server) reply {
		return upl(t, s, "photo", "a.png", strip(t, 2100, 100), "chat_id", fmt.Sprint(alice))
	}},
	RuleEqual: {"Too Many Requests: retry after 60", func(t *testing.T, s *Server) reply {
		var last reply
		for range 12 {
			last = document(t, s, "a.bin", make([]byte, 100_001), "chat_id", fmt.Sprint(alice))
		}
		return last
	}},
	RuleFileRight: {"not enough rights to send documents", func(t *testing.T, s *Server) reply {
		s.Forbid(alice, "document")
		return document(t, s, "a.txt", []byte("x"), "chat_id", fmt.Sprint(alice))
	}},
	RuleMigrated: {"group chat was upgraded to a supergroup chat", func(t *testing.T, s *Server) reply {
		s.Migrate(token, moved, target)
		return call(t, s, "sendMessage", "chat_id", moved, "text", "x")
	}},
	RuleBlocked: {"Forbidden: bot was blocked by the user", func(t *testing.T, s *Server) reply {
		s.Block(token, bob, true)
		return call(t, s, "sendMessage", "chat_id", bob, "text", "x")
	}},
	RuleTextEdit: {"there is no text in the message to edit", func(t *testing.T, s *Server) reply {
		id := document(t, s, "a.txt", []byte("x"), "chat_id", fmt.Sprint(alice)).id(t)
		return call(t, s, "editMessageText", "chat_id", alice, "message_id", id, "text", "x")
	}},
	RuleLink: {"Wrong HTTP URL", func(t *testing.T, s *Server) reply {
		return call(t, s, "sendMessage", "chat_id", alice, "text", "x", "entities", []entity{{Type: "text_link", Length: 1, URL: "./a.go"}})
	}},
	RuleHook: {"secret token contains unallowed characters", func(t *testing.T, s *Server) reply {
		return call(t, s, "setWebhook", "url", "http://127.0.0.1:1/", "secret_token", "not plain")
	}},
	RuleScope: {"chat not found", func(t *testing.T, s *Server) reply {
		return call(t, s, "setMyCommands", "commands", []map[string]string{{"command": "a", "description": "x"}}, "scope", map[string]any{"type": "chat", "chat_id": 4711})
	}},
	RuleAge: {"nothing waits", func(t *testing.T, s *Server) reply {
		s.Say(token, Say{Chat: alice, Text: "old"})
		s.Elapse(24*time.Hour + time.Minute)
		if len(poll(t, s, 0)) == 0 {
			return reply{Description: "nothing waits"}
		}
		return reply{OK: true}
	}},
	RuleCopy: {"BUTTON_COPY_TEXT_INVALID", func(t *testing.T, s *Server) reply {
		return call(t, s, "sendMessage", "chat_id", alice, "text", "copy this", "reply_markup", map[string]any{
			"inline_keyboard": [][]map[string]any{{{"text": "Copy", "copy_text": map[string]string{"text": strings.Repeat("x", 257)}}}},
		})
	}},
	RuleRich: {"can't find field \"cells\"", func(t *testing.T, s *Server) reply {
		return call(t, s, "sendRichMessage", "chat_id", alice, "rich_message", `{"blocks":[{"type":"table"}]}`)
	}},
	RuleFileID: {"wrong file_id", func(t *testing.T, s *Server) reply {
		return call(t, s, "getFile", "file_id", "invented")
	}},
	RuleDownload: {"file is too big", func(t *testing.T, s *Server) reply {
		id := s.Say(token, Say{Chat: alice, File: &File{Kind: "document", Name: "a.bin", Size: maxDownload + 1}})
		return call(t, s, "getFile", "file_id", fileID(id))
	}},
	RuleMethod: {"Not Found: method not found", func(t *testing.T, s *Server) reply {
		return call(t, s, "sendChecklist", "chat_id", alice)
	}},
}

func TestEveryRuleRefusesAndOnlyThatRule(t *testing.T) {
	t.Parallel()
	for _, rule := range Rules() {
		if incoming[rule] != nil || topicFacts[rule] != nil {
			continue // it passes something over, and refuses nothing; see there
		}
		v, ok := violations[rule]
		if other, there := topicOffences[rule]; there {
			v, ok = other, true
		}
		if !ok {
			t.Errorf("rule %s has no offence", rule)
			continue
		}
		t.Run(string(rule), func(t *testing.T) {
			t.Parallel()
			if r := v.do(t, start(t)); r.OK || !strings.Contains(r.Description, v.want) {
				t.Errorf("with the rule: ok=%v %q, want %q", r.OK, r.Description, v.want)
			}
			if r := v.do(t, start(t, rule)); !r.OK {
				t.Errorf("without the rule it still fails: %q", r.Description)
			}
		})
	}
}

type updates []struct {
	ID      int64 `json:"update_id"`
	Message *struct {
		ID   int64 `json:"message_id"`
		Text string
	}
}

func poll(t *testing.T, s *Server, offset int64) updates {
	t.Helper()
	var us updates
	r := call(t, s, "getUpdates", "timeout", 0, "offset", offset)
	if err := json.Unmarshal(r.Result, &us); err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	return us
}

func TestUpdatesAreKeptUntilTheOffsetPassesThem(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Say(token, Say{Chat: alice, Text: "one"})
	s.Say(token, Say{Chat: alice, Text: "two"})
	if us := poll(t, s, 0); len(us) != 2 || us[0].Message.Text != "one" {
		t.Fatalf("updates = %+v", us)
	}
	us := poll(t, s, 0)
	if len(us) != 2 {
		t.Fatal("a poll without an offset confirmed")
	}
	if left := poll(t, s, us[0].ID+1); len(left) != 1 || left[0].Message.Text != "two" {
		t.Errorf("left = %+v", left)
	}
	if s.Pending(token) != 1 {
		t.Errorf("pending = %d", s.Pending(token))
	}
}

func TestAnOffsetFarPastTheEndIsIgnored(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.ResetIDs(token, 5)
	s.Say(token, Say{Chat: alice, Text: "after the reset"})
	if us := poll(t, s, 1000); len(us) != 1 || us[0].ID != 5 {
		t.Errorf("updates = %+v", us)
	}
}

func TestPrivateChatsAndGroupsShareOneCounter(t *testing.T) {
	t.Parallel()
	s := start(t)
	a := s.Say(token, Say{Chat: alice, Text: "x"})
	b := s.Say(token, Say{Chat: bob, Text: "x"})
	g := s.Say(token, Say{Chat: group, From: alice, Text: "/x"})
	f := s.Say(token, Say{Chat: forum, From: alice, Text: "/x"})
	if b != a+1 || g != b+1 || f > 20 {
		t.Errorf("ids %d %d %d, supergroup %d", a, b, g, f)
	}
	if r := call(t, s, "editMessageText", "chat_id", alice, "message_id", b, "text", "x"); !strings.Contains(r.Description, "not found") {
		t.Errorf("another chat's message: %q", r.Description)
	}
}

func TestPrivacyModeHidesTalk(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Say(token, Say{Chat: group, From: alice, Text: "talk"})
	s.Say(token, Say{Chat: group, From: alice, Text: "/status@testbot"})
	if us := poll(t, s, 0); len(us) != 1 {
		t.Errorf("%d updates, want the command only", len(us))
	}
}

func TestTextIsCleaned(t *testing.T) {
	t.Parallel()
	s := start(t)
	call(t, s, "sendMessage", "chat_id", alice, "text", "\n\tif x {\r\n\t\ty\u2028z \n", "entities", []entity{{Type: "pre", Offset: 0, Length: 14}})
	m := s.Visible(token, alice)[0]
	if m.Text != "if x {\n  yz" || len(m.Entities) != 1 || m.Entities[0].Offset != 0 {
		t.Errorf("text %q, entities %+v", m.Text, m.Entities)
	}
}

func TestFaultsLookLikeTheRealThing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		f     Fault
		want  string
		there bool
	}{
		{Fault{Kind: TooMany, After: 7, Times: 1}, "Too Many Requests: retry after 7", false},
		{Fault{Kind: BadPage, Times: 1}, "not JSON: <html>", false},
		{Fault{Kind: Internal, Times: 1}, "Internal Server Error", false},
		{Fault{Kind: Drop, Times: 1}, "transport", false},
		{Fault{Kind: Lose, Times: 1}, "transport", true},
		{Fault{Kind: CutBody, Times: 1}, "transport", true},
	} {
		s := start(t)
		s.Fail(c.f)
		r := call(t, s, "sendMessage", "chat_id", alice, "text", "x")
		if !strings.Contains(r.Description, c.want) {
			t.Errorf("%s: %q", c.f.Kind, r.Description)
		}
		if got := len(s.Visible(token, alice)) == 1; got != c.there {
			t.Errorf("%s: carried out = %v", c.f.Kind, got)
		}
		if c.f.Kind == TooMany {
			if r := call(t, s, "sendMessage", "chat_id", alice, "text", "y"); r.OK || len(s.Violations()) != 1 {
				t.Errorf("coming back at once: %+v, %d violations", r, len(s.Violations()))
			}
			continue
		}
		if r := call(t, s, "sendMessage", "chat_id", alice, "text", "y"); !r.OK {
			t.Errorf("%s: a second call: %q", c.f.Kind, r.Description)
		}
	}
}

func TestAClickOnAnUnknownMessageIsInaccessible(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Click(token, alice, 9999, alice, "forged")
	r := call(t, s, "getUpdates", "timeout", 0)
	if !strings.Contains(string(r.Result), `"date":0`) || !strings.Contains(string(r.Result), "forged") {
		t.Errorf("%s", r.Result)
	}
}

func TestARevokedTokenIsUnauthorized(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Revoke(token)
	if r := call(t, s, "getMe"); r.Code != 401 {
		t.Errorf("%+v", r)
	}
}

func strip(t *testing.T, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPhotoIsAnImageOfSaneSizeAndShownAsOne(t *testing.T) {
	t.Parallel()
	s := start(t)
	chat := []string{"chat_id", fmt.Sprint(alice), "caption", "x"}
	for name, c := range map[string]struct {
		body []byte
		want string
	}{
		"no image":  {[]byte("text"), "IMAGE_PROCESS_FAILED"},
		"too large": {append(strip(t, 10, 10), make([]byte, 10<<20)...), "too big for a photo"},
		"too wide":  {strip(t, 9990, 500), "PHOTO_INVALID_DIMENSIONS"},
	} {
		if r := upl(t, s, "photo", "a.png", c.body, chat...); r.OK || !strings.Contains(r.Description, c.want) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	r := upl(t, s, "photo", "a.png", strip(t, 40, 30), chat...)
	if !r.OK || !strings.Contains(string(r.Result), `"photo"`) || !strings.Contains(string(r.Result), `"caption"`) {
		t.Errorf("a photo: %+v %s", r, r.Result)
	}
	if r := upl(t, s, "document", "a.bin", make([]byte, 61<<20), chat...); r.Code != 413 {
		t.Errorf("far too large: %+v", r)
	}
}

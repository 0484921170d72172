package feishu

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"
)

const (
	rig    = "cli_rig"
	secret = "rig-secret"
	anna   = "ou_anna"
	direct = "oc_direct"
	team   = "oc_team"
)

// caller is an app without an SDK.
type caller struct {
	t     *testing.T
	s     *Server
	token string
}

func start(t *testing.T) caller {
	t.Helper()
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.AddApp(rig, secret, "Rig")
	s.AddPerson(anna, "Anna")
	s.AddChat(direct, P2P, "", []string{rig}, anna)
	s.AddChat(team, Group, "Team", []string{rig}, anna)
	c := caller{t: t, s: s}
	r := c.call("POST", "auth/v3/tenant_access_token/internal", map[string]any{"app_id": rig, "app_secret": secret})
	c.token, _ = r["tenant_access_token"].(string)
	if c.token == "" {
		t.Fatalf("no token: %v", r)
	}
	return c
}

func (c caller) call(method, at string, body any) map[string]any {
	c.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.raw(method, at, "application/json", raw)
}

func (c caller) raw(method, at, kind string, body []byte) map[string]any {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.s.URL+"/open-apis/"+at, bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	out := map[string]any{}
	if json.Unmarshal(all, &out) != nil {
		out["code"], out["raw"] = float64(0), string(all)
	}
	return out
}

func code(r map[string]any) int { f, _ := r["code"].(float64); return int(f) }

func field(r map[string]any, name string) string {
	data, _ := r["data"].(map[string]any)
	v, _ := data[name].(string)
	return v
}

func (c caller) text(chat, text string, more ...string) map[string]any {
	c.t.Helper()
	content, _ := json.Marshal(map[string]string{"text": text})
	body := map[string]any{"receive_id": chat, "msg_type": "text", "content": string(content)}
	if len(more) > 0 {
		body["uuid"] = more[0]
	}
	return c.call("POST", "im/v1/messages?receive_id_type=chat_id", body)
}

func (c caller) post(chat, kind string, content any) map[string]any {
	c.t.Helper()
	raw, _ := json.Marshal(content)
	return c.call("POST", "im/v1/messages?receive_id_type=chat_id", map[string]any{"receive_id": chat, "msg_type": kind, "content": string(raw)})
}

// sheet is a card of schema 2.0 with these elements.
func sheet(streaming bool, elements ...any) map[string]any {
	return map[string]any{"schema": "2.0", "config": map[string]any{"streaming_mode": streaming}, "body": map[string]any{"elements": elements}}
}

func md(id, text string) map[string]any {
	return map[string]any{"tag": "markdown", "element_id": id, "content": text}
}

func (c caller) entity(card map[string]any) string {
	c.t.Helper()
	raw, _ := json.Marshal(card)
	r := c.call("POST", "cardkit/v1/cards", map[string]any{"type": "card_json", "data": string(raw)})
	if code(r) != 0 {
		c.t.Fatalf("entity: %v", r)
	}
	return field(r, "card_id")
}

func (c caller) stream(card, element, text string, seq int) map[string]any {
	c.t.Helper()
	return c.call("PUT", "cardkit/v1/cards/"+card+"/elements/"+element+"/content", map[string]any{"content": text, "sequence": seq})
}

func (c caller) upload(at, field, name string, body []byte, more map[string]string) map[string]any {
	c.t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for k, v := range more {
		if err := w.WriteField(k, v); err != nil {
			c.t.Fatal(err)
		}
	}
	f, err := w.CreateFormFile(field, name)
	if err != nil {
		c.t.Fatal(err)
	}
	_, _ = f.Write(body)
	_ = w.Close()
	return c.raw("POST", at, w.FormDataContentType(), b.Bytes())
}

// breach breaks one rule; it returns the answer of the call that should be
// refused.
type breach struct {
	rule Rule
	code int
	do   func(c caller) map[string]any
}

func breaches() []breach {
	card := func(c caller, elements ...any) map[string]any {
		return c.post(direct, "interactive", sheet(false, elements...))
	}
	many := func(n int, do func(i int) map[string]any) (last map[string]any) {
		for i := range n {
			if last = do(i); code(last) != 0 {
				return last
			}
		}
		return last
	}
	return []breach{
		{RuleToken, 99991663, func(c caller) map[string]any { c.s.RevokeTokens(rig); return c.text(direct, "x") }},
		{RuleScope, 99991672, func(c caller) map[string]any {
			c.s.Withdraw(rig, "im:message", "im:message:send_as_bot")
			return c.text(direct, "x")
		}},
		{RuleRate, 230020, func(c caller) map[string]any {
			c.s.Stand()
			return many(6, func(i int) map[string]any { return c.text(direct, fmt.Sprint(i)) })
		}},
		{RuleRate, 99991400, func(c caller) map[string]any {
			c.s.Stand()
			return many(51, func(int) map[string]any { return c.call("GET", "bot/v3/info", nil) })
		}},
		{RuleRate, 230020, func(c caller) map[string]any {
			id := field(card(c, md("a", "x")), "message_id")
			raw, _ := json.Marshal(sheet(false, md("a", "y")))
			c.s.Stand()
			return many(6, func(int) map[string]any {
				return c.call("PATCH", "im/v1/messages/"+id, map[string]any{"content": string(raw)})
			})
		}},
		{RuleCardRate, 230020, func(c caller) map[string]any {
			id := c.entity(sheet(true, md("a", "x")))
			c.s.Stand()
			return many(11, func(i int) map[string]any { return c.stream(id, "a", fmt.Sprint(i), i+1) })
		}},
		{RuleReceiver, 230001, func(c caller) map[string]any { return c.text("oc_nowhere", "x") }},
		{RuleMember, 230002, func(c caller) map[string]any {
			c.s.AddChat("oc_other", Group, "Other", nil, anna)
			return c.text("oc_other", "x")
		}},
		{RuleMember, 232009, func(c caller) map[string]any { c.s.Dissolve(team); return c.text(team, "x") }},
		{RuleMember, 230018, func(c caller) map[string]any { c.s.Mute(team, true); return c.text(team, "x") }},
		{RuleContent, 230001, func(c caller) map[string]any {
			return c.call("POST", "im/v1/messages?receive_id_type=chat_id", map[string]any{"receive_id": direct, "msg_type": "text", "content": "plain"})
		}},
		{RuleContent, 230001, func(c caller) map[string]any { return c.text(direct, "") }},
		{RuleContent, 230001, func(c caller) map[string]any { return c.post(direct, "markdown", map[string]any{"text": "x"}) }},
		{RuleContent, 230055, func(c caller) map[string]any {
			key := field(c.upload("im/v1/files", "file", "a.txt", []byte("x"), map[string]string{"file_type": "stream"}), "file_key")
			return c.post(direct, "audio", map[string]any{"file_key": key})
		}},
		{RuleSize, 230025, func(c caller) map[string]any { return c.text(direct, strings.Repeat("x", maxText)) }},
		{RuleSize, 230025, func(c caller) map[string]any { return card(c, md("a", strings.Repeat("x", maxCard))) }},
		{RuleSize, 200860, func(c caller) map[string]any {
			id := c.entity(sheet(true, md("a", "x")))
			return c.stream(id, "a", strings.Repeat("x", maxCard), 1)
		}},
		{RuleUUID, 230001, func(c caller) map[string]any { return c.text(direct, "x", strings.Repeat("u", 51)) }},
		{RuleUUID, 200770, func(c caller) map[string]any {
			id := c.entity(sheet(true, md("a", "x")))
			c.call("PUT", "cardkit/v1/cards/"+id+"/elements/a/content", map[string]any{"content": "y", "sequence": 1, "uuid": "u"})
			return c.call("PATCH", "cardkit/v1/cards/"+id+"/settings", map[string]any{"settings": `{"config":{}}`, "sequence": 2, "uuid": "u"})
		}},
		{RuleExists, 230011, func(c caller) map[string]any {
			id, _ := c.s.Say(Say{App: rig, Chat: direct, From: anna, Text: "x", Quiet: true})
			c.s.Recall(rig, id)
			return c.call("POST", "im/v1/messages/"+id+"/reply", map[string]any{"msg_type": "text", "content": `{"text":"y"}`})
		}},
		{RuleOwn, 230071, func(c caller) map[string]any {
			id, _ := c.s.Say(Say{App: rig, Chat: direct, From: anna, Text: "x", Quiet: true})
			return c.call("PUT", "im/v1/messages/"+id, map[string]any{"msg_type": "text", "content": `{"text":"y"}`})
		}},
		{RuleEdits, 230072, func(c caller) map[string]any {
			id := field(c.text(direct, "x"), "message_id")
			return many(21, func(i int) map[string]any {
				return c.call("PUT", "im/v1/messages/"+id, map[string]any{"msg_type": "text", "content": fmt.Sprintf(`{"text":"%d"}`, i)})
			})
		}},
		{RuleAge, 230031, func(c caller) map[string]any {
			id := field(card(c, md("a", "x")), "message_id")
			c.s.Pass(15 * 24 * time.Hour)
			c = c.again()
			raw, _ := json.Marshal(sheet(false, md("a", "y")))
			return c.call("PATCH", "im/v1/messages/"+id, map[string]any{"content": string(raw)})
		}},
		{RuleKind, 230054, func(c caller) map[string]any {
			id := field(card(c, md("a", "x")), "message_id")
			return c.call("PUT", "im/v1/messages/"+id, map[string]any{"msg_type": "text", "content": `{"text":"y"}`})
		}},
		{RuleThread, 230071, func(c caller) map[string]any {
			id := field(c.text(direct, "x"), "message_id")
			return c.call("POST", "im/v1/messages/"+id+"/reply", map[string]any{"msg_type": "text", "content": `{"text":"y"}`, "reply_in_thread": true})
		}},
		{RuleReaction, 231001, func(c caller) map[string]any {
			id := field(c.text(direct, "x"), "message_id")
			return c.call("POST", "im/v1/messages/"+id+"/reactions", map[string]any{"reaction_type": map[string]any{"emoji_type": "NoSuch"}})
		}},
		{RuleSchema, 230099, func(c caller) map[string]any { return card(c, map[string]any{"tag": "note"}) }},
		{RuleSchema, 230099, func(c caller) map[string]any {
			return c.post(direct, "interactive", map[string]any{"elements": []any{}})
		}},
		{RuleElements, 230099, func(c caller) map[string]any {
			var els []any
			for range 201 {
				els = append(els, map[string]any{"tag": "hr"})
			}
			return card(c, els...)
		}},
		{RuleTables, 230099, func(c caller) map[string]any {
			return card(c, md("a", strings.Repeat("| a | b |\n| --- | --- |\n| 1 | 2 |\n\nx\n\n", 6)))
		}},
		{RuleLinks, 230001, func(c caller) map[string]any { return card(c, md("a", "[x](file:///etc/passwd)")) }},
		{RuleLinks, 230001, func(c caller) map[string]any {
			return c.post(direct, "post", map[string]any{"zh_cn": map[string]any{"content": []any{[]any{map[string]any{"tag": "a", "text": "x", "href": "main.go"}}}}})
		}},
		{RuleImages, 230099, func(c caller) map[string]any { return card(c, md("a", "![x](https://example.com/x.png)")) }},
		{RuleMention, 230099, func(c caller) map[string]any { return card(c, md("a", `<at id="ou_stranger"></at>`)) }},
		{RuleMention, 230001, func(c caller) map[string]any { return c.text(direct, `hi <at user_id="ou_stranger">x</at>`) }},
		{RuleMention, 230001, func(c caller) map[string]any {
			return c.post(direct, "post", map[string]any{"zh_cn": map[string]any{"content": []any{[]any{map[string]any{"tag": "md", "text": `<at user_id="ou_stranger"></at>`}}}}})
		}},
		{RuleElementID, 230099, func(c caller) map[string]any { return card(c, md("a", "x"), md("a", "y")) }},
		{RuleElementID, 300313, func(c caller) map[string]any {
			return c.stream(c.entity(sheet(true, md("a", "x"))), "b", "y", 1)
		}},
		{RuleCallback, 230099, func(c caller) map[string]any {
			return card(c, formOf(input(nil), input(nil)))
		}},
		{RuleForm, 230099, func(c caller) map[string]any { return card(c, several(nil)) }},
		{RuleSequence, 300317, func(c caller) map[string]any {
			id := c.entity(sheet(true, md("a", "x")))
			c.stream(id, "a", "y", 2)
			return c.stream(id, "a", "z", 2)
		}},
		{RuleStreaming, 300309, func(c caller) map[string]any { return c.stream(c.entity(sheet(false, md("a", "x"))), "a", "y", 1) }},
		{RuleStreamEnd, 200850, func(c caller) map[string]any {
			id := c.entity(sheet(true, md("a", "x")))
			c.s.Pass(601 * time.Second)
			return c.stream(id, "a", "y", 1)
		}},
		{RuleEntity, 230099, func(c caller) map[string]any {
			id := c.entity(sheet(false, md("a", "x")))
			show := map[string]any{"type": "card", "data": map[string]any{"card_id": id}}
			c.post(direct, "interactive", show)
			return c.post(direct, "interactive", show)
		}},
		{RuleEntity, 200750, func(c caller) map[string]any {
			id := c.entity(sheet(true, md("a", "x")))
			c.s.Pass(15 * 24 * time.Hour)
			return c.again().call("PATCH", "cardkit/v1/cards/"+id+"/settings", map[string]any{"settings": `{"config":{}}`, "sequence": 1})
		}},
		{RuleTextual, 300310, func(c caller) map[string]any {
			return c.stream(c.entity(sheet(true, map[string]any{"tag": "hr", "element_id": "h"})), "h", "y", 1)
		}},
		{RuleUpload, 234010, func(c caller) map[string]any {
			return c.upload("im/v1/files", "file", "a.txt", nil, map[string]string{"file_type": "stream"})
		}},
		{RuleUpload, 234011, func(c caller) map[string]any {
			return c.upload("im/v1/images", "image", "a.png", []byte("no picture"), map[string]string{"image_type": "message"})
		}},
		{RuleResource, 234003, func(c caller) map[string]any {
			id, _ := c.s.Say(Say{App: rig, Chat: direct, From: anna, Text: "x", Quiet: true})
			key := c.s.Attach("stream", "a.txt", []byte("x"))
			return c.call("GET", "im/v1/messages/"+id+"/resources/"+key+"?type=file", nil)
		}},
		{RuleHistory, 230027, func(c caller) map[string]any {
			c.s.Withdraw(rig, "im:message.group_msg")
			return c.call("GET", "im/v1/messages?container_id_type=chat&container_id="+team, nil)
		}},
		{RuleDownload, 234037, func(c caller) map[string]any {
			c.s.HandOut(3)
			key := c.s.Attach("stream", "a.json", []byte(`{"code":0}`))
			id, _ := c.s.Say(Say{App: rig, Chat: direct, From: anna, Type: "file", Content: map[string]any{"file_key": key}, Shared: []string{key}, Quiet: true})
			return c.call("GET", "im/v1/messages/"+id+"/resources/"+key+"?type=file", nil)
		}},
		{RuleBot, 11205, func(c caller) map[string]any {
			c.s.Configure(rig, Setup{Botless: true})
			return c.call("GET", "bot/v3/info", nil)
		}},
		{RuleBot, 212100, func(c caller) map[string]any {
			c.s.Configure(rig, Setup{Unpublished: true})
			return c.call("GET", "application/v6/scopes", nil)
		}},
		{RuleParams, 210001, func(c caller) map[string]any { return c.call("GET", "application/v6/applications/me", nil) }},
		{RuleParams, 210001, func(c caller) map[string]any {
			return c.call("GET", "application/v6/applications/cli_other?lang=en_us", nil)
		}},
	}
}

// again is the caller with a fresh token.
func (c caller) again() caller {
	c.t.Helper()
	c.token = ""
	r := c.call("POST", "auth/v3/tenant_access_token/internal", map[string]any{"app_id": rig, "app_secret": secret})
	c.token, _ = r["tenant_access_token"].(string)
	return c
}

func TestEveryRuleRefusesAndLetsPassWhenItIsOff(t *testing.T) {
	t.Parallel()
	covered := map[Rule]bool{RuleAck: true, RuleClick: true, RuleSubscribe: true} // of events: see push_test.go
	for i, b := range breaches() {
		covered[b.rule] = true
		t.Run(fmt.Sprintf("%s/%d", b.rule, i), func(t *testing.T) {
			t.Parallel()
			if r := b.do(start(t)); code(r) != b.code {
				t.Errorf("in force: %v, want code %d", r, b.code)
			}
			c := start(t)
			c.s.Without(b.rule)
			if r := b.do(c); code(r) != 0 {
				t.Errorf("switched off: %v", r)
			}
		})
	}
	for _, r := range Rules() {
		if !covered[r] {
			t.Errorf("rule %s is broken by nobody", r)
		}
	}
}

func TestTheSameUUIDIsOneMessageForAnHour(t *testing.T) {
	t.Parallel()
	c := start(t)
	first, again := c.text(direct, "x", "key"), c.text(direct, "x", "key")
	if field(first, "message_id") != field(again, "message_id") || len(c.s.Shown(direct)) != 1 {
		t.Errorf("%v, %v", first, again)
	}
	c.s.Pass(61 * time.Minute)
	c.text(direct, "x", "key")
	if len(c.s.Shown(direct)) != 2 {
		t.Error("a uuid stands for longer than an hour")
	}
}

func TestAPatchOfAShownEntityChangesNothing(t *testing.T) {
	t.Parallel()
	c := start(t)
	id := c.entity(sheet(true, md("a", "streamed")))
	m := field(c.post(direct, "interactive", map[string]any{"type": "card", "data": map[string]any{"card_id": id}}), "message_id")
	raw, _ := json.Marshal(sheet(false, md("a", "patched")))
	if r := c.call("PATCH", "im/v1/messages/"+m, map[string]any{"content": string(raw)}); code(r) != 0 {
		t.Errorf("refused: %v", r)
	}
	if seen := c.s.Shown(direct)[0]; seen.Text != "streamed" || !seen.Open {
		t.Errorf("%+v", seen)
	}
	c.call("PATCH", "cardkit/v1/cards/"+id+"/settings", map[string]any{"settings": `{"config":{"streaming_mode":false,"summary":{"content":"done"}}}`, "sequence": 1})
	if card := c.s.Cards()[id]; card.Streaming || card.Summary != "done" || c.s.Shown(direct)[0].Open {
		t.Errorf("not closed: %+v", card)
	}
}

func TestTheTimeOfAStreamRunsFromItsOpening(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		renew func(c caller, id string) map[string]any
		want  int
	}{
		"a change of the whole card does not lengthen it": {func(c caller, id string) map[string]any {
			raw, _ := json.Marshal(sheet(true, md("a", "x")))
			return c.call("PUT", "cardkit/v1/cards/"+id, map[string]any{"card": map[string]any{"type": "card_json", "data": string(raw)}, "sequence": 1})
		}, 200850},
		"settings open it anew": {func(c caller, id string) map[string]any {
			return c.call("PATCH", "cardkit/v1/cards/"+id+"/settings", map[string]any{"settings": `{"config":{"streaming_mode":true}}`, "sequence": 1})
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t)
			id := r.entity(sheet(true, md("a", "x")))
			r.s.Pass(9 * time.Minute)
			if got := c.renew(r, id); code(got) != 0 {
				t.Fatal(got)
			}
			r.s.Pass(2 * time.Minute)
			if got := r.stream(id, "a", "xy", 2); code(got) != c.want {
				t.Errorf("%v, want %d", got, c.want)
			}
		})
	}
}

func TestATextThatDoesNotGrowIsPaintedAnew(t *testing.T) {
	t.Parallel()
	c := start(t)
	id := c.entity(sheet(true, md("a", "x")))
	for i, text := range []string{"xy", "xyz", "other", "other words"} {
		c.stream(id, "a", text, i+1)
	}
	if card := c.s.Cards()[id]; card.Repaints != 1 || card.Calls["element.content"] != 4 {
		t.Errorf("%+v", card)
	}
}

package model_test

import (
	"net/http"
	"strings"
	"testing"
)

var chatDialect = dialect{
	name: "chat", shell: "bash",
	path:    func(bool) string { return "/v1/chat/completions" },
	message: func(b object) string { return text(b, "error", "message") },
	body: func(stream bool, talk []turn, tools []string) object {
		messages := []any{}
		for _, u := range talk {
			switch u.who {
			case "model":
				messages = append(messages, object{"role": "assistant", "content": u.text})
			case "call":
				messages = append(messages, object{"role": "assistant", "content": nil, "tool_calls": []any{
					object{"id": "c", "type": "function", "function": object{"name": "bash", "arguments": "{}"}}}})
			case "result":
				messages = append(messages, object{"role": "tool", "tool_call_id": "c", "content": u.text})
			default:
				messages = append(messages, object{"role": u.who, "content": u.text})
			}
		}
		offered := []any{}
		for _, n := range tools {
			offered = append(offered, object{"type": "function", "function": object{"name": n, "parameters": shellSchema("command")}})
		}
		return object{"model": "mock-large", "stream": stream, "messages": messages, "tools": offered}
	},
	whole: func(_ *testing.T, b object) string {
		m := get(b, "choices", 0, "message")
		return chatAnswer(text(m, "reasoning_content"), text(m, "content"), text(m, "tool_calls", 0, "function", "name"), text(m, "tool_calls", 0, "function", "arguments"))
	},
	streamed: func(t *testing.T, all []sse) string {
		t.Helper()
		var thought, said, name, args strings.Builder
		for _, e := range all {
			d := get(e.data, "choices", 0, "delta")
			thought.WriteString(text(d, "reasoning_content"))
			said.WriteString(text(d, "content"))
			name.WriteString(text(d, "tool_calls", 0, "function", "name"))
			args.WriteString(text(d, "tool_calls", 0, "function", "arguments"))
		}
		if !all[len(all)-1].done {
			t.Errorf("the end is %v", all[len(all)-1])
		}
		return chatAnswer(thought.String(), said.String(), name.String(), args.String())
	},
}

func chatAnswer(thought, said, name, args string) string {
	var parts []string
	if thought != "" {
		parts = append(parts, "("+thought+")")
	}
	if said != "" {
		parts = append(parts, said)
	}
	if name != "" {
		parts = append(parts, "<"+name+">"+args)
	}
	return join(parts)
}

func TestAChatStreamTellsItsEndAndItsUsage(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, usage := range []bool{true, false} {
		body := chatDialect.body(true, []turn{{"user", "run ls"}}, []string{"bash"})
		body["stream_options"] = object{"include_usage": usage}
		all := events(t, send(t, s, "/v1/chat/completions", body).Body)
		if text(all[0].data, "choices", 0, "delta", "role") != "assistant" {
			t.Errorf("it begins with %v", all[0])
		}
		var finish string
		var told bool
		for _, e := range all {
			finish += text(e.data, "choices", 0, "finish_reason")
			told = told || get(e.data, "usage", "total_tokens") != nil
		}
		if finish != "tool_calls" || told != usage {
			t.Errorf("finish %q, usage %v, want %v", finish, told, usage)
		}
	}
}

func TestSeveralChatToolCallsHaveTheirOwnNumbers(t *testing.T) {
	t.Parallel()
	all := events(t, send(t, open(t), "/v1/chat/completions", chatDialect.body(true, []turn{{"user", "say a\ntool 2"}}, []string{"bash"})).Body)
	ids, args := map[float64]string{}, map[float64]string{}
	for _, e := range all {
		c := get(e.data, "choices", 0, "delta", "tool_calls", 0)
		if n, ok := get(c, "index").(float64); ok {
			ids[n] += text(c, "id")
			args[n] += text(c, "function", "arguments")
		}
	}
	if len(ids) != 2 || ids[0] == ids[1] || args[0] != `{"command":"echo tool 1"}` || args[1] != `{"command":"echo tool 2"}` {
		t.Errorf("ids %v, arguments %v", ids, args)
	}
}

func TestAChatCountsPicturesAndDocuments(t *testing.T) {
	t.Parallel()
	body := chatDialect.body(false, nil, nil)
	body["messages"] = []any{object{"role": "user", "content": []any{
		object{"type": "image_url", "image_url": object{"url": "data:image/png;base64,AA=="}}, object{"type": "file"},
		object{"type": "text", "text": "seen"}}}}
	if got := chatDialect.whole(t, decode(t, send(t, open(t), "/v1/chat/completions", body))); got != "images 1 documents 1" {
		t.Error(got)
	}
}

func TestWhatAClientAsksForItselfIsNoScript(t *testing.T) {
	t.Parallel()
	s := open(t)
	body := chatDialect.body(false, []turn{{"system", "You are a title generator. Be brief."}, {"user", "fail 401"}}, nil)
	if got := chatDialect.whole(t, decode(t, send(t, s, "/v1/chat/completions", body))); got != "a title" {
		t.Error(got)
	}
	body = chatDialect.body(false, []turn{{"user", "fail 401"}}, nil)
	body["response_format"] = object{"type": "json_schema", "json_schema": object{"schema": object{
		"type": "object", "required": []any{"ok", "why", "list"}, "properties": object{
			"ok": object{"type": "boolean"}, "why": object{"type": []any{"null", "string"}, "enum": []any{"so"}},
			"list": object{"type": "array", "minItems": 1, "items": object{"type": "integer"}}, "more": object{"type": "string"},
		}}}}
	if got := chatDialect.whole(t, decode(t, send(t, s, "/v1/chat/completions", body))); got != `{"list":[1],"ok":false,"why":"so"}` {
		t.Error(got)
	}
	for _, r := range s.Requests() {
		if !r.Aside {
			t.Errorf("not noted as an aside: %+v", r)
		}
	}
}

func TestADeferredToolIsCalledThroughAnother(t *testing.T) {
	t.Parallel()
	s := open(t)
	body := chatDialect.body(false, []turn{{"user", "<system-reminder>ask_user_question is reachable through tool_call</system-reminder>"}, {"user", "ask"}}, nil)
	body["tools"] = []any{object{"type": "function", "function": object{"name": "tool_call"}}}
	got := chatDialect.whole(t, decode(t, send(t, s, "/v1/chat/completions", body)))
	if !strings.HasPrefix(got, `<tool_call>{"arguments":{`) || !strings.HasSuffix(got, `"name":"ask_user_question"}`) {
		t.Error(got)
	}
}

func TestAChatRefusesWhatOpenAIRefuses(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, spoil := range map[string]func(object){
		"no model":              func(b object) { delete(b, "model") },
		"a tool without a name": func(b object) { b["tools"] = []any{object{"type": "function", "function": object{}}} },
		"a call at the end": func(b object) {
			b["messages"] = chatDialect.body(false, []turn{{"user", "run ls"}, {"call", "ls"}}, nil)["messages"]
		},
	} {
		body := chatDialect.body(false, []turn{{"user", "say hi"}}, nil)
		spoil(body)
		resp := send(t, s, "/v1/chat/completions", body)
		if got := decode(t, resp); resp.StatusCode != http.StatusBadRequest || text(got, "error", "type") != "invalid_request_error" {
			t.Errorf("%s: status %d, %v", name, resp.StatusCode, got)
		}
	}
}

func TestAfterASummaryTheModelStillKnows(t *testing.T) {
	t.Parallel()
	s := open(t)
	ask := func(talk ...turn) string {
		return chatDialect.whole(t, decode(t, send(t, s, "/v1/chat/completions", chatDialect.body(false, talk, nil))))
	}
	sum := ask(turn{"user", "remember the word plum"}, turn{"model", "ok"}, turn{"user", "First, reason in your scratchpad. Then, generate the <state_snapshot>."})
	if !strings.Contains(sum, "plum") {
		t.Errorf("the summary is %q", sum)
	}
	if none := ask(turn{"user", "First, reason in your scratchpad."}); strings.Contains(none, "remember") {
		t.Errorf("without a word the summary is %q", none)
	}
	again := turn{"user", "Some of the conversation history has been summarized to free up context.\nfail 400 0 context\n" + sum}
	if got := ask(again); got != "I go on with it" {
		t.Errorf("it goes on with %q", got)
	}
	if got := ask(again, turn{"model", "I go on with it"}, turn{"user", "what was the word?"}); got != "the word was plum" {
		t.Error(got)
	}
}

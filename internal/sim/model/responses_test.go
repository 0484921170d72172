package model_test

import (
	"net/http"
	"strings"
	"testing"
)

var responsesDialect = dialect{
	name: "responses", shell: "exec_command",
	path:    func(bool) string { return "/v1/responses" },
	message: func(b object) string { return text(b, "error", "message") },
	body: func(stream bool, talk []turn, tools []string) object {
		items := []any{}
		for _, u := range talk {
			switch u.who {
			case "model":
				items = append(items, object{"type": "message", "role": "assistant", "content": []any{object{"type": "output_text", "text": u.text}}})
			case "call":
				items = append(items, object{"type": "function_call", "call_id": "c", "name": "exec_command", "arguments": "{}"})
			case "result":
				items = append(items, object{"type": "function_call_output", "call_id": "c", "output": u.text})
			default:
				items = append(items, object{"type": "message", "role": u.who, "content": []any{object{"type": "input_text", "text": u.text}}})
			}
		}
		offered := []any{}
		for _, n := range tools {
			offered = append(offered, object{"type": "function", "name": n, "parameters": shellSchema("cmd")})
		}
		return object{"model": "mock-large", "stream": stream, "input": items, "tools": offered}
	},
	whole: func(_ *testing.T, b object) string {
		var parts []string
		items, _ := b["output"].([]any)
		for _, it := range items {
			parts = append(parts, responsesPart(it))
		}
		return join(parts)
	},
	streamed: func(t *testing.T, all []sse) string {
		t.Helper()
		var parts []string
		var sb strings.Builder
		for _, e := range all {
			switch {
			case e.name == "response.output_item.added":
				sb.Reset()
			case strings.HasSuffix(e.name, ".delta"):
				sb.WriteString(text(e.data, "delta"))
			case e.name == "response.output_item.done":
				part := responsesPart(e.data["item"])
				if !strings.Contains(part, sb.String()) {
					t.Errorf("streamed %q, then said it was %q", sb.String(), part)
				}
				parts = append(parts, part)
			}
		}
		last := all[len(all)-1]
		if last.name != "response.completed" || text(last.data, "response", "status") != "completed" || get(last.data, "response", "usage", "total_tokens") == nil {
			t.Errorf("the end is %v", last)
		}
		return join(parts)
	},
}

func responsesPart(item any) string {
	switch text(item, "type") {
	case "reasoning":
		return "(" + text(item, "summary", 0, "text") + ")"
	case "custom_tool_call":
		return "<" + text(item, "name") + ">" + text(item, "input")
	case "function_call":
		return "<" + text(item, "name") + ">" + text(item, "arguments")
	}
	return text(item, "content", 0, "text")
}

func TestResponsesHaveTheirEventsInOrder(t *testing.T) {
	t.Parallel()
	resp := send(t, open(t), "/v1/responses", responsesDialect.body(true, []turn{{"user", "think deep\nsay hi\nrun ls"}}, []string{"exec_command"}))
	var names []string
	for i, e := range events(t, resp.Body) {
		name := strings.TrimPrefix(e.name, "response.")
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
		if text(e.data, "type") != e.name || e.data["sequence_number"] != float64(i) {
			t.Errorf("event %d %s says %v %v", i, e.name, e.data["type"], e.data["sequence_number"])
		}
	}
	want := "created in_progress " +
		"output_item.added reasoning_summary_part.added reasoning_summary_text.delta reasoning_summary_text.done reasoning_summary_part.done output_item.done " +
		"output_item.added content_part.added output_text.delta output_text.done content_part.done output_item.done " +
		"output_item.added function_call_arguments.delta function_call_arguments.done output_item.done completed"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("events = %s", got)
	}
}

func TestResponsesCallAToolOfANamespace(t *testing.T) {
	t.Parallel()
	body := responsesDialect.body(false, []turn{{"user", "task say hi"}}, nil)
	body["tools"] = []any{
		object{"type": "web_search"}, object{"type": "custom", "name": "apply_patch"},
		object{"type": "namespace", "name": "crew", "tools": []any{object{"type": "function", "name": "spawn_agent", "parameters": shellSchema("message")}}},
	}
	got := decode(t, send(t, open(t), "/v1/responses", body))
	if responsesDialect.whole(t, got) != `<spawn_agent>{"message":"say hi"}` || text(got, "output", 0, "namespace") != "crew" {
		t.Errorf("%v", got)
	}
}

func TestResponsesCallAToolThatTakesAText(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, stream := range []bool{true, false} {
		body := responsesDialect.body(stream, []turn{{"user", "write a.txt hello"}}, nil)
		body["tools"] = []any{object{"type": "custom", "name": "apply_patch"}}
		resp := send(t, s, "/v1/responses", body)
		var got string
		if stream {
			got = responsesDialect.streamed(t, events(t, resp.Body))
		} else {
			got = responsesDialect.whole(t, decode(t, resp))
		}
		if got != "<apply_patch>*** Begin Patch\n*** Add File: a.txt\n+hello\n*** End Patch\n" {
			t.Errorf("%q", got)
		}
	}
}

func TestResponsesCountPicturesAndDocuments(t *testing.T) {
	t.Parallel()
	body := responsesDialect.body(false, nil, nil)
	body["input"] = []any{object{"role": "user", "content": []any{
		object{"type": "input_image", "image_url": "data:image/png;base64,AA=="}, object{"type": "input_file", "file_id": "f"},
		object{"type": "input_text", "text": "seen"}}}}
	if got := responsesDialect.whole(t, decode(t, send(t, open(t), "/v1/responses", body))); got != "images 1 documents 1" {
		t.Error(got)
	}
}

func TestAPlanIsATextWhereTheClientReadsThatOne(t *testing.T) {
	t.Parallel()
	s := open(t)
	body := responsesDialect.body(false, []turn{{"user", "plan"}}, nil)
	if got := responsesDialect.whole(t, decode(t, send(t, s, "/v1/responses", body))); got != "no tool ExitPlanMode" {
		t.Error(got)
	}
	body["instructions"] = "Put the plan into <proposed_plan>."
	if got := responsesDialect.whole(t, decode(t, send(t, s, "/v1/responses", body))); got != "<proposed_plan>\n1. look\n2. leap\n</proposed_plan>" {
		t.Error(got)
	}
}

func TestResponsesRefuseWhatOpenAIRefuses(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, spoil := range map[string]func(object){
		"no model":              func(b object) { delete(b, "model") },
		"a response not stored": func(b object) { b["previous_response_id"] = "resp_1" },
		"a tool without a name": func(b object) { b["tools"] = []any{object{"type": "function"}} },
		"the model's text from the user": func(b object) {
			b["input"] = []any{object{"role": "user", "content": []any{object{"type": "output_text", "text": "say hi"}}}}
		},
	} {
		body := responsesDialect.body(false, []turn{{"user", "say hi"}}, nil)
		spoil(body)
		resp := send(t, s, "/v1/responses", body)
		if got := decode(t, resp); resp.StatusCode != http.StatusBadRequest || text(got, "error", "type") != "invalid_request_error" {
			t.Errorf("%s: status %d, %v", name, resp.StatusCode, got)
		}
	}
}

func TestATooLongResponseFailsInTheStream(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, stream := range []bool{true, false} {
		resp := send(t, s, "/v1/responses", responsesDialect.body(stream, []turn{{"user", "fail 400 0 context"}}, nil))
		if !stream {
			if resp.StatusCode != http.StatusBadRequest {
				t.Errorf("status %d", resp.StatusCode)
			}
			continue
		}
		all := events(t, resp.Body)
		last := all[len(all)-1]
		if resp.StatusCode != http.StatusOK || last.name != "response.failed" || text(last.data, "response", "error", "code") != "context_length_exceeded" {
			t.Errorf("status %d, %v", resp.StatusCode, last)
		}
	}
}

package model_test

import (
	"net/http"
	"testing"
)

var geminiDialect = dialect{
	name: "gemini", shell: "run_shell_command",
	path: func(stream bool) string {
		if stream {
			return "/v1beta/models/mock-large:streamGenerateContent?alt=sse"
		}
		return "/v1beta/models/mock-large:generateContent"
	},
	message: func(b object) string { return text(b, "error", "message") },
	body: func(_ bool, talk []turn, tools []string) object {
		contents := []any{}
		for _, u := range talk {
			role, part := u.who, object{"text": u.text}
			switch u.who {
			case "call":
				role, part = "model", object{"functionCall": object{"name": "run_shell_command", "args": object{"command": u.text}}}
			case "result":
				role, part = "user", object{"functionResponse": object{"name": "run_shell_command", "response": object{"output": u.text}}}
			}
			contents = append(contents, object{"role": role, "parts": []any{part}})
		}
		offered := []any{}
		for _, n := range tools {
			offered = append(offered, object{"name": n, "parametersJsonSchema": shellSchema("command")})
		}
		return object{"contents": contents, "tools": []any{object{"functionDeclarations": offered}}}
	},
	whole: func(_ *testing.T, b object) string {
		parts, _ := get(b, "candidates", 0, "content", "parts").([]any)
		return geminiAnswer(parts)
	},
	streamed: func(t *testing.T, all []sse) string {
		t.Helper()
		var parts []any
		for _, e := range all {
			more, _ := get(e.data, "candidates", 0, "content", "parts").([]any)
			parts = append(parts, more...)
		}
		last := all[len(all)-1].data
		if text(last, "candidates", 0, "finishReason") != "STOP" || get(last, "usageMetadata", "totalTokenCount") == nil {
			t.Errorf("the end is %v", last)
		}
		return geminiAnswer(parts)
	},
}

// geminiAnswer joins parts of the same kind: a stream has more of them.
func geminiAnswer(parts []any) string {
	var thought, said, call string
	for _, p := range parts {
		switch {
		case get(p, "thought") == true:
			thought += text(p, "text")
		case get(p, "functionCall") != nil:
			call += "<" + text(p, "functionCall", "name") + ">" + compact(get(p, "functionCall", "args"))
		default:
			said += text(p, "text")
		}
	}
	if call == "" {
		return chatAnswer(thought, said, "", "")
	}
	return join(append(nonEmpty(chatAnswer(thought, said, "", "")), call))
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func TestGeminiCountsPicturesAndDocuments(t *testing.T) {
	t.Parallel()
	body := geminiDialect.body(false, nil, nil)
	body["contents"] = []any{object{"role": "user", "parts": []any{
		object{"inlineData": object{"mimeType": "image/png", "data": "AA=="}}, object{"inlineData": object{"mimeType": "application/pdf", "data": "AA=="}},
		object{"text": "seen"}}}}
	if got := geminiDialect.whole(t, decode(t, send(t, open(t), geminiDialect.path(false), body))); got != "images 1 documents 1" {
		t.Error(got)
	}
}

func TestGeminiCountsTokensAndJudgesInJSON(t *testing.T) {
	t.Parallel()
	s := open(t)
	body := geminiDialect.body(false, []turn{{"user", "say hi"}}, nil)
	if got := decode(t, send(t, s, "/v1beta/models/mock-large:countTokens", body)); got["totalTokens"] == nil {
		t.Error(got)
	}
	body["generationConfig"] = object{"responseMimeType": "application/json", "responseJsonSchema": object{
		"type": "OBJECT", "required": []any{"score"}, "properties": object{"score": object{"type": "INTEGER"}}}}
	if got := geminiDialect.whole(t, decode(t, send(t, s, geminiDialect.path(false), body))); got != `{"score":1}` {
		t.Error(got)
	}
}

func TestGeminiRefusesWhatGoogleRefuses(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, tt := range map[string]struct {
		path   string
		body   object
		status int
		state  string
	}{
		"a content without parts": {geminiDialect.path(false), object{"contents": []any{object{"role": "user", "parts": []any{}}}}, http.StatusBadRequest, "INVALID_ARGUMENT"},
		"a call at the end": {geminiDialect.path(false), geminiDialect.body(false, []turn{{"user", "x"}, {"call", "ls"}}, nil),
			http.StatusBadRequest, "INVALID_ARGUMENT"},
		"a strange method": {"/v1beta/models/mock-large:guess", geminiDialect.body(false, []turn{{"user", "x"}}, nil), http.StatusNotFound, "NOT_FOUND"},
	} {
		resp := send(t, s, tt.path, tt.body)
		if got := decode(t, resp); resp.StatusCode != tt.status || text(got, "error", "status") != tt.state {
			t.Errorf("%s: status %d, %v", name, resp.StatusCode, got)
		}
	}
}

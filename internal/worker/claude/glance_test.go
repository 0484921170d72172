package claude

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cligate/internal/chat"
)

// decodedResults is what results must find, by way of the decoder.
func decodedResults(line []byte) []block {
	var m struct {
		Message struct {
			Content []struct {
				Type   string `json:"type"`
				Result string `json:"tool_use_id"`
				Failed bool   `json:"is_error"`
			} `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal(line, &m) != nil {
		return nil
	}
	var rs []block
	for _, c := range m.Message.Content {
		rs = append(rs, block{Type: c.Type, Result: c.Result, Failed: c.Failed})
	}
	return rs
}

func TestAGlanceSeesWhatTheDecoderSees(t *testing.T) {
	t.Parallel()
	lines := []string{
		`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"a","type":"tool_result","content":"say \"hi\\\\\" {[ ","is_error":true}]}}`,
		` { "type" : "result" , "n" : -1.5e3 , "x" : [ ] , "y" : { } , "subtype" : "success" } `,
		`{"type":"t\u0079pe","session_id":null,"parent_tool_use_id":"p"}`,
		`{"message":{"content":[{"type":"tool_result","content":[{"type":"text","text":"]}"}],"tool_use_id":"b"},{"type":"text"}]},"type":"user"}`,
		`{"type":"user","message":{"content":"plain"}}`,
	}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			lines = append(lines, strings.TrimPrefix(strings.TrimSpace(line), "<- "))
		}
	}
	seen := 0
	for _, line := range lines {
		var want head
		if json.Unmarshal([]byte(line), &want) != nil || want.Type == "" {
			continue
		}
		seen++
		if got, ok := glance([]byte(line)); !ok || got != want {
			t.Errorf("%.200s: %+v, %v; want %+v", line, got, ok, want)
		}
		if want.Type != typeUser {
			continue
		}
		if got, want := results([]byte(line)), decodedResults([]byte(line)); !reflect.DeepEqual(got, want) {
			t.Errorf("%.200s: %+v; want %+v", line, got, want)
		}
	}
	if seen < 100 {
		t.Errorf("only %d messages were compared", seen)
	}
}

func TestGarbageIsLeftToTheDecoder(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"", " ", "{", "}", "null", "[]", `"type"`, `{"type":"user"`, `{"type":"user"} x`, `{"type" "user"}`, `{"type":}`, `{"type":"user",}`,
		`{"type":"a"b}`, `{"type":"user\"}`, `{"type":"x","y":[}`, `{"type":5}`, `{"n":1}`, `{,}`, "\xff\xfe{",
	} {
		if h, ok := glance([]byte(line)); ok {
			t.Errorf("%q: %+v", line, h)
		}
	}
}

func FuzzGlanceNeverFailsAndNeverContradicts(f *testing.F) {
	f.Add([]byte(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"x"}]}}`))
	f.Add([]byte(`{"a":{"b":[1,"\\",null]},"type":"system"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		got, ok := glance(line)
		results(line)
		var members map[string]json.RawMessage
		if !ok || json.Unmarshal(line, &members) != nil {
			return
		}
		var want string
		if json.Unmarshal(members["type"], &want) == nil && want != "" && got.Type == "" {
			t.Errorf("%q: no type", line)
		}
	})
}

func TestALongLineThatSaysNothingNewIsNotMissed(t *testing.T) {
	t.Parallel()
	r := newRun(t.Context(), nowhere{}, nil)
	r.text.begin("msg_1")
	r.tools["toolu_1"] = chat.Tool{ID: "toolu_1", State: chat.ToolRunning}
	for line, want := range map[string]bool{
		`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_1","type":"tool_result","content":"xxx`: true,
		`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_9","type":"tool_result","content":"xxx`: false,
		`{"type":"assistant","message":{"id":"msg_1","content":[{"type":"text","text":"xxx`:                               true,
		`{"type":"assistant","message":{"id":"msg_2","content":[{"type":"text","text":"xxx`:                               false,
		`xxx`: false,
	} {
		if got := r.frame([]byte(line)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
	if len(r.tools) != 0 {
		t.Error("the tool still runs")
	}
}

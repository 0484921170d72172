package model_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"cligate/internal/sim/model"
)

type object = map[string]any

// turn is one part of a conversation, without a wire format. A call has the
// id c and so has its result, unless text of a result names another one.
type turn struct{ who, text string }

// dialect is a client of one wire format.
type dialect struct {
	name string
	path func(stream bool) string
	// body is a request with these tools; a call in talk calls the first.
	body func(stream bool, talk []turn, tools []string) object
	// whole and streamed make "text|(thought)|<tool>{arguments}" of an answer.
	whole    func(t *testing.T, body object) string
	streamed func(t *testing.T, events []sse) string
	// message is where an error says what is wrong.
	message func(body object) string
	shell   string // the name of a shell tool that clients of this format have
}

var dialects = []dialect{anthropicDialect, responsesDialect, chatDialect, geminiDialect}

// sse is one event as it came.
type sse struct {
	name string
	data object
	done bool // OpenAI's last one
}

func send(t *testing.T, s *model.Server, path string, body any) *http.Response {
	t.Helper()
	raw, ok := body.(string)
	if !ok {
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		raw = string(b)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+path, strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer k")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func decode(t *testing.T, resp *http.Response) object {
	t.Helper()
	var body object
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	return body
}

func events(t *testing.T, r io.Reader) []sse {
	t.Helper()
	var all []sse
	name := ""
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		line := sc.Text()
		if n, ok := strings.CutPrefix(line, "event: "); ok {
			name = n
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		e := sse{name: name, done: data == "[DONE]"}
		if !e.done {
			if err := json.Unmarshal([]byte(data), &e.data); err != nil {
				t.Fatalf("%s: %v", data, err)
			}
		}
		all, name = append(all, e), ""
	}
	return all
}

// get walks into decoded JSON; list items by their number as an int.
func get(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(object)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func text(v any, path ...any) string {
	s, _ := get(v, path...).(string)
	return s
}

// ask sends a conversation both ways and wants the same answer twice.
func ask(t *testing.T, d dialect, s *model.Server, talk []turn, tools ...string) string {
	t.Helper()
	resp := send(t, s, d.path(false), d.body(false, talk, tools))
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d: %v", d.name, resp.StatusCode, decode(t, resp))
	}
	whole := d.whole(t, decode(t, resp))
	if streamed := d.streamed(t, events(t, send(t, s, d.path(true), d.body(true, talk, tools)).Body)); streamed != whole {
		t.Errorf("%s: streamed %q, in one piece %q", d.name, streamed, whole)
	}
	return whole
}

// join is the form of an answer that whole and streamed agree on.
func join(parts []string) string { return strings.Join(parts, "|") }

func TestTheScriptIsTheSameOnEveryWire(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			u := func(text string) turn { return turn{"user", text} }
			call := `<` + d.shell + `>{"` + map[bool]string{true: "cmd", false: "command"}[d.shell == "exec_command"] + `":"ls"}`
			for _, tt := range []struct {
				talk []turn
				want string
			}{
				{[]turn{u("say one two three four five six")}, "one two three four five six"},
				{[]turn{u("think deep\nsay out loud")}, "(deep)|out loud"},
				{[]turn{u("remember the word plum"), {"model", "ok"}, u("what was it?")}, "the word was plum"},
				{[]turn{u("say a"), {"model", "a"}, u("count")}, "earlier 1"},
				{[]turn{u("say a"), {"model", "a"}, u("recall")}, "recall: say a"},
				{[]turn{u("model")}, "model: mock-large"},
				{[]turn{u("say a\nrun ls\nsay b")}, "a|" + call},
				{[]turn{u("say a\nrun ls\nsay b"), {"call", "ls"}, {"result", "out"}}, "b"},
				{[]turn{u("run ls"), {"call", "ls"}, {"result", "out"}}, "ran: out"},
				{[]turn{u("ask")}, "no tool AskUserQuestion"},
				{[]turn{u("stream 2 1")}, "tick 1 tick 2 "},
				{[]turn{u("slow 2 1")}, "tick 1 tick 2 "},
				{[]turn{u(strings.Repeat("x", 3000))}, "3000 bytes"},
			} {
				if got := ask(t, d, s, tt.talk, d.shell); got != tt.want {
					t.Errorf("%v: %q, want %q", tt.talk, got, tt.want)
				}
			}
			for _, r := range s.Requests() {
				if r.Refused != "" || r.Model != "mock-large" || r.Key == "" || len(r.Tools) != 1 || len(r.Body) == 0 {
					t.Errorf("noted %+v", r)
				}
			}
		})
	}
}

func TestAHugeAnswerArrivesWhole(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		s := open(t)
		if got := ask(t, d, s, []turn{{"user", "bigline 4"}}, d.shell); len(got) != 4<<20 {
			t.Errorf("%s: %d bytes", d.name, len(got))
		}
		if got := ask(t, d, s, []turn{{"user", "long 500 fig"}}, d.shell); strings.Count(got, "fig-") != 500 {
			t.Errorf("%s: %d lines", d.name, strings.Count(got, "fig-"))
		}
	}
}

func TestFailuresHaveTheFormOfTheAPI(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		s := open(t)
		for _, tt := range []struct {
			script string
			status int
			words  string // a pattern
		}{
			{"fail 400", 400, "as told"},
			{"fail 401", 401, "nvalid|ncorrect"},
			{"fail 404", 404, "no-such-model"},
			{"fail 429", 429, "imit|xhausted"},
			{"fail 429 0 quota", 429, "usage limits|current quota"},
			{"fail 400 0 context", 400, "too long|exceeds the"},
			{"fail 500", 500, "error"},
			{"fail 529", 529, "verloaded"},
		} {
			for _, stream := range []bool{true, false} {
				if stream && d.name == "responses" && tt.script == "fail 400 0 context" {
					continue // it has a test of its own
				}
				resp := send(t, s, d.path(stream), d.body(stream, []turn{{"user", tt.script}}, []string{d.shell}))
				body := decode(t, resp)
				if resp.StatusCode != tt.status || !regexp.MustCompile(tt.words).MatchString(d.message(body)) {
					t.Errorf("%s: %q: status %d, %v", d.name, tt.script, resp.StatusCode, body)
				}
				if tt.status == 429 && resp.Header.Get("Retry-After") == "" {
					t.Errorf("%s: nobody says when to try again", d.name)
				}
			}
		}
		for _, want := range []int{500, 500, 200} {
			resp := send(t, s, d.path(false), d.body(false, []turn{{"user", "fail 500 2\nsay fine"}}, nil))
			if resp.StatusCode != want {
				t.Errorf("%s: status = %d, want %d", d.name, resp.StatusCode, want)
			}
		}
	}
}

func TestAStreamIsCutInMidAnswer(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		resp := send(t, open(t), d.path(true), d.body(true, []turn{{"user", "cut"}}, nil))
		got, err := io.ReadAll(resp.Body)
		if err == nil || !strings.Contains(string(got), "half") {
			t.Errorf("%s: %q, %v", d.name, got, err)
		}
	}
}

func TestMalformedRequestsAreRefusedInTheFormOfTheAPI(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		s := open(t)
		u := turn{"user", "run ls"}
		good := d.body(false, []turn{u, {"call", "ls"}, {"result", "out"}}, []string{d.shell})
		if resp := send(t, s, d.path(false), good); resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: the good one is refused: %v", d.name, decode(t, resp))
		}
		for name, body := range map[string]any{
			"no JSON":                 "nonsense",
			"nothing said":            d.body(false, nil, nil),
			"a call without a result": d.body(false, []turn{u, {"call", "ls"}, {"user", "say next"}}, []string{d.shell}),
			"a result without a call": d.body(false, []turn{u, {"result", "out"}}, []string{d.shell}),
			"a result too many":       d.body(false, []turn{u, {"call", "ls"}, {"result", "out"}, {"result", "out"}}, []string{d.shell}),
			"a strange role":          d.body(false, []turn{{"stranger", "say hi"}}, nil),
		} {
			resp := send(t, s, d.path(false), body)
			if got := decode(t, resp); resp.StatusCode != http.StatusBadRequest || d.message(got) == "" {
				t.Errorf("%s: %s: status %d, %v", d.name, name, resp.StatusCode, got)
			}
			all := s.Requests()
			if all[len(all)-1].Refused == "" {
				t.Errorf("%s: %s: not noted as refused", d.name, name)
			}
		}
	}
}

func TestWithoutAKeyNothingIsAnswered(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		s := open(t)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+d.path(false), strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if body := decode(t, resp); resp.StatusCode != http.StatusUnauthorized || d.message(body) == "" {
			t.Errorf("%s: status %d, %v", d.name, resp.StatusCode, body)
		}
		_ = resp.Body.Close()
	}
}

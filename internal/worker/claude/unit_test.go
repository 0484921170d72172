package claude

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker/workertest"
)

func TestTextThatIsRepeatedAfterAFailedCallIsShownOnce(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		first, second []string
		want          string
	}{
		{"the same words", []string{"half of ", "the ans"}, []string{"half", " of the", " answer"}, "half of the answer|"},
		{"other words", []string{"half of the"}, []string{"half a pie"}, "half of the|half a pie|"},
		{"nothing was shown", nil, []string{"all"}, "all|"},
		{"less than before", []string{"one two"}, []string{"one"}, "one two|"},
		{"several tries", []string{"one two"}, []string{"one two three"}, "one two three|"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var a answer
			var got strings.Builder
			show := func(ps []piece) {
				for _, p := range ps {
					got.WriteString(p.text)
					if p.ends {
						got.WriteString("|")
					}
				}
			}
			a.begin("1")
			a.open(true)
			for _, s := range tt.first {
				show(a.add(s))
			}
			a.restart()
			a.restart() // a second refusal in between changes nothing
			a.begin("2")
			a.open(true)
			for _, s := range tt.second {
				show(a.add(s))
			}
			show(a.close())
			if got.String() != tt.want {
				t.Errorf("shown %q, want %q", got.String(), tt.want)
			}
		})
	}
}

func TestADetailHidesNothingOfTheRequest(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 20_000)
	tests := []struct {
		name, tool, input string
		want              []string
		exact             string
	}{
		{name: "a command is itself", tool: "Bash", input: `{"command":"rm -rf ./a \u202e ","description":"tidy up"}`, exact: "rm -rf ./a \u202e "},
		{name: "a long command is whole", tool: "Bash", input: `{"command":"` + long + `"}`, exact: long},
		{name: "what else would run", tool: "Bash", input: `{"command":"ls","dangerouslyDisableSandbox":true}`, want: []string{"ls", "dangerouslyDisableSandbox"}},
		{name: "a command of another type", tool: "Bash", input: `{"command":["ls","-l"]}`, want: []string{`"ls"`, `"-l"`}},
		{name: "an edit", tool: "Edit", input: `{"file_path":"/a","old_string":"x\ny","new_string":"z"}`, exact: "/a\n- x\n- y\n+ z"},
		{name: "an edit everywhere", tool: "Edit", input: `{"file_path":"/a","old_string":"x","new_string":"z","replace_all":true}`, want: []string{"/a\n- x\n+ z", "replace_all"}},
		{name: "a new file", tool: "Write", input: `{"file_path":"/a","content":"one\ntwo"}`, exact: "/a\n+ one\n+ two"},
		{name: "another tool", tool: "WebFetch", input: `{"url":"http://x","n":12345678901234567890}`, want: []string{`"url": "http://x"`, "12345678901234567890"}},
		{name: "no object", tool: "Bash", input: `"text"`, exact: `"text"`},
		{name: "nothing", tool: "Bash", input: ``, exact: ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := toolDetail(tt.tool, json.RawMessage(tt.input))
			if tt.want == nil && got != tt.exact {
				t.Errorf("detail = %q, want %q", got, tt.exact)
			}
			for _, w := range tt.want {
				if !strings.Contains(got, w) {
					t.Errorf("detail = %q lacks %q", got, w)
				}
			}
		})
	}
}

func TestATitleIsOneLine(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"command":"ls\nrm x"}`:                  "ls …",
		`{"file_path":"/a/b.go","content":"..."}`: "/a/b.go",
		`{"pattern":"TODO","path":"/src"}`:        "/src",
		`{}`:                                      "Tool",
		`not json`:                                "Tool",
		`{"command":"` + strings.Repeat("é", 300) + `"}`: strings.Repeat("é", maxTitle-1) + "…",
	} {
		if got := toolTitle("Tool", json.RawMessage(input)); got != want {
			t.Errorf("%.40s: %q, want %q", input, got, want)
		}
	}
}

func TestFailuresAreClassifiedByStatusThenByWords(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status int
		words  string
		want   chat.Code
	}{
		{http.StatusUnauthorized, "", chat.LoggedOut},
		{http.StatusPaymentRequired, "", chat.Quota},
		{http.StatusBadGateway, "", chat.Overloaded},
		{http.StatusRequestEntityTooLarge, "", chat.ContextFull},
		{http.StatusBadRequest, "Prompt is too long", chat.ContextFull},
		{http.StatusBadRequest, "Your credit balance is too low", chat.Quota},
		{0, "OAuth session expired · Please run /login", chat.LoggedOut},
		{0, "Invalid API key · Fix external API key", chat.LoggedOut},
		{0, "getaddrinfo ENOTFOUND api.example", chat.Network},
		{0, "something else", chat.AgentError},
	}
	for _, tt := range tests {
		if got := classify(tt.status, tt.words); got != tt.want {
			t.Errorf("%d %q: %s, want %s", tt.status, tt.words, got, tt.want)
		}
	}
}

func TestTheWordsOfAFailureAreBounded(t *testing.T) {
	t.Parallel()
	r := resultMsg{Failed: true, Text: strings.Repeat("é", 5000)}
	if d := chat.DetailOf(r.failure(time.Time{}, time.Now())); d != strings.Repeat("é", maxDetail-1)+"…" {
		t.Errorf("detail %q", d)
	}
}

func TestAPlanOfTheTodoToolIsAPlan(t *testing.T) {
	t.Parallel()
	a := workertest.NewHost(nil)
	r := newRun(t.Context(), a, slog.New(slog.DiscardHandler))
	r.toolStarted(block{Name: toolTodo, Input: json.RawMessage(`{"todos":[{"content":"look","status":"completed"},{"content":"leap","status":"pending"}]}`)})
	p := a.Of(chat.EventPlan)
	if len(p) != 1 || len(p[0].Plan) != 2 || !p[0].Plan[0].Done || p[0].Plan[1].Text != "leap" {
		t.Errorf("plan = %+v", p)
	}
}

func TestASubAgentsWordsAreNotTheAnswer(t *testing.T) {
	t.Parallel()
	p := newPuppet(t)
	w := p.play(t, nil)
	a := workertest.NewHost(nil)
	_, result := workertest.Begin(t, w, "hello", a)
	m := p.hears(t)
	inner := strings.Replace(says("m1", "from the sub-agent"), `"session_id"`, `"parent_tool_use_id":"u1","session_id"`, 1)
	p.says(t, life(m.UUID, "started"), initLine, inner, says("m2", "the answer"), resultLine)
	if err := <-result; err != nil || a.Blocks() != "the answer|" {
		t.Errorf("%q, %v", a.Blocks(), err)
	}
}

// FuzzOutputOfTheAgent: whatever is printed, nothing panics and a turn can
// still end.
func FuzzOutputOfTheAgent(f *testing.F) {
	for _, s := range []string{initLine, resultLine, asksLine, life("x", "started"), says("m", "text"), "", "null", `{"type":"stream_event"}`,
		`{"type":"stream_event","event":{"type":"content_block_start"}}`, `{"type":"system","subtype":"api_retry","error_status":"x"}`,
		`{"type":"result","subtype":"success","modelUsage":[1]}`, `{"type":"rate_limit_event","rate_limit_info":null}`,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","input":5}]}}`, `{"type":"control_request","request":{"subtype":"can_use_tool"}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := newPuppet(t)
		w := &Worker{cfg: Config{}.withDefaults(), log: slog.New(slog.DiscardHandler), proc: p, gone: make(chan struct{})}
		w.life, w.cancel = t.Context(), func() {}
		w.link = newLink(p, w.gone, time.Millisecond, w.log)
		w.asks = &asks{link: w.link, log: w.log, open: map[string]context.CancelCauseFunc{}}
		rd := &reader{Worker: w}
		tn := newTurn(t.Context(), workertest.NewHost(nil), "mine")
		close(tn.sent)
		w.known.turn = tn
		rd.line([]byte(life("mine", "started")))
		for line := range strings.SplitSeq(string(data), "\n") {
			rd.line([]byte(line))
		}
		rd.line([]byte(life("mine", "started")))
		rd.line([]byte(resultLine))
		w.tasks.Wait()
		select {
		case <-tn.done:
		default:
			t.Errorf("the turn did not end after %q", data)
		}
		_ = p.Terminate(t.Context())
		_ = p.stdout.Close()
	})
}

package acp

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker/workertest"
)

// What real agents ask, as recorded.
const (
	geminiAsks  = `{"sessionId":"s1","options":[{"optionId":"proceed_always","name":"Allow for this session","kind":"allow_always"},{"optionId":"proceed_once","name":"Allow","kind":"allow_once"},{"optionId":"cancel","name":"Reject","kind":"reject_once"}],"toolCall":{"toolCallId":"run_shell_command__8a2e21f2","status":"pending","title":"touch made-by-x; echo hi","content":[{"type":"content","content":{"type":"text","text":"[current working directory /w]"}}],"locations":[],"kind":"execute"}}`
	claudeAsks  = `{"toolCall":{"toolCallId":"toolu_ee","name":"Bash","status":"pending","rawInput":{"command":"touch made-by-x; echo hi"},"title":"touch made-by-x; echo hi","kind":"execute","content":[],"locations":[{"path":"/w/made-by-x"}]},"options":[{"optionId":"allow-once","name":"Yes","kind":"allow_once"},{"optionId":"allow-with-updates","name":"Yes, and don't ask again","kind":"allow_always"},{"optionId":"reject","name":"No","kind":"reject_once"}],"sessionId":"s1"}`
	copilotAsks = `{"sessionId":"s1","toolCall":{"toolCallId":"call_73","title":"run a command","kind":"execute","status":"pending","rawInput":{"command":"touch made-by-x; echo hi","commands":["touch made-by-x; echo hi"]}},"options":[{"optionId":"allow_once","kind":"allow_once","name":"Allow once"},{"optionId":"allow_always","kind":"allow_always","name":"Always allow"},{"optionId":"reject_once","kind":"reject_once","name":"Deny"}]}`
	editAsks    = `{"sessionId":"s1","toolCall":{"toolCallId":"e1","title":"Edit a.go","kind":"edit","content":[{"type":"diff","path":"/w/a.go","oldText":"one\ntwo","newText":"one\n2\n"}]},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}`
	inputAsks   = `{"sessionId":"s1","toolCall":{"toolCallId":"m1","title":"Call a server","rawInput":{"b":1,"a":"x"}},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}`
	claudeForm  = `{"mode":"form","sessionId":"s1","toolCallId":"toolu_a7","message":"Which colour?","requestedSchema":{"type":"object","properties":{"question_0":{"type":"string","title":"Colour","oneOf":[{"const":"red","title":"red","description":"a warm one"},{"const":"blue","title":"blue","description":"a cold one"}]},"question_0_custom":{"type":"string","title":"Other","description":"Type your own answer, or add a note to the option you chose above (optional)."}}}}`
	codexForm   = `{"sessionId":"s1","toolCallId":"call_25","mode":"form","message":"Codex needs your input to continue.","requestedSchema":{"type":"object","properties":{"colour":{"title":"Which colour?","description":"Colour","_meta":{"codex":{"isOther":true}},"type":"string","oneOf":[{"const":"red","title":"red","description":"a warm one"},{"const":"blue","title":"blue","description":"a cold one"},{"const":"None of the above","title":"None of the above","description":"Provide a different answer in the note field."}]},"colour_note":{"type":"string","title":"Additional answer or note"}},"required":["colour"]}}`
)

// asked runs a turn in which the agent sends one request, and returns the
// question that a person saw and what the agent was answered.
func asked(t *testing.T, method, params string, answer workertest.Answer) (chat.Question, string) {
	t.Helper()
	got := make(chan string, 1)
	s := newScript(nil)
	s.on["session/prompt"] = func(s *script, id, _ string) {
		s.mu.Lock()
		s.on[""] = func(s *script, _, _ string) {
			got <- s.answers()[0]
			s.line(`{"id":%s,"result":{"stopReason":"end_turn"}}`, id)
		}
		s.mu.Unlock()
		s.line(`{"jsonrpc":"2.0","id":0,"method":%q,"params":%s}`, method, strings.NewReplacer("\n", "", "\t", "").Replace(params))
	}
	h := workertest.NewHost(answer)
	if err := mustOpen(t, s, Config{}).Prompt(t.Context(), ask("hi"), h); err != nil {
		t.Fatal(err)
	}
	if len(h.Asked()) != 1 {
		return chat.Question{}, <-got
	}
	return h.Asked()[0], <-got
}

func TestApprovalsOfRealAgents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		params, detail, tool, once, no string
	}{
		"gemini":  {geminiAsks, "touch made-by-x; echo hi\n\n[current working directory /w]\n\n(run_shell_command__8a2e21f2)", "execute", "proceed_once", "cancel"},
		"claude":  {claudeAsks, "touch made-by-x; echo hi", "Bash", "allow-once", "reject"},
		"copilot": {copilotAsks, "touch made-by-x; echo hi", "execute", "allow_once", "reject_once"},
		"edit":    {editAsks, "/w/a.go\n-one\n-two\n+one\n+2", "edit", "y", ""},
		"input":   {inputAsks, "{\n  \"b\": 1,\n  \"a\": \"x\"\n}", "", "y", ""},
	} {
		for _, e := range []chat.Effect{chat.EffectAllow, chat.EffectSession, chat.EffectDeny} {
			q, got := asked(t, methodPermission, c.params, workertest.Say(chat.Answer{Effect: e}))
			if q.Kind != chat.AskApproval || q.Detail != c.detail || q.Tool != c.tool || q.Title == "" {
				t.Errorf("%s: asked %+v", name, q)
			}
			id, kind := c.once, "selected"
			if e == chat.EffectDeny {
				id = c.no
			}
			if id == "" {
				kind = "cancelled"
			}
			var r permitted
			if err := json.Unmarshal([]byte(got), &r); err != nil || r.Outcome.Option != id || r.Outcome.Outcome != kind {
				t.Errorf("%s: %s was answered %s", name, e, got)
			}
			for _, o := range q.Options {
				if strings.Contains(o.ID, "always") || strings.Contains(o.ID, "updates") {
					t.Errorf("%s: the agent's own \"always\" is offered: %+v", name, o)
				}
			}
		}
	}
}

func TestRequestsThatDifferDoNotReadAlike(t *testing.T) {
	t.Parallel()
	call := func(id, more string) string {
		return `{"toolCall":{"toolCallId":"` + id + `","kind":"execute",` + more + `},"options":[]}`
	}
	for name, c := range map[string]struct {
		a, b   string
		titles bool
		same   bool
	}{
		"the same command":             {call("1", `"title":"t","rawInput":{"command":"x","description":"d"}`), call("2", `"title":"u","rawInput":{"command":"x","description":"e"}`), false, true},
		"the same command elsewhere":   {call("1", `"rawInput":{"command":"x","cwd":"/a"}`), call("2", `"rawInput":{"command":"x","cwd":"/b"}`), false, false},
		"commands in the title":        {call("1", `"title":"rm a"`), call("2", `"title":"rm b"`), true, false},
		"the same one in the title":    {call("1", `"title":"rm a"`), call("2", `"title":"rm a"`), true, true},
		"titles that say nothing":      {call("1", `"title":"run a command"`), call("2", `"title":"run a command"`), false, false},
		"a tool of which less is told": {call("1", `"title":"t","rawInput":{}`), call("2", `"title":"t","rawInput":{}`), false, false},
		"the same change":              {call("1", `"content":[{"type":"diff","path":"/a","newText":"x"}]`), call("2", `"content":[{"type":"diff","path":"/a","newText":"x"}]`), false, true},
		"another change":               {call("1", `"content":[{"type":"diff","path":"/a","newText":"x"}]`), call("2", `"content":[{"type":"diff","path":"/a","newText":"y"}]`), false, false},
	} {
		d := &desk{session: &session{cfg: Config{Quirks: Quirks{Titles: c.titles}}}}
		detail := func(s string) string {
			p, err := decode[permission]([]byte(s))
			must(t, err)
			return d.detail(p)
		}
		if a, b := detail(c.a), detail(c.b); (a == b) != c.same {
			t.Errorf("%s: %q and %q", name, a, b)
		}
	}
}

func TestFormsOfRealAgents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		params string
		answer chat.Answer
		want   string
	}{
		"claude, an option":    {claudeForm, chat.Answer{Values: map[string][]string{"question_0": {"blue"}}}, `{"action":"accept","content":{"question_0":"blue"}}`},
		"claude, by the id":    {claudeForm, chat.Answer{Option: "red", Effect: chat.EffectChoose}, `{"action":"accept","content":{"question_0":"red"}}`},
		"claude, own words":    {claudeForm, chat.Answer{Text: "mauve"}, `{"action":"accept","content":{"question_0_custom":"mauve"}}`},
		"codex, an option":     {codexForm, chat.Answer{Values: map[string][]string{"colour": {"blue"}}}, `{"action":"accept","content":{"colour":"blue"}}`},
		"codex, own words":     {codexForm, chat.Answer{Values: map[string][]string{"colour": {"mauve"}}}, `{"action":"accept","content":{"colour":"None of the above","colour_note":"mauve"}}`},
		"codex, denied":        {codexForm, chat.Answer{Effect: chat.EffectDeny}, `{"action":"decline"}`},
		"codex, without a say": {codexForm, chat.Answer{}, `{"action":"decline"}`},
	} {
		q, got := asked(t, methodForm, c.params, workertest.Say(c.answer))
		var have, want any
		if json.Unmarshal([]byte(got), &have) != nil || json.Unmarshal([]byte(c.want), &want) != nil || !reflect.DeepEqual(have, want) {
			t.Errorf("%s: answered %s, want %s", name, got, c.want)
		}
		if len(q.Queries) != 1 || q.Queries[0].Text != "Which colour?" || !q.Queries[0].Free || len(q.Queries[0].Options) < 2 {
			t.Errorf("%s: asked %+v", name, q)
		}
	}
}

func TestFormsOfEveryShape(t *testing.T) {
	t.Parallel()
	params := `{"message":"Set it up","requestedSchema":{"properties":{
		"name":{"type":"string","title":"Name"},"size":{"type":"integer"},"on":{"type":"boolean","title":"On?"},
		"kind":{"type":"string","enum":["a","b"],"enumNames":["Alpha","Beta"]},
		"many":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"},{"const":"y","title":"Y"}]}}},"required":["name"]}}`
	q, got := asked(t, methodForm, params, workertest.Say(chat.Answer{Values: map[string][]string{
		"name": {"me"}, "size": {"12"}, "on": {"false"}, "kind": {"b"}, "many": {"x", "y"},
	}}))
	if len(q.Queries) != 5 || q.Kind != chat.AskChoice || q.Title != "Set it up" {
		t.Errorf("asked %+v", q)
	}
	want := `{"action":"accept","content":{"kind":"b","many":["x","y"],"name":"me","on":false,"size":12}}`
	if got != want {
		t.Errorf("answered %s\nwant %s", got, want)
	}
	for _, bad := range []string{`{"mode":"url","url":"https://x"}`, `{}`, `[]`, `{"requestedSchema":{"properties":{"a":5}}}`} {
		if _, got := asked(t, methodForm, bad, workertest.Say(chat.Answer{})); !strings.Contains(got, "accept") && !strings.Contains(got, "decline") {
			t.Errorf("%s: answered %s", bad, got)
		}
	}
}

func TestAnswersThatDoNotFitAreNotSent(t *testing.T) {
	t.Parallel()
	params := `{"message":"m","requestedSchema":{"properties":{%s},"required":["a"]}}`
	for _, c := range []struct{ field, answer, want string }{
		{`"a":{"type":"integer","minimum":1,"maximum":9}`, "5", `5`},
		{`"a":{"type":"integer","minimum":1,"maximum":9}`, " 5.0 ", `5`},
		{`"a":{"type":"integer"}`, "5.5", ""},
		{`"a":{"type":"integer","maximum":9}`, "10", ""},
		{`"a":{"type":"number","minimum":1}`, "0.5", ""},
		{`"a":{"type":"number"}`, "1e3", `1000`},
		{`"a":{"type":"number"}`, "NaN", ""},
		{`"a":{"type":"number"}`, "many", ""},
		{`"a":{"type":"string","maxLength":3}`, "four", ""},
		{`"a":{"type":"string","minLength":3}`, "漢字", ""},
		{`"a":{"type":"string","enum":["x"],"enumNames":["Ex"]}`, "ex", `"x"`},
		{`"a":{"type":"string","enum":["x"]}`, "y", ""},
		{`"a":{"type":"array","items":{"enum":["x","y"]}}`, "x", `["x"]`},
		{`"a":{"type":"boolean"}`, "maybe", ""},
	} {
		_, got := asked(t, methodForm, strings.Replace(params, "%s", c.field, 1), workertest.Say(chat.Answer{Values: map[string][]string{"a": {c.answer}}}))
		want := `{"action":"decline"}`
		if c.want != "" {
			want = `{"action":"accept","content":{"a":` + c.want + `}}`
		}
		if got != want {
			t.Errorf("%s answered %q: %s", c.field, c.answer, got)
		}
	}
}

func TestAQuestionInTheFormOfPermissionsIsAQuestion(t *testing.T) {
	t.Parallel()
	params := `{"sessionId":"s1","toolCall":{"toolCallId":"c","title":"Which one?"},"options":[
		{"optionId":"a","name":"Apple","kind":"allow_once"},{"optionId":"p","name":"Pear","kind":"allow_once"},{"optionId":"no","name":"None","kind":"reject_once"}]}`
	q, got := asked(t, methodPermission, params, workertest.Say(chat.Answer{Option: "p", Effect: chat.EffectChoose}))
	if q.Kind != chat.AskChoice || len(q.Queries) != 1 || len(q.Queries[0].Options) != 3 || !strings.Contains(got, `"optionId":"p"`) {
		t.Errorf("asked %+v, answered %s", q, got)
	}
}

func TestUnreadableRequestsAreAnswered(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{methodPermission, `{"options":7}`}, {methodPermission, `null`}, {"fs/read_text_file", `{"path":"/etc/passwd"}`},
		{"terminal/create", `{}`}, {"_private/thing", `[]`},
	} {
		_, got := asked(t, c[0], c[1], workertest.Say(chat.Answer{Effect: chat.EffectAllow}))
		if !strings.Contains(got, "cancelled") && !strings.Contains(got, "-32601") {
			t.Errorf("%s %s: answered %s", c[0], c[1], got)
		}
	}
}

func FuzzLine(f *testing.F) {
	for _, s := range []string{geminiAsks, claudeForm, codexForm, editAsks, `{"update":{"sessionUpdate":"plan","entries":[{}]}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := decode[permission](b); err == nil {
			q := p.question(request{id: "1", params: b}, (&desk{session: &session{}}).detail(p))
			p.choose(chat.Answer{Effect: chat.EffectAllow})
			p.answers(q, chat.Answer{Option: "x"})
		}
		if e, err := decode[elicited](b); err == nil {
			fm := e.form()
			fm.fill(chat.Answer{Text: "x"})
		}
		if n, err := decode[updateNote](b); err == nil {
			tn := newTurn(t.Context(), workertest.NewHost(nil), Quirks{Speaks: true}, nil)
			defer tn.close()
			tn.take(n.Update)
		}
		decodeHead(b)
		var e rpcError
		if json.Unmarshal(b, &e) == nil {
			_ = e.coded(Config{})
		}
		if s := short(string(b)); len(s) > shortSize+10 {
			t.Error("not short")
		}
	})
}

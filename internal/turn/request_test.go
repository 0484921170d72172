package turn

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"cligate/internal/chat"
)

func TestDigestIsOfTheExactRequest(t *testing.T) {
	t.Parallel()
	base := chat.Question{
		Kind: chat.AskApproval, Tool: "Bash", Detail: "ls",
		Options: []chat.Option{{ID: "a", Label: "Yes", Effect: chat.EffectAllow}},
		Queries: []chat.Query{{ID: "q", Text: "?", Options: []chat.Option{{ID: "x"}}}},
	}
	same := base
	same.Key, same.Title = "another-key", "another title"
	if digest(same) != digest(base) {
		t.Error("the agent's own id is no part of what is asked for")
	}
	seen := map[string]string{digest(base): "base"}
	for name, change := range map[string]func(*chat.Question){
		"kind":           func(q *chat.Question) { q.Kind = chat.AskPlan },
		"tool":           func(q *chat.Question) { q.Tool = "bash" },
		"trailing space": func(q *chat.Question) { q.Detail = "ls " },
		"zero width":     func(q *chat.Question) { q.Detail = "l\u200bs" },
		"broken bytes":   func(q *chat.Question) { q.Detail = "ls\xff" },
		"other bytes":    func(q *chat.Question) { q.Detail = "ls\xfe" },
		"moved boundary": func(q *chat.Question) { q.Tool, q.Detail = "Bashl", "s" },
		"option":         func(q *chat.Question) { q.Options = []chat.Option{{ID: "a", Label: "Yes", Effect: chat.EffectDeny}} },
		"another option": func(q *chat.Question) { q.Options = append(slices.Clone(q.Options), chat.Option{}) },
		"option for query": func(q *chat.Question) {
			q.Queries = []chat.Query{{ID: "q", Text: "?", Options: []chat.Option{{ID: "y"}}}}
		},
		"multi": func(q *chat.Question) { q.Queries = []chat.Query{{ID: "q", Text: "?", Multi: true}} },
		"free":  func(q *chat.Question) { q.Queries = []chat.Query{{ID: "q", Text: "?", Free: true}} },
	} {
		q := base
		change(&q)
		d := digest(q)
		if other, taken := seen[d]; taken {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[d] = name
	}
}

func TestNothingIsHiddenInARequest(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"ls -l\n\tcat file":      "ls -l\n\tcat file",
		"rm -rf / \nls":          `rm -rf /\u{20}` + "\nls",
		"a\t":                    `a\u{09}`,
		"safe\u202e; rm":         `safe\u{202e}; rm`,
		"l\u200bs":               `l\u{200b}s`,
		"a\rb\x1b[2K":            `a\u{0d}b\u{1b}[2K`,
		"x\u00a0y":               `x\u{a0}y`,
		"bad \xff byte":          `bad \x{ff} byte`,
		"a real \uFFFD":          "a real \uFFFD",
		"tag\U000E0041":          `tag\u{e0041}`,
		"\u3164=1":               `\u{3164}=1`,
		"ok ⚠\uFE0F 你好 é":        "ok ⚠\uFE0F 你好 é",
		"line\u2028separator":    `line\u{2028}separator`,
		"soft\u00adhyphen\ufeff": `soft\u{ad}hyphen\u{feff}`,
	} {
		got, hidden := visible(in)
		if got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
		if hidden != (in != want) {
			t.Errorf("%q: hidden is %v", in, hidden)
		}
	}
}

func FuzzRequestIsShownWhole(f *testing.F) {
	f.Add("ls `x` ```\n````")
	f.Add("\xff\u202e ")
	f.Fuzz(func(t *testing.T, s string) {
		shown, _ := visible(s)
		if !utf8.ValidString(shown) {
			t.Errorf("%q is shown as invalid text", s)
		}
		for _, r := range shown {
			if r != '\n' && r != '\t' && r != 0xFE0F && r != 0xFE0E && (unicode.IsControl(r) || unicode.In(r, unicode.Cf)) {
				t.Errorf("%q still holds %U", shown, r)
			}
		}
		block := chat.Fence(shown)
		fence, rest, _ := strings.Cut(block, "\n")
		if strings.Count(rest, fence) != 1 || !strings.HasSuffix(rest, "\n"+fence) {
			t.Errorf("the code block of %q can be ended from inside", shown)
		}
	})
}

func TestRequestIsShownWithItsOptions(t *testing.T) {
	t.Parallel()
	q := question{id: 7, agent: "claude", lang: "en", digest: strings.Repeat("ab", 32), q: chat.Question{
		Kind: chat.AskApproval, Tool: "Ba*sh", Title: "Run [it](http://x)\u202e", Detail: "ls",
		Options: []chat.Option{{ID: "a", Effect: chat.EffectAllow}, {ID: "s", Effect: chat.EffectSession}, {ID: "d", Effect: chat.EffectDeny}},
	}}
	body, file := q.body()
	if file != nil || !strings.Contains(body, `claude asks to use **Ba\*sh**`) || !strings.Contains(body, `Run \[it\](http://x)\\u\{202e\}`) {
		t.Errorf("shown as %q", body)
	}
	var labels []string
	for _, row := range q.buttons() {
		for _, b := range row {
			labels = append(labels, b.Label)
			if len(b.Data) > 64 {
				t.Errorf("%q is too long for a button", b.Data)
			}
		}
	}
	if !slices.Equal(labels, []string{"Allow", "Allow in this session", "Deny"}) {
		t.Errorf("labels %q", labels)
	}
	if q := complete(chat.Question{Kind: chat.AskText}, true); len(q.Options) != 0 {
		t.Errorf("a text question offers %+v", q.Options)
	}
}

func TestClosedAskSaysHow(t *testing.T) {
	t.Parallel()
	choice := chat.Question{Queries: []chat.Query{
		{ID: "c", Options: []chat.Option{{ID: "r", Label: "Red"}}}, {ID: "n"},
	}}
	for want, a := range map[string]chat.Ask{
		"Allowed by Ann":                {State: chat.AskAnswered, Answer: chat.Answer{Effect: chat.EffectAllow, By: chat.Person{Name: "Ann"}}},
		"Allowed in this session by 42": {State: chat.AskAnswered, Answer: chat.Answer{Effect: chat.EffectSession, By: chat.Person{ID: "42"}}},
		"Denied by Ann":                 {State: chat.AskAnswered, Answer: chat.Answer{Effect: chat.EffectDeny, By: chat.Person{Name: "Ann"}}},
		"Denied by Ann: too risky":      {State: chat.AskAnswered, Answer: chat.Answer{Effect: chat.EffectDeny, Text: "too risky", By: chat.Person{Name: "Ann"}}},
		"Answered by Ann: Red, Bob":     {State: chat.AskAnswered, Question: choice, Answer: chat.Answer{Values: map[string][]string{"c": {"r"}, "n": {"Bob"}}, By: chat.Person{Name: "Ann"}}},
		"Answered by Ann: –":            {State: chat.AskAnswered, Question: choice, Answer: chat.Answer{Effect: chat.EffectChoose, By: chat.Person{Name: "Ann"}}},
		"Expired (denied)":              {State: chat.AskExpired},
		"No longer open":                {State: chat.AskVoid},
		`Denied by A\\u\{202e\}: x`:     {State: chat.AskAnswered, Answer: chat.Answer{Effect: chat.EffectDeny, Text: "x", By: chat.Person{Name: "A\u202e"}}},
		`Denied by \[A\](x): \*\*y`:     {State: chat.AskAnswered, Answer: chat.Answer{Effect: chat.EffectDeny, Text: "**y", By: chat.Person{Name: "[A](x)"}}},
	} {
		if got := outcome(a, "en"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDecisionWakesEverybodyOnce(t *testing.T) {
	t.Parallel()
	var b Board
	b.Decided(chat.Ask{ID: 1}) // nobody waits
	one, leave := b.await(1)
	two, leaveToo := b.await(1)
	b.Decided(chat.Ask{ID: 2})
	b.Decided(chat.Ask{ID: 1, State: chat.AskAnswered})
	b.Decided(chat.Ask{ID: 1, State: chat.AskVoid})
	if a, c := <-one, <-two; a.State != chat.AskAnswered || c.State != chat.AskAnswered {
		t.Errorf("woken with %v, %v", a, c)
	}
	leave()
	leaveToo()
	if len(b.waiters) != 0 {
		t.Errorf("%d are still waiting", len(b.waiters))
	}
}

func TestPermissionsThatLastAreOursWhateverTheAgentOffers(t *testing.T) {
	t.Parallel()
	effects := func(os []chat.Option) (es []chat.Effect) {
		for _, o := range os {
			es = append(es, o.Effect)
		}
		return es
	}
	for name, c := range map[string]struct {
		options []chat.Option
		always  bool
		want    []chat.Effect
	}{
		"none":      {nil, true, []chat.Effect{chat.EffectAllow, chat.EffectSession, chat.EffectAlways, chat.EffectDeny}},
		"switched":  {nil, false, []chat.Effect{chat.EffectAllow, chat.EffectSession, chat.EffectDeny}},
		"its own":   {[]chat.Option{{ID: "y", Effect: chat.EffectAllow}, {ID: "p", Effect: chat.EffectSession}, {ID: "n", Effect: chat.EffectDeny}}, true, []chat.Effect{chat.EffectAllow, chat.EffectSession, chat.EffectAlways, chat.EffectDeny}},
		"no yes":    {[]chat.Option{{ID: "n", Effect: chat.EffectDeny}}, true, []chat.Effect{chat.EffectDeny}},
		"yes alone": {[]chat.Option{{ID: "y", Effect: chat.EffectAllow}}, false, []chat.Effect{chat.EffectAllow, chat.EffectSession}},
	} {
		q := complete(chat.Question{Kind: chat.AskApproval, Options: c.options}, c.always)
		if got := effects(q.Options); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		for _, o := range q.Options {
			heard := forAgent(chat.Ask{Question: q, Answer: chat.Answer{Option: o.ID, Effect: o.Effect}})
			yes, _ := q.With(chat.EffectAllow)
			if o.Effect.Lasts() && (heard.Option != yes.ID || heard.Effect != chat.EffectAllow) {
				t.Errorf("%s: the agent hears %+v", name, heard)
			}
		}
	}
}

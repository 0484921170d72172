package feishu

import (
	"slices"
	"strings"
	"testing"
)

func TestACardIsReadAsAPersonReadsIt(t *testing.T) {
	t.Parallel()
	r := Read("#### Title\n\n**bold:**x *it* ~~out~~ &#42;star&#42; :OK: &#58;OK: [a](https://b.c)<br>next\n\n3. three\n4. four\n    ```go\n    x := 1 &#42;\n    ```\n\n| h |\n| --- |\n| `c` |\n\n<font color='grey'>small</font> <at id=all></at> ![p](img_v3_x)")
	for _, want := range []string{"Title", "**bold:**x it out *star* ☺ :OK: a https://b.c", "next", "3. three", "4. four", "go", "x := 1 &#42;", "small"} {
		if !strings.Contains(strings.ReplaceAll(r.Words, apart, ""), want) {
			t.Errorf("%q is not in %q", want, r.Words)
		}
	}
	if !slices.Equal(r.Code, []string{"x := 1 &#42;"}) || r.Tables != 1 || !slices.Equal(r.Emoji, []string{":OK:"}) ||
		!slices.Equal(r.Tags, []string{"at", "at", "!img_v3_x"}) || !slices.Equal(r.Marks, []string{"it", "out"}) {
		t.Errorf("%+v", r)
	}
	if strings.Contains(r.Exact, "https://") || !strings.Contains(r.Exact, "4. four") {
		t.Errorf("%q", r.Exact)
	}
	if r := Read("1. a\n\n7. b\n\n<div>\n\nnot indented\n\n    code"); !strings.Contains(r.Exact, "2. b") || !slices.Equal(r.Tags, []string{"div"}) || len(r.Code) != 1 {
		t.Errorf("%+v", r) // a list counts by itself, and no block of HTML swallows words
	}
}

func TestWhomAMessageCallsIsSeenEverywhere(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.text(direct, `<at user_id="all">all</at>`)
	c.post(direct, "interactive", sheet(false, md("a", "`<at id=all></at>`")))
	c.post(direct, "interactive", sheet(false, map[string]any{"tag": "collapsible_panel", "elements": []any{md("a", "<at ids="+anna+"></at>")}}))
	c.post(direct, "post", map[string]any{"zh_cn": map[string]any{"content": []any{[]any{map[string]any{"tag": "md", "text": "<at user_id='all'>"}}}}})
	c.text(direct, "nobody <atom>")
	var got []string
	for _, m := range c.s.Shown(direct) {
		got = append(got, strings.Join(slices.Compact(m.Called()), " "))
	}
	if !slices.Equal(got, []string{"all", "all", anna, "all", ""}) {
		t.Errorf("%q", got)
	}
}

func TestACardCanBeJudgedWithoutBeingSent(t *testing.T) {
	t.Parallel()
	c := start(t)
	if no := c.s.Judge(`{"schema":"2.0","body":{"elements":[{"tag":"markdown","content":"x"}]}}`); no != "" {
		t.Error(no)
	}
	for _, bad := range []string{`{`, `{"schema":"2.0","body":{"elements":[{"tag":"note"}]}}`, `{"schema":"2.0","body":{"elements":[{"tag":"markdown","content":"` + strings.Repeat("x", maxCard) + `"}]}}`} {
		if c.s.Judge(bad) == "" {
			t.Errorf("accepted: %.80s", bad)
		}
	}
}

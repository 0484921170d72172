package telegram

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func kinds(text string, es []entity) []string {
	var out []string
	for _, e := range es {
		out = append(out, fmt.Sprintf("%s:%s", e.Type, string([]rune(text)[e.Offset:e.Offset+e.Length])))
	}
	slices.Sort(out)
	return out
}

// What the service does without a word must be seen by tests, and only while
// the rule is in force.
func TestFormattingIsChangedWithoutAWord(t *testing.T) {
	t.Parallel()
	many := make([]entity, 0, 120)
	for i := range 110 {
		many = append(many, entity{Type: "bold", Offset: 2 * i, Length: 1})
	}
	many = append(many, entity{Type: "code", Offset: 230, Length: 2})
	for _, c := range []struct {
		rule Rule
		text string
		es   []entity
		with func(m Message) bool
	}{
		{RuleMost, strings.Repeat("x ", 120), many, func(m Message) bool { return len(m.Entities) == 100 && m.Entities[99].Type == "code" }},
		{RuleNesting, "abcdef", []entity{{Type: "bold", Length: 6}, {Type: "code", Offset: 2, Length: 2}}, func(m Message) bool { return len(m.Entities) == 3 }},
		{RuleNesting, "abcdef", []entity{{Type: "bold", Length: 6}, {Type: "text_link", Offset: 2, Length: 2, URL: "http://a.b"}}, func(m Message) bool { return len(m.Entities) == 4 }},
		{RuleNesting, "abcdef", []entity{{Type: "blockquote", Length: 6}, {Type: "blockquote", Offset: 2, Length: 2}}, func(m Message) bool { return len(m.Entities) == 1 }},
		{RuleNesting, "abcdef", []entity{{Type: "pre", Length: 6}, {Type: "text_link", Offset: 2, Length: 2, URL: "http://a.b"}}, func(m Message) bool { return len(m.Entities) == 1 }},
		{RuleNesting, "abcdef", []entity{{Type: "bold", Length: 4}, {Type: "italic", Offset: 2, Length: 4}}, func(m Message) bool { return m.Entities[1].Length == 2 }},
		{RuleFound, "see /tmp, /etc/x, a.py, @user, #tag, $HOME, x/y, C#, e.g. and `/no", nil, func(m Message) bool {
			return slices.Equal(kinds(m.Text, m.Found), []string{"bot_command:/no", "bot_command:/tmp", "cashtag:$HOME", "hashtag:#tag", "mention:@user", "url:a.py"})
		}},
		{RuleFound, "http://api:80/x and a.rs:3", []entity{{Type: "code", Offset: 20, Length: 4}}, func(m Message) bool {
			return slices.Equal(kinds(m.Text, m.Found), []string{"url:http://api:80/x"})
		}},
	} {
		for _, off := range [][]Rule{nil, {c.rule}} {
			s := start(t, off...)
			call(t, s, "sendMessage", "chat_id", alice, "text", c.text, "entities", c.es).id(t)
			if m := s.Visible(token, alice)[0]; c.with(m) != (off == nil) {
				t.Errorf("%s %q, off %v: %v %v", c.rule, m.Text, off, m.Entities, kinds(m.Text, m.Found))
			}
		}
	}
}

func TestNoFormattingBeginsWithABlank(t *testing.T) {
	t.Parallel()
	s := start(t)
	call(t, s, "sendMessage", "chat_id", alice, "text", " \n  x\n  y ` `", "entities", []entity{{Type: "pre", Offset: 2, Length: 7}, {Type: "code", Offset: 11, Length: 1}}).id(t)
	if m := s.Visible(token, alice)[0]; m.Text != "x\n  y ` `" || len(m.Entities) != 1 || m.Entities[0].Offset != 0 || m.Entities[0].Length != 5 {
		t.Errorf("%q %v", m.Text, m.Entities)
	}
}

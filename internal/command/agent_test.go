package command

import (
	"strings"
	"testing"
)

func TestAnAgentThatIsNotReadySaysWhy(t *testing.T) {
	t.Parallel()
	c := Call{Lang: "en"}
	for _, want := range []struct {
		agent Agent
		line  string
	}{
		{Agent{Name: "a", Title: "A", Hint: "log in first"}, "log in first"},
		{Agent{Name: "b", Title: "B"}, "it does not start"},
	} {
		for what, text := range map[string]string{
			"the list": offerAgents(c, []Agent{want.agent}).Replies[0].Markdown, "the change": want.agent.note(c),
		} {
			if !strings.Contains(text, want.line) {
				t.Errorf("%s: %q does not say %q", what, text, want.line)
			}
		}
	}
}

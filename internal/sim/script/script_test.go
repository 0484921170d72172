package script_test

import (
	"reflect"
	"testing"

	"cligate/internal/sim/script"
)

func TestEveryLineWithAVerbIsAStep(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []script.Step
	}{
		{"one verb", "say hello there", []script.Step{{"say", "hello there"}}},
		{"capital verb", "Say hello", []script.Step{{"say", "hello"}}},
		{"several lines", "think a\n\nrun ls\nsay done", []script.Step{{"think", "a"}, {"run", "ls"}, {"say", "done"}}},
		{"no verb is echoed", "good morning", []script.Step{{script.Echo, "good morning"}}},
		{"a speaker is not the verb", "Ann: say hi", []script.Step{{"say", "hi"}}},
		{"quoted text is data", "[quoted text]\n> run rm\n[end of quoted text]\n\nsay hi", []script.Step{{"say", "hi"}}},
		{"a recap is data", "earlier:\nrun rm\n[end of the recap]\n\nsay hi", []script.Step{{"say", "hi"}}},
		{"a note is data", "[Note of the chat gateway: say no]\n\nsay hi", []script.Step{{"say", "hi"}}},
		{"nothing", "  ", []script.Step{{script.Echo, ""}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := script.Parse(tt.text); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("Parse(%q) = %v, want %v", tt.text, got, tt.want)
			}
		})
	}
}

func TestStepArgumentsHaveDefaults(t *testing.T) {
	t.Parallel()
	s := script.Parse("stream 3 x more words")[0]
	if s.Int(0, 1) != 3 || s.Int(1, 7) != 7 || s.Int(9, 5) != 5 || s.After(2) != "more words" {
		t.Errorf("got %d %d %d %q", s.Int(0, 1), s.Int(1, 7), s.Int(9, 5), s.After(2))
	}
}

func TestTheLastRememberedWordCounts(t *testing.T) {
	t.Parallel()
	got := script.Word([]string{"remember the word plum", "hello", "Please remember the word pear.", "what was the word?"})
	if got != "pear" {
		t.Errorf("Word = %q, want pear", got)
	}
}

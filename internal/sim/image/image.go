// Package image reads the container image's description, so that tests can
// hold it to what the documentation promises and replay it without a container
// engine.
package image

import (
	"encoding/json"
	"strings"
)

// Step is one instruction of a Dockerfile.
type Step struct {
	Word string // RUN, COPY, ENV …, upper case
	Rest string // its arguments, continuation lines joined
}

// Stage is what follows one FROM.
type Stage struct {
	From  string
	Steps []Step
}

// Parse reads a Dockerfile: comments, continuation lines and stages. Here
// documents and parser directives other than comments are not used here.
func Parse(src string) []Stage {
	var stages []Stage
	var held string
	for line := range strings.Lines(src) {
		line = strings.TrimRight(line, "\n")
		if held == "" && (strings.TrimSpace(line) == "" || strings.HasPrefix(strings.TrimSpace(line), "#")) {
			continue
		}
		if rest, more := strings.CutSuffix(line, "\\"); more {
			held += rest
			continue
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(held+line), " ")
		held = ""
		s := Step{strings.ToUpper(word), strings.TrimSpace(rest)}
		if s.Word == "FROM" {
			stages = append(stages, Stage{From: s.Rest})
			continue
		}
		if len(stages) > 0 {
			last := &stages[len(stages)-1]
			last.Steps = append(last.Steps, s)
		}
	}
	return stages
}

// All returns the arguments of every instruction of a kind.
func (s Stage) All(word string) []string {
	var out []string
	for _, st := range s.Steps {
		if st.Word == word {
			out = append(out, st.Rest)
		}
	}
	return out
}

// Last returns the arguments of the last instruction of a kind, the one that
// counts.
func (s Stage) Last(word string) string {
	all := s.All(word)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// Env returns the environment that the image sets.
func (s Stage) Env() map[string]string {
	out := map[string]string{}
	for _, rest := range s.All("ENV") {
		for _, kv := range strings.Fields(rest) {
			if k, v, ok := strings.Cut(kv, "="); ok {
				out[k] = v
			}
		}
	}
	return out
}

// List reads the JSON form of an instruction; nil when it is no such form.
func List(rest string) []string {
	var out []string
	if json.Unmarshal([]byte(rest), &out) != nil {
		return nil
	}
	return out
}

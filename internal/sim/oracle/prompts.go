package oracle

import (
	"fmt"
	"slices"
)

// Rules about what the agents were given.

func promptedOnce(w World) []string {
	var out []string
	for _, s := range w.Said {
		n := 0
		for _, p := range w.Prompts {
			n += min(1, count(p.Text, s.Key))
		}
		if n > 1+s.Again {
			out = append(out, fmt.Sprintf("%s was given %d times", s.Key, n))
		}
	}
	return out
}

// asked sees that the prompts were looked at at all.
func asked(w World) []string {
	var out []string
	for _, s := range w.Said {
		given := func(p Prompt) bool { return has(p.Text, s.Key) }
		if s.Allowed && w.succeeded(s) && !slices.ContainsFunc(w.Prompts, given) {
			out = append(out, s.Key+" succeeded and no agent was given it")
		}
	}
	return out
}

func strangers(w World) []string {
	var out []string
	for _, s := range w.Said {
		if s.Allowed {
			continue
		}
		if len(w.inboundOf(s)) > 0 {
			out = append(out, s.Key+" is in the inbox")
		}
		for _, p := range w.Prompts {
			if has(p.Text, s.Key) {
				out = append(out, s.Key+" reached an agent")
			}
		}
	}
	return out
}

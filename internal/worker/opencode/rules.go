package opencode

import "slices"

// The agent's permissions are a list of rules, the last one that fits wins.
// It starts in a mode in which it asks for nothing. Two things change that
// without touching anybody's file:
//
//   - configuration in the environment of the server (asking), for the agents
//     that it brings along;
//   - rules of the session itself (tighten), where the effective rules of an
//     agent still let it act unasked: an agent that a repository defines, say.
//
// Both keep whatever forbids something.

// rule is one permission rule.
type rule struct {
	Permission string `json:"permission"`
	Pattern    string `json:"pattern"`
	Action     string `json:"action"`
}

// Actions of rules.
const (
	ask   = "ask"
	allow = "allow"
	deny  = "deny"
)

const anything = "*"

// harmless are the permissions of tools that change nothing and tell nobody
// outside, or that ask a person by themselves. A sub-agent has rules of its own.
var harmless = []string{
	"read", "glob", "grep", "list", "lsp", "todowrite", "todoread", "question", "plan_enter", "plan_exit", "task", "skill",
}

// asking is the configuration that makes the agent's own agents ask.
func asking() map[string]any {
	base := func(edit any) map[string]any {
		rules := map[string]any{
			// In this order of keys, which is that of the encoder: the star first.
			anything: ask, "bash": ask, "edit": edit, "webfetch": ask, "websearch": ask,
			"read": map[string]any{anything: allow, "*.env": ask, "*.env.*": ask, "*.env.example": allow},
		}
		for _, h := range harmless[1:] {
			rules[h] = allow
		}
		return map[string]any{"permission": rules}
	}
	helper := base(ask)
	for _, own := range []string{"todowrite", "question", "plan_enter", "plan_exit", "task"} {
		delete(helper["permission"].(map[string]any), own) // as it is there by itself
	}
	return map[string]any{
		"autoupdate": false,
		"agent": map[string]any{
			"build":   base(ask),
			"plan":    base(map[string]any{anything: deny, "*opencode/plans/*.md": allow}),
			"general": helper,
		},
	}
}

// tight reports whether nothing but harmless tools can act unasked.
func tight(rules []rule) bool {
	covered := map[string]bool{}
	for _, r := range slices.Backward(rules) {
		if r.Action == allow && !covered[anything] && !covered[r.Permission] && !mild(r) {
			return false
		}
		if r.Pattern == anything {
			covered[r.Permission] = true
		}
	}
	return true
}

// mild reports whether what a rule allows needs no question.
func mild(r rule) bool {
	return slices.Contains(harmless, r.Permission) || r.Permission == "external_directory" && r.Pattern != anything
}

// tighten returns rules that ask where the given ones allow, and forbid where
// they forbid. loose are sub-agents that act unasked: to start one is asked.
func tighten(rules []rule, loose []string) []rule {
	out := []rule{{anything, anything, ask}}
	for _, h := range harmless {
		out = append(out, rule{h, anything, allow})
	}
	for _, r := range rules {
		switch {
		case r.Action != allow, mild(r):
			out = append(out, r)
		case r.Permission != anything:
			out = append(out, rule{r.Permission, r.Pattern, ask})
		}
	}
	for _, name := range loose {
		out = append(out, rule{"task", name, ask})
	}
	return out
}

// wanted returns the rules that a session needs beside those of the agent that
// it runs with; none where the agent asks by itself.
func wanted(agents []agentInfo, name string) []rule {
	var loose []string
	var own []rule
	for _, a := range agents {
		if a.Name == name {
			own = a.Permission
		}
		if a.Mode != "primary" && !tight(a.Permission) {
			loose = append(loose, a.Name)
		}
	}
	if len(loose) == 0 && tight(own) {
		return nil
	}
	return tighten(own, loose)
}

// ends reports whether a list ends with a tail.
func ends(list, tail []rule) bool {
	return len(list) >= len(tail) && slices.Equal(list[len(list)-len(tail):], tail)
}

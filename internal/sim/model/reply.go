package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"cligate/internal/sim/script"
)

type object = map[string]any

// out is one block of an answer.
type out struct {
	kind  kindOfBlock
	parts []string // what is streamed, piece by piece
	pause time.Duration
	tool  string
	space string // the tool's namespace
	input any    // the tool's arguments
}

type kindOfBlock int

const (
	textBlock kindOfBlock = iota
	thinkingBlock
	toolBlock
	customBlock // a tool that takes a text; on OpenAI's Responses only
)

// whole is the block in one piece; of a tool: its arguments as JSON.
func (o out) whole() string { return strings.Join(o.parts, "") }

// failure is an error that the user asked for.
type failure struct {
	status int
	reason string // "context" or "quota"; empty = the usual one of the status
	times  int    // 0 = always
}

// reply is what to answer.
type reply struct {
	blocks []out
	fail   *failure
	cut    bool // break the stream off after the blocks
	hang   bool // say nothing more after the blocks
}

// tools reports whether the answer calls a tool.
func (p *reply) tools() bool {
	for _, b := range p.blocks {
		if b.kind == toolBlock || b.kind == customBlock {
			return true
		}
	}
	return false
}

// tokens is a rough number of output tokens.
func (p *reply) tokens() int {
	n := 1
	for _, b := range p.blocks {
		for _, t := range b.parts {
			n += len(t) / 4
		}
	}
	return n
}

// maxScript is the longest text that is taken for a script; longer ones are
// prompts of the client's own, or loads.
const maxScript = 2000

// reply works out the answer: the steps of the last user text, from the one
// after the last tool that has a result, up to and including the next tool.
func (c *call) reply() *reply {
	results, notified := c.results()
	users := c.users()
	rep := &reply{}
	last := users[len(users)-1]
	if text := c.aside(); text != "" {
		rep.say(text)
		return rep
	}
	switch {
	case notified:
		rep.say("the background task is done")
		return rep
	case len(last) > maxScript:
		rep.say(fmt.Sprintf("%d bytes", len(last)))
		return rep
	}
	skip := len(results)
	for _, st := range script.Parse(last) {
		if n := len(c.calls(st)); skip > 0 {
			skip -= n
			continue
		}
		if c.step(rep, st, users) {
			return rep
		}
	}
	if len(rep.blocks) == 0 && len(results) > 0 {
		rep.say("ran: " + results[len(results)-1])
	}
	return rep
}

// step adds one step to the answer and reports whether the answer ends there.
func (c *call) step(rep *reply, st script.Step, users []string) bool {
	switch st.Verb {
	case "say", script.Echo:
		rep.say(st.Rest)
	case "stream":
		rep.ticks(st)
	case "slow":
		if len(strings.Fields(st.Rest)) > 1 {
			rep.ticks(st)
			break
		}
		rep.blocks = append(rep.blocks, out{parts: []string{""}, pause: time.Duration(st.Int(0, 100)) * time.Millisecond})
	case "long":
		rep.blocks = append(rep.blocks, long(st))
	case "bigline":
		rep.blocks = append(rep.blocks, out{parts: []string{strings.Repeat("x", st.Int(0, 1)<<20)}})
	case "think":
		rep.blocks = append(rep.blocks, out{kind: thinkingBlock, parts: []string{st.Rest}})
	case "remember":
		rep.say("I will remember " + script.Word(c.texts))
	case "what":
		rep.say("the word was " + script.Word(c.texts))
	case "recall":
		rep.say("recall: " + strings.Join(users[:len(users)-1], " | "))
	case "count":
		rep.say(fmt.Sprintf("earlier %d", len(users)-1))
	case "seen":
		rep.say(fmt.Sprintf("images %d documents %d", c.images, c.documents))
	case "model":
		rep.say("model: " + c.model)
	default:
		return c.act(rep, st)
	}
	return false
}

// act does what is not just talk.
func (c *call) act(rep *reply, st script.Step) bool {
	switch st.Verb {
	case "fail":
		rep.fail = &failure{status: st.Int(0, http.StatusInternalServerError), times: st.Int(1, 0), reason: st.After(2)}
		return false
	case "cut":
		rep.say("half of the ans")
		rep.cut = true
		return true
	case "hang":
		rep.hang = true
		return true
	}
	if calls := c.calls(st); len(calls) > 0 {
		rep.blocks = append(rep.blocks, calls...)
		return true
	}
	if st.Verb == "plan" && strings.Contains(c.system, planMark) {
		rep.say(planMark + "\n" + thePlan + "\n</proposed_plan>")
		return false
	}
	if names, known := toolNames[st.Verb]; known {
		rep.say("no tool " + names[0])
	} else {
		rep.say("the model does not do " + st.Verb)
	}
	return false
}

func (p *reply) say(text string) { p.blocks = append(p.blocks, out{parts: pieces(text)}) }

// ticks is "stream N MS": N pieces, MS apart.
func (p *reply) ticks(st script.Step) {
	o := out{pause: time.Duration(st.Int(1, 10)) * time.Millisecond}
	for i := range st.Int(0, 5) {
		o.parts = append(o.parts, fmt.Sprintf("tick %d ", i+1))
	}
	p.blocks = append(p.blocks, o)
}

// long is "long N WORD": N lines of Markdown.
func long(st script.Step) out {
	var o out
	for i := range st.Int(0, 100) {
		o.parts = append(o.parts, fmt.Sprintf("- **%d** a line of a long answer, with `code` in it %s-%d\n", i+1, st.After(1), i+1))
	}
	return o
}

// pieces cuts text into a few deltas at spaces.
func pieces(text string) []string {
	var ps []string
	for len(text) > 12 {
		cut := strings.IndexByte(text[8:], ' ')
		if cut < 0 {
			break
		}
		ps, text = append(ps, text[:8+cut]), text[8+cut:]
	}
	return append(ps, text)
}

// mustJSON encodes what this package made itself.
func mustJSON(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		panic("model: a value of our own cannot be encoded: " + err.Error())
	}
	return body
}

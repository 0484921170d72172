// Package script is the small language in which a test tells a scripted agent
// or a scripted model what to do: the user's own text. Every line that begins
// with a known verb is one step, everything else is echoed. The stand-ins for
// agent CLIs and the model server share it, so one conversation test runs
// against all of them.
//
// Only test binaries use this package.
package script

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Step is one thing to do.
type Step struct {
	Verb string
	Rest string // what follows the verb, without outer spaces
}

// Echo is the verb of a line that begins with no known verb; Rest is the line.
const Echo = "echo"

// Verbs lists every verb.
var verbs = []string{
	"say", "stream", "slow", "think", "long", // output
	"run", "write", "tool", "background", // tools
	"todo", "task", // tools of the agent itself
	"ask", "questions", "plan", // questions to the user
	"remember", "what", "recall", "count", "seen", // memory
	"fail", "cut", "half", "withdraw", "die", "hang", "deaf", "mute", "garbage", "bigline", "stderr", "compact", "double", // trouble
	"bg", "later", "child", // after the turn, beside the turn
	"env", "args", "id", "model", // what the agent was started with
}

// note is how the gateway begins what it tells an agent about the chat.
const note = "[Note of the chat gateway"

// Parse returns the steps of one user text, at least one. Lines of quoted
// text are not steps, nor are notes of the gateway, and a line "[end of …]" voids what came before it (the
// recap of an earlier conversation).
func Parse(text string) []Step {
	var steps []Step
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", strings.HasPrefix(line, "> "), strings.HasPrefix(line, note), strings.HasPrefix(line, "[quoted text"), line == "[end of quoted text]",
			strings.HasPrefix(line, "[message from "):
		case strings.HasPrefix(line, "[end of "):
			steps = nil
		default:
			steps = append(steps, parseLine(line))
		}
	}
	if len(steps) == 0 {
		steps = append(steps, Step{Verb: Echo, Rest: strings.TrimSpace(text)})
	}
	return steps
}

func parseLine(line string) Step {
	if s, ok := verbLine(line); ok {
		return s
	}
	if _, said, ok := strings.Cut(line, ": "); ok { // "Ann: say hello"
		if s, ok := verbLine(said); ok {
			return s
		}
	}
	return Step{Verb: Echo, Rest: line}
}

func verbLine(line string) (Step, bool) {
	verb, rest, _ := strings.Cut(line, " ")
	verb = strings.ToLower(strings.Trim(verb, ":"))
	if !slices.Contains(verbs, verb) {
		return Step{}, false
	}
	return Step{Verb: verb, Rest: strings.TrimSpace(rest)}, true
}

// Int returns the n-th word of Rest as a number, or def.
func (s Step) Int(n, def int) int {
	words := strings.Fields(s.Rest)
	if n >= len(words) {
		return def
	}
	v, err := strconv.Atoi(words[n])
	if err != nil {
		return def
	}
	return v
}

// After returns Rest without its first n words.
func (s Step) After(n int) string {
	rest := s.Rest
	for range n {
		_, rest, _ = strings.Cut(rest, " ")
		rest = strings.TrimSpace(rest)
	}
	return rest
}

var remembered = regexp.MustCompile(`(?i)remember the word (\pL+)`)

// Word returns the word that the user last asked to remember.
func Word(texts []string) string {
	for _, t := range slices.Backward(texts) {
		if m := remembered.FindAllStringSubmatch(t, -1); len(m) > 0 {
			return m[len(m)-1][1]
		}
	}
	return "nothing"
}

// First returns the first word of Rest.
func (s Step) First() string {
	first, _, _ := strings.Cut(s.Rest, " ")
	return first
}

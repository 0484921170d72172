package rig

import (
	"fmt"
	"strings"
)

// Words writes messages that the agent of a rig understands. Each carries its
// key, and returns the markers that its answer shows; a marker stands in
// nothing but the answer.
type Words struct{ agent string }

// Words returns the words for this rig's agent.
func (r *Rig) Words() Words { return Words{r.opts.Agent} }

// Echo is answered at once, in one line.
func (w Words) Echo(key string) (text string, answer []string) { return w.Long(key, 1) }

// Long is answered with so many lines. Eighty fill about one message of
// Telegram. Every seventh line is a marker, and the last.
func (w Words) Long(key string, lines int) (text string, answer []string) {
	for i := 1; i <= lines; i++ {
		if i%7 == 1 || i == lines {
			answer = append(answer, fmt.Sprintf("%s-%d", key, i))
		}
	}
	return fmt.Sprintf("long %d %s", lines, key), answer
}

// Files is answered by a line and so many files, or images; agents that make
// none answer as to Echo.
func (w Words) Files(key string, n int, images bool) (text string, answer []string) {
	if w.agent != Demo {
		return w.Echo(key)
	}
	for i := range n + 1 {
		answer = append(answer, fmt.Sprintf("%s-%d", key, i+1))
	}
	verb := "files"
	if images {
		verb = "photos"
	}
	return fmt.Sprintf("%s %d %s", verb, n, key), answer
}

// Ask is answered after a permission was given or denied.
func (w Words) Ask(key string) (text string, answer []string) {
	return w.before("run true #", "ask", key)
}

// Stream is answered in so many pieces, 20 ms apart, and then a last word.
func (w Words) Stream(key string, pieces int) (text string, answer []string) {
	return w.before(fmt.Sprintf("stream %d 20", pieces), fmt.Sprintf("stream %d", pieces), key)
}

// Slow is answered after so many seconds.
func (w Words) Slow(key string, seconds int) (text string, answer []string) {
	return w.before(fmt.Sprintf("slow %d", seconds*1000), fmt.Sprintf("slow %d", seconds), key)
}

// before has something done before a line is said.
func (w Words) before(claude, demo, key string) (text string, answer []string) {
	answer = []string{key + "-1"}
	if w.agent == Demo {
		return demo + " " + key, answer
	}
	if strings.HasSuffix(claude, "#") { // a comment of the shell
		claude += " " + key
	}
	return claude + "\nlong 1 " + key, answer
}

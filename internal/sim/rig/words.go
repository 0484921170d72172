package rig

import "fmt"

// Words writes messages that the agent of a rig understands. Each carries its
// key, and returns the markers that its answer shows.
type Words struct{ agent string }

// Words returns the words for this rig's agent.
func (r *Rig) Words() Words { return Words{r.opts.Agent} }

// Echo is answered at once.
func (w Words) Echo(key string) (text string, answer []string) {
	return fmt.Sprintf("echo %s %s-a", key, key), []string{key + "-a"}
}

// Long is answered with so many lines, each with a marker. Eighty fill about
// one message of Telegram.
func (w Words) Long(key string, lines int) (text string, answer []string) {
	for i := range lines {
		answer = append(answer, fmt.Sprintf("%s-%d", key, i+1))
	}
	return fmt.Sprintf("long %d %s", lines, key), answer
}

// Ask is answered after a permission was given.
func (w Words) Ask(key string) (text string, answer []string) {
	text = fmt.Sprintf("run printf %s-%%s a # %s", key, key)
	if w.agent == Demo {
		text = fmt.Sprintf("ask %s %s-a", key, key)
	}
	return text, []string{key + "-a"}
}

// Stream is answered in so many pieces, 20 ms apart, and then a last word.
func (w Words) Stream(key string, pieces int) (text string, answer []string) {
	text = fmt.Sprintf("stream %d 20\nsay %s %s-a", pieces, key, key)
	if w.agent == Demo {
		text = fmt.Sprintf("stream %d %s %s-a", pieces, key, key)
	}
	return text, []string{key + "-a"}
}

// Slow is answered after so many seconds.
func (w Words) Slow(key string, seconds int) (text string, answer []string) {
	text = fmt.Sprintf("slow %d\nsay %s %s-a", seconds*1000, key, key)
	if w.agent == Demo {
		text = fmt.Sprintf("slow %d %s %s-a", seconds, key, key)
	}
	return text, []string{key + "-a"}
}

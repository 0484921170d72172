package demo

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// phrase is what a prompt asks for.
type phrase struct {
	verb string // empty = talk
	rest string // what follows the verb
}

var (
	remember = regexp.MustCompile(`(?i)(?:remember the word|记住(?:这个)?(?:单?词|字)[:：]?)\s*["'“‘「]?([\p{L}\p{N}_-]+)`)
	recall   = regexp.MustCompile(`(?i)^what(?: is|'s| was) the word\b|^(?:那个|刚才的)?(?:单?词|字)是什么`)
	speaker  = regexp.MustCompile(`^(?:[^:\n]{1,60}: +|\[message from [^\n]*\]\n)`)
)

// verbs are what the demo agent does on request.
var verbs = map[string]bool{
	"stream": true, "slow": true, "ask": true, "question": true, "tool": true, "fail": true, "crash": true,
	"long": true, "markdown": true, "echo": true, "help": true, "questions": true, "plan": true, "think": true, "work": true,
	"later": true, "files": true, "photos": true, "latefile": true, "model": true, "seen": true, "compact": true,
}

// wordIn returns the last word that a text asks to be remembered.
func wordIn(text string) string {
	all := remember.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1][1]
}

// aside is how the gateway begins what it tells an agent about the chat; it
// stands behind the person's words.
const aside = "\n\n[Note of the chat gateway"

// understand finds out what a prompt asks for. The last paragraph of what people
// say decides: what comes before may be a recap, a quote or an earlier message.
func understand(text string) phrase {
	if i := strings.LastIndex(text, aside); i >= 0 {
		text = text[:i]
	}
	if p, ok := match(strings.TrimSpace(text)); ok {
		return p
	}
	parts := strings.Split(strings.TrimSpace(text), "\n\n")
	p, _ := match(strings.TrimSpace(parts[len(parts)-1]))
	return p
}

func match(text string) (phrase, bool) {
	for _, t := range []string{text, speaker.ReplaceAllString(text, "")} {
		t = strings.TrimSpace(strings.TrimPrefix(t, "/demo"))
		switch {
		case t == "/compact":
			return phrase{verb: "compact"}, true
		case recall.MatchString(t):
			return phrase{verb: "recall"}, true
		case len(remember.FindStringIndex(t)) > 0 && remember.FindStringIndex(t)[0] == 0:
			return phrase{verb: "remember"}, true
		}
		verb, rest := t, ""
		if i := strings.IndexFunc(t, unicode.IsSpace); i >= 0 {
			verb, rest = t[:i], strings.TrimSpace(t[i:])
		}
		if verb = strings.ToLower(strings.TrimRight(verb, ".!?:")); verbs[verb] {
			return phrase{verb: verb, rest: rest}, true
		}
	}
	return phrase{rest: text}, false
}

// number is the first number of the rest, within bounds.
func (p phrase) number(otherwise, most int) int {
	first, _, _ := strings.Cut(p.rest, " ")
	n, err := strconv.Atoi(first)
	if err != nil || n < 0 {
		return otherwise
	}
	return min(n, most)
}

// tail is what follows the number, or the whole rest if there is none.
func (p phrase) tail() string {
	first, after, _ := strings.Cut(p.rest, " ")
	if _, err := strconv.Atoi(first); err == nil {
		return strings.TrimSpace(after)
	}
	return p.rest
}

// langOf is the catalogue's language that a text is written in.
func langOf(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) >= 0 {
		return "zh"
	}
	return "en"
}

package turn

import (
	"crypto/sha256"
	"strings"
	"sync"
	"unicode"

	"cligate/internal/chat"
)

// nearlyFull is how much of the context may be in use, in percent, before
// people are told.
const nearlyFull = 80

// past is what is remembered of sessions from one turn to the next. A restart
// forgets it; then a thing may be told once more.
type past struct {
	mu   sync.Mutex
	rows map[int64]memory // by session
}

type memory struct {
	said   [sha256.Size]byte // the last answer, by its words
	warned bool              // people know that the context is nearly full
	used   int64             // tokens of the context that were in use
}

// repeats notes an answer and reports whether the session's last one had the
// same words, whatever their case and punctuation.
func (p *past) repeats(session int64, text string) bool {
	if text == "" {
		return false
	}
	words := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsSymbol(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
	if words == "" {
		words = text
	}
	sum := sha256.Sum256([]byte(words))
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.rows[session]
	again := m.said == sum
	m.said = sum
	p.rows[session] = m
	return again
}

// fills notes how full the session's context is, and reports whether people
// are to be told: once, until there is room again.
func (p *past) fills(session int64, u chat.Usage) (percent int64, tell bool) {
	if u.Window <= 0 || u.Used <= 0 {
		return 0, false
	}
	percent = 100 * u.Used / u.Window
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.rows[session]
	tell = percent >= nearlyFull && !m.warned
	m.warned = percent >= nearlyFull
	p.rows[session] = m
	return percent, tell
}

// shrinks notes how much of the session's context is in use, and reports
// whether that is less than half of what it was: the agent has shortened it.
func (p *past) shrinks(session int64, u chat.Usage) bool {
	if u.Used <= 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.rows[session]
	less := u.Used < m.used/2
	m.used = u.Used
	p.rows[session] = m
	return less
}

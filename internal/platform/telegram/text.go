package telegram

import (
	"regexp"
	"strings"
	"unicode/utf16"
)

// said is a text in UTF-16 units, the measure of its entities.
type said struct {
	units    []uint16
	entities []entity
}

func newSaid(text string, es []entity) said {
	s := said{units: utf16.Encode([]rune(text))}
	for _, e := range es {
		// Offsets come from outside.
		if e.Offset >= 0 && e.Length > 0 && e.Offset <= len(s.units) && e.Length <= len(s.units)-e.Offset {
			s.entities = append(s.entities, e)
		}
	}
	return s
}

func (s said) text() string { return string(utf16.Decode(s.units)) }

func (s said) piece(e entity) string {
	return string(utf16.Decode(s.units[e.Offset : e.Offset+e.Length]))
}

// names reports whether e is a mention of the bot.
func (s said) names(e entity, me user) bool {
	switch e.Type {
	case "mention":
		return me.Username != "" && strings.EqualFold(s.piece(e), "@"+me.Username)
	case "text_mention":
		return me.ID != 0 && e.User != nil && e.User.ID == me.ID
	}
	return false
}

// withoutMentions returns the text without the mentions of the bot, and
// whether there was one. A space goes with each mention, so that the words
// around it keep a single one.
func (s said) withoutMentions(me user) (string, bool) {
	cut := make([]bool, len(s.units))
	found := false
	for _, e := range s.entities {
		if !s.names(e, me) {
			continue
		}
		found = true
		end := e.Offset + e.Length
		for i := e.Offset; i < end; i++ {
			cut[i] = true
		}
		switch {
		case end < len(s.units) && s.units[end] == ' ':
			cut[end] = true
		case e.Offset > 0 && s.units[e.Offset-1] == ' ':
			cut[e.Offset-1] = true
		}
	}
	if !found {
		return strings.TrimSpace(s.text()), false
	}
	kept := make([]uint16, 0, len(s.units))
	for i, u := range s.units {
		if !cut[i] {
			kept = append(kept, u)
		}
	}
	return strings.TrimSpace(string(utf16.Decode(kept))), true
}

var commandShape = regexp.MustCompile(`^/([A-Za-z0-9_]{1,64})(?:@([A-Za-z0-9_]{1,64}))?(?:[\s\x{a0}\x{3000}]|$)`)

// command normalises a leading command: "/Cmd@Bot x" becomes "/cmd x". ours is
// false when the command is for another bot. A text without a command, a path
// for example, is returned as it is.
func command(text string, me user) (out string, is, ours bool) {
	m := commandShape.FindStringSubmatchIndex(text)
	if m == nil {
		return text, false, true
	}
	end := m[3]
	if m[4] >= 0 {
		if !strings.EqualFold(text[m[4]:m[5]], me.Username) {
			return "", true, false
		}
		end = m[5]
	}
	return "/" + strings.ToLower(text[m[2]:m[3]]) + text[end:], true, true
}

var pairingShape = regexp.MustCompile(`^/start\s+([A-Za-z0-9_-]{1,64})$`)

// pairing takes the code of a pairing link out of a normalised command.
func pairing(text string) (rest, code string) {
	if m := pairingShape.FindStringSubmatch(text); m != nil {
		return "/start", m[1]
	}
	return text, ""
}

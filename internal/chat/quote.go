package chat

import (
	"strconv"
	"strings"
)

// SourceKind says how foreign or earlier words came into a message.
type SourceKind string

// Kinds of sources.
const (
	SourceForward SourceKind = "forward" // forwarded: somebody else's words, or words from elsewhere
	SourceReply   SourceKind = "reply"   // the message that is replied to, or the piece of it that is quoted
	SourceOwn     SourceKind = "own"     // a message of the bot's own that is replied to
	SourceOwnPart SourceKind = "part"    // a piece of such a message that somebody chose to quote
	SourceTopic   SourceKind = "topic"   // what was said in a topic before the bot was asked there
)

// Source says whose words a quotation is. The name comes from outside and
// proves nothing.
type Source struct {
	Kind SourceKind `json:"kind,omitempty"`
	Name string     `json:"name,omitempty"` // of a person, a chat or a channel
}

// label says it in the mark that stands before a quotation in a prompt.
func (s Source) label() string {
	switch s.Kind {
	case SourceOwn, SourceOwnPart:
		return ", an earlier message of yours that this replies to"
	case SourceReply:
		if s.Name == "" {
			return ", an earlier message that this replies to"
		}
		return ", an earlier message by " + strconv.Quote(PlainName(s.Name)) + " that this replies to"
	case SourceForward:
		if s.Name == "" {
			return ", forwarded"
		}
		return ", forwarded from " + strconv.Quote(PlainName(s.Name))
	case SourceTopic:
		return ", said earlier in this topic"
	}
	return ""
}

// Excerpt is what an adapter's Fetch writes for a quotation, as JSON.
type Excerpt struct {
	Name  string    `json:"name,omitempty"` // whose words they are, where that is one
	Text  string    `json:"text"`           // of several people, their names before what each said
	Files []FileRef `json:"files,omitempty"`
}

// quoted marks foreign words as such: each of their lines begins with a mark,
// so that none of them can end the quotation.
func (s Source) quoted(words string) string {
	lines := strings.FieldsFunc(words, func(r rune) bool {
		return r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029'
	})
	return "[quoted text" + s.label() + "]\n> " + strings.Join(lines, "\n> ") + "\n[end of quoted text]"
}

// said is what a piece contributes to a prompt.
func (p Piece) said() []string {
	var parts []string
	if p.Quote != "" {
		parts = append(parts, p.Source.quoted(p.Quote))
	}
	for _, f := range p.Files {
		switch {
		case f.Kind != MediaQuote:
		case f.Heard != "":
			parts = append(parts, f.Source.quoted(f.Heard))
		case f.Lost != "":
			parts = append(parts, "[quoted text"+f.Source.label()+", is not here: "+f.Lost+"]")
		}
	}
	if p.Text != "" {
		parts = append(parts, p.Text)
	}
	for _, f := range p.Files {
		switch {
		case f.Kind == MediaQuote:
		case f.Heard != "" && p.Source.Kind == SourceForward:
			parts = append(parts, p.Source.quoted(f.Heard))
		case f.Heard != "":
			parts = append(parts, harmless(f.Heard))
		case f.Lost != "":
			parts = append(parts, "[a file was sent, named "+strconv.Quote(f.Name)+", but it is not here: "+f.Lost+"]")
		}
	}
	return p.signed(parts)
}

// harmless keeps spoken words that sound like a command of the agent's own
// from being one.
func harmless(heard string) string {
	if strings.ContainsAny(heard[:1], "/!#@&") {
		return "[spoken] " + heard
	}
	return heard
}

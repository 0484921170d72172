package chat

import (
	"regexp"
	"strings"
)

// Speaker is how somebody is named to an agent where several people share a
// session. A name is chosen freely and can be another's; the id cannot.
func (p Person) Speaker() string {
	name := strings.NewReplacer("[", "(", "]", ")").Replace(PlainName(p.Name))
	if name == "" {
		return "id " + p.ID
	}
	return name + " (id " + p.ID + ")"
}

// saidBy is the line that names who speaks. It begins with no slash: a name
// must not be able to become a command of the agent.
const saidBy = "[message from "

// forged finds lines that could be taken for one of ours, by whatever a reader
// may take for the end of a line.
var forged = regexp.MustCompile(`(?i)(^|[\n\r\v\f\x{85}\x{2028}\x{2029}])([\s\p{Cf}>]*)\[(\s*message\s+from\b)`)

// signed puts the name of who speaks before the parts of a message. Only we say
// who speaks: a line of the words, or of what they quote, that looks like it
// does not.
func (p Piece) signed(parts []string) []string {
	if p.Speaker == "" || len(parts) == 0 && len(p.Files) == 0 {
		return parts
	}
	text := forged.ReplaceAllString(strings.Join(parts, "\n\n"), "$1$2($3")
	return []string{strings.TrimSuffix(saidBy+p.Speaker+"]\n"+text, "\n")}
}

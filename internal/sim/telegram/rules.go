package telegram

import (
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"cligate/internal/sim/standin"
)

// Rule names one thing that the real service refuses.
type Rule string

// The rules.
const (
	RuleLength   Rule = "length"    // text of at most 4096 code points
	RuleEmpty    Rule = "empty"     // text that is nothing after cleaning
	RuleEntities Rule = "entities"  // entities inside the text, on character borders
	RuleParse    Rule = "parse"     // HTML and MarkdownV2 that parse
	RuleSame     Rule = "same"      // an edit changes something
	RuleEditable Rule = "editable"  // only the bot's own messages can be edited
	RuleExists   Rule = "exists"    // the message exists
	RuleChat     Rule = "chat"      // the chat exists and the bot may write there
	RuleThread   Rule = "thread"    // the topic exists, and is not General
	RuleReply    Rule = "reply"     // the message that is replied to exists
	RuleButtons  Rule = "buttons"   // callback data of 1 to 64 bytes, a label
	RuleQuery    Rule = "query"     // a callback query is answered once, in time
	RuleReaction Rule = "reaction"  // reactions come from the allowed set
	RuleRate     Rule = "rate"      // 1/s a chat after a burst, 20/min a group, 30/s a bot
	RulePoll     Rule = "poll"      // one poller a bot
	RuleWebhook  Rule = "webhook"   // no polling while a webhook is set
	RuleCommands Rule = "commands"  // at most 100 commands, short names and descriptions
	RuleCaption  Rule = "caption"   // captions of at most 1024
	RuleFile     Rule = "file"      // uploads of at most 50 MB
	RuleMigrated Rule = "migrated"  // a group that became a supergroup is dead
	RuleBlocked  Rule = "blocked"   // a person who blocked the bot gets nothing
	RuleTextEdit Rule = "text-edit" // a document has a caption, not a text
	RuleFileName Rule = "file-name" // no local path in an upload
	RuleMethod   Rule = "method"    // unknown methods do not exist
	RuleHook     Rule = "hook"      // a webhook's address is https, its secret of plain characters
	RuleScope    Rule = "scope"     // commands for a chat need the chat
	RuleAge      Rule = "age"       // messages wait 24 hours, pressed buttons 150 seconds

	RulePhoto     Rule = "photo"      // a photo is an image of at most 10 MB and sane sides
	RuleEqual     Rule = "equal"      // few large uploads of exactly the same size at a time
	RuleFileRight Rule = "file-right" // a chat may forbid files
	RuleCopy      Rule = "copy"       // clipboard buttons of 1 to 256 characters that do nothing else
)

// Rules lists every rule.
func Rules() []Rule {
	return slices.Concat([]Rule{RuleLength, RuleEmpty, RuleEntities, RuleParse, RuleSame, RuleEditable, RuleExists, RuleChat, RuleThread,
		RuleReply, RuleButtons, RuleQuery, RuleReaction, RuleRate, RulePoll, RuleWebhook, RuleCommands, RuleCaption, RuleFile,
		RuleMigrated, RuleBlocked, RuleTextEdit, RuleFileName, RuleMethod, RuleLink, RuleRich,
		RuleHook, RuleScope, RuleAge, RulePhoto, RuleEqual, RuleFileRight, RuleCopy,
		RuleFileID, RuleDownload, RuleFileLink, RuleReacting, RuleUnasked}, topicRules(), senderRules(), memberRules())
}

// rulebook knows which rules are in force.
type rulebook struct{ standin.Rulebook[Rule] }

// on reports whether a rule is in force.
func (b *rulebook) on(r Rule) bool { return b.On(r) }

// entity is a piece of formatting, in UTF-16 units.
type entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`
	Language string `json:"language,omitempty"`
}

const (
	maxText     = 4096
	maxCaption  = 1024
	maxEntities = 100
	maxRaw      = 32768 // bytes before parsing
)

// clean does to a text what the service does, and says what of the entities
// remains: control characters become spaces, some characters vanish, blanks at
// both ends are cut. No entity begins with a blank: the first line of
// preformatted text loses its indentation, at the front of a message for good.
func clean(text string, in []entity) (string, []entity) {
	units := utf16.Encode([]rune(text))
	var out []uint16
	at := make([]int, len(units)+1) // old offset → new offset
	for i, u := range units {
		at[i] = len(out)
		switch {
		case u == '\r', u >= 0x2028 && u <= 0x202E, u == 0x333, u == 0x33F, u == 0x30A:
		case u < 32 && u != '\n':
			out = append(out, ' ')
		default:
			out = append(out, u)
		}
	}
	at[len(units)] = len(out)
	start, end := 0, len(out)
	blank := func(u uint16) bool { return u == ' ' || u == '\n' || u == 0xA0 }
	for start < end && blank(out[start]) {
		start++
	}
	for end > start && blank(out[end-1]) {
		end--
	}
	var kept []entity
	for _, e := range in {
		from := max(at[e.Offset], start)
		to := min(at[e.Offset+e.Length], end)
		for from < to && (out[from] == ' ' || out[from] == '\n') {
			from++
		}
		if to > from {
			e.Offset, e.Length = from-start, to-from
			kept = append(kept, e)
		}
	}
	return string(utf16.Decode(out[start:end])), kept
}

var entityTypes = map[string]bool{
	"bold": true, "italic": true, "underline": true, "strikethrough": true, "spoiler": true, "code": true, "pre": true,
	"text_link": true, "blockquote": true, "expandable_blockquote": true, "mention": true, "hashtag": true, "url": true,
	"email": true, "bot_command": true, "text_mention": true, "custom_emoji": true,
}

// checkEntities refuses entities outside the text or inside a character.
func checkEntities(text string, es []entity) *refusal {
	units := utf16.Encode([]rune(text))
	inside := func(i int) bool { return i > 0 && i < len(units) && units[i] >= 0xDC00 && units[i] <= 0xDFFF }
	for _, e := range es {
		switch {
		case !entityTypes[e.Type]:
			return bad("can't parse MessageEntity: Unsupported type specified")
		case e.Offset < 0 || e.Length <= 0 || e.Offset >= len(units):
			return bad("entity begins after the end of the text at UTF-16 offset " + itoa(e.Offset))
		case e.Offset+e.Length > len(units):
			return bad("entity beginning at UTF-16 offset " + itoa(e.Offset) + " ends after the end of the text at UTF-16 offset " + itoa(e.Offset+e.Length))
		case inside(e.Offset):
			return bad("entity begins in a middle of a UTF-16 symbol at UTF-16 offset " + itoa(e.Offset))
		case inside(e.Offset + e.Length):
			return bad("entity beginning at UTF-16 offset " + itoa(e.Offset) + " ends in a middle of a UTF-16 symbol at UTF-16 offset " + itoa(e.Offset+e.Length))
		}
	}
	return nil
}

// body is a text or caption after all checks.
type body struct {
	text     string
	entities []entity
}

// readBody checks and cleans the text of a call.
func (r request) readBody(field, entField string, limit int) (body, *refusal) {
	s, p := r.s, r.p
	text := p.str(field)
	var es []entity
	if !p.object(entField, &es) {
		return body{}, bad("can't parse entities: expected an Array")
	}
	if len(text) > maxRaw && s.on(RuleLength) {
		return body{}, bad("text is too long")
	}
	if !utf8.ValidString(text) {
		return body{}, bad("strings must be encoded in UTF-8")
	}
	switch mode := strings.ToLower(p.str("parse_mode")); {
	case mode == "" || len(es) > 0:
	case mode == "html" && s.on(RuleParse):
		var no *refusal
		if text, es, no = parseHTML(text); no != nil {
			return body{}, no
		}
	case mode == "markdownv2" && s.on(RuleParse):
		if no := checkMarkdown(text); no != nil {
			return body{}, no
		}
	case !s.on(RuleParse):
	default:
		return body{}, bad("unsupported parse_mode")
	}
	if s.on(RuleEntities) {
		if no := checkEntities(text, es); no != nil {
			return body{}, no
		}
	} else {
		es = nil
	}
	if s.on(RuleLink) {
		if no := checkLinks(es); no != nil {
			return body{}, no
		}
	}
	text, es = clean(text, es)
	if s.on(RuleNesting) {
		es = nested(es)
	}
	if s.on(RuleMost) {
		es = most(es)
	}
	if utf8.RuneCountInString(text) > limit && s.on(RuleLength) && limit == maxText {
		return body{}, bad("message is too long")
	}
	if utf8.RuneCountInString(text) > limit && s.on(RuleCaption) && limit == maxCaption {
		return body{}, bad("message caption is too long")
	}
	return body{text, es}, nil
}

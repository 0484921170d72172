package feishu

import "cligate/internal/sim/standin"

// Rule names one thing that the real service refuses.
type Rule string

// The rules.
const (
	RuleToken     Rule = "token"      // a call needs a token that is valid
	RuleScope     Rule = "scope"      // a call needs its scope
	RuleRate      Rule = "rate"       // 50/s and 1000/min an API; 5/s a chat; 5/s a patched message
	RuleCardRate  Rule = "card-rate"  // 10/s a card entity
	RuleReceiver  Rule = "receiver"   // the chat exists
	RuleMember    Rule = "member"     // the bot is in the chat
	RuleContent   Rule = "content"    // content is the JSON of its type
	RuleSize      Rule = "size"       // text 150 KB; post and card 30 KB
	RuleUUID      Rule = "uuid"       // at most 50 characters; one hour, one message
	RuleExists    Rule = "exists"     // the message exists and was not recalled
	RuleOwn       Rule = "own"        // only the bot's own messages are edited
	RuleEdits     Rule = "edits"      // 20 edits of a text or post
	RuleAge       Rule = "age"        // cards change for 14 days
	RuleKind      Rule = "kind"       // PUT is for texts and posts, PATCH for cards
	RuleThread    Rule = "thread"     // replies in threads only where there are any
	RuleReaction  Rule = "reaction"   // reactions come from the known set
	RuleSchema    Rule = "schema"     // card JSON 2.0 with known tags
	RuleElements  Rule = "elements"   // 200 elements, 5 levels
	RuleTables    Rule = "tables"     // tables of one card
	RuleLinks     Rule = "links"      // http and https only
	RuleImages    Rule = "images"     // images by uploaded key only
	RuleMention   Rule = "mention"    // at of people who are there
	RuleElementID Rule = "element-id" // unique, known
	RuleCallback  Rule = "callback"   // buttons that submit carry a value; names are unique
	RuleForm      Rule = "form"       // forms lie at the root, submit, and hold components with proper values
	RuleSequence  Rule = "sequence"   // strictly increasing for each card
	RuleStreaming Rule = "streaming"  // text is streamed while streaming is open
	RuleStreamEnd Rule = "stream-end" // streaming closes 10 minutes after it was opened
	RuleEntity    Rule = "entity"     // the entity exists, lives 14 days, is sent once
	RuleTextual   Rule = "textual"    // only text is streamed into
	RuleUpload    Rule = "upload"     // image 10 MB, file 30 MB, none empty
	RuleResource  Rule = "resource"   // a resource belongs to its message
	RuleHistory   Rule = "history"    // the history of a group needs the scope for all messages
	RuleDownload  Rule = "download"   // files of up to 100 MB, none of a forwarded bundle
	RuleAck       Rule = "ack"        // an event is acknowledged within 3 s, or comes again
	RuleSubscribe Rule = "subscribe"  // what is not subscribed, or not published, is not pushed
	RuleBot       Rule = "bot"        // without a bot, or a published version, nothing works
	RuleParams    Rule = "params"     // what has to be said is said
	RuleClick     Rule = "click"      // a click's answer is of the known form
)

// Rules lists every rule.
func Rules() []Rule {
	return []Rule{RuleToken, RuleScope, RuleRate, RuleCardRate, RuleReceiver, RuleMember, RuleContent, RuleSize, RuleUUID, RuleExists,
		RuleOwn, RuleEdits, RuleAge, RuleKind, RuleThread, RuleReaction, RuleSchema, RuleElements, RuleTables, RuleLinks, RuleImages,
		RuleMention, RuleElementID, RuleCallback, RuleForm, RuleSequence, RuleStreaming, RuleStreamEnd, RuleEntity, RuleTextual, RuleUpload,
		RuleResource, RuleHistory, RuleDownload, RuleAck, RuleSubscribe, RuleBot, RuleParams, RuleClick}
}

// rulebook knows which rules are in force.
type rulebook struct{ standin.Rulebook[Rule] }

// on reports whether a rule is in force.
func (b *rulebook) on(r Rule) bool { return b.On(r) }

// Limits of the service.
const (
	maxText       = 150 << 10
	maxCard       = 30 << 10
	maxUUID       = 50
	maxEdits      = 20
	maxElements   = 200
	maxDepth      = 5
	maxTables     = 5 // sources disagree between 3 and 5
	maxContent    = 100_000
	maxImage      = 10 << 20
	maxFile       = 30 << 20
	maxConns      = 50
	chatSecond    = 5
	messageSecond = 5
	cardSecond    = 10
	apiSecond     = 50
	apiMinute     = 1000
)

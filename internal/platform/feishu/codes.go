package feishu

import (
	"fmt"
	"time"

	"cligate/internal/chat"
)

// Codes of the service that this package names.
const (
	codeTokenInvalid = 99991663
	codeTokenMissing = 99991661
	codeTooOften     = 99991400
	codeSequence     = 300317
	codeStreamClosed = 300309
	codeStreamOver   = 200850
	codeCardInner    = 230099 // wraps the code of what is wrong with a card
	codeNoScope      = 99991672
	codeNoUserScope  = 99991679
	codeNoBot        = 11205  // the app has no bot
	codeNotInstalled = 212100 // no version of the app is published here
)

// credential reports whether a code says that the app id or its secret is wrong,
// which no waiting mends.
func credential(code int) bool {
	switch code {
	case 10003, 10014, 10015, 99991543:
		return true
	}
	return false
}

// duty is what a code obliges us to.
type duty struct {
	code chat.Code
	tell bool // the operator has to do something about it
}

// duties is the table of codes (open platform: message, CardKit and general
// error codes). What is not in it is refused for good, once.
var duties = map[int]duty{
	// Later: rates, a message that is still on its way.
	codeTooOften: {code: chat.Wait}, 230020: {code: chat.Wait}, 230049: {code: chat.Wait},
	// A right is missing; the text of the error carries the page that grants it.
	codeNoScope: {code: chat.GiveUp, tell: true}, codeNoUserScope: {code: chat.GiveUp, tell: true},
	// The chat cannot be reached until it speaks again.
	230002: {code: chat.Park}, 232009: {code: chat.Park}, 230013: {code: chat.Park}, 230018: {code: chat.Park}, 230035: {code: chat.Park},
	// What is to be answered or changed is not there any more.
	230011: {code: chat.Gone}, 231003: {code: chat.Gone}, 230110: {code: chat.Gone}, 230031: {code: chat.Gone}, 230072: {code: chat.Gone},
	230075: {code: chat.Gone}, 200740: {code: chat.Gone}, 200750: {code: chat.Gone},
	// The form is not accepted: a plainer one may be.
	230001: {code: chat.Degrade}, 230025: {code: chat.Degrade}, 230028: {code: chat.Degrade}, 230054: {code: chat.Degrade},
	230055: {code: chat.Degrade}, 230071: {code: chat.Degrade}, codeCardInner: {code: chat.Degrade},
	200860: {code: chat.Degrade}, 200861: {code: chat.Degrade}, 200621: {code: chat.Degrade}, 200570: {code: chat.Degrade},
	100290: {code: chat.Degrade}, 11310: {code: chat.Degrade}, 200914: {code: chat.Degrade}, 200915: {code: chat.Degrade},
	300305: {code: chat.Degrade}, 300302: {code: chat.Degrade}, 300301: {code: chat.Degrade}, 300310: {code: chat.Degrade},
	300313: {code: chat.Degrade}, 300314: {code: chat.Degrade}, 200770: {code: chat.Degrade},
	// A card that does not stream any more, or is ahead of us: the caller knows.
	codeSequence: {code: chat.Conflict}, codeStreamClosed: {code: chat.Conflict}, codeStreamOver: {code: chat.Conflict}, 200810: {code: chat.Conflict},
	// Files of messages: larger than 100 MB; not there any more.
	234037: {code: chat.Full}, 234003: {code: chat.Missing}, 234004: {code: chat.Missing}, 234040: {code: chat.Missing},
	// Uploads.
	234006: {code: chat.Degrade}, 234010: {code: chat.Degrade}, 234011: {code: chat.Degrade}, 234001: {code: chat.Degrade},
}

// refused is an answer of the service that is no success. Its text is the
// service's own; it carries no secret.
type refused struct {
	status int
	code   int
	msg    string
	reset  time.Duration // until the rate is free again, as the service says
}

// Error implements error.
func (e *refused) Error() string { return fmt.Sprintf("code %d: %s", e.code, e.msg) }

// shortWait is the wait after a rate limit without a hint.
const shortWait = time.Second

// obliges puts a refusal into the words of the contract.
func (e *refused) obliges() *chat.Error {
	d, known := duties[e.code]
	switch {
	case e.status >= 500 && !known:
		return &chat.Error{Code: chat.Uncertain, Detail: "the service failed", Err: e}
	case !known:
		return &chat.Error{Code: chat.GiveUp, Detail: e.Error(), Err: e}
	case d.code == chat.Wait:
		return &chat.Error{Code: chat.Wait, After: max(e.reset, shortWait), Err: e}
	}
	return &chat.Error{Code: d.code, Detail: e.Error(), Err: e}
}

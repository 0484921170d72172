package telegram

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"cligate/internal/chat"
)

// refusal is the service's own answer that it did not do what was asked.
type refusal struct {
	Method  string
	Status  int
	Text    string        // without secrets
	After   time.Duration // told to wait
	Migrate int64         // the group has this id now
}

// Error implements error.
func (r *refusal) Error() string {
	return fmt.Sprintf("%s: %d %s", r.Method, r.Status, r.Text)
}

func (r *refusal) says(part string) bool {
	return strings.Contains(strings.ToLower(r.Text), part)
}

// lost means that no answer was understood.
type lost struct {
	Method string
	Status int    // of the HTTP answer, 0 when there was none
	Wrote  bool   // the request may have reached the server
	Text   string // without secrets
	cause  error  // context.Canceled or context.DeadlineExceeded, else nil
}

// Error implements error.
func (l *lost) Error() string {
	if l.Status != 0 {
		return fmt.Sprintf("%s: HTTP %d: %s", l.Method, l.Status, l.Text)
	}
	return l.Method + ": " + l.Text
}

// Unwrap returns the mark of the context that ended the call, if one did.
func (l *lost) Unwrap() error { return l.cause }

// act is what a failed call asks of us.
type act string

const (
	actDone    act = "done"    // it is as it was to be
	actGone    act = "gone"    // the message is not there, or not ours to change
	actPlain   act = "plain"   // send it without formatting
	actBare    act = "bare"    // send it without buttons
	actFile    act = "file"    // too long for a message: send it as a document
	actForm    act = "form"    // this kind of file is not taken: send it in a plainer form
	actPark    act = "park"    // the chat cannot be reached
	actGiveUp  act = "give up" // will never work
	actMove    act = "move"    // the group has a new id
	actShut    act = "shut"    // the topic is closed
	actVanish  act = "vanish"  // the topic was deleted
	actWait    act = "wait"    // told to wait
	actLater   act = "later"   // nothing happened; try again
	actOdd     act = "odd"     // a complaint that is not known
	actUnknown act = "unknown" // it may have happened
)

// rule maps a part of the service's error text to what it obliges us to.
type rule struct {
	text string // lower case
	act  act
	key  string // of what is said about it; empty = the service's own text
}

// rules are read from the top. The texts are matched as parts, never as a
// whole: the service adds prefixes and details.
var rules = []rule{
	{"message is not modified", actDone, ""},
	{"message to delete not found", actDone, ""},
	{"message can't be deleted", actDone, ""},
	{"message to edit not found", actGone, ""},
	{"message can't be edited", actGone, ""},
	{"there is no text in the message to edit", actGone, ""},
	{"there is no caption in the message to edit", actGone, ""},
	{"message_id_invalid", actGone, ""},
	{"message identifier is not specified", actGone, ""},
	{"can't parse entities", actPlain, ""},
	{"can't parse messageentity", actPlain, ""},
	{"entity beginning at", actPlain, ""},
	{"entity begins", actPlain, ""},
	{"message is too long", actFile, ""},
	{"text is too long", actFile, ""},
	{"caption is too long", actFile, ""},
	{"message_too_long", actFile, ""},
	{"button_", actBare, ""},
	{"reply markup is too long", actBare, ""},
	{"text buttons are unallowed", actBare, ""},
	{"photo_invalid", actForm, ""}, // …_DIMENSIONS
	{"photo_save_file_invalid", actForm, ""},
	{"photo_ext_invalid", actForm, ""},
	{"image_process_failed", actForm, ""},
	{"too big for a photo", actForm, ""},
	{"file is too big", actForm, "telegram.why_file_large"},
	{"request entity too large", actForm, "telegram.why_file_large"},
	{"file must be non-empty", actForm, ""},
	{"not enough rights to send photo", actForm, "telegram.why_photos"},
	{"not enough rights to send document", actForm, "telegram.why_files"},
	{"not enough rights to send media", actForm, "telegram.why_files"},
	{"chat_send_", actForm, ""}, // …_PHOTOS_FORBIDDEN, …_DOCS_FORBIDDEN
	{"message thread not found", actVanish, "telegram.why_topic_gone"},
	{"topic_deleted", actVanish, "telegram.why_topic_gone"},
	{"topic_id_invalid", actVanish, "telegram.why_topic_gone"},
	{"topic_closed", actShut, "telegram.why_topic_closed"},
	{"message text is empty", actGiveUp, ""},
	{"text must be non-empty", actGiveUp, ""},
	{"group chat was upgraded", actMove, ""},
	{"chat not found", actPark, ""},
	{"have no write access", actPark, ""},
	{"not enough rights to send text", actPark, ""},
	{"not enough rights", actGiveUp, ""},
	{"frozen_method_invalid", actLater, "telegram.why_frozen"},
	{"method not found", actGiveUp, "telegram.why_old_server"},
}

// reason is why something failed, as it may be shown.
type reason struct {
	key  string
	args []any
}

// judge says what err, of a call that posts (or not), obliges us to, and why.
func judge(err error, posts bool) (act, reason) {
	var own *unread
	if errors.As(err, &own) {
		return actForm, reason{key: "telegram.why_file_gone"}
	}
	var l *lost
	if errors.As(err, &l) {
		// Below 300 something accepted the request, from 500 on something
		// failed behind the door: both may have carried it out. Between them
		// nobody did.
		if posts && l.Wrote && (l.Status < 300 || l.Status >= 500) {
			return actUnknown, reason{key: "telegram.why_unclear"}
		}
		return actLater, reason{key: "telegram.why_unreachable"}
	}
	var r *refusal
	if !errors.As(err, &r) {
		return actLater, reason{}
	}
	said := reason{"telegram.why_says", []any{"text", r.Text}}
	switch {
	case r.Status == http.StatusTooManyRequests || r.After > 0:
		return actWait, said
	case r.Status >= 500 && posts:
		return actUnknown, said
	case r.Status >= 500:
		return actLater, said
	}
	for _, u := range rules {
		if r.says(u.text) {
			if u.key != "" {
				return u.act, reason{key: u.key}
			}
			return u.act, said
		}
	}
	switch r.Status {
	case http.StatusRequestEntityTooLarge:
		return actForm, reason{key: "telegram.why_file_large"}
	case http.StatusUnauthorized, http.StatusConflict:
		return actLater, said
	case http.StatusForbidden:
		return actPark, said
	case http.StatusBadRequest:
		return actOdd, said
	}
	return actGiveUp, said
}

// defaultWait is how long we wait when the service says "too many" without a
// time.
const defaultWait = 5 * time.Second

// oblige is the error of Send for err: its code is what the caller has to do.
// simpler says that a plainer form exists.
func oblige(err error, posts, simpler bool) error {
	a, why := judge(err, posts)
	e := chat.Say(chat.Network, why.key, err, why.args...)
	switch a {
	case actWait:
		e.Code, e.After = chat.Wait, defaultWait
		var r *refusal
		if errors.As(err, &r) && r.After > 0 {
			e.After = r.After
		}
	case actGone:
		e.Code = chat.Gone
	case actPark:
		e.Code = chat.Park
	case actUnknown:
		e.Code = chat.Uncertain
	case actPlain, actBare, actFile, actOdd:
		// An unknown complaint is most likely about the form.
		e.Code = chat.GiveUp
		if simpler {
			e.Code = chat.Degrade
		}
	case actShut:
		e.Code = chat.Shut
	case actVanish:
		e.Code = chat.Vanished
	case actMove:
		e.Code = chat.GiveUp
		var r *refusal
		if errors.As(err, &r) && r.Migrate != 0 {
			e.Code, e.To = chat.Moved, supergroup(r.Migrate)
		}
	case actGiveUp, actForm:
		e.Code = chat.GiveUp
	case actDone, actLater:
	}
	return e
}

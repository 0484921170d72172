package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/sim/wording"
)

// refusals are texts as the service writes them.
var refusals = []struct {
	code     int
	text     string
	post     chat.Code // what a plain post obliges to
	posted   chat.Code // the same with formatting
	edit     chat.Code // what an edit obliges to
	notAPost bool      // the text belongs to edits and deletions only
}{
	{400, "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message", "", "", chat.CodeNone, true},
	{400, "Bad Request: message to edit not found", "", "", chat.Gone, true},
	{400, "Bad Request: message can't be edited", "", "", chat.Gone, true},
	{400, "Bad Request: MESSAGE_ID_INVALID", "", "", chat.Gone, true},
	{400, "Bad Request: can't parse entities: Character '.' is reserved and must be escaped with the preceding '\\'", chat.GiveUp, chat.Degrade, chat.GiveUp, false},
	{400, "Bad Request: can't parse entities: Unsupported start tag \"x\" at byte offset 4", chat.GiveUp, chat.Degrade, chat.GiveUp, false},
	{400, "Bad Request: entity beginning at UTF-16 offset 4 ends in a middle of a UTF-16 symbol at UTF-16 offset 5", chat.GiveUp, chat.Degrade, chat.GiveUp, false},
	{400, "Bad Request: entity begins after the end of the text at UTF-16 offset 9", chat.GiveUp, chat.Degrade, chat.GiveUp, false},
	{400, "Bad Request: SOMETHING_NEW", chat.GiveUp, chat.Degrade, chat.GiveUp, false},
	{400, "Bad Request: chat not found", chat.Park, chat.Park, chat.Park, false},
	{400, "Bad Request: have no write access to the chat", chat.Park, chat.Park, chat.Park, false},
	{400, "Bad Request: not enough rights to send text messages to the chat", chat.Park, chat.Park, chat.Park, false},
	{400, "Bad Request: not enough rights to send documents to the chat", chat.GiveUp, chat.GiveUp, chat.GiveUp, false},
	{400, "Bad Request: message thread not found", chat.Vanished, chat.Vanished, chat.Vanished, false},
	{400, "Bad Request: TOPIC_CLOSED", chat.Shut, chat.Shut, chat.Shut, false},
	{400, "Bad Request: TOPIC_DELETED", chat.Vanished, chat.Vanished, chat.Vanished, false},
	{400, "Bad Request: message text is empty", chat.GiveUp, chat.GiveUp, chat.GiveUp, false},
	{400, "Bad Request: text must be non-empty", chat.GiveUp, chat.GiveUp, chat.GiveUp, false},
	{400, "Bad Request: FROZEN_METHOD_INVALID", chat.Network, chat.Network, chat.Network, false},
	{401, "Unauthorized", chat.Network, chat.Network, chat.Network, false},
	{403, "Forbidden: bot was blocked by the user", chat.Park, chat.Park, chat.Park, false},
	{403, "Forbidden: user is deactivated", chat.Park, chat.Park, chat.Park, false},
	{403, "Forbidden: bot was kicked from the supergroup chat", chat.Park, chat.Park, chat.Park, false},
	{403, "Forbidden: the group chat was deleted", chat.Park, chat.Park, chat.Park, false},
	{404, "Not Found: method not found", chat.GiveUp, chat.GiveUp, chat.GiveUp, false},
	{413, "Request Entity Too Large", chat.GiveUp, chat.GiveUp, chat.GiveUp, false},
	{429, "Too Many Requests: retry after 7", chat.Wait, chat.Wait, chat.Wait, false},
	{500, "Internal Server Error", chat.Uncertain, chat.Uncertain, chat.Network, false},
	{504, "Gateway Timeout", chat.Uncertain, chat.Uncertain, chat.Network, false},
}

func outTo(chatID string, op chat.Op, p chat.Part) chat.Out {
	return chat.Out{Key: "k", Op: op, Part: p, Target: chat.Ref{ID: "7"},
		Place: chat.Place{Platform: Name, Account: "main", Chat: chatID, Direct: chatID[0] != '-', Space: spaceBot}}
}

func TestWhatEachRefusalObligesTo(t *testing.T) {
	t.Parallel()
	formatted := chat.Part{Text: "x", Format: []byte(`[{"type":"bold","offset":0,"length":1}]`)}
	for _, c := range refusals {
		a, _ := offline(t, Config{}, func(string, url.Values) (int, string) {
			s, b := no(c.code, c.text)
			if c.code == 429 {
				b = `{"ok":false,"error_code":429,"description":"` + c.text + `","parameters":{"retry_after":7}}`
			}
			return s, b
		})
		check := func(what string, o chat.Out, want chat.Code) {
			_, err := a.Send(t.Context(), o)
			if chat.CodeOf(err) != want {
				t.Errorf("%s refused with %q: %v, want code %q", what, c.text, err, want)
			}
			var e *chat.Error
			if errors.As(err, &e) && e.Code == chat.Wait && e.After != 7*time.Second {
				t.Errorf("%s: told to wait %v, want 7 s", what, e.After)
			}
		}
		if !c.notAPost {
			check("a plain post", outTo("11", chat.OpPost, chat.Part{Text: "x"}), c.post)
			check("a formatted post", outTo("11", chat.OpPost, formatted), c.posted)
		}
		check("an edit", outTo("11", chat.OpEdit, chat.Part{Text: "x"}), c.edit)
		if c.code != 400 {
			check("a file", outTo("11", chat.OpPost, chat.Part{File: &chat.OutFile{Name: "a", Body: []byte("b")}}), c.post)
		}
	}
}

func TestWhatHasNoClearAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer     func(string, url.Values) (int, string)
		post, edit chat.Code
	}{
		"nothing was written":     {func(string, url.Values) (int, string) { return 0, "" }, chat.Network, chat.Network},
		"cut after writing":       {func(string, url.Values) (int, string) { return -1, "" }, chat.Uncertain, chat.Network},
		"a bad gateway's page":    {func(string, url.Values) (int, string) { return 502, "<html>" }, chat.Uncertain, chat.Network},
		"a page that says ok":     {func(string, url.Values) (int, string) { return 200, "<html>" }, chat.Uncertain, chat.Network},
		"a redirect":              {func(string, url.Values) (int, string) { return 302, "<html>" }, chat.Network, chat.Network},
		"a proxy's refusal":       {func(string, url.Values) (int, string) { return 407, "<html>" }, chat.Network, chat.Network},
		"half an answer":          {func(string, url.Values) (int, string) { return 200, `{"ok":true,"resu` }, chat.Uncertain, chat.Network},
		"an answer without an id": {func(string, url.Values) (int, string) { return ok(`{}`) }, chat.Uncertain, chat.CodeNone},
		"an odd result":           {func(string, url.Values) (int, string) { return ok(`"yes"`) }, chat.Uncertain, chat.CodeNone},
		"too many, as a page":     {func(string, url.Values) (int, string) { return 429, "<html>" }, chat.Wait, chat.Wait},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, _ := offline(t, Config{}, c.answer)
			if _, err := a.Send(t.Context(), outTo("11", chat.OpPost, chat.Part{Text: "x"})); chat.CodeOf(err) != c.post {
				t.Errorf("a post: %v, want %q", err, c.post)
			}
			if _, err := a.Send(t.Context(), outTo("11", chat.OpPost, chat.Part{File: &chat.OutFile{Name: "a", Body: []byte("b")}})); chat.CodeOf(err) != c.post {
				t.Errorf("a file: %v, want %q", err, c.post)
			}
			if _, err := a.Send(t.Context(), outTo("11", chat.OpEdit, chat.Part{Text: "x"})); chat.CodeOf(err) != c.edit {
				t.Errorf("an edit: %v, want %q", err, c.edit)
			}
		})
	}
}

func TestACancelledPostThatWasWrittenIsUncertain(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	a, _ := offline(t, Config{}, func(string, url.Values) (int, string) { cancel(); return -1, "" })
	_, err := a.Send(ctx, outTo("11", chat.OpPost, chat.Part{Text: "x"}))
	if chat.CodeOf(err) != chat.Uncertain || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err = a.Send(ctx, outTo("11", chat.OpPost, chat.Part{Text: "x"})); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that had ended: %v", err)
	}
}

func TestRemovingNeverFailsForWhatIsNotThere(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"Bad Request: message to delete not found", "Bad Request: message can't be deleted", "Bad Request: message can't be deleted for everyone"} {
		a, _ := offline(t, Config{}, func(string, url.Values) (int, string) { return no(400, text) })
		if _, err := a.Send(t.Context(), outTo("11", chat.OpRemove, chat.Part{})); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestNonsenseIsRefusedWithoutACall(t *testing.T) {
	t.Parallel()
	a, _ := offline(t, Config{}, func(m string, _ url.Values) (int, string) {
		t.Errorf("call of %s", m)
		return no(400, "x")
	})
	for _, o := range []chat.Out{
		outTo("@name", chat.OpPost, chat.Part{Text: "x"}),
		outTo("11", chat.Op("shout"), chat.Part{Text: "x"}),
		{Place: chat.Place{Chat: "11"}, Op: chat.OpEdit, Part: chat.Part{Text: "x"}},
	} {
		if _, err := a.Send(t.Context(), o); chat.CodeOf(err) != chat.GiveUp {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestErrorTextsOfTheServiceAreMatchedAsParts(t *testing.T) {
	t.Parallel()
	for _, r := range rules {
		err := &refusal{Status: 400, Text: fmt.Sprintf("Bad Request: %s (and more)", r.text)}
		if a, _ := judge(err, true); a != r.act {
			t.Errorf("%q: %q, want %q", r.text, a, r.act)
		}
	}
}

// chinese fails when err does not say in Chinese what is shown of it; others
// are words that stay as they are.
func chinese(t *testing.T, what string, err error, others ...string) {
	t.Helper()
	text := i18n.Detail("zh", err)
	if bad := wording.English(text, others...); len(bad) > 0 || !strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		t.Errorf("%s: %q, of which %q is English (%v)", what, text, bad, err)
	}
}

func TestWhatTelegramRefusesIsSaidInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	for _, r := range rules {
		said := fmt.Sprintf("Bad Request: %s and so on", r.text)
		for _, posts := range []bool{true, false} {
			chinese(t, r.text, oblige(&refusal{Status: 400, Text: said}, posts, false), said)
		}
	}
	const said = "something that nobody has seen before"
	for _, status := range []int{400, 401, 403, 409, 413, 418, 429, 500} {
		for _, posts := range []bool{true, false} {
			chinese(t, fmt.Sprint(status), oblige(&refusal{Status: status, Text: said}, posts, false), said)
		}
	}
	for _, err := range []error{
		&lost{Method: "sendMessage", Text: "connection refused by nobody"},
		&lost{Method: "sendMessage", Wrote: true, Text: "connection reset by peer"},
		&unread{cause: errors.New("no such file here")},
	} {
		chinese(t, err.Error(), oblige(err, true, false))
	}
}

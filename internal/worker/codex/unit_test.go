package codex

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
)

func TestFailuresAreClassified(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		info, message string
		want          chat.Code
	}{
		{`"contextWindowExceeded"`, "", chat.ContextFull},
		{`"usageLimitExceeded"`, "", chat.Quota},
		{`"modelNotFound"`, "", chat.ModelUnknown},
		{`"unauthorized"`, "", chat.LoggedOut},
		{`"serverOverloaded"`, "", chat.Overloaded},
		{`{"httpConnectionFailed":{"httpStatusCode":401}}`, "", chat.LoggedOut},
		{`{"httpConnectionFailed":{"httpStatusCode":529}}`, "", chat.Overloaded},
		{`{"responseTooManyFailedAttempts":{"httpStatusCode":429}}`, "", chat.Quota},
		{`{"responseStreamDisconnected":{"httpStatusCode":null}}`, "", chat.Network},
		{`"other"`, "stream disconnected before completion: x", chat.Network},
		{`"other"`, `{"error":{"message":"malformed"}}`, chat.AgentError},
		{`{"new":{"kind":[1]}}`, "something", chat.AgentError},
		{`null`, "", chat.AgentError},
		{``, "Quota exceeded", chat.Quota},
	} {
		if got := (turnError{Message: c.message, Info: json.RawMessage(c.info)}).code(); got != c.want {
			t.Errorf("%s %q is %q, want %q", c.info, c.message, got, c.want)
		}
	}
	err := turnError{Message: `{"error":{"message":"malformed"}}`, Info: json.RawMessage(`"other"`)}.failure(time.Time{}, time.Now())
	if chat.DetailOf(err) != "malformed" {
		t.Errorf("says %q", chat.DetailOf(err))
	}
}

func TestOnlyWhatTheShellIsGivenIsShownWithoutIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ command, action, want string }{
		{"/bin/bash -lc 'touch a'", "touch a", "touch a"},
		{"/bin/bash -lc ls", "ls", "ls"},
		{`/bin/bash -lc "echo it's"`, "echo it's", "echo it's"},
		{"/bin/bash -lc 'cat a; rm -r /'", "cat a", "/bin/bash -lc 'cat a; rm -r /'"},
		{"rm -r /", "cat a", "rm -r /"},
		{"/bin/bash -lc 'x'", "", "/bin/bash -lc 'x'"},
	} {
		if got := plainCommand(c.command, []action{{Command: c.action}}); got != c.want {
			t.Errorf("%q reads %q", c.command, got)
		}
	}
}

func TestTheExactRequestIsShown(t *testing.T) {
	t.Parallel()
	p := asked{
		method: askCommand, Item: "i", Command: "/bin/sh -lc 'make'", Actions: []action{{Command: "make"}}, Dir: "/elsewhere",
		Reason: "needs the network", More: json.RawMessage(`{"network":true}`), again: 2,
	}
	q, err := p.question("/work")
	if err != nil || q.Key != "i#2" || q.Title != "make" {
		t.Errorf("%+v, %v", q, err)
	}
	for _, part := range []string{"make", "in /elsewhere", "needs the network", `"network": true`} {
		if !strings.Contains(q.Detail, part) {
			t.Errorf("%q is not in %q", part, q.Detail)
		}
	}
	if _, err := (asked{method: askUser}).question(""); err == nil {
		t.Error("no questions were taken for one")
	}
	form := asked{method: askForm, Message: "Fill in", Schema: json.RawMessage(`{"properties":{"a":{}}}`)}
	if _, err := form.question(""); err == nil {
		t.Error("a form with fields was taken for a yes or no")
	}
	bare := asked{method: askCommand, raw: json.RawMessage(`{"itemId":"i"}`)}
	if q, err := bare.question(""); err != nil || !strings.Contains(q.Detail, "itemId") {
		t.Errorf("a request without a command shows %q, %v", q.Detail, err)
	}
}

// shown joins pieces; a bar ends a block.
func shown(parts ...[]piece) string {
	var b strings.Builder
	for _, part := range parts {
		for _, p := range part {
			b.WriteString(p.text)
			if p.ends {
				b.WriteString("|")
			}
		}
	}
	return b.String()
}

func TestEachWordIsShownOnce(t *testing.T) {
	t.Parallel()
	var a answer
	got := shown(a.add("1", "one "), a.add("1", "two"), a.whole("1", "one two"), a.whole("2", "three"), a.finish())
	if got != "one two|three|" {
		t.Errorf("shown %q", got)
	}
	a = answer{}
	first := a.add("1", "the answer is ")
	a.restart()
	got = shown(first, a.add("2", "the ans"), a.add("2", "wer is 42"), a.whole("2", "the answer is 42"), a.finish())
	if got != "the answer is 42|" {
		t.Errorf("a try that repeats: %q", got)
	}
	a = answer{}
	first = a.add("1", "the answer is ")
	a.restart()
	got = shown(first, a.add("2", "the "), a.add("2", "best is"), a.finish())
	if got != "the answer is |the best is|" {
		t.Errorf("a try that says something else: %q", got)
	}
	a = answer{}
	got = shown(a.add("1", "the ans"), a.whole("1", "the ans")) // cut, and told as finished
	a.restart()
	got += shown(a.add("2", "the an"), a.whole("2", "the an"))
	a.restart()
	got += shown(a.add("3", "the answer"), a.whole("3", "the answer"), a.settle(), a.add("4", "more"), a.finish())
	if got != "the answer|more|" {
		t.Errorf("two cuts: %q", got)
	}
	a = answer{}
	first = a.add("1", "the answer is ")
	a.restart()
	if got = shown(first, a.finish(), a.finish()); got != "the answer is |" {
		t.Errorf("no other try: %q", got)
	}
}

func TestStrangeConfigurationsAreRefused(t *testing.T) {
	t.Parallel()
	if err := (Config{}).Validate(); err != nil {
		t.Error(err)
	}
	if err := (Config{Grace: -1, MaxLine: -1, StartTimeout: -1}).Validate(); err == nil || strings.Count(err.Error(), "negative") != 3 {
		t.Errorf("got %v", err)
	}
}

func FuzzSkippedLines(f *testing.F) {
	f.Add([]byte(`{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u"`))
	f.Add([]byte(`{"id":"x","method":"`))
	f.Fuzz(func(t *testing.T, head []byte) {
		for _, name := range []string{"method", "threadId", "id", ""} {
			if v := valueOf(head, name); strings.Contains(v, `"`) {
				t.Errorf("value %q", v)
			}
		}
	})
}

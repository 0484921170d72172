package store

import (
	"bytes"
	"fmt"
	"testing"

	"cligate/internal/chat"
)

func TestEventsThatWereNotUnderstoodAreKeptOnceAndMakeRoom(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	keep := func(account string, raws ...string) {
		t.Helper()
		var us []chat.Unread
		for _, r := range raws {
			us = append(us, chat.Unread{Raw: []byte(r), Why: "odd"})
		}
		must(t, l.Inbox().Keep(ctx, account, us))
	}
	count := func() int { return ok[Counts](t)(l.Books().Counts(ctx)).Unread }
	keep("a", `{"update_id":1}`, `7`)
	keep("a", `{"update_id":1}`, `7`) // delivered again
	keep("b", `7`)
	if n := count(); n != 3 {
		t.Errorf("%d are kept, want 3", n)
	}
	keep("a", string(bytes.Repeat([]byte("x"), 2*unreadSize)))
	var size int
	must(t, l.readers.QueryRowContext(ctx, `SELECT max(length(raw)) FROM unread`).Scan(&size))
	if size != unreadSize {
		t.Errorf("%d bytes of a huge one are kept", size)
	}
	for i := range unreadRows + 5 {
		keep("a", fmt.Sprint("n", i))
	}
	if n := count(); n != unreadRows+1 {
		t.Errorf("%d are kept, want %d of one account and 1 of the other", n, unreadRows)
	}
	var newest string
	must(t, l.readers.QueryRowContext(ctx, `SELECT CAST(raw AS TEXT) FROM unread WHERE account = 'a' ORDER BY id DESC LIMIT 1`).Scan(&newest))
	if newest != fmt.Sprint("n", unreadRows+4) {
		t.Errorf("the newest one is %q", newest)
	}
}

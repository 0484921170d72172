package store

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cligate/internal/chat"
)

func TestLoginTokenIsUsedOnce(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	now := time.Now()
	must(t, l.Logins().AddLogin(ctx, chat.Login{Hash: "once", Person: "owner", Expires: now.Add(time.Minute)}))
	var won atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			web := chat.Login{Hash: string(rune('a' + i)), Expires: now.Add(time.Hour)}
			if p, err := l.Logins().ExchangeLogin(ctx, "once", web, now); err == nil && p == "owner" {
				won.Add(1)
				if got, err := l.Logins().CheckLogin(ctx, web.Hash, now); err != nil || got.Person != "owner" {
					t.Errorf("login %+v, %v", got, err)
				}
			} else if chat.CodeOf(err) != chat.Missing {
				t.Errorf("person %q, %v", p, err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d exchanges won", won.Load())
	}
}

func TestLoginEnds(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	now := time.Now()
	must(t, l.Logins().AddLogin(ctx, chat.Login{Hash: "old", Person: "o", Expires: now.Add(time.Minute)}))
	_, err := l.Logins().ExchangeLogin(ctx, "old", chat.Login{Hash: "w"}, now.Add(time.Minute))
	wantCode(t, err, chat.Expired)
	_, err = l.Logins().CheckLogin(ctx, "old", now) // a one-time token is no session
	wantCode(t, err, chat.Missing)
	ok[string](t)(l.Logins().ExchangeLogin(ctx, "old", chat.Login{Hash: "w", Expires: now.Add(time.Hour)}, now))
	_, err = l.Logins().CheckLogin(ctx, "w", now.Add(time.Hour))
	wantCode(t, err, chat.Missing)
	must(t, l.Logins().ExtendLogin(ctx, "w", now.Add(2*time.Hour)))
	ok[chat.Login](t)(l.Logins().CheckLogin(ctx, "w", now.Add(time.Hour)))
	must(t, l.Logins().RevokeLogin(ctx, "w"))
	must(t, l.Logins().RevokeLogin(ctx, "w"))
	_, err = l.Logins().CheckLogin(ctx, "w", now)
	wantCode(t, err, chat.Missing)
}

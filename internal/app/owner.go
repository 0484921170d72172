package app

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/reply"
	"cligate/internal/store"
)

// owner tells the operator what only the operator can mend. Words that cannot
// be delivered now wait in the outbox like all others.
type owner struct {
	lang string
	log  *slog.Logger

	mu     sync.Mutex
	voice  *reply.Voice
	db     *store.DB
	owners map[string][]string // by account
	said   int
	wg     sync.WaitGroup
}

func newOwner(lang string, log *slog.Logger) *owner { return &owner{lang: lang, log: log} }

func (o *owner) bind(v *reply.Voice, db *store.DB, owners map[string][]string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.voice, o.db, o.owners = v, db, owners
}

// disk is told when the disk is full and when there is room again.
func (o *owner) disk(h store.Health) {
	key := "app.disk_full"
	if h.OK {
		key = "app.disk_ok"
	}
	o.log.Warn("the state of the disk changed", "ok", h.OK, "detail", h.Detail)
	o.tell(i18n.T(o.lang, key), "")
}

// trouble is told what keeps an account from working. An account that cannot
// send either is not used to say so.
func (o *owner) trouble(account, detail string, speaks bool) {
	except := account
	if speaks {
		except = ""
	}
	o.tell(i18n.T(o.lang, "app.trouble", "account", account, "detail", detail), except)
}

// dead is told about a message that was given up. It is in the log and in the
// operator's status; the chat it belongs to cannot be told.
func (o *owner) dead(out chat.Out, reason error) {
	o.log.Error("a message was given up", "outbox", out.ID, "turn", out.Turn, "reason", reason)
}

// held is told about a message that waits for its topic where nobody in the chat
// can be told of it.
func (o *owner) held(out chat.Out, reason error) {
	name := out.Place.Title
	if name == "" {
		name = out.Place.Thread
	}
	o.tell(i18n.T(o.lang, "app.held", "account", out.Place.Account, "chat", out.Place.Chat, "topic", name, "detail", i18n.Detail(o.lang, reason)), "")
}

// tell says text in every owner's direct chat, except on the account that is
// in trouble itself. It does not block.
func (o *owner) tell(text, except string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.voice == nil {
		return // at start: the error is printed
	}
	o.said++
	key := fmt.Sprintf("owner/%d/%d", time.Now().UnixNano(), o.said)
	voice, db, owners := o.voice, o.db, o.owners
	o.wg.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) //nolint:forbidigo // outlives what caused it
		defer cancel()
		ps, err := db.People().OwnerPlaces(ctx)
		if err != nil {
			o.log.ErrorContext(ctx, "owners not known", "err", err)
			return
		}
		ps = append(ps, direct(ctx, db, owners)...)
		var told []string
		for _, p := range ps {
			at := p.Channel()
			if p.Account == except || slices.Contains(told, at) {
				continue
			}
			told = append(told, at)
			if err := voice.Say(ctx, p, fmt.Sprintf("%s/%d", key, p.ID), chat.Reply{Kind: chat.ReplyNotice, Markdown: text}); err != nil {
				o.log.ErrorContext(ctx, "owner not told", "err", err)
			}
		}
	})
}

// direct returns the direct chats of configured owners who have written once.
func direct(ctx context.Context, db *store.DB, owners map[string][]string) []chat.Place {
	var out []chat.Place
	for account, ids := range owners {
		for _, id := range ids {
			if p, err := db.People().DirectPlace(ctx, account, id); err == nil {
				out = append(out, p)
			}
		}
	}
	return out
}

// wait returns when everything that was to be told is in the outbox.
func (o *owner) wait() { o.wg.Wait() }

package router

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// titleLimit bounds the naming of a topic.
const titleLimit = 10 * time.Second

// Titles gives topics their names.
type Titles interface {
	// Title gives a topic a name. An error means that it has the old one.
	Title(ctx context.Context, p chat.Place, name string) error
}

// names gives topics that the service named by itself a name after their first
// prompt. It blocks nobody; a name that was not given is given with the next
// prompt.
type names struct {
	ctx    context.Context // without an end of its own
	titles Titles
	places Places
	log    *slog.Logger
	wg     sync.WaitGroup

	mu   sync.Mutex
	busy map[int64]bool // places that are being named
}

// first names the topic of p, if it waits for a name.
func (n *names) first(p chat.Place, name string) {
	if !p.Nameless || name == "" || n.titles == nil || !n.claim(p.ID) {
		return
	}
	n.wg.Go(func() {
		defer n.release(p.ID)
		ctx, cancel := context.WithTimeout(n.ctx, titleLimit)
		defer cancel()
		err := n.titles.Title(ctx, p, name)
		if err == nil {
			err = n.places.Named(ctx, p.ID, name)
		}
		if err != nil {
			n.log.DebugContext(ctx, "a topic keeps its old name", "place", p.ID, "err", err)
		}
	})
}

func (n *names) claim(place int64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.busy[place] {
		return false
	}
	n.busy[place] = true
	return true
}

func (n *names) release(place int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.busy, place)
}

// greet answers somebody who opens a direct chat in which nothing was said yet.
func (k *intake) greet(ctx context.Context, in chat.Inbound) error {
	said, err := k.desk.History.Lines(ctx, in.Conversation, time.Time{}, 1)
	switch {
	case err != nil:
		return fmt.Errorf("read what was said: %w", err)
	case len(said) > 0:
		return k.end.settle(ctx, in, chat.InboundDone, chat.CodeNone)
	}
	return k.command(ctx, in, "start", "")
}

// welcome greets a group that somebody who was let in took the bot into, once
// for ever.
func (e *ender) welcome(ctx context.Context, in chat.Inbound) error {
	text := i18n.T(e.desk.lang(chat.Conversation{}, in.Sender), "router.welcome")
	outs := e.voice.Compose(in.Place, 0, fmt.Sprintf("welcome/%d", in.Place.ID), chat.OutNotice, say(text)...)
	return e.settleWith(ctx, in, []int64{in.ID}, chat.InboundDone, chat.CodeNone, outs)
}

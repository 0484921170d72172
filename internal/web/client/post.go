package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"cligate/internal/chat"
	"cligate/internal/web/api"
)

// desk posts to one chat and keeps what has not come to its end.
type desk struct {
	c       *Client
	chat    string
	waiting []string // keys of messages
	failed  bool     // one came to nothing
	heard   bool     // something was said since the last post
	late    time.Time

	giveUp <-chan struct{} // ends the tries; nil = never
	trying func(why error) // a message is not taken yet; told once for each
}

// post sends a message.
func (d *desk) post(ctx context.Context, text string) error {
	p := api.Post{Key: newKey(), Text: text}
	d.heard = false
	if err := d.deliver(ctx, "messages", p, nil); err != nil {
		return err
	}
	d.waiting = append(d.waiting, p.Key)
	return nil
}

// deliver posts until there is an answer: under the same key it is the same
// event, however often it arrives. The person is told that it takes longer, and
// may give it up.
func (d *desk) deliver(ctx context.Context, what string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, postLimit)
	defer cancel()
	for pause, told := firstPause, false; ; pause = min(2*pause, lastPause) {
		err := d.c.call(ctx, http.MethodPost, chatPath(d.chat)+"/"+what, body, into)
		if err == nil || !errors.Is(err, errLost) {
			return err
		}
		if !told && d.trying != nil {
			d.trying(err)
			told = true
		}
		select {
		case <-ctx.Done():
			return err
		case <-d.giveUp:
			return err
		case <-time.After(pause):
		}
	}
}

// look asks what became of the messages that wait, and returns what the ledger
// holds when one has come to its end: its last words are there by then, even if
// the stream has not brought them.
func (d *desk) look(ctx context.Context) []api.Message {
	var still []string
	for _, key := range d.waiting {
		var f api.Fate
		err := d.c.call(ctx, http.MethodGet, chatPath(d.chat)+"/fates/"+key, nil, &f)
		if err != nil || !f.Ended {
			still = append(still, key) // an error: the daemon is away; it is asked again
			continue
		}
		d.failed = d.failed || cameToNothing(f)
	}
	if len(still) == len(d.waiting) {
		return nil
	}
	d.waiting = still
	d.late = time.Now().Add(lateLimit)
	var page api.Lines
	if err := d.c.call(ctx, http.MethodGet, chatPath(d.chat)+"/lines", nil, &page); err != nil {
		return nil // the stream will bring it
	}
	return page.Lines
}

// idle reports whether nothing more is to be expected.
func (d *desk) idle() bool {
	return len(d.waiting) == 0 && (d.heard || !time.Now().Before(d.late))
}

func cameToNothing(f api.Fate) bool {
	if f.Turn > 0 {
		return f.As != chat.TurnSucceeded
	}
	return f.State != chat.InboundDone
}

func newKey() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

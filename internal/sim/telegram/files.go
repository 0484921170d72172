package telegram

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif"  // photos in every form that the service takes
	_ "image/jpeg" // …
	_ "image/png"  // …
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	maxUpload = 50 << 20
	maxPhoto  = 10 << 20
	maxSides  = 10_000 // pixels, width and height together
	maxRatio  = 20     // of the sides
	// Uploads above heavy bytes of exactly the same size are handled one after
	// the other; when that takes longer than backlog, further ones are refused.
	heavy       = 100_000
	equalRest   = 600 * time.Millisecond
	backlog     = 5 * time.Second
	backlogWait = 60
)

// sendFile carries out sendDocument and sendPhoto.
func (r request) sendFile(field, method string) (any, *refusal) {
	s, b, p := r.s, r.b, r.p
	c, no := r.target(true)
	if no != nil {
		return nil, no
	}
	f, ok := p.files[field]
	if !ok {
		return nil, bad("there is no " + field + " in the request")
	}
	for _, check := range []func() *refusal{
		func() *refusal { return sizeOf(s.rulebook, f) },
		func() *refusal { return s.mayPost(s.rulebook, c.id, field) },
		func() *refusal { return photoOf(s.rulebook, field, f) },
	} {
		if no := check(); no != nil {
			return nil, no
		}
	}
	t, no := r.readBody("caption", "caption_entities", maxCaption)
	if no != nil {
		return nil, no
	}
	rows, no := r.buttons()
	if no != nil {
		return nil, no
	}
	reply, no := r.replyTo(c)
	if no != nil {
		return nil, no
	}
	if no := s.equal(s.rulebook, b.id, len(f.body), r.call.At); no != nil {
		return nil, no
	}
	if no := r.rate(c, method); no != nil {
		return nil, no
	}
	m := s.store(b, c, &Message{FromBot: true, From: b.id, Text: t.text, Entities: t.entities, Buttons: rows, ReplyTo: reply,
		File: f.name, FileBody: f.body, Photo: field == "photo", Thread: topicOf(r, c), Silent: p.flag("disable_notification")})
	r.call.Message, r.call.Text = m.ID, f.name
	return messageJSON(s, b, m), nil
}

// sizeOf refuses files that are too large or empty, and names that are paths.
func sizeOf(s *rulebook, f upload) *refusal {
	switch {
	case len(f.body) > maxUpload && s.on(RuleFile):
		return &refusal{code: 413, text: "Request Entity Too Large"}
	case len(f.body) == 0 && s.on(RuleFile):
		return bad("file must be non-empty")
	case strings.ContainsAny(f.name, `/\`) && s.on(RuleFileName):
		return bad("a path in a file name: " + filepath.Base(f.name))
	}
	return nil
}

// uploads is what the service knows of files beyond their messages.
type uploads struct {
	mu        sync.Mutex
	forbidden map[string]bool      // kinds of files, by chat
	handled   map[string]time.Time // by bot and size: when the next upload is handled
}

// Forbid takes the right to send a kind of files ("photo", "document") from the
// members of a chat, the bot among them.
func (u *uploads) Forbid(chat int64, field string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.forbidden[fmt.Sprint(chat, field)] = true
}

func (u *uploads) mayPost(on *rulebook, chat int64, field string) *refusal {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.forbidden[fmt.Sprint(chat, field)] && on.on(RuleFileRight) {
		return bad("not enough rights to send " + field + "s to the chat")
	}
	return nil
}

// photoOf refuses what is no image that a chat can show.
func photoOf(s *rulebook, field string, f upload) *refusal {
	if field != "photo" || !s.on(RulePhoto) {
		return nil
	}
	if len(f.body) > maxPhoto {
		return bad(fmt.Sprintf("file of size %d bytes is too big for a photo; the maximum size is %d bytes", len(f.body), maxPhoto))
	}
	i, _, err := image.DecodeConfig(bytes.NewReader(f.body))
	if err != nil {
		return bad("IMAGE_PROCESS_FAILED")
	}
	long, short := max(i.Width, i.Height), min(i.Width, i.Height)
	if long+short > maxSides || long > maxRatio*short {
		return bad("PHOTO_INVALID_DIMENSIONS")
	}
	return nil
}

// equal refuses uploads of one size that come faster than they are handled.
func (u *uploads) equal(on *rulebook, bot int64, size int, at time.Time) *refusal {
	if size <= heavy || !on.on(RuleEqual) {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	key := fmt.Sprint(bot, " ", size)
	free := u.handled[key]
	if free.Before(at) {
		free = at
	}
	if free.Sub(at) > backlog {
		return &refusal{code: 429, text: "Too Many Requests: retry after " + itoa(backlogWait), after: backlogWait}
	}
	u.handled[key] = free.Add(equalRest)
	return nil
}

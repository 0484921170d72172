package reply

import (
	"time"

	"cligate/internal/chat"
)

// edit returns the edit of the live message that is due now, if one is.
func (l *Live) edit() (chat.Out, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || !l.post.dirty || l.post.ref.Zero() || time.Since(l.post.edited) < l.interval() {
		return chat.Out{}, false
	}
	part := l.picture()
	l.post.edited = time.Now()
	if shape(part) == l.post.shown {
		return chat.Out{}, false
	}
	return chat.Out{
		Key: liveKey(l.turn.ID), Place: l.turn.Place, Turn: l.turn.ID, Class: chat.OutProgress,
		Op: chat.OpEdit, Part: part, Target: l.post.ref,
	}, true
}

// accepted notes what the platform shows now.
func (l *Live) accepted(ref chat.Ref, p chat.Part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.post.ref, l.post.shown, l.post.edited = ref, shape(p), time.Now()
}

// refused ends the edits of a message that cannot be edited (any more). No
// other message takes its place.
func (l *Live) refused() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.post.ref = chat.Ref{}
}

// muted ends the typing signals.
func (l *Live) muted() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.post.mute = true
}

// running reports whether the turn still runs.
func (l *Live) running() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.over
}

// shape is what makes two parts the same to a reader.
func shape(p chat.Part) string { return p.Text + "\x00" + string(p.Format) }

package turn

import (
	"context"
	"slices"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// Files are what turns send beside words. Each turn has a folder of its own.
type Files interface {
	// Begin makes the folder of a turn, also when it is there, and returns the
	// words that tell the agent of it.
	Begin(s chat.Session, turn int64) (words string, err error)
	// Collect takes what lies in the folder, ready to be sent to the turn's
	// place. The bodies are durable when it returns.
	Collect(t chat.Turn, s chat.Session, lang string) []chat.Reply
	// Discard lets go of what was collected and not committed.
	Discard(outs []chat.Out)
	// Left is where files lie that nobody collected; empty when there are none.
	Left(s chat.Session, turn int64) string
}

// parcel is what a turn sends beside words.
type parcel struct{ *run }

// box makes the folder of the turn's files and returns what the agent has to
// be told of it: once in a session. A command of the agent's own takes no words
// beside it.
func (n parcel) box(in chat.Input) string {
	if n.cfg.Files == nil {
		return ""
	}
	words, err := n.cfg.Files.Begin(n.session, n.turn.ID)
	if err != nil { // a workspace that cannot be written: a turn without files
		n.cfg.Log.DebugContext(n.ctx, "no folder for the files of a turn", "turn", n.turn.ID, "err", err)
		return ""
	}
	command := func(p chat.Piece) bool { return strings.HasPrefix(strings.TrimSpace(p.Text), "/") }
	if n.session.Briefed || slices.ContainsFunc(in.Pieces, command) {
		return ""
	}
	return words
}

// briefed notes that the agent was told where to put files.
func (h *host) briefed() {
	if !h.brief {
		return
	}
	h.brief = false
	session := h.session.ID
	h.run.clerk.do(func(ctx context.Context) error { return h.run.books.Threads.Briefed(ctx, session, true) })
}

// willBrief says that the next prompt tells the agent where to put files.
func (h *host) willBrief(yes bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.brief = yes
}

// forgets has the agent told again when its memory became shorter: what it was
// told once may be gone.
func (n parcel) forgets(ctx context.Context, e ending, u chat.Usage) {
	asked := func(p chat.Piece) bool {
		return strings.HasPrefix(p.Text, "/compact") || strings.HasPrefix(p.Text, "/clear")
	}
	shrank := n.past.shrinks(n.session.ID, u)
	if n.cfg.Files == nil || !shrank && (e.state != chat.TurnSucceeded || !slices.ContainsFunc(n.turn.Input.Pieces, asked)) {
		return
	}
	if err := n.books.Threads.Briefed(ctx, n.session.ID, false); err != nil {
		n.cfg.Log.WarnContext(ctx, "an agent is not told again where to put files", "session", n.session.ID, "err", err)
	}
}

// said is the last word in words and files. Files need no words beside them.
func (n parcel) said(e ending, text string, tools int) []chat.Reply {
	words := n.words.last(e, text, tools)
	if n.cfg.Files == nil || e.reason == chat.NoSession {
		return words
	}
	sent := n.cfg.Files.Collect(n.turn, n.session, n.words.lang)
	if text == "" && e.state == chat.TurnSucceeded && slices.ContainsFunc(sent, func(r chat.Reply) bool { return r.File != nil }) {
		words = nil
	}
	return append(words, sent...)
}

// left tells of files of a turn that was cut off: they may be incomplete, so
// they are not sent.
func (r *Runner) left(s chat.Session, turn int64, lang string) string {
	if r.cfg.Files == nil {
		return ""
	}
	if place := r.cfg.Files.Left(s, turn); place != "" {
		return "\n\n" + i18n.T(lang, "turn.files_left", "place", place)
	}
	return ""
}

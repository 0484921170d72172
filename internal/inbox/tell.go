package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// teller tells people about their files.
type teller struct {
	*Keeper
	order Order
	// held keeps what is to be told, where a message has nothing but files: if
	// none of them is left, the end of the turn says it. nil = said at once.
	held *notes
}

// note is what is told about one file.
type note struct {
	file chat.FileRef
	key  string
	args []any // name, value pairs; the values are foreign words
	rest bool  // the rest of the message runs, which is worth saying
}

// text is n in words; foreign ones are put through quote.
func (n note) text(lang string, quote func(string) string) string {
	args := slices.Clone(n.args)
	for i := 1; i < len(args); i += 2 {
		args[i] = quote(fmt.Sprint(args[i]))
	}
	return i18n.T(lang, "inbox."+n.key, args...)
}

// notes are what waits for the end of the gathering.
type notes struct {
	mu  sync.Mutex
	all []note
}

const (
	nameShown  = 60   // characters of a file's name
	heardShown = 1000 // of what was understood
)

// lost notes that a file cannot be had, and tells it.
func (t teller) lost(ctx context.Context, f chat.FileRef, err error) chat.FileRef {
	t.log.WarnContext(ctx, "file not fetched", "turn", t.order.Turn.ID, "kind", f.Kind, "size", f.Size, "err", err)
	detail := i18n.Detail(t.order.Lang, err)
	n := note{file: f, key: "failed", rest: true, args: []any{"name", name(f.Name), "detail", detail}}
	why := "it could not be fetched"
	switch {
	case errors.Is(err, errDeaf):
		n.key, n.rest, why = "deaf", false, "it is spoken, and nothing here understands speech"
	case errors.Is(err, errOverLimit):
		n.key, why = "over_limit", "it is too large"
		n.args = append(n.args, "size", volume(f.Size), "limit", volume(t.cfg.FileMax))
	case chat.CodeOf(err) == chat.Full:
		n.key, why = "too_large", "it is too large"
		if detail != "" {
			n.key = "too_large_why"
		}
		n.args = append(n.args, "size", volume(f.Size))
	case detail == "":
		n.key = "failed_unknown"
	}
	f.Path, f.Lost = "", why
	t.tell(ctx, n)
	return f
}

// unheard is lost for a recording that is here and was not understood.
func (t teller) unheard(ctx context.Context, f chat.FileRef, err error) chat.FileRef {
	t.log.WarnContext(ctx, "speech not understood", "turn", t.order.Turn.ID, "size", f.Size, "seconds", f.Seconds, "err", err)
	n := note{file: f, key: "unheard"}
	detail := i18n.Detail(t.order.Lang, err)
	switch code := chat.CodeOf(err); {
	case code == chat.Full:
		n.key = "unheard_long"
	case code == chat.Nothing:
		n.key = "unheard_silence"
	case detail == "":
		n.key = "unheard_unknown"
	default:
		n.args = []any{"detail", detail}
	}
	f.Path, f.Lost = "", "it is spoken, and was not understood"
	t.tell(ctx, n)
	return f
}

// tell says n, now or when all files are seen to.
func (t teller) tell(ctx context.Context, n note) {
	if t.held == nil {
		t.note(ctx, n)
		return
	}
	t.held.mu.Lock()
	defer t.held.mu.Unlock()
	t.held.all = append(t.held.all, n)
}

// note says n.
func (t teller) note(ctx context.Context, n note) {
	text := n.text(t.order.Lang, chat.Escape)
	if n.rest {
		text += " " + i18n.T(t.order.Lang, "inbox.rest")
	}
	t.say(ctx, "lost", n.file, text, false)
}

// release ends the gathering: what was held is said, unless nothing of the
// message is left. Then it is the reason of that, which is returned.
func (t teller) release(ctx context.Context, nothing bool) (why string) {
	if t.held == nil {
		return ""
	}
	var all []string
	for _, n := range t.held.all {
		if nothing {
			all = append(all, n.text(t.order.Lang, strings.Clone))
		} else {
			t.note(ctx, n)
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

// heard shows what was understood, so that mistakes are seen.
func (t teller) heard(ctx context.Context, f chat.FileRef) {
	words := chat.Clip(strings.Join(strings.Fields(f.Heard), " "), heardShown)
	t.say(ctx, "heard", f, "> 🎤 "+chat.Escape(words), true)
}

// say tells something about one file, once.
func (t teller) say(ctx context.Context, kind string, f chat.FileRef, text string, silent bool) {
	turn := t.order.Turn
	sum := sha256.Sum256([]byte(f.ID))
	key := fmt.Sprintf("%s/%d/%s", kind, turn.ID, hex.EncodeToString(sum[:8]))
	r := chat.Reply{Kind: chat.ReplyNotice, Markdown: text, ReplyTo: turn.ReplyTo, Silent: silent}
	if err := t.Voice.Say(context.WithoutCancel(ctx), turn.Place, key, r); err != nil {
		t.log.WarnContext(ctx, "notice not stored", "turn", turn.ID, "err", err)
	}
}

// name is the name of a file as part of a sentence of ours.
func name(s string) string { return chat.Clip(chat.PlainName(s), nameShown) }

// volume is a size for people; some services do not tell it.
func volume(n int64) string {
	if n <= 0 {
		return "?"
	}
	return chat.Size(n)
}

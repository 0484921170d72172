package reply

import (
	"slices"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// last is a turn's last word, with what becomes of its live message. One that an
// earlier life of the daemon began is not known here; the ledger tells when the
// row is due.
func (v *Voice) last(p chat.Place, turn int64, key string, rs []chat.Reply) []chat.Out {
	line, shown := i18n.T(v.cfg.Lang, "reply.over"), true
	l := v.sender.release(turn)
	if l != nil {
		line, shown = l.close(line)
	}
	switch {
	case !shown:
		return v.compose(p, turn, key, chat.OutFinal, rs)
	case v.traits(p).Finishes:
		return v.finish(p, turn, key, lastWord{l, rs, line})
	}
	return append(v.compose(p, turn, key, chat.OutFinal, rs), v.remains(p, turn, key, line)...)
}

// remains is the row that shrinks a turn's live message to one line.
func (v *Voice) remains(p chat.Place, turn int64, key, line string) []chat.Out {
	parts := v.render(p, chat.Reply{Kind: chat.ReplyProgress, Markdown: line, Silent: true})
	if len(parts) == 0 {
		return nil
	}
	return []chat.Out{{
		Key: key + "/end", Place: p, Turn: turn, Class: chat.OutProgress, Op: chat.OpFinish, Part: parts[0], State: chat.OutPending,
	}}
}

// lastWord is what a turn ends with.
type lastWord struct {
	live *Live // nil = that of an earlier process
	rs   []chat.Reply
	line string
}

// finish is the last word of which one part becomes the end of the live message.
// That one comes first: the message stands above all that is new.
func (v *Voice) finish(p chat.Place, turn int64, key string, w lastWord) []chat.Out {
	at, before, all := ender(w.rs), []chat.Out(nil), w.rs
	if w.live != nil {
		w.rs, at, before = w.live.rest(w.rs, w.line)
	}
	if at < 0 {
		outs := append(before, v.compose(p, turn, key, chat.OutFinal, w.rs)...)
		for _, o := range v.remains(p, turn, key, w.line) {
			o.Part.Keep = true
			outs = append(outs, o)
		}
		return outs
	}
	whole := all[at]
	ordered := append([]chat.Reply{w.rs[at]}, w.rs[:at]...)
	outs := v.compose(p, turn, key, chat.OutFinal, append(ordered, w.rs[at+1:]...))
	if len(outs) > 0 && outs[0].Part.File == nil {
		outs[0].Op = chat.OpFinish
		outs[0].Part.Keep = w.live == nil
	} else {
		outs = append(outs, v.remains(p, turn, key, w.line)...)
	}
	if whole.Markdown != w.rs[at].Markdown {
		outs = v.wholeFile(p, whole, outs)
	}
	return append(before, outs...)
}

// wholeFile has a file that the end of an answer became hold all of it, though
// messages show the beginning.
func (v *Voice) wholeFile(p chat.Place, whole chat.Reply, outs []chat.Out) []chat.Out {
	i := slices.IndexFunc(outs, func(o chat.Out) bool { return o.Part.File != nil && len(o.Part.File.Body) > 0 })
	if i < 0 {
		return outs
	}
	for _, part := range v.render(p, whole) {
		if part.File != nil && len(part.File.Body) > 0 {
			outs[i].Part.File = part.File
			break
		}
	}
	return outs
}

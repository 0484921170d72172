package telegram

import (
	"encoding/json"
	"log/slog"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"cligate/internal/chat"
	"cligate/internal/render"
)

const (
	// The service takes 4096 units and silently drops entities beyond 100.
	targetText     = 3900
	targetEntities = 95
	maxParts       = 3   // a longer answer becomes its beginning and a document
	maxFooter      = 190 // units that fit below a full part
	maxLabel       = 64  // runes of a button's label
	tabWidth       = 4
)

// form turns replies into parts: plain text with explicit entities, cleaned as
// the service would clean it, so that equal texts compare equal.
type form struct {
	log  *slog.Logger
	rich bool // where a reply does not say
}

func (f *form) render(r chat.Reply) []chat.Part {
	if r.Kind == chat.ReplyFile && r.File != nil {
		return f.file(r)
	}
	blocks := render.Parse(strip(r.Markdown))
	tame := &tamer{words: r.Kind == chat.ReplyAnswer || r.Kind == chat.ReplyProgress}
	tame.blocks(blocks)
	footer := strings.TrimSpace(clean(r.Footer))
	var parts []chat.Part
	var docs []doc
	for _, bs := range render.Split(blocks, render.Limits{Units: targetText, Entities: targetEntities}) {
		if p, ok := part(render.Flatten(bs)); ok {
			parts, docs = append(parts, p), append(docs, doc{bs, p.Text})
		}
	}
	rich := r.Kind == chat.ReplyAnswer && r.Rich.Or(f.rich) && worthRich(blocks, len(parts))
	if len(r.Details) > 0 {
		parts = folded(parts, r.Details, footer)
	}
	if r.Kind != chat.ReplyProgress && tooLong(blocks, len(parts)) {
		parts = shorten(parts[0], document(blocks, r.Markdown, footer), footer)
	} else {
		parts = f.foot(parts, footer)
	}
	for i := range parts {
		if rich && i < len(docs) && parts[i].File == nil {
			parts[i] = docs[i].enrich(parts[i])
		}
	}
	if r.File != nil {
		parts = append(parts, chat.Part{File: r.File})
	}
	buttons := f.buttons(r.Buttons)
	if len(parts) == 0 && len(buttons) > 0 {
		parts = []chat.Part{{Text: "…"}} // buttons need something to hang on
	}
	for i := range parts {
		parts[i].Silent = r.Silent || i > 0
	}
	if n := len(parts); n > 0 {
		parts[0].ReplyTo = r.ReplyTo
		parts[n-1].Buttons = buttons
	}
	return parts
}

// foot puts the small print below the last part.
func (f *form) foot(parts []chat.Part, footer string) []chat.Part {
	switch n := len(parts); {
	case footer == "":
	case n > 0 && render.Units(footer) <= maxFooter:
		parts[n-1].Text += "\n\n" + footer
	default:
		parts = append(parts, plain(footer)...)
	}
	return parts
}

// part makes one message of a flattened text; false when nothing is visible.
func part(t render.Text) (chat.Part, bool) {
	t = trim(t)
	if t.Plain == "" {
		return chat.Part{}, false
	}
	p := chat.Part{Text: t.Plain}
	if es := entities(t); len(es) > 0 {
		p.Format = json.RawMessage(object(es))
	}
	return p, true
}

// plain makes parts of a text without any formatting.
func plain(text string) []chat.Part {
	var out []chat.Part
	blocks := []render.Block{{Kind: render.Paragraph, Inlines: []render.Inline{{Text: text}}}}
	for _, bs := range render.Split(blocks, render.Limits{Units: targetText}) {
		if p, ok := part(render.Flatten(bs)); ok {
			p.Format = nil
			out = append(out, p)
		}
	}
	return out
}

// trim does what the service would do, so that the offsets stay right: blanks at
// both ends are cut, no formatting begins with a blank or consists of blanks.
func trim(t render.Text) render.Text {
	end := len(strings.TrimRightFunc(t.Plain, unicode.IsSpace))
	start := len(t.Plain) - len(strings.TrimLeftFunc(t.Plain, unicode.IsSpace))
	if start >= end {
		return render.Text{}
	}
	out := render.Text{Plain: t.Plain[start:end]}
	for _, s := range t.Spans {
		s.Start, s.End = max(s.Start, start)-start, min(s.End, end)-start
		for s.Start < s.End && (out.Plain[s.Start] == ' ' || out.Plain[s.Start] == '\n') {
			s.Start++
		}
		if s.Start < s.End {
			out.Spans = append(out.Spans, s)
		}
	}
	return out
}

var styles = map[render.Style]string{
	render.Bold:   "bold",
	render.Italic: "italic",
	render.Strike: "strikethrough",
	render.Code:   "code",
	render.Pre:    "pre",
	render.Quoted: "blockquote",
	render.Linked: "text_link",
}

var language = regexp.MustCompile(`^[A-Za-z0-9_+#.-]{1,32}$`)

// entities converts spans, whose offsets count bytes, into entities, whose
// offsets count UTF-16 units.
func entities(t render.Text) []entity {
	// Spans come in order of their starts; their ends do not, so the units are
	// counted once for all positions.
	at := make(map[int]int, 2*len(t.Spans))
	for _, s := range t.Spans {
		at[s.Start], at[s.End] = 0, 0
	}
	units := 0
	for i := 0; i <= len(t.Plain); {
		if _, ok := at[i]; ok {
			at[i] = units
		}
		r, n := utf8.DecodeRuneInString(t.Plain[i:])
		if n == 0 {
			break
		}
		units++
		if r > 0xffff {
			units++
		}
		i += n
	}
	var out []entity
	for _, s := range t.Spans {
		e := entity{Type: styles[s.Style], Offset: at[s.Start], Length: at[s.End] - at[s.Start]}
		switch {
		case e.Type == "" || e.Length <= 0:
			continue
		case s.Style == render.Linked:
			e.URL = s.Arg
		case s.Style == render.Pre && language.MatchString(s.Arg):
			e.Language = s.Arg
		}
		out = append(out, e)
	}
	return out
}

// buttons fits controls into what the service accepts.
func (f *form) buttons(rows [][]chat.Button) [][]chat.Button {
	var out [][]chat.Button
	for _, row := range rows {
		var keep []chat.Button
		for _, b := range row {
			switch {
			case b.Copy != "": // the text is in the message, too
				if b.Data = ""; !copyable(b.Copy) {
					continue
				}
			case b.Data == "" || len(b.Data) > maxData:
				f.log.Error("button left out: its data has no or too many bytes", "bytes", len(b.Data))
				continue
			}
			b.Label = chat.Clip(strings.Join(strings.Fields(clean(b.Label)), " "), maxLabel)
			if b.Label == "" {
				b.Label = "·"
			}
			keep = append(keep, b)
		}
		if len(keep) > 0 {
			out = append(out, keep)
		}
	}
	return out
}

// clean does to a text what the service would do to it. Tabs are expanded first,
// because the service would make one blank of each.
func clean(s string) string {
	if !strings.Contains(s, "\t") {
		return strip(s)
	}
	var sb strings.Builder
	col := 0
	for _, r := range strip(s) {
		switch r {
		case '\n':
			sb.WriteByte('\n')
			col = -1
		case '\t':
			n := tabWidth - col%tabWidth
			sb.WriteString("    "[:n])
			col += n - 1
		default:
			sb.WriteRune(r)
		}
		col++
	}
	return sb.String()
}

// whole puts line ends and letters into one character.
var whole = strings.NewReplacer("\r\n", "\n", "a\u030a", "å", "A\u030a", "Å", "u\u030a", "ů", "U\u030a", "Ů")

// strip is clean for a text whose tabs still mean something: control characters
// become blanks, line and direction marks vanish, and so do three accents; for
// one of them, which names of files on a Mac are written with, there are whole
// letters.
func strip(s string) string {
	var sb strings.Builder
	sb.Grow(len(s))
	for _, r := range whole.Replace(s) {
		switch {
		case r == '\n' || r == '\t':
			sb.WriteRune(r)
		case r == '\r':
			sb.WriteByte('\n')
		case r >= 0x2028 && r <= 0x202e, r == 0x333, r == 0x33f, r == 0x30a:
			continue
		case r < 32:
			sb.WriteByte(' ')
		default:
			sb.WriteRune(r) // what is not UTF-8 becomes U+FFFD
		}
	}
	return sb.String()
}

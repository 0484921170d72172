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
	maxParts       = 6   // a longer answer becomes its beginning and a document
	maxFooter      = 190 // units that fit below a full part
	maxCoded       = 40  // words of one reply that are shown as code to keep them from becoming commands
	maxLabel       = 64  // runes of a button's label
	tabWidth       = 4
)

// form turns replies into parts: plain text with explicit entities, cleaned as
// the service would clean it, so that equal texts compare equal.
type form struct{ log *slog.Logger }

func (f *form) render(r chat.Reply) []chat.Part {
	source := clean(r.Markdown)
	blocks := render.Parse(source)
	tame := &tamer{words: r.Kind == chat.ReplyAnswer}
	tame.blocks(blocks)
	footer := strings.TrimSpace(clean(r.Footer))
	var parts []chat.Part
	for _, bs := range render.Split(blocks, render.Limits{Units: targetText, Entities: targetEntities}) {
		if p, ok := part(render.Flatten(bs)); ok {
			parts = append(parts, p)
		}
	}
	switch {
	case footer == "":
	case len(parts) > 0 && render.Units(footer) <= maxFooter:
		parts[len(parts)-1].Text += "\n\n" + footer
	default:
		parts = append(parts, plain(footer)...)
	}
	if len(parts) > maxParts {
		parts = shorten(parts, r.Markdown, footer)
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

// shorten keeps the first part and puts the whole text, as it was written,
// into a document.
func shorten(parts []chat.Part, markdown, footer string) []chat.Part {
	first := parts[0]
	first.Text += "\n\n…"
	whole := markdown
	if footer != "" {
		whole += "\n\n" + footer + "\n"
	}
	doc := chat.Part{File: &chat.OutFile{Name: "answer.md", Body: []byte(whole)}}
	if render.Units(footer) <= maxCaption {
		doc.Text = footer
	}
	return []chat.Part{first, doc}
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

// trim cuts blanks at both ends, where no entity holds them at the front: the
// service would do it, and the offsets would be wrong.
func trim(t render.Text) render.Text {
	end := len(strings.TrimRightFunc(t.Plain, unicode.IsSpace))
	start := len(t.Plain) - len(strings.TrimLeftFunc(t.Plain, unicode.IsSpace))
	for _, s := range t.Spans {
		if s.Style == render.Pre || s.Style == render.Code {
			start = min(start, s.Start)
		}
	}
	if start >= end {
		return render.Text{}
	}
	out := render.Text{Plain: t.Plain[start:end]}
	for _, s := range t.Spans {
		s.Start, s.End = max(s.Start, start)-start, min(s.End, end)-start
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
			if b.Data == "" || len(b.Data) > maxData {
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

// clean does to a text what the service would do to it: control characters
// become blanks, line and direction marks vanish. Tabs are expanded first,
// because the service would make one blank of each.
func clean(s string) string {
	var sb strings.Builder
	col := 0
	for _, r := range strings.ReplaceAll(s, "\r\n", "\n") {
		switch {
		case r == '\n' || r == '\r':
			sb.WriteByte('\n')
			col = -1
		case r == '\t':
			n := tabWidth - col%tabWidth
			sb.WriteString(strings.Repeat(" ", n))
			col += n - 1
		case r >= 0x2028 && r <= 0x202e:
			continue
		case r < 32:
			sb.WriteByte(' ')
		default:
			sb.WriteRune(r) // what is not UTF-8 becomes U+FFFD
		}
		col++
	}
	return sb.String()
}

package feishu

import (
	"strings"

	"cligate/internal/chat"
	"cligate/internal/render"
)

// A card is refused as a whole when one thing too many is on it, so everything
// that may grow has its share: the service takes 30 KB of request and 200
// elements.
const (
	maxRequest  = 28 << 10 // bytes of a card within its request
	maxParts    = 180      // elements, everything with a tag counted
	maxLabel    = 60       // runes of a button's label
	maxRow      = 20       // buttons of a row
	maxFooter   = 400      // units of small print; more is text like any other
	panelLines  = 20
	panelBytes  = 3000 // of a panel, as the request carries it
	panelsBytes = 5000 // of all of them
	maxLine     = 600  // runes of a panel's line
)

// someThread is as long as the name of a thread is.
const someThread = "om_0123456789abcdef0123456789abcdef0123"

// panels keeps the newest lines that fit.
func panels(in []chat.Panel) []chat.Panel {
	var out []chat.Panel
	left := panelsBytes
	for _, p := range in {
		room, from := min(left, panelBytes), len(p.Lines)
		lines := make([]string, len(p.Lines))
		for from > 0 && len(p.Lines)-from < panelLines {
			line := chat.Clip(clean(p.Lines[from-1]), maxLine)
			if room -= weight(plainly(line)) - 2; room < 0 {
				break
			}
			from--
			lines[from] = line
		}
		if from < len(lines) {
			left -= min(left, panelBytes) - max(room, 0)
			out = append(out, chat.Panel{Title: chat.Clip(oneSpace(clean(p.Title)), maxLabel), Lines: lines[from:]})
		}
	}
	return out
}

func oneSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

// labels are the buttons that a card can have.
func labels(rows [][]chat.Button) [][]chat.Button {
	out := make([][]chat.Button, 0, len(rows))
	for _, row := range rows {
		var keep []chat.Button
		for _, b := range row {
			if b.Data == "" {
				continue // cards have no button that copies; the body shows the text
			}
			if b.Label = chat.Clip(oneSpace(clean(b.Label)), maxLabel); b.Label == "" {
				b.Label = "·"
			}
			if len(keep) == maxRow {
				out, keep = append(out, keep), nil
			}
			keep = append(keep, b)
		}
		if len(keep) > 0 {
			out = append(out, keep)
		}
	}
	return out
}

// withControls puts a form and rows of buttons below the last part, and on
// further cards what has no room there.
func withControls(parts []chat.Part, form *chat.Form, rows [][]chat.Button) []chat.Part {
	if form != nil {
		last := &parts[len(parts)-1]
		if last.Form = form; !fits(*last) {
			last.Form = nil
			parts = append(parts, blank())
			parts[len(parts)-1].Form = form
		}
	}
	for _, row := range rows {
		last := &parts[len(parts)-1]
		last.Buttons = append(last.Buttons, row)
		if fits(*last) {
			continue
		}
		last.Buttons = last.Buttons[:len(last.Buttons)-1]
		parts = append(parts, blank())
		parts[len(parts)-1].Buttons = [][]chat.Button{row}
	}
	return parts
}

// blank is a part that something else is to stand on.
func blank() chat.Part { return chat.Part{Text: "…", Format: encode(format{Markdown: "…"})} }

// slim leaves out panels, the oldest first, until a card is within its limits.
func slim(ft format) format {
	for len(ft.Panels) > 0 && !fits(chat.Part{Text: "…", Format: encode(ft)}) {
		ft.Panels = ft.Panels[1:]
	}
	return ft
}

// fits reports whether the service takes the card of a part.
func fits(p chat.Part) bool {
	whole := card(p, someThread, true)
	raw, err := text(whole)
	if err != nil {
		return false
	}
	request, err := text(raw)
	return err == nil && len(request) <= maxRequest && tagged(whole) <= maxParts
}

// tagged counts the elements of a card.
func tagged(v any) int {
	n := 0
	switch v := v.(type) {
	case object:
		if _, ok := v["tag"]; ok {
			n++
		}
		for _, x := range v {
			n += tagged(x)
		}
	case []any:
		for _, x := range v {
			n += tagged(x)
		}
	}
	return n
}

// footed is a text and its small print. What is too long for that becomes text.
func footed(blocks []render.Block, footer string) ([]render.Block, string) {
	if render.Units(footer) <= maxFooter {
		return blocks, footer
	}
	return append(blocks, render.Block{Kind: render.Paragraph, Inlines: []render.Inline{{Text: footer}}}), ""
}

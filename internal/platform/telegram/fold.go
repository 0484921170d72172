package telegram

import (
	"encoding/json"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/render"
)

const (
	foldLines = 20   // of all panels of a message together
	foldUnits = 1000 // likewise
)

// fold puts panels below a text, each as a quote that the client shows folded.
// Only the newest lines that fit are shown; room is how many units the message
// has left. Nothing in a panel is a command, a mention or another quote.
func fold(p chat.Part, panels []chat.Panel, room int) chat.Part {
	var es []entity
	if len(p.Format) > 0 {
		if json.Unmarshal(p.Format, &es) != nil {
			return p // not a form of ours
		}
	}
	left := budget{lines: foldLines, units: min(foldUnits, room)}
	for i, panel := range panels {
		before := render.Units(p.Text)
		gap := ""
		if before > 0 {
			gap = "\n\n"
		}
		share := budget{left.lines / (len(panels) - i), left.units/(len(panels)-i) - len(gap)}
		text, used := share.newest(panel)
		if text == "" {
			continue
		}
		left = budget{left.lines - used.lines, left.units - used.units - len(gap)}
		at := before + len(gap)
		es = append(es, entity{Type: "expandable_blockquote", Offset: at, Length: render.Units(text)})
		p.Text += gap
		for _, in := range harmless(text, targetEntities-len(es)) {
			n := render.Units(in.Text)
			if in.Style&render.Code != 0 {
				es = append(es, entity{Type: "code", Offset: at, Length: n})
			}
			p.Text += in.Text
			at += n
		}
	}
	if len(es) > 0 {
		p.Format = json.RawMessage(object(es))
	}
	return p
}

// harmless is a text with the words as code of which the service would make
// something; all of it, where they are more than room.
func harmless(text string, room int) []render.Inline {
	out, wild := tame(nil, render.Inline{Text: text})
	if wild > min(maxWild, room) {
		return []render.Inline{{Text: text, Style: render.Code}}
	}
	return out
}

// folded puts panels below the last part and leaves room for the footer.
func folded(parts []chat.Part, panels []chat.Panel, footer string) []chat.Part {
	if len(parts) == 0 {
		parts = []chat.Part{{}}
	}
	last := &parts[len(parts)-1]
	*last = fold(*last, panels, maxText-render.Units(last.Text)-render.Units(footer)-len("\n\n"))
	if last.Text == "" {
		return parts[:len(parts)-1]
	}
	return parts
}

// budget is how much may be shown.
type budget struct{ lines, units int }

// newest is the title of a panel and its newest lines within b, and what that
// takes; empty when not even one line fits. A line that is too long by itself
// keeps its end.
func (b budget) newest(p chat.Panel) (text string, used budget) {
	title := strings.Join(strings.Fields(clean(p.Title)), " ")
	lines := strings.Split(strings.Trim(clean(strings.Join(p.Lines, "\n")), " \n"), "\n")
	used = budget{lines: 1, units: render.Units(title)}
	from := len(lines)
	for from > 0 {
		line := strings.TrimRight(lines[from-1], " ")
		n := render.Units(line) + 1
		if used.lines+1 > b.lines {
			break
		}
		if used.units+n > b.units {
			if line = lastUnits(line, b.units-used.units-1); from < len(lines) || line == "" {
				break
			}
			n = render.Units(line) + 1
		}
		from--
		lines[from] = line
		used.lines, used.units = used.lines+1, used.units+n
	}
	if body := strings.Trim(strings.Join(lines[from:], "\n"), "\n"); body != "" {
		return title + "\n" + body, used
	}
	return "", budget{}
}

// lastUnits is the end of s within n units, with a sign that something is
// missing; empty when that would be next to nothing.
func lastUnits(s string, n int) string {
	const least = 20
	if n < least {
		return ""
	}
	rs := []rune(s)
	from := len(rs)
	for units := 1; from > 0; from-- { // the sign is one
		units++
		if rs[from-1] > 0xffff {
			units++
		}
		if units > n {
			break
		}
	}
	return "…" + string(rs[from:])
}

package telegram

import (
	"net/url"
	"regexp"
	"strings"

	"cligate/internal/render"
)

// tamer prepares a text for a service that makes its own sense of it: links
// that the service refuses are written out, and words that it would turn into
// tappable commands or mentions of strangers are shown as code.
type tamer struct {
	words bool // tame words, too
	coded int
}

func (t *tamer) blocks(bs []render.Block) {
	for i := range bs {
		b := &bs[i]
		b.Inlines = t.inlines(b.Inlines)
		t.blocks(b.Kids)
		if b.Grid == nil {
			continue
		}
		// Tables are aligned already: no word may change its width, and what
		// becomes preformatted is not interpreted.
		if b.Grid.Wide {
			t.cells(b.Grid.Head)
			for _, row := range b.Grid.Rows {
				t.cells(row)
			}
		}
	}
}

func (t *tamer) cells(cs []render.Cell) {
	for i := range cs {
		cs[i] = t.inlines(cs[i])
	}
}

func (t *tamer) inlines(in []render.Inline) []render.Inline {
	var out []render.Inline
	for i, r := range in {
		switch {
		case r.Link != "" && !linkable(r.Link):
			link := r.Link
			r.Link = ""
			out = append(out, r)
			if i+1 == len(in) || in[i+1].Link != link {
				out = writeOut(out, r.Text, link)
			}
		case t.words && r.Link == "" && r.Style&render.Code == 0:
			out = t.tame(out, r)
		default:
			out = append(out, r)
		}
	}
	return out
}

// linkable reports whether the service makes a link of address.
func linkable(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		return strings.ContainsAny(u.Hostname(), ".:")
	case "tg":
		return u.Host != ""
	}
	return false
}

func writeOut(out []render.Inline, shown, link string) []render.Inline {
	link = strings.TrimPrefix(link, "mailto:")
	if strings.Contains(shown, link) {
		return out
	}
	return append(out, render.Inline{Text: " ("}, render.Inline{Text: link, Style: render.Code}, render.Inline{Text: ")"})
}

// wild is a word that the service would make a command or a mention of, with
// what follows it of a path or a name.
var wild = regexp.MustCompile(`(^|[\s("'\[])([/@][A-Za-z][A-Za-z0-9_]*(?:[/.:-][A-Za-z0-9_]+)*/?)`)

func (t *tamer) tame(out []render.Inline, r render.Inline) []render.Inline {
	rest := r.Text
	for t.coded < maxCoded {
		m := wild.FindStringSubmatchIndex(rest)
		if m == nil {
			break
		}
		if m[4] > 0 {
			out = append(out, render.Inline{Text: rest[:m[4]], Style: r.Style})
		}
		out = append(out, render.Inline{Text: rest[m[4]:m[5]], Style: render.Code})
		rest = rest[m[5]:]
		t.coded++
	}
	if rest != "" {
		r.Text = rest
		out = append(out, r)
	}
	return out
}

package telegram

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"cligate/internal/render"
)

// tamer prepares a text for a service that makes its own sense of it: links
// that the service refuses are written out, and words that it would turn into
// tappable commands or mentions of strangers are shown as code.
type tamer struct {
	words bool // tame words, too
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
	wild := 0
	for i, r := range in {
		switch {
		case r.Link != "" && !linkable(r.Link):
			link := r.Link
			if r.Link = ""; r.Text == link {
				r.Style = render.Code
			}
			out = append(out, r)
			if i+1 == len(in) || in[i+1].Link != link {
				out = append(out, render.Spelled(r.Text, link)...)
			}
		case t.words && tameable(r):
			var n int
			out, n = tame(out, r)
			wild += n
			if i+1 < len(in) && tameable(in[i+1]) {
				out = apart(out, in[i+1].Text)
			}
		default:
			out = append(out, r)
		}
	}
	if wild > maxWild {
		return monospaced(in)
	}
	return out
}

// apart keeps a sign at the end of one run and the word that the next one
// begins with from becoming a tag or a mention: the sign becomes code.
func apart(out []render.Inline, next string) []render.Inline {
	if len(out) == 0 || next == "" {
		return out
	}
	last := &out[len(out)-1]
	n := len(last.Text) - 1
	first, _ := utf8.DecodeRuneInString(next)
	if last.Style&render.Code != 0 || n < 0 || strings.IndexByte("/@#$", last.Text[n]) < 0 ||
		first != '_' && !unicode.IsLetter(first) && !unicode.IsDigit(first) {
		return out
	}
	sign := render.Inline{Text: last.Text[n:], Style: render.Code}
	if last.Text = last.Text[:n]; n == 0 {
		out = out[:len(out)-1]
	}
	return append(out, sign)
}

func tameable(r render.Inline) bool { return r.Link == "" && r.Style&render.Code == 0 }

// maxWild is how many words of one paragraph are shown as code by themselves.
// One that has more is a listing and becomes code as a whole: every word by
// itself costs an entity, and those are few.
const maxWild = 30

func monospaced(in []render.Inline) []render.Inline {
	out := make([]render.Inline, 0, len(in))
	for _, r := range in {
		if r.Link == "" || !linkable(r.Link) {
			r = render.Inline{Text: r.Text, Style: render.Code}
		}
		out = append(out, r)
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

// word is what can be one path, name or option: no quotes, brackets, commas,
// except for names in brackets that stand for something, as in /users/{id}.
var word = regexp.MustCompile(`(?:#[\p{L}\p{N}_]+|[A-Za-z0-9_!#$%&*+\-./:=?@\\^~]|<[A-Za-z][A-Za-z0-9_-]*>|\{[A-Za-z][A-Za-z0-9_-]*\})+`)

// wildParts are what the service makes something of, within a word: commands
// (also in paths), mentions, hashtags, cashtags (shell variables in capitals),
// and addresses, of which it recognises many that are names of files or members.
var wildParts = []*regexp.Regexp{
	regexp.MustCompile(`(?:^|[^A-Za-z0-9_/<>])/[A-Za-z0-9_]`),
	regexp.MustCompile(`(?:^|[^A-Za-z0-9_])@[A-Za-z0-9_]`),
	regexp.MustCompile(`(?:^|[^A-Za-z0-9_])#[\p{L}\p{N}_]`),
	regexp.MustCompile(`(?:^|[^A-Za-z0-9_$])\$[A-Z]{1,8}(?:$|[^A-Za-z0-9_$])`),
	regexp.MustCompile(`://[A-Za-z0-9_]`),
}

// dotted is a word with dots; its last label may be a top-level domain: py, rs,
// sh, md, name, run and a thousand more are.
var dotted = regexp.MustCompile(`(?:^|[^A-Za-z0-9_.@-])[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.([A-Za-z]{2,24})(?:$|[^A-Za-z0-9_-])`)

// web are the domains under which a word is meant as an address.
var web = map[string]bool{"com": true, "org": true, "net": true, "edu": true, "gov": true, "io": true, "dev": true, "cn": true}

// product is a name of a library that is written like a file.
var product = regexp.MustCompile(`^[A-Z][a-z]+\.js$`)

func wild(word string) bool {
	if !strings.ContainsAny(word, "/@#$.") {
		return false // as most are
	}
	for _, p := range wildParts {
		if p.MatchString(word) {
			return true
		}
	}
	m := dotted.FindStringSubmatch(word)
	return m != nil && !web[m[1]] && !product.MatchString(word)
}

// tame appends r with its wild words as code, and says how many there were.
func tame(out []render.Inline, r render.Inline) ([]render.Inline, int) {
	n, done := 0, 0
	for _, at := range word.FindAllStringIndex(r.Text, -1) {
		from, to := at[0], at[1]
		w := strings.TrimLeft(r.Text[from:to], "*!?:^")
		from = to - len(w)
		w = strings.TrimRight(w, ".:!?*^~")
		to = from + len(w)
		tag := from > 0 && r.Text[from-1] == '<' && strings.HasPrefix(w, "/")
		if tag || !wild(w) {
			continue
		}
		if n++; from > done {
			out = append(out, render.Inline{Text: r.Text[done:from], Style: r.Style})
		}
		out = append(out, render.Inline{Text: w, Style: render.Code})
		done = to
	}
	if r.Text = r.Text[done:]; r.Text != "" {
		out = append(out, r)
	}
	return out, n
}

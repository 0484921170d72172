package feishu

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	corpus "cligate/internal/sim/answers"
)

// Reading is what a person reads of the Markdown of a card. Cards of schema 2.0
// take standard Markdown with tables, and a few tags; no blocks of HTML.
type Reading struct {
	Words  string   // with the addresses of links behind their texts, and the languages of code before it
	Exact  string   // the words without those, the numbers of lists as they are counted
	Code   []string // the lines of blocks of code, in order
	Tables int
	Tags   []string // names of tags other than font and br
	Emoji  []string // that words between colons became
	Marks  []string // texts that are bold, italic or struck out
}

// component reads the Markdown of cards.
var component = goldmark.New(
	goldmark.WithParser(parser.NewParser(
		parser.WithBlockParsers(withoutHTML()...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
	)),
	goldmark.WithExtensions(extension.Table, extension.Strikethrough),
).Parser()

func withoutHTML() []util.PrioritizedValue {
	var out []util.PrioritizedValue
	for _, p := range parser.DefaultBlockParsers() {
		if p.Value != parser.NewHTMLBlockParser() {
			out = append(out, p)
		}
	}
	return out
}

// Read reads the Markdown of a card.
func Read(markdown string) Reading {
	src := []byte(markdown)
	r := &reader{src: src}
	_ = ast.Walk(component.Parse(text.NewReader(src)), r.visit)
	r.words.WriteString(" ")
	r.Words = r.emoji(r.words.String())
	r.Exact = strings.ReplaceAll(r.exact.String(), colon, ":")
	return r.Reading
}

type reader struct {
	Reading

	src   []byte
	words strings.Builder
	exact strings.Builder
}

// apart stands between texts of two styles, which make no word together. It
// shows nothing.
const apart = "\u200b"

// colon stands for one that was written by its name, and makes no emoji.
const colon = "\ue000"

var emojiName = regexp.MustCompile(`:[A-Za-z][A-Za-z0-9_]*:`)

// emoji replaces what the client shows as a picture.
func (r *reader) emoji(s string) string {
	s = emojiName.ReplaceAllStringFunc(s, func(name string) string {
		r.Emoji = append(r.Emoji, name)
		return "☺"
	})
	return strings.ReplaceAll(s, colon, ":")
}

var tagName = regexp.MustCompile(`^</?([A-Za-z_]+)`)

// both adds s to what is read.
func (r *reader) both(s string) {
	r.words.WriteString(s)
	r.exact.WriteString(s)
}

func (r *reader) visit(n ast.Node, in bool) (ast.WalkStatus, error) {
	switch n.(type) {
	case *ast.Emphasis, *east.Strikethrough, *ast.Link:
		r.words.WriteString(apart) // signs stand there
	}
	if !in {
		if n.Type() == ast.TypeBlock {
			r.both("\n")
		}
		if l, ok := n.(*ast.Link); ok {
			r.words.WriteString(" " + string(l.Destination) + " ")
		}
		return ast.WalkContinue, nil
	}
	switch n := n.(type) {
	case *ast.Text:
		s := strings.NewReplacer("&#58;", colon).Replace(string(n.Segment.Value(r.src)))
		s = string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations([]byte(s)))))
		r.both(s)
		if n.SoftLineBreak() || n.HardLineBreak() {
			r.both("\n")
		}
	case *ast.CodeSpan:
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if t, ok := c.(*ast.Text); ok {
				r.both(strings.ReplaceAll(string(t.Segment.Value(r.src)), ":", colon))
			}
		}
		return ast.WalkSkipChildren, nil
	case *ast.RawHTML:
		r.tag(n)
	case *ast.FencedCodeBlock:
		r.words.WriteString(" " + string(n.Language(r.src)) + " ")
		r.code(n)
	case *ast.CodeBlock:
		r.code(n)
	case *ast.ListItem:
		if list, ok := n.Parent().(*ast.List); ok && list.IsOrdered() {
			at := 0
			for p := n.PreviousSibling(); p != nil; p = p.PreviousSibling() {
				at++
			}
			r.exact.WriteString(strconv.Itoa(list.Start+at) + ". ")
			r.words.WriteString(r.number(n.Pos()) + ". ")
		}
	case *ast.Image:
		r.Tags = append(r.Tags, "!"+string(n.Destination))
	case *ast.Emphasis, *east.Strikethrough:
		r.Marks = append(r.Marks, string(n.Text(r.src))) //nolint:staticcheck // the text of a short piece
	case *east.Table:
		r.Tables++
	case *east.TableCell:
		r.both(" ")
	}
	return ast.WalkContinue, nil
}

// number is the number of an item as it stands there.
func (r *reader) number(at int) string {
	end := max(at, 0)
	for end < len(r.src) && r.src[end] >= '0' && r.src[end] <= '9' {
		end++
	}
	return string(r.src[max(at, 0):end])
}

func (r *reader) tag(n *ast.RawHTML) {
	var sb strings.Builder
	for i := range n.Segments.Len() {
		s := n.Segments.At(i)
		sb.Write(s.Value(r.src))
	}
	switch m := tagName.FindStringSubmatch(sb.String()); {
	case m == nil:
		r.Tags = append(r.Tags, sb.String())
	case m[1] == "br":
		r.words.WriteString(" br ")
		r.exact.WriteString("\n")
	case m[1] != "font":
		r.Tags = append(r.Tags, m[1])
	}
}

func (r *reader) code(n ast.Node) {
	lines := n.Lines()
	for i := range lines.Len() {
		s := lines.At(i)
		line := strings.TrimSuffix(string(s.Value(r.src)), "\n")
		r.Code = append(r.Code, line)
		r.both(strings.ReplaceAll(line, ":", colon) + "\n")
	}
}

// Components are the Markdown texts of a message in order: those of a card, or
// of a post.
func (v Seen) Components() []string {
	var root map[string]any
	if json.Unmarshal([]byte(v.Raw), &root) != nil {
		return nil
	}
	var out []string
	switch v.Type {
	case "interactive":
		walk(root, func(el map[string]any, _ string) bool {
			if text, _ := el["content"].(string); el["tag"] == "markdown" {
				out = append(out, text)
			}
			return true
		})
	case "post":
		out = append(out, postText(root))
	}
	return out
}

// Hold is what messages hold of an answer, characters without width left out,
// and what must be in no answer: tags, emoji, people who are called.
func Hold(ms []Seen) (h corpus.Held, odd []string) {
	for _, m := range ms {
		if m.File != "" && h.File == nil {
			h.Name, h.File = m.File, m.Body
		}
		for _, id := range m.Called() {
			odd = append(odd, "calls "+id)
		}
		for _, md := range m.Components() {
			r := Read(md)
			h.Words += strings.ReplaceAll(r.Words, apart, "") + "\n"
			for _, l := range r.Code {
				h.Code = append(h.Code, corpus.Line{Text: strings.ReplaceAll(l, apart, "")})
			}
			odd = append(append(odd, r.Tags...), r.Emoji...)
		}
		if h.First == "" {
			h.First = h.Words
		}
	}
	return h, odd
}

// Called are the people whom a message calls, "all" among them. That the service
// looks for mentions in code, too, is assumed: nothing says that it does not.
func (v Seen) Called() []string {
	var out []string
	for _, m := range mdAt.FindAllStringSubmatch(strings.Join(append(v.Components(), v.Text), "\n"), -1) {
		out = append(out, m[1])
	}
	return out
}

// checkAt checks the mentions of a text. That a stranger's is refused here as
// it is elsewhere is assumed.
func (s *Server) checkAt(text string, c *chatState, invalid func(string) *refusal) *refusal {
	for _, m := range mdAt.FindAllStringSubmatch(text, -1) {
		if s.on(RuleMention) && m[1] != "all" && (c == nil || !slices.Contains(c.people, m[1])) {
			return invalid("invalid user_id in at")
		}
	}
	return nil
}

// Judge says why the service would refuse a card, empty when it would not.
func (s *Server) Judge(card string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var root map[string]any
	if err := json.Unmarshal([]byte(card), &root); err != nil {
		return err.Error()
	}
	if f := s.inspect(root, nil); f != nil {
		return f.msg
	}
	var request bytes.Buffer
	e := json.NewEncoder(&request)
	e.SetEscapeHTML(false)
	if err := e.Encode(map[string]any{"content": card}); err != nil || request.Len() > maxCard {
		return "card content exceeds the limit"
	}
	return ""
}

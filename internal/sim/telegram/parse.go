package telegram

import (
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
)

func itoa(n int) string { return strconv.Itoa(n) }

var (
	tagRule  = regexp.MustCompile(`^<(/?)([a-zA-Z-]+)((?:\s+[a-z-]+(?:="[^"]*")?)*)\s*>`)
	attrRule = regexp.MustCompile(`([a-z-]+)="([^"]*)"`)
)

var tagTypes = map[string]string{
	"b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline", "s": "strikethrough",
	"strike": "strikethrough", "del": "strikethrough", "code": "code", "pre": "pre", "a": "text_link",
	"blockquote": "blockquote", "tg-spoiler": "spoiler",
}

type openTag struct {
	name string
	e    entity
}

// parseHTML reads the service's HTML subset.
func parseHTML(src string) (string, []entity, *refusal) {
	var text strings.Builder
	var es []entity
	var open []openTag
	units := func() int { return len(utf16.Encode([]rune(text.String()))) }
	for i := 0; i < len(src); {
		switch src[i] {
		case '<':
			m := tagRule.FindStringSubmatch(src[i:])
			if m == nil {
				return "", nil, bad("can't parse entities: Unsupported start tag \"\" at byte offset " + itoa(i))
			}
			name := strings.ToLower(m[2])
			if tagTypes[name] == "" {
				return "", nil, bad("can't parse entities: Unsupported start tag \"" + name + "\" at byte offset " + itoa(i))
			}
			if m[1] == "" {
				open = append(open, openTag{name, newEntity(name, m[3], units())})
			} else {
				if len(open) == 0 || open[len(open)-1].name != name {
					return "", nil, bad("can't parse entities: Unmatched end tag at byte offset " + itoa(i) + ", expected \"</" + name + ">\"")
				}
				t := open[len(open)-1]
				open = open[:len(open)-1]
				if t.e.Length = units() - t.e.Offset; t.e.Length > 0 {
					es = append(es, t.e)
				}
			}
			i += len(m[0])
		case '&':
			end := strings.IndexByte(src[i:], ';')
			if end > 1 && end < 10 {
				if r := html.UnescapeString(src[i : i+end+1]); r != src[i:i+end+1] {
					text.WriteString(r)
					i += end + 1
					continue
				}
			}
			text.WriteByte('&')
			i++
		default:
			text.WriteByte(src[i])
			i++
		}
	}
	if len(open) > 0 {
		return "", nil, bad("can't parse entities: Can't find end tag corresponding to start tag \"" + open[len(open)-1].name + "\"")
	}
	return text.String(), es, nil
}

func newEntity(name, attrs string, at int) entity {
	e := entity{Type: tagTypes[name], Offset: at}
	for _, a := range attrRule.FindAllStringSubmatch(attrs, -1) {
		switch {
		case a[1] == "href":
			e.URL = html.UnescapeString(a[2])
		case a[1] == "class" && strings.HasPrefix(a[2], "language-"):
			e.Language = strings.TrimPrefix(a[2], "language-")
		}
	}
	if strings.Contains(attrs, "expandable") {
		e.Type = "expandable_blockquote"
	}
	return e
}

// checkMarkdown refuses unescaped reserved characters and open marks of
// MarkdownV2; it does not build entities, because nothing of ours uses it.
func checkMarkdown(src string) *refusal {
	const reserved = "[]()>#+-=|{}.!"
	open := map[byte]int{}
	for i := 0; i < len(src); i++ {
		c := src[i]
		switch {
		case c == '\\':
			i++
		case strings.IndexByte("*_~`", c) >= 0:
			if _, ok := open[c]; ok {
				delete(open, c)
			} else {
				open[c] = i
			}
		case strings.IndexByte(reserved, c) >= 0:
			return bad("can't parse entities: Character '" + string(c) + "' is reserved and must be escaped with the preceding '\\'")
		}
	}
	for _, at := range open {
		return bad("can't parse entities: Can't find end of the entity starting at byte offset " + itoa(at))
	}
	return nil
}

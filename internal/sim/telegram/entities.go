package telegram

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
)

// Rules about formatting that the service keeps without a word: nothing is
// refused, the text looks different. Switched off, the message is kept as it
// was sent.
const (
	RuleLink    Rule = "link"    // a link has a scheme that is allowed, and a host
	RuleMost    Rule = "most"    // of more than 100 entities the important ones remain
	RuleNesting Rule = "nesting" // code holds nothing, quotes hold no quote, nothing crosses
	RuleFound   Rule = "found"   // words are made commands, mentions, tags and addresses
)

// checkLinks refuses links to what is no address.
func checkLinks(es []entity) *refusal {
	for _, e := range es {
		if e.Type != "text_link" {
			continue
		}
		u, err := url.Parse(e.URL)
		if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "tg", "ton"}, strings.ToLower(u.Scheme)) ||
			strings.HasPrefix(u.Scheme, "http") && !strings.ContainsAny(u.Host, ".:") {
			return bad("can't parse entities: Wrong HTTP URL \"" + e.URL + "\" specified")
		}
	}
	return nil
}

// weight orders entities: of too many the light ones are dropped.
func weight(e entity) int {
	switch e.Type {
	case "pre", "code":
		return 0
	case "text_link", "text_mention", "custom_emoji":
		return 1
	case "blockquote", "expandable_blockquote":
		return 2
	}
	return lightest
}

const lightest = 3

// most keeps what there is room for.
func most(es []entity) []entity {
	if len(es) <= maxEntities {
		return es
	}
	heavy := slices.Clone(es)
	slices.SortStableFunc(heavy, func(a, b entity) int { return weight(a) - weight(b) })
	heavy = heavy[:maxEntities]
	slices.SortStableFunc(heavy, func(a, b entity) int { return a.Offset - b.Offset })
	return heavy
}

// nested mends what may not be: code and links do not overlap each other, a
// quote holds no quote, and every other style ends where code or a link begins
// or ends; within code there is none.
func nested(es []entity) []entity {
	var solid, quotes, out []entity
	for _, e := range es {
		switch e.Type {
		case "pre", "code", "text_link", "text_mention", "custom_emoji":
			solid = addApart(solid, e)
		case "blockquote", "expandable_blockquote":
			quotes = addApart(quotes, e)
		}
	}
	out = append(slices.Clone(solid), quotes...)
	for _, e := range es {
		if weight(e) == lightest {
			out = append(out, pieces(e, solid)...)
		}
	}
	slices.SortStableFunc(out, func(a, b entity) int {
		if a.Offset != b.Offset {
			return a.Offset - b.Offset
		}
		return b.Length - a.Length
	})
	return uncrossed(out)
}

func addApart(es []entity, e entity) []entity {
	if slices.ContainsFunc(es, func(o entity) bool { return overlap(o, e) }) {
		return es
	}
	return append(es, e)
}

func overlap(a, b entity) bool {
	return a.Offset < b.Offset+b.Length && b.Offset < a.Offset+a.Length
}

// pieces divides e at the borders of what is solid.
func pieces(e entity, solid []entity) []entity {
	var out []entity
	add := func(from, to int) {
		if p := e; from < to {
			p.Offset, p.Length = from, to-from
			out = append(out, p)
		}
	}
	at, end := e.Offset, e.Offset+e.Length
	for _, c := range solid {
		if !overlap(c, e) || c.Offset+c.Length <= at {
			continue
		}
		add(at, c.Offset)
		at = max(at, c.Offset)
		if to := min(end, c.Offset+c.Length); c.Type != "pre" && c.Type != "code" {
			add(at, to)
		}
		at = min(end, c.Offset+c.Length)
	}
	add(at, end)
	return out
}

func uncrossed(es []entity) []entity {
	for i := range es {
		for _, o := range es[:i] {
			if end := o.Offset + o.Length; es[i].Offset < end && es[i].Offset+es[i].Length > end {
				es[i].Length = end - es[i].Offset
			}
		}
	}
	return slices.DeleteFunc(es, func(e entity) bool { return e.Length <= 0 })
}

// finders are what the service makes of words, in its order. Group 1 is the
// found text.
var finders = []struct {
	kind string
	rule *regexp.Regexp
}{
	{"url", regexp.MustCompile(`(?i)(?:^|[^\p{L}\p{N}_.@/-])((?:https?://)?(?:[a-z0-9_-]+\.)+(` + tlds + `)(?:[/:?#][^\s<>"]*)?)(?:$|[^\p{L}\p{N}_-])`)},
	{"url", regexp.MustCompile(`(?i)(https?://[a-z0-9_-]+[^\s<>"]*)`)},
	{"mention", regexp.MustCompile(`(?:^|[^\p{L}\p{N}_])(@[A-Za-z0-9_]{3,32})(?:$|[^\p{L}\p{N}_])`)},
	{"bot_command", regexp.MustCompile(`(?:^|[^\p{L}\p{N}_/<>])(/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?)(?:$|[^\p{L}\p{N}_/<>])`)},
	{"hashtag", regexp.MustCompile(`(?:^|[^\p{L}\p{N}_])(#[\p{L}\p{N}_]{1,256})(?:$|[^\p{L}\p{N}_])`)},
	{"cashtag", regexp.MustCompile(`(?:^|[^\p{L}\p{N}_$])(\$[A-Z]{1,8})(?:$|[^\p{L}\p{N}_$])`)},
}

// tlds are top-level domains that words in answers about code end in.
const tlds = `com|org|net|io|dev|ai|app|py|rs|sh|md|pl|cc|so|ps|pm|ml|mk|tf|zip|mov|java|shell|name|info|run|new|now|id|link|host|live|` +
	`page|site|space|store|tech|tools|one|work|works|world|zone|team|cloud|map|next|open|read|save|search|select|call|post|email|rest|zero|storage|foo|bar`

// found returns what the service makes of words outside of code and links.
func found(text string, es []entity) []entity {
	taken := []entity{}
	for _, e := range es {
		switch e.Type {
		case "pre", "code", "text_link", "text_mention":
			taken = append(taken, e)
		}
	}
	var out []entity
	for _, f := range finders {
		for at := 0; at < len(text); {
			m := f.rule.FindStringSubmatchIndex(text[at:])
			if m == nil {
				break
			}
			from, to := at+m[2], at+m[3]
			e := entity{Type: f.kind, Offset: units(text[:from]), Length: units(text[from:to])}
			if !slices.ContainsFunc(taken, func(o entity) bool { return overlap(o, e) }) {
				out, taken = append(out, e), append(taken, e)
			}
			at = to
		}
	}
	return out
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }

// find notes what the service makes of the words of m.
func (s *Server) find(m *Message) {
	if m.Found = nil; s.on(RuleFound) && m.FromBot && m.Rich == nil {
		m.Found = found(m.Text, m.Entities)
	}
}

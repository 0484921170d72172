package telegram

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf8"
)

// RuleRich is what a rich message has to keep to: one form of content, known
// blocks with all their fields, and the limits of size and depth.
const RuleRich Rule = "rich"

// Limits of a rich message.
const (
	maxRichText    = 32768
	maxRichBlocks  = 500 // list items and table rows count
	maxRichDepth   = 16  // of blocks and texts within each other
	maxRichColumns = 20
)

// Rich is a rich message as it was sent. What a reader sees of it is the text
// and the entities of its Message.
type Rich struct {
	Raw string // the JSON
	RTL bool
}

// SetRich takes the rich methods away, as an older server has none, or gives
// them back.
func (s *Server) SetRich(there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noRich = !there
}

type richMessage struct {
	Blocks   []json.RawMessage `json:"blocks"`
	HTML     *string           `json:"html"`
	Markdown *string           `json:"markdown"`
	RTL      bool              `json:"is_rtl"`
	Skip     bool              `json:"skip_entity_detection"`
}

// richBlock has the fields of all kinds of blocks that are understood here.
type richBlock struct {
	Type     string            `json:"type"`
	Text     json.RawMessage   `json:"text"`
	Size     int               `json:"size"`
	Language string            `json:"language"`
	Items    []richItem        `json:"items"`
	Blocks   []json.RawMessage `json:"blocks"`
	Cells    [][]richCell      `json:"cells"`
	Bordered bool              `json:"is_bordered"`
	Striped  bool              `json:"is_striped"`
}

type richItem struct {
	Blocks  []json.RawMessage `json:"blocks"`
	Box     bool              `json:"has_checkbox"`
	Checked bool              `json:"is_checked"`
	Value   *int              `json:"value"`
	Type    string            `json:"type"`
}

type richCell struct {
	Text   json.RawMessage `json:"text"`
	Header bool            `json:"is_header"`
	Align  string          `json:"align"`
	VAlign string          `json:"valign"`
}

// richReader reads a rich message into what is seen of it.
type richReader struct {
	strict bool
	text   strings.Builder
	es     []entity
	blocks int
	no     *refusal
}

func (r *richReader) refuse(why string) {
	if r.no == nil && r.strict {
		r.no = bad(why)
	}
}

// readRich checks the rich message of a call.
func readRich(r request) (body, *Rich, *refusal) {
	raw := r.p.str("rich_message")
	var m richMessage
	if err := strictJSON([]byte(raw), &m); err != nil {
		return body{}, nil, bad("can't parse rich message JSON object: " + err.Error())
	}
	rd := &richReader{strict: r.s.on(RuleRich)}
	if m.HTML != nil || m.Markdown != nil || len(m.Blocks) == 0 {
		rd.refuse("RICH_MESSAGE_CONTENT_INVALID") // nothing here sends the other forms
	}
	rd.all(m.Blocks, 1)
	text := strings.TrimRight(rd.text.String(), " \n")
	for i, e := range rd.es {
		rd.es[i].Length = max(0, min(e.Length, units(text)-e.Offset))
	}
	switch {
	case strings.TrimSpace(text) == "":
		rd.refuse("RICH_MESSAGE_EMPTY")
	case utf8.RuneCountInString(text) > maxRichText:
		rd.refuse("RICH_MESSAGE_TEXT_TOO_LONG")
	case rd.blocks > maxRichBlocks:
		rd.refuse("RICH_MESSAGE_BLOCKS_TOO_MUCH")
	case !m.Skip && oddMail.MatchString(text):
		rd.refuse("RICH_MESSAGE_EMAIL_INVALID")
	}
	if rd.no != nil {
		return body{}, nil, rd.no
	}
	var compact bytes.Buffer
	_ = json.Compact(&compact, []byte(raw))
	return body{text, rd.es}, &Rich{Raw: compact.String(), RTL: m.RTL}, nil
}

// oddMail is what looks like an address of mail to the service, and is none.
var oddMail = regexp.MustCompile(`[A-Za-z0-9_.+-]+@[A-Za-z0-9_-]+(?:[\s/:]|$)`)

func strictJSON(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func (r *richReader) all(raws []json.RawMessage, depth int) {
	for _, raw := range raws {
		var b richBlock
		if err := strictJSON(raw, &b); err != nil {
			r.refuse("can't parse rich block: " + err.Error())
			continue
		}
		r.block(b, depth)
		r.text.WriteString("\n")
	}
}

func (r *richReader) block(b richBlock, depth int) {
	r.blocks++
	if depth > maxRichDepth {
		r.refuse("RICH_MESSAGE_DEPTH_INVALID")
	}
	switch b.Type {
	case "paragraph", "footer":
		r.need(b.Text, depth, "")
	case "heading":
		if b.Size < 1 || b.Size > 6 {
			r.refuse("RICH_MESSAGE_HEADING_INVALID")
		}
		r.need(b.Text, depth, "heading")
	case "pre":
		at := len(r.es)
		r.need(b.Text, depth, "pre")
		if at < len(r.es) {
			r.es[at].Language = b.Language
		}
	case "divider":
		r.text.WriteString("————")
	case "blockquote":
		if len(b.Blocks) == 0 {
			r.refuse("can't find field \"blocks\"")
		}
		r.span("blockquote", "", func() { r.all(b.Blocks, depth+1) })
	case "list":
		r.list(b, depth)
	case "table":
		r.table(b, depth)
	default:
		r.refuse("RICH_MESSAGE_BLOCK_INVALID")
	}
}

func (r *richReader) list(b richBlock, depth int) {
	if len(b.Items) == 0 {
		r.refuse("can't find field \"items\"")
	}
	for _, it := range b.Items {
		r.blocks++
		if len(it.Blocks) == 0 {
			r.refuse("can't find field \"blocks\"")
		}
		mark := "• "
		if it.Value != nil {
			mark = itoa(*it.Value) + ". "
		}
		if it.Box && it.Checked {
			mark += "☑ "
		} else if it.Box {
			mark += "☐ "
		}
		r.text.WriteString(mark)
		r.all(it.Blocks, depth+1)
	}
}

func (r *richReader) table(b richBlock, depth int) {
	if len(b.Cells) == 0 {
		r.refuse("can't find field \"cells\"")
	}
	for _, row := range b.Cells {
		r.blocks++
		if len(row) > maxRichColumns || len(row) != len(b.Cells[0]) {
			r.refuse("RICH_MESSAGE_TABLE_INVALID")
		}
		for i, c := range row {
			if c.Align == "" || c.VAlign == "" {
				r.refuse("can't find field \"align\"")
			}
			if i > 0 {
				r.text.WriteString(" │ ")
			}
			kind := ""
			if c.Header {
				kind = "th"
			}
			r.need(c.Text, depth+1, kind)
		}
		r.text.WriteString("\n")
	}
}

// need writes a text that has to be there.
func (r *richReader) need(raw json.RawMessage, depth int, kind string) {
	at := r.text.Len()
	if kind == "" {
		r.richText(raw, depth+1)
	} else {
		r.span(kind, "", func() { r.richText(raw, depth+1) })
	}
	if r.text.Len() == at {
		r.refuse("RICH_MESSAGE_TEXT_EMPTY")
	}
}

func (r *richReader) span(kind, url string, f func()) {
	at, i := units(r.text.String()), len(r.es)
	r.es = append(r.es, entity{Type: kind, Offset: at, URL: url})
	f()
	r.es[i].Length = units(strings.TrimRight(r.text.String(), "\n")) - at
}

// richText writes a string, a list of texts, or a text with a style.
func (r *richReader) richText(raw json.RawMessage, depth int) {
	if depth > maxRichDepth {
		r.refuse("RICH_MESSAGE_DEPTH_INVALID")
	}
	var s string
	var list []json.RawMessage
	var o struct {
		Type string          `json:"type"`
		Text json.RawMessage `json:"text"`
		URL  string          `json:"url"`
	}
	switch {
	case json.Unmarshal(raw, &s) == nil:
		r.text.WriteString(s)
	case json.Unmarshal(raw, &list) == nil:
		for _, one := range list {
			r.richText(one, depth)
		}
	case strictJSON(raw, &o) != nil:
		r.refuse("can't parse rich text")
	case o.Type == "url":
		if no := checkLinks([]entity{{Type: "text_link", URL: o.URL}}); no != nil {
			r.refuse("RICH_MESSAGE_URL_INVALID")
		}
		r.span("text_link", o.URL, func() { r.richText(o.Text, depth+1) })
	case o.Type == "bold", o.Type == "italic", o.Type == "strikethrough", o.Type == "code", o.Type == "underline":
		r.span(o.Type, "", func() { r.richText(o.Text, depth+1) })
	default:
		r.refuse("RICH_MESSAGE_TEXT_INVALID")
	}
}

// sendRich is sendRichMessage.
func sendRich(r request) (any, *refusal) {
	s, b, p := r.s, r.b, r.p
	if s.noRich {
		return nil, &refusal{code: 404, text: "Not Found: method not found"}
	}
	c, no := r.target(true)
	if no != nil {
		return nil, no
	}
	t, rich, no := readRich(r)
	if no != nil {
		return nil, no
	}
	rows, no := r.buttons()
	if no != nil {
		return nil, no
	}
	reply, no := r.replyTo(c)
	if no != nil {
		return nil, no
	}
	if no := r.rate(c, "sendRichMessage"); no != nil {
		return nil, no
	}
	m := s.store(b, c, &Message{FromBot: true, From: b.id, Text: t.text, Entities: t.entities, Rich: rich, Buttons: rows, ReplyTo: reply,
		Thread: topicOf(r, c), Silent: p.flag("disable_notification")})
	r.call.Message, r.call.Text = m.ID, m.Text
	return messageJSON(s, b, m), nil
}

// sameRich reports whether an edit would leave the form as it is.
func sameRich(a, b *Rich) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

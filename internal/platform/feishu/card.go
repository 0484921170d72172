package feishu

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/render"
)

const (
	// targetUnits is how long the text of one card is at most; the service
	// takes 30 KB of JSON.
	targetUnits = 6000
	targetBytes = 20 << 10 // of the Markdown, as the request carries it
	leastUnits  = 512
	maxCards    = 3  // a longer answer becomes its beginning and a file
	maxSummary  = 80 // runes of what the list of chats shows
)

// The ids of the elements that are changed while a card streams.
const (
	elementText    = "text"    // the answer; it only grows
	elementWork    = "work"    // plan and tools
	elementStatus  = "status"  // small print
	elementControl = "control" // the first row of buttons
)

// format is what a part's Format holds: the card's content before buttons.
type format struct {
	Markdown string       `json:"md,omitempty"`
	Status   string       `json:"status,omitempty"` // Markdown
	Footer   string       `json:"footer,omitempty"`
	Panels   []chat.Panel `json:"panels,omitempty"`
	Live     bool         `json:"live,omitempty"` // it is to grow
}

// form turns replies into parts.
type form struct{}

// render implements the Adapter's Render.
func (f form) render(r chat.Reply) []chat.Part {
	if r.Kind == chat.ReplyFile && r.File != nil {
		return []chat.Part{{Text: strings.TrimSpace(r.Markdown), File: r.File, ReplyTo: r.ReplyTo, Silent: r.Silent}}
	}
	live := r.Kind == chat.ReplyProgress
	md := clean(r.Markdown)
	if r.Grows {
		md = settled(md)
	}
	blocks, footer := footed(render.Parse(md), strings.TrimSpace(clean(r.Footer)))
	pieces := split(blocks, targetUnits)
	if live {
		pieces = tabled(pieces)
	}
	var doc *chat.OutFile
	if r.Kind != chat.ReplyProgress && tooLong(blocks, len(pieces)) {
		doc = document(blocks, r.Markdown)
		pieces = [][]render.Block{append(pieces[0], more)}
	}
	var parts []chat.Part
	for _, bs := range pieces {
		p := chat.Part{Text: render.Flatten(bs).Plain}
		p.Format = encode(format{Markdown: markdown(bs)})
		parts = append(parts, p)
	}
	if len(parts) == 0 && (footer != "" || r.Status != "" || len(r.Buttons) > 0 || r.Form != nil || len(r.Details) > 0) {
		parts = []chat.Part{{}}
	}
	if n := len(parts); n > 0 {
		last := &parts[n-1]
		var ft format
		_ = json.Unmarshal(last.Format, &ft) // ours, or none
		ft.Footer, ft.Panels, ft.Live = footer, panels(r.Details), live
		status := share(render.Parse(clean(r.Status)))
		ft.Status = markdown(status)
		if r.Grows {
			ft.Markdown = open(md, ft.Markdown)
		}
		last.Format = encode(slim(ft))
		last.Text = join(last.Text, render.Flatten(status).Plain, footer)
		if last.Text == "" {
			last.Text = "…"
		}
		parts = withControls(parts, fitting(r.Form), labels(r.Buttons))
		parts[0].ReplyTo = r.ReplyTo
	}
	for _, f := range []*chat.OutFile{doc, r.File} {
		if f != nil {
			parts = append(parts, chat.Part{File: f})
		}
	}
	for i := range parts {
		parts[i].Silent = r.Silent || i > 0
	}
	return parts
}

// join is texts one below the other.
func join(texts ...string) string {
	var out []string
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" {
			out = append(out, t)
		}
	}
	return strings.Join(out, "\n\n")
}

func encode(f format) json.RawMessage {
	raw, err := json.Marshal(f)
	if err != nil {
		return nil // strings can always be encoded
	}
	return raw
}

// split cuts blocks into the contents of cards.
func split(blocks []render.Block, units int) [][]render.Block {
	var out [][]render.Block
	for _, bs := range render.Split(blocks, render.Limits{Units: units}) {
		if weight(markdown(bs)) > targetBytes && units > leastUnits {
			out = append(out, split(bs, units/2)...)
			continue
		}
		out = append(out, bs)
	}
	return out
}

// contents is what a part shows; a part without a form shows its text.
func contents(p chat.Part) format {
	var f format
	if len(p.Format) == 0 || json.Unmarshal(p.Format, &f) != nil {
		return format{Markdown: plainly(p.Text)}
	}
	f.Footer = join(f.Footer, p.Note)
	return f
}

// card is the JSON of a part. Streaming cards have their text in an element of
// its own, which the client types on as it grows; everything else is beside it.
func card(p chat.Part, thread string, streaming bool) object {
	f := contents(p)
	var els []any
	if f.Markdown != "" {
		els = append(els, object{"tag": "markdown", "element_id": elementText, "content": f.Markdown})
	}
	if f.Status != "" {
		els = append(els, object{"tag": "markdown", "element_id": elementWork, "content": f.Status})
	}
	for i, panel := range f.Panels {
		els = append(els, fold(i, panel))
	}
	if f.Footer != "" || streaming {
		els = append(els, small(cmp.Or(f.Footer, "…")))
	}
	offers := controls(p, thread)
	if len(offers) > 0 && len(p.Buttons) > 0 && p.Form == nil {
		if row, ok := offers[0].(object); ok {
			row["element_id"] = elementControl
		}
	}
	els = append(els, offers...)
	if len(els) == 0 {
		els = append(els, object{"tag": "markdown", "content": "…"})
	}
	return object{
		"schema": "2.0",
		"config": object{"streaming_mode": streaming, "update_multi": true, "summary": object{"content": summary(p.Text)}},
		"body":   object{"elements": els},
	}
}

// small is small print.
func small(text string) object {
	return object{"tag": "markdown", "element_id": elementStatus, "text_size": "notation",
		"content": "<font color='grey'>" + plainly(text) + "</font>"}
}

// summary is what the list of chats, and a notification, show.
func summary(text string) string {
	line := strings.Join(strings.Fields(text), " ")
	if line == "" {
		return "…"
	}
	return chat.Clip(line, maxSummary)
}

// fold is a panel that is closed until somebody opens it.
func fold(i int, p chat.Panel) object {
	lines := make([]string, len(p.Lines))
	for k, l := range p.Lines {
		lines[k] = plainly(l)
	}
	return object{
		"tag": "collapsible_panel", "element_id": fmt.Sprintf("panel%d", i), "expanded": false,
		"header":   object{"title": object{"tag": "plain_text", "content": p.Title}},
		"elements": []any{object{"tag": "markdown", "element_id": fmt.Sprintf("lines%d", i), "content": strings.Join(lines, "\n"), "text_size": "notation"}},
	}
}

// post is a part as a rich text, for where a card is refused.
func post(p chat.Part) object {
	f := contents(p)
	md := join(f.Markdown, f.Status, plainly(f.Footer))
	return object{"zh_cn": object{"content": [][]object{{{"tag": "md", "text": cmp.Or(md, p.Text)}}}}}
}

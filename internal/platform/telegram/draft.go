package telegram

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"cligate/internal/chat"
	"cligate/internal/platform"
)

// Limits of the service that the forms below keep to. Lengths are UTF-16
// units: the service counts code points, which are never more.
const (
	maxText    = 4096
	maxCaption = 1024
	maxData    = 64 // bytes of a button's data
)

// draft is one message on its way: a part, and where it goes.
type draft struct {
	chat   string
	thread string
	direct bool
	part   chat.Part
	files  platform.Files  // where the part's file lies, if not in the row
	rich   json.RawMessage // the other form of part, nil when there is none
}

// newDraft addresses a part. The General topic of a group has no thread id on
// the way out; its number 1 is refused there.
func newDraft(p chat.Place, part chat.Part) draft {
	d := draft{chat: p.Chat, thread: p.Thread, direct: p.Direct, part: part}
	d.part.Format, d.rich = opened(part)
	if d.thread == general && !p.Direct {
		d.thread = ""
	}
	return d
}

// post is the call that sends d as a new message.
func (d draft) post() request {
	p := params{"chat_id": d.chat}
	p.AddNonEmpty("message_thread_id", d.thread)
	p.AddBool("disable_notification", d.part.Silent)
	if r := d.part.ReplyTo; !r.Zero() && (r.Chat == "" || r.Chat == d.chat) {
		if id, err := strconv.ParseInt(r.ID, 10, 64); err == nil {
			p["reply_parameters"] = object(replyTo{ID: id, Anyway: true})
		}
	}
	d.markup(p)
	if f := d.part.File; f != nil {
		d.words(p, "caption")
		method, file := d.attach(*f)
		return request{method: method, params: p, file: file}
	}
	if d.rich != nil {
		p["rich_message"] = string(d.rich)
		return request{method: "sendRichMessage", params: p}
	}
	d.words(p, "text")
	return request{method: "sendMessage", params: p}
}

// edit is the call that gives message id the content of d, as its text or as
// the caption of its file.
func (d draft) edit(id string, caption bool) request {
	p := params{"chat_id": d.chat, "message_id": id}
	d.markup(p)
	if caption {
		d.words(p, "caption")
		return request{method: "editMessageCaption", params: p}
	}
	if d.rich != nil {
		p["rich_message"] = string(d.rich)
		return request{method: "editMessageText", params: p}
	}
	d.words(p, "text")
	return request{method: "editMessageText", params: p}
}

func (d draft) words(p params, field string) {
	p.AddNonEmpty(field, d.part.Text)
	if len(d.part.Format) > 0 {
		key := "entities"
		if field == "caption" {
			key = "caption_entities"
		}
		p[key] = string(d.part.Format)
	}
	if field == "text" {
		p["link_preview_options"] = `{"is_disabled":true}`
	}
}

func (d draft) markup(p params) {
	if len(d.part.Buttons) == 0 {
		return
	}
	k := keyboard{}
	for _, row := range d.part.Buttons {
		var keys []key
		for _, b := range row {
			one := key{Text: b.Label, Data: b.Data, Style: b.Style}
			if b.Copy != "" {
				one.Copy = &copyText{b.Copy}
			}
			keys = append(keys, one)
		}
		if len(keys) > 0 {
			k.Rows = append(k.Rows, keys)
		}
	}
	p["reply_markup"] = object(k)
}

type replyTo struct {
	ID     int64 `json:"message_id"`
	Anyway bool  `json:"allow_sending_without_reply"`
}

type keyboard struct {
	Rows [][]key `json:"inline_keyboard"`
}

type key struct {
	Text  string `json:"text"`
	Data  string `json:"callback_data,omitempty"`
	Style string `json:"style,omitempty"`

	Copy *copyText `json:"copy_text,omitempty"`
}

// copyText is what a button puts into the clipboard.
type copyText struct {
	Text string `json:"text"`
}

// maxCopy is the most characters of it.
const maxCopy = 256

// copyable reports whether the service takes a text for the clipboard and gives
// it back as it is.
func copyable(s string) bool {
	return s != "" && utf8.RuneCountInString(s) <= maxCopy && clean(s) == s && strings.TrimSpace(s) == s
}

// asFile is d with its text as a document, for a text that no message can
// hold.
func (d draft) asFile() draft {
	d.part.File = &chat.OutFile{Name: "message.md", Body: []byte(d.part.Text)}
	d.part.Text, d.part.Format, d.rich = "", nil, nil
	return d
}

// simpler reports whether there is a plainer form of the part: without its
// formatting, as a document instead of a photo, as words about a file.
func (d draft) simpler() bool {
	f := d.part.File
	return len(d.part.Format) > 0 || f != nil && (f.Kind == chat.FilePhoto || f.Instead != "")
}

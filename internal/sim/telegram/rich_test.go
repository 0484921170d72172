package telegram

import (
	"strings"
	"testing"
)

func blocks(n int, one string) string {
	return `{"blocks":[` + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + `]}`
}

const oneParagraph = `{"type":"paragraph","text":"x"}`

func TestRichMessagesKeepTheirLimits(t *testing.T) {
	t.Parallel()
	s := start(t)
	deep := oneParagraph
	for range 16 {
		deep = `{"type":"blockquote","blocks":[` + deep + `]}`
	}
	row := `[` + strings.TrimSuffix(strings.Repeat(`{"text":"x","align":"left","valign":"top"},`, 21), ",") + `]`
	for want, raw := range map[string]string{
		"RICH_MESSAGE_BLOCKS_TOO_MUCH":  blocks(501, oneParagraph),
		"RICH_MESSAGE_TEXT_TOO_LONG":    blocks(1, `{"type":"paragraph","text":"`+strings.Repeat("x", 32769)+`"}`),
		"RICH_MESSAGE_DEPTH_INVALID":    blocks(1, deep),
		"RICH_MESSAGE_TABLE_INVALID":    blocks(1, `{"type":"table","cells":[`+row+`]}`),
		"RICH_MESSAGE_BLOCK_INVALID":    blocks(1, `{"type":"chart"}`),
		"RICH_MESSAGE_TEXT_INVALID":     blocks(1, `{"type":"paragraph","text":{"type":"blink","text":"x"}}`),
		"RICH_MESSAGE_TEXT_EMPTY":       blocks(1, `{"type":"paragraph","text":""}`),
		"RICH_MESSAGE_URL_INVALID":      blocks(1, `{"type":"paragraph","text":{"type":"url","text":"x","url":"./x"}}`),
		"RICH_MESSAGE_EMAIL_INVALID":    blocks(1, `{"type":"paragraph","text":"git@github:x"}`),
		"RICH_MESSAGE_HEADING_INVALID":  blocks(1, `{"type":"heading","text":"x","size":7}`),
		"RICH_MESSAGE_CONTENT_INVALID":  `{"markdown":"x"}`,
		"unknown field":                 blocks(1, `{"type":"paragraph","text":"x","colour":"red"}`),
		"can't find field \"align\"":    blocks(1, `{"type":"table","cells":[[{"text":"x"}]]}`),
		"can't parse rich message JSON": ``,
		"can't find field \"items\"":    blocks(1, `{"type":"list"}`),
		"can't find field \"blocks\"":   blocks(1, `{"type":"list","items":[{}]}`),
	} {
		if r := call(t, s, "sendRichMessage", "chat_id", alice, "rich_message", raw); r.OK || !strings.Contains(r.Description, want) {
			t.Errorf("want %s, got %v %q", want, r.OK, r.Description)
		}
	}
}

func TestARichMessageIsReadAndEdited(t *testing.T) {
	t.Parallel()
	s := start(t)
	raw := `{"blocks":[{"type":"heading","text":["a ",{"type":"code","text":"b"}],"size":2},{"type":"list","items":[{"blocks":[` + oneParagraph + `],"has_checkbox":true,"is_checked":true}]}]}`
	id := call(t, s, "sendRichMessage", "chat_id", alice, "rich_message", raw).id(t)
	if m := s.Visible(token, alice)[0]; m.Text != "a b\n• ☑ x" || m.Rich == nil || len(m.Entities) != 2 {
		t.Errorf("%q %+v", m.Text, m.Entities)
	}
	if r := call(t, s, "editMessageText", "chat_id", alice, "message_id", id, "rich_message", raw); !strings.Contains(r.Description, "not modified") {
		t.Errorf("the same again: %+v", r)
	}
	if r := call(t, s, "editMessageText", "chat_id", alice, "message_id", id, "rich_message", blocks(1, oneParagraph)); !r.OK {
		t.Errorf("another form: %+v", r)
	}
	if r := call(t, s, "editMessageText", "chat_id", alice, "message_id", id, "text", "y"); !r.OK || s.Visible(token, alice)[0].Rich != nil {
		t.Errorf("a classic text: %+v", r)
	}
}

func TestAnOlderServerKnowsNoRichMessages(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.SetRich(false)
	if r := call(t, s, "sendRichMessage", "chat_id", alice, "rich_message", blocks(1, oneParagraph)); r.Code != 404 {
		t.Errorf("%+v", r)
	}
	id := call(t, s, "sendMessage", "chat_id", alice, "text", "x").id(t)
	if r := call(t, s, "editMessageText", "chat_id", alice, "message_id", id, "rich_message", blocks(1, oneParagraph)); !strings.Contains(r.Description, "message text is empty") {
		t.Errorf("%+v", r)
	}
}

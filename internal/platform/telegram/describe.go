package telegram

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// described puts content that is neither text nor a file into words; empty when
// there is none of that kind. The words are data: none of them is a command.
func (m *content) described() string {
	switch {
	case m.Venue != nil: // comes with a location too
		l := m.Venue.Location
		return fmt.Sprintf("venue: %s, %s (%.6f, %.6f)", line(m.Venue.Title), line(m.Venue.Address), l.Latitude, l.Longitude)
	case m.Location != nil:
		return fmt.Sprintf("location: %.6f, %.6f", m.Location.Latitude, m.Location.Longitude)
	case m.Contact != nil:
		return line("contact: " + m.Contact.First + " " + m.Contact.Last + " " + m.Contact.Phone)
	case m.Sticker != nil && m.Sticker.Set != "":
		return line("sticker: " + m.Sticker.Emoji + " of the set " + m.Sticker.Set)
	case m.Sticker != nil:
		return line("sticker: " + m.Sticker.Emoji)
	case m.Poll != nil:
		text := []string{line("poll: " + m.Poll.Question)}
		for _, o := range m.Poll.Options {
			text = append(text, line("- "+o.Text))
		}
		return strings.Join(text, "\n")
	case m.Dice != nil:
		return line(fmt.Sprintf("dice: %s %d", m.Dice.Emoji, m.Dice.Value))
	}
	return ""
}

// line makes foreign words one line.
func line(s string) string { return strings.Join(strings.Fields(s), " ") }

// aside are the fields of a message that are no content of it.
var aside = []string{
	"message_id", "message_thread_id", "direct_messages_topic", "from", "sender_chat", "sender_boost_count", "sender_business_bot",
	"sender_tag", "date", "business_connection_id", "chat", "forward_origin", "forward_from", "forward_from_chat",
	"forward_from_message_id", "forward_signature", "forward_sender_name", "forward_date", "is_topic_message",
	"is_automatic_forward", "reply_to_message", "external_reply", "quote", "reply_to_story", "reply_to_checklist_task_id",
	"via_bot", "edit_date", "has_protected_content", "is_from_offline", "is_paid_post", "media_group_id",
	"author_signature", "paid_star_count", "text", "entities", "link_preview_options", "suggested_post_info", "effect_id",
	"caption", "caption_entities", "show_caption_above_media", "has_media_spoiler", "reply_markup",
}

// noted are what a service notes about a chat, as far as their names do not
// show it; nobody sends them.
var noted = []string{
	"new_chat_members", "new_chat_member", "new_chat_participant", "left_chat_member", "left_chat_participant", "new_chat_title",
	"new_chat_photo", "delete_chat_photo", "migrate_to_chat_id", "migrate_from_chat_id", "pinned_message", "successful_payment",
	"refunded_payment", "connected_website", "passport_data", "web_app_data", "gift", "unique_gift",
}

// notes are ends of the names of such fields.
var notes = []string{
	"_created", "_changed", "_closed", "_reopened", "_edited", "_hidden", "_unhidden", "_added", "_deleted", "_done",
	"_completed", "_scheduled", "_started", "_ended", "_invited", "_shared", "_set", "_sent", "_allowed", "_triggered", "_left",
	"_approved", "_declined", "_failed", "_paid", "_refunded",
}

// strange names the content of the message of an update, as it came, that we can
// do nothing with; empty when there is none. Also what a later version of the service
// brings is told to whoever sent it, and not passed over.
func strange(raw json.RawMessage) string {
	var u struct {
		Fields map[string]json.RawMessage `json:"message"`
	}
	if json.Unmarshal(raw, &u) != nil {
		return ""
	}
	fields := u.Fields
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		ends := func(end string) bool { return strings.HasSuffix(name, end) }
		switch {
		case string(fields[name]) == "null", slices.Contains(aside, name), slices.Contains(noted, name),
			slices.ContainsFunc(notes, ends):
		case len(name) <= maxField:
			return strings.ReplaceAll(name, "_", " ")
		}
	}
	return ""
}

// maxField bounds the name of a kind of content.
const maxField = 40

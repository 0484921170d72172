package telegram

// The service's own objects, with the fields that are used here. They replace
// the library's, which know no topics and fail as a whole when a field that
// nobody needs has an unexpected type.

type update struct {
	ID       int64           `json:"update_id"`
	Message  *message        `json:"message"`
	Edited   *message        `json:"edited_message"`
	Callback *callback       `json:"callback_query"`
	Reaction *reactionChange `json:"message_reaction"`
	Member   *memberChange   `json:"my_chat_member"`
}

// wanted are the kinds of updates we ask for, in every poll: the server
// remembers the last list it was given.
const wanted = `["message","edited_message","callback_query","message_reaction","my_chat_member"]`

type user struct {
	ID       int64  `json:"id"`
	IsBot    bool   `json:"is_bot"`
	First    string `json:"first_name"`
	Last     string `json:"last_name"`
	Username string `json:"username"`
	Language string `json:"language_code"`
	// Only in the answer to getMe.
	Topics  bool `json:"has_topics_enabled"`
	ReadAll bool `json:"can_read_all_group_messages"`
	Joins   bool `json:"can_join_groups"`
}

type chatInfo struct {
	ID    int64  `json:"id"`
	Type  string `json:"type"`
	Title string `json:"title"`
	First string `json:"first_name"`
	Last  string `json:"last_name"`
}

type message struct {
	origin
	content
	news
	Edited  int64    `json:"edit_date"`
	Reply   *message `json:"reply_to_message"`
	Outside *outside `json:"external_reply"` // a reply to a message of another chat
	Quote   *quote   `json:"quote"`
	Album   string   `json:"media_group_id"`
}

// news is what a message of the service itself tells.
type news struct {
	Came            []user    `json:"new_chat_members"`
	Went            *user     `json:"left_chat_member"`
	MovedTo         int64     `json:"migrate_to_chat_id"`
	MovedFrom       int64     `json:"migrate_from_chat_id"`
	Topic           *topic    `json:"forum_topic_created"`
	TopicEdited     *topic    `json:"forum_topic_edited"`
	TopicReopened   *struct{} `json:"forum_topic_reopened"`
	GeneralShown    *struct{} `json:"general_forum_topic_unhidden"`
	GeneralReopened *struct{} `json:"general_forum_topic_reopened"`
}

type topic struct {
	Thread   int64  `json:"message_thread_id"` // only in the answer to createForumTopic
	Name     string `json:"name"`
	Implicit bool   `json:"is_name_implicit"` // the bot is to find a better name
}

// origin says who sent a message and where.
type origin struct {
	ID          int64     `json:"message_id"`
	Thread      int64     `json:"message_thread_id"`
	InTopic     bool      `json:"is_topic_message"`
	Date        int64     `json:"date"`
	Chat        *chatInfo `json:"chat"`
	From        *user     `json:"from"`
	SenderChat  *chatInfo `json:"sender_chat"`
	AutoForward bool      `json:"is_automatic_forward"`
	Forward     *forward  `json:"forward_origin"`
	OldForward  int64     `json:"forward_date"` // older servers
}

// content is what a message carries.
type content struct {
	Text            string    `json:"text"`
	Entities        []entity  `json:"entities"`
	Caption         string    `json:"caption"`
	CaptionEntities []entity  `json:"caption_entities"`
	Photo           []file    `json:"photo"`
	Document        *file     `json:"document"`
	Voice           *file     `json:"voice"`
	Audio           *file     `json:"audio"`
	Video           *file     `json:"video"`
	VideoNote       *file     `json:"video_note"`
	Animation       *file     `json:"animation"`
	Sticker         *sticker  `json:"sticker"`
	Location        *location `json:"location"`
	Venue           *venue    `json:"venue"`
	Contact         *contact  `json:"contact"`
	Poll            *poll     `json:"poll"`
	Dice            *dice     `json:"dice"`
}

type quote struct {
	Text string `json:"text"`
}

// entity marks a piece of a text; offset and length count UTF-16 units.
type entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`
	Language string `json:"language,omitempty"`
	User     *user  `json:"user,omitempty"`
}

type file struct {
	ID     string `json:"file_id"`
	Name   string `json:"file_name"`
	MIME   string `json:"mime_type"`
	Size   int64  `json:"file_size"`
	Length int64  `json:"duration"` // seconds
	Width  int64  `json:"width"`
	Height int64  `json:"height"`
	Path   string `json:"file_path"` // only in the answer to getFile
}

type location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

type venue struct {
	Location location `json:"location"`
	Title    string   `json:"title"`
	Address  string   `json:"address"`
}

type sticker struct {
	Emoji string `json:"emoji"`
	Set   string `json:"set_name"`
}

type poll struct {
	Question string `json:"question"`
	Options  []struct {
		Text string `json:"text"`
	} `json:"options"`
}

type dice struct {
	Emoji string `json:"emoji"`
	Value int    `json:"value"`
}

// forward says where a forwarded message comes from. Which of the fields are
// set depends on the kind of the origin.
type forward struct {
	Name   string    `json:"sender_user_name"` // of somebody who hides their account
	User   *user     `json:"sender_user"`
	Sender *chatInfo `json:"sender_chat"`
	Chat   *chatInfo `json:"chat"` // a channel
}

// outside is a message of another chat that is replied to.
type outside struct {
	Origin *forward `json:"origin"`
	content
}

type reactionChange struct {
	Chat  *chatInfo       `json:"chat"`
	ID    int64           `json:"message_id"`
	User  *user           `json:"user"`
	Actor *chatInfo       `json:"actor_chat"` // somebody who does not show who they are
	Date  int64           `json:"date"`
	Old   []reactionEmoji `json:"old_reaction"`
	New   []reactionEmoji `json:"new_reaction"`
}

type reactionEmoji struct {
	Emoji string `json:"emoji"` // empty for custom ones
}

type contact struct {
	Phone string `json:"phone_number"`
	First string `json:"first_name"`
	Last  string `json:"last_name"`
}

type callback struct {
	ID   string `json:"id"`
	From *user  `json:"from"`
	// Message is nil for a button of an inline message, and has a date of 0
	// and no content when the service no longer gives it out.
	Message *message `json:"message"`
	Data    string   `json:"data"`
}

type memberChange struct {
	Chat *chatInfo `json:"chat"`
	From *user     `json:"from"`
	Date int64     `json:"date"`
	Old  member    `json:"old_chat_member"`
	New  member    `json:"new_chat_member"`
}

type member struct {
	Status   string `json:"status"`
	IsMember bool   `json:"is_member"`
	CanSend  bool   `json:"can_send_messages"`
}

// talks reports whether a member may write into its chat.
func (m member) talks() bool {
	switch m.Status {
	case "creator", "administrator", "member":
		return true
	case "restricted":
		return m.IsMember && m.CanSend
	}
	return false
}

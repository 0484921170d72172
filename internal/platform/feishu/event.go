package feishu

import "encoding/json"

// Types of events that mean something here. Others are acknowledged and left
// alone: one that is answered with an error is pushed again and again.
const (
	eventMessage  = "im.message.receive_v1"
	eventRecalled = "im.message.recalled_v1"
	eventReaction = "im.message.reaction.created_v1"
	eventClick    = "card.action.trigger"
	eventAdded    = "im.chat.member.bot.added_v1"
	eventRemoved  = "im.chat.member.bot.deleted_v1"
	eventEntered  = "im.chat.access_event.bot_p2p_chat_entered_v1"
	eventCame     = "im.chat.member.user.added_v1"
	eventWent     = "im.chat.member.user.deleted_v1"
	eventGone     = "im.chat.disbanded_v1"
	eventMenu     = "application.bot.menu_v6"
)

// event is an event of schema 2.0. Fields that the service may leave out are
// zero then.
type event struct {
	Header struct {
		ID     string `json:"event_id"`
		Type   string `json:"event_type"`
		At     string `json:"create_time"` // milliseconds
		App    string `json:"app_id"`
		Tenant string `json:"tenant_key"`
	} `json:"header"`
	Event json.RawMessage `json:"event"`
}

// userID is somebody as this app sees them. Events spell it as an object, calls
// as the id alone.
type userID struct {
	Open string `json:"open_id"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (u *userID) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &u.Open)
	}
	var is struct {
		Open string `json:"open_id"`
	}
	err := json.Unmarshal(raw, &is)
	u.Open = is.Open
	return err
}

// kept is an event as it is stored: without the Verification Token, which every
// event carries, and without the token by which a press's card can be changed.
func kept(payload []byte) []byte {
	var e map[string]json.RawMessage
	if json.Unmarshal(payload, &e) != nil {
		return payload // none of the service's
	}
	_, found := e["token"] // of an event of schema 1.0
	delete(e, "token")
	for _, name := range []string{"header", "event"} {
		var part map[string]json.RawMessage
		if json.Unmarshal(e[name], &part) != nil {
			continue
		}
		if _, has := part["token"]; !has {
			continue
		}
		found = true
		delete(part, "token")
		e[name], _ = json.Marshal(part) // it was JSON before
	}
	if !found {
		return payload
	}
	out, _ := json.Marshal(e)
	return out
}

type mention struct {
	Key  string `json:"key"`
	ID   userID `json:"id"`
	Name string `json:"name"`
}

// received is a new message.
type received struct {
	Sender struct {
		ID     userID `json:"sender_id"`
		Type   string `json:"sender_type"` // user, or a kind of program
		Tenant string `json:"tenant_key"`
	} `json:"sender"`
	Message incoming `json:"message"`
}

type incoming struct {
	ID       string    `json:"message_id"`
	Root     string    `json:"root_id"`
	Parent   string    `json:"parent_id"`
	Thread   string    `json:"thread_id"`
	At       string    `json:"create_time"` // milliseconds
	Chat     string    `json:"chat_id"`
	ChatType string    `json:"chat_type"` // p2p, group, topic_group
	Type     string    `json:"message_type"`
	Content  string    `json:"content"` // JSON
	Mentions []mention `json:"mentions"`
}

// pressed is a button that was pressed, or a form that was sent.
type pressed struct {
	Operator struct {
		Open   string `json:"open_id"`
		Tenant string `json:"tenant_key"`
	} `json:"operator"`
	Action struct {
		Value map[string]any `json:"value"`
		Form  map[string]any `json:"form_value"`
	} `json:"action"`
	Context struct {
		Message string `json:"open_message_id"`
		Chat    string `json:"open_chat_id"`
	} `json:"context"`
}

// placed is an event about a chat or one of its messages; which fields are set
// depends on its type.
type placed struct {
	Message  string `json:"message_id"`
	Chat     string `json:"chat_id"`
	Name     string `json:"name"`
	Operator userID `json:"operator_id"`
	User     userID `json:"user_id"`
	By       string `json:"operator_type"` // of a reaction: user or app
	Reaction struct {
		Emoji string `json:"emoji_type"`
	} `json:"reaction_type"`
	Key string `json:"event_key"` // of a menu
	Who struct {
		ID   userID `json:"operator_id"`
		Name string `json:"operator_name"`
	} `json:"operator"` // of a menu
}

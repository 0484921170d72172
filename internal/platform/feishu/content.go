package feishu

import (
	"encoding/json"
	"fmt"
	"strings"

	"cligate/internal/chat"
)

// said is the content of a message in words and files.
type said struct {
	text  string
	files []chat.FileRef
	quote string // a forwarded bundle whose messages have to be fetched
	odd   string // a kind that cannot be put into words
	named bool   // the bot was mentioned
}

// content is a message's content; which fields are set depends on its type.
type content struct {
	Text     string          `json:"text"`
	Title    string          `json:"title"`
	Lines    [][]node        `json:"content"`
	Image    string          `json:"image_key"`
	File     string          `json:"file_key"`
	FileName string          `json:"file_name"`
	Duration int             `json:"duration"` // milliseconds
	Name     string          `json:"name"`     // of a location
	Long     string          `json:"longitude"`
	Lat      string          `json:"latitude"`
	Chat     string          `json:"chat_id"`
	User     string          `json:"user_id"`
	Elements json.RawMessage `json:"elements"`
}

// node is a piece of a rich text.
type node struct {
	Tag   string `json:"tag"`
	Text  string `json:"text"`
	Href  string `json:"href"`
	User  string `json:"user_id"`
	Name  string `json:"user_name"`
	Image string `json:"image_key"`
	File  string `json:"file_key"`
	Lang  string `json:"language"`
	Emoji string `json:"emoji_type"`
}

// words reads the content of a message. me is the bot.
func words(m incoming, me string) said {
	var c content
	if err := json.Unmarshal([]byte(m.Content), &c); err != nil && m.Type != "merge_forward" {
		return said{odd: m.Type}
	}
	names := &naming{me: me, mentions: m.Mentions}
	var out said
	switch m.Type {
	case "text":
		out.text = names.in(c.Text)
	case "post":
		out.text, out.files = rich(c, m.ID, names)
	case "image":
		out.files = []chat.FileRef{{ID: fileID(m.ID, c.Image, "image"), Kind: chat.MediaPhoto, Name: "image"}}
	case "file":
		out.files = []chat.FileRef{{ID: fileID(m.ID, c.File, "file"), Kind: chat.MediaDocument, Name: c.FileName}}
	case "audio":
		out.files = []chat.FileRef{{ID: fileID(m.ID, c.File, "file"), Kind: chat.MediaVoice, Name: "voice.opus", Seconds: c.Duration / 1000}}
	case "media":
		out.files = []chat.FileRef{{ID: fileID(m.ID, c.File, "file"), Kind: chat.MediaVideo, Name: c.FileName, Seconds: c.Duration / 1000}}
	case "sticker":
		out.text = "[sticker]"
	case "location":
		out.text = fmt.Sprintf("location: %s (%s, %s)", c.Name, c.Lat, c.Long)
	case "share_chat":
		out.text = "[a group was shared: " + c.Chat + "]"
	case "share_user":
		out.text = "[a contact was shared: " + c.User + "]"
	case "merge_forward":
		out.quote = m.ID
	case "interactive":
		out.text = strings.TrimSpace(c.Title + "\n" + cardWords(c.Elements))
	default:
		out.odd = m.Type
	}
	out.text, out.named = strings.TrimSpace(out.text), names.named
	return out
}

// fileID names a resource: it belongs to its message.
func fileID(message, key, kind string) string { return message + "/" + key + "/" + kind }

// naming replaces the keys that stand for mentioned people.
type naming struct {
	me       string
	mentions []mention
	named    bool // the bot was among them
}

// in puts names into a text; the bot's own goes.
func (n *naming) in(text string) string {
	for _, m := range n.mentions {
		if m.Key == "" || !strings.Contains(text, m.Key) {
			continue
		}
		as := "@" + chat.PlainName(m.Name)
		if m.ID.Open == n.me {
			n.named, as = true, ""
		}
		text = replaceKey(text, m.Key, as)
	}
	return strings.ReplaceAll(text, "@_all", "@all")
}

// replaceKey replaces key, but not where it is the beginning of a longer one
// (@_user_1 and @_user_10), and the blank behind one that goes.
func replaceKey(text, key, as string) string {
	var sb strings.Builder
	for {
		i := strings.Index(text, key)
		if i < 0 {
			return sb.String() + text
		}
		rest := text[i+len(key):]
		if rest != "" && rest[0] >= '0' && rest[0] <= '9' {
			sb.WriteString(text[:i+len(key)])
			text = rest
			continue
		}
		sb.WriteString(text[:i] + as)
		if as == "" {
			rest = strings.TrimPrefix(rest, " ")
		}
		text = rest
	}
}

// at is a mention in a rich text.
func (n *naming) at(x node) string {
	for _, m := range n.mentions {
		if m.Key == x.User || m.ID.Open == x.User {
			if m.ID.Open == n.me {
				n.named = true
				return ""
			}
			return "@" + chat.PlainName(m.Name)
		}
	}
	if x.User == n.me && n.me != "" {
		n.named = true
		return ""
	}
	if x.User == "all" || x.User == "@_all" {
		return "@all"
	}
	return "@" + chat.PlainName(x.Name)
}

// rich is a rich text: words, code, pictures.
func rich(c content, message string, names *naming) (string, []chat.FileRef) {
	var files []chat.FileRef
	var lines []string
	if c.Title != "" {
		lines = append(lines, c.Title)
	}
	for _, row := range c.Lines {
		var line strings.Builder
		for _, x := range row {
			switch x.Tag {
			case "a":
				line.WriteString(linked(x))
			case "at":
				line.WriteString(names.at(x))
			case "img":
				files = append(files, chat.FileRef{ID: fileID(message, x.Image, "image"), Kind: chat.MediaPhoto, Name: "image"})
			case "media":
				files = append(files, chat.FileRef{ID: fileID(message, x.File, "file"), Kind: chat.MediaVideo, Name: "video.mp4"})
			case "code_block":
				line.WriteString("```" + strings.ToLower(x.Lang) + "\n" + strings.TrimRight(x.Text, "\n") + "\n```")
			case "hr":
				line.WriteString("---")
			case "emotion":
				line.WriteString("[" + x.Emoji + "]")
			default:
				line.WriteString(x.Text)
			}
		}
		lines = append(lines, line.String())
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n"), files
}

func linked(x node) string {
	if x.Text == "" || x.Text == x.Href {
		return x.Href
	}
	return x.Text + " (" + x.Href + ")"
}

// cardWords is what can be read of somebody else's card, as the service
// degrades it: lists of nodes.
func cardWords(raw json.RawMessage) string {
	var lists [][]node
	if json.Unmarshal(raw, &lists) != nil {
		return ""
	}
	text, _ := rich(content{Lines: lists}, "", &naming{})
	return text
}

package feishu

import (
	"cmp"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"cligate/internal/chat"
)

// said is the content of a message in words and files.
type said struct {
	text   string
	files  []chat.FileRef
	bundle bool   // forwarded messages, which have to be fetched
	odd    string // a kind that cannot be put into words
	named  bool   // the bot was mentioned
	alien  bool   // a command for somebody else
}

// content is a message's content; which fields are set depends on its type.
type content struct {
	Text     string      `json:"text"`
	Title    string      `json:"title"`
	Lines    [][]node    `json:"content"`
	Image    string      `json:"image_key"`
	File     string      `json:"file_key"`
	FileName string      `json:"file_name"`
	Duration json.Number `json:"duration"` // milliseconds
	Name     string      `json:"name"`     // of a location
	Long     string      `json:"longitude"`
	Lat      string      `json:"latitude"`
	Chat     string      `json:"chat_id"`
	User     string      `json:"user_id"`
	Topic    string      `json:"topic"` // of a vote, of a call
	Options  []string    `json:"options"`
}

func (c content) seconds() int {
	ms, err := c.Duration.Int64()
	if err != nil || ms < 0 {
		return 0
	}
	return int(ms / 1000)
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

// decode reads a content. A field of another type than expected is left out,
// the others are good.
func decode(raw string) (content, error) {
	var c content
	err := json.Unmarshal([]byte(raw), &c)
	var odd *json.UnmarshalTypeError
	if errors.As(err, &odd) {
		err = nil
	}
	return c, err
}

// words reads the content of a message. me is the bot.
func words(m incoming, me string) said {
	c, err := decode(m.Content)
	if err != nil && m.Type != "merge_forward" {
		return said{odd: cmp.Or(m.Type, "unknown")}
	}
	names := &naming{me: me, mentions: m.Mentions}
	var out said
	switch m.Type {
	case "text":
		out.text = names.in(c.Text)
	case "post":
		out.text, out.files = rich(localized(c, m.Content), m.ID, names)
	case "image":
		out.files = []chat.FileRef{{ID: fileID(m.ID, c.Image, "image"), Kind: chat.MediaPhoto, Name: "image"}}
	case "file":
		out.files = []chat.FileRef{{ID: fileID(m.ID, c.File, "file"), Kind: chat.MediaDocument, Name: c.FileName}}
	case "audio":
		out.files = []chat.FileRef{{ID: fileID(m.ID, c.File, "file"), Kind: chat.MediaVoice, Name: "voice.opus", Seconds: c.seconds()}}
	case "media":
		out.files = []chat.FileRef{{ID: fileID(m.ID, c.File, "file"), Kind: chat.MediaVideo, Name: c.FileName, Seconds: c.seconds()}}
	case "merge_forward":
		out.bundle = true
	case "interactive":
		out.text = cardWords(m.Content)
	default:
		if out.text = described(m.Type, c, m.Content); out.text == "" {
			out.odd = cmp.Or(m.Type, "unknown")
		}
	}
	out.text, out.named, out.alien = strings.TrimSpace(out.text), names.named, names.alien && !names.named
	return out
}

// fileID names a resource: it belongs to its message.
func fileID(message, key, kind string) string { return message + "/" + key + "/" + kind }

// naming replaces the keys that stand for mentioned people.
type naming struct {
	me       string
	mentions []mention
	named    bool // the bot was among them
	alien    bool // a command names somebody else
}

// leading are mentions before a command, directed one right behind its name.
var (
	leading  = regexp.MustCompile(`^\s*(?:@_user_\d+\s*)+/`)
	directed = regexp.MustCompile(`^\s*(?:@_user_\d+\s*)*/\w+\s*(@_user_\d+)`)
)

// in puts names into a text; the bot's own goes, and before a command for the
// bot everybody else's, too.
func (n *naming) in(text string) string {
	if to := directed.FindStringSubmatch(text); to != nil {
		n.alien = !slices.ContainsFunc(n.mentions, func(m mention) bool { return m.Key == to[1] && m.ID.Open == n.me })
	}
	n.named = n.named || slices.ContainsFunc(n.mentions, func(m mention) bool {
		return n.me != "" && m.ID.Open == n.me && m.Key != "" && strings.Contains(text, m.Key)
	})
	if at := leading.FindStringIndex(text); at != nil && n.named {
		text = text[at[1]-1:]
	}
	for _, m := range n.mentions {
		if m.Key == "" || !strings.Contains(text, m.Key) {
			continue
		}
		as := "@" + chat.PlainName(m.Name)
		if m.ID.Open == n.me {
			as = ""
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

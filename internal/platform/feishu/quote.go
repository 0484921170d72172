package feishu

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"cligate/internal/chat"
)

// stored is a message as the service keeps it.
type stored struct {
	ID     string `json:"message_id"`
	Upper  string `json:"upper_message_id"`
	Root   string `json:"root_id"`
	Parent string `json:"parent_id"`
	Thread string `json:"thread_id"`
	Type   string `json:"msg_type"`
	At     string `json:"create_time"`
	Gone   bool   `json:"deleted"`
	Sender struct {
		ID     string `json:"id"`
		Type   string `json:"sender_type"`
		Tenant string `json:"tenant_key"`
	} `json:"sender"`
	Body struct {
		Content string `json:"content"`
	} `json:"body"`
	Mentions []mention `json:"mentions"`
}

// Bounds of what is quoted.
const (
	maxQuote    = 8000 // characters of all of it
	maxChildren = 50   // messages of a bundle
	maxEarlier  = 20   // messages of a topic
	maxPictures = 4    // that come along from a topic
	maxNames    = 10   // people whose names are asked for
)

// nameTime bounds the question for one name, once a quotation is fetched.
const nameTime = 2 * time.Second

// quote is the message that is replied to, the messages of a bundle, or what
// was said in a topic before a message.
func (g *fetcher) quote(ctx context.Context, message string, kind chat.SourceKind) (chat.Excerpt, error) {
	items, err := g.message(ctx, message)
	if err != nil {
		return chat.Excerpt{}, err
	}
	own := slices.IndexFunc(items, func(m stored) bool { return m.ID == message })
	if own < 0 || items[own].Gone {
		return chat.Excerpt{}, chat.E(chat.Missing, "the message was withdrawn", nil)
	}
	one := items[own]
	s := &scribe{fetcher: g}
	switch {
	case kind == chat.SourceTopic:
		return g.earlier(ctx, s, one)
	case kind == chat.SourceForward || one.Type == "merge_forward":
		x := chat.Excerpt{Text: s.bundle(ctx, items, message)}
		if kind == chat.SourceReply {
			x.Name = s.name(ctx, one)
		}
		return x, nil
	}
	text, files := s.text(one)
	return chat.Excerpt{Name: s.name(ctx, one), Text: text, Files: files}, nil
}

// message asks for a message; with a bundle come its messages.
func (g *fetcher) message(ctx context.Context, id string) ([]stored, error) {
	var out struct {
		Items []stored `json:"items"`
	}
	err := g.rest.do(ctx, call{method: http.MethodGet, path: "im/v1/messages/" + id, query: map[string]string{"user_id_type": "open_id"}}, &out)
	return out.Items, err
}

// earlier is what was said in a topic before m: its first message and the
// newest ones. Where the app may not read the topic, the first one alone.
func (g *fetcher) earlier(ctx context.Context, s *scribe, m stored) (chat.Excerpt, error) {
	items, err := g.topic(ctx, m.Thread)
	if err != nil || len(items) == 0 {
		if m.Root == "" {
			return chat.Excerpt{}, err
		}
		if items, err = g.message(ctx, m.Root); err != nil {
			return chat.Excerpt{}, err
		}
	}
	// The newest come first; several may be of the same time.
	if i := slices.IndexFunc(items, func(x stored) bool { return x.ID == m.ID }); i >= 0 {
		items = items[i+1:]
	}
	items = slices.DeleteFunc(items, func(x stored) bool { return later(x, m) || x.Upper != "" })
	slices.Reverse(items)
	items = g.rooted(ctx, m.Root, items)
	x := chat.Excerpt{Text: s.lines(ctx, items, 0)}
	for _, f := range s.pictures {
		x.Files = append(x.Files, f)
		if len(x.Files) == maxPictures {
			break
		}
	}
	return x, nil
}

// rooted is the first message of a topic and the newest others.
func (g *fetcher) rooted(ctx context.Context, root string, items []stored) []stored {
	var first []stored
	if i := slices.IndexFunc(items, func(x stored) bool { return x.ID == root }); i >= 0 {
		first, items = items[i:i+1:i+1], items[i+1:]
	} else if got, err := g.message(ctx, root); root != "" && err == nil && len(got) > 0 {
		first = got[:1:1]
	}
	return append(first, items[max(0, len(items)-maxEarlier+1):]...)
}

func later(a, b stored) bool {
	return millis(a.At, time.Now).After(millis(b.At, time.Now))
}

// topic returns the newest messages of a topic, the newest first.
func (g *fetcher) topic(ctx context.Context, thread string) ([]stored, error) {
	if thread == "" {
		return nil, nil
	}
	var out struct {
		Items []stored `json:"items"`
	}
	err := g.rest.do(ctx, call{method: http.MethodGet, path: "im/v1/messages", query: map[string]string{
		"container_id_type": "thread", "container_id": thread, "sort_type": "ByCreateTimeDesc", "page_size": "50",
	}}, &out)
	return out.Items, err
}

// scribe puts messages into words.
type scribe struct {
	*fetcher
	asked    int
	pictures []chat.FileRef
}

// bundle is the messages of a forwarded bundle, one below the other with their
// authors, and bundles within it further in.
func (s *scribe) bundle(ctx context.Context, items []stored, id string) string {
	return s.children(ctx, items, id, 0)
}

const bundleDepth = 3

func (s *scribe) children(ctx context.Context, items []stored, of string, depth int) string {
	var mine []stored
	for _, m := range items {
		if m.ID != of && (m.Upper == of || m.Upper == "" && depth == 0) {
			mine = append(mine, m)
		}
	}
	var parts []string
	for i, m := range mine {
		if i == maxChildren {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, s.lines(ctx, []stored{m}, depth))
		if m.Type == "merge_forward" && depth < bundleDepth {
			if inner := s.children(ctx, items, m.ID, depth+1); inner != "" {
				parts = append(parts, inner)
			}
		}
	}
	return chat.Clip(strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "\n"), maxQuote)
}

// lineEnds are the ends of lines within a message. What follows one is marked: it
// may look like another person's words.
var lineEnds = regexp.MustCompile(`\r\n|[\n\r\v\f\x{85}\x{2028}\x{2029}]`)

// lines are messages with their authors.
func (s *scribe) lines(ctx context.Context, items []stored, depth int) string {
	var lines []string
	for _, m := range items {
		if m.Gone {
			continue
		}
		text, files := s.text(m)
		s.pictures = append(s.pictures, slices.DeleteFunc(files, func(f chat.FileRef) bool { return f.Kind != chat.MediaPhoto })...)
		in := strings.Repeat("  ", depth)
		lines = append(lines, in+s.author(ctx, m)+": "+lineEnds.ReplaceAllLiteralString(text, "\n"+in+"| "))
	}
	return chat.Clip(strings.Join(lines, "\n"), maxQuote)
}

// author is a name for whoever wrote m, also where the service tells none.
func (s *scribe) author(ctx context.Context, m stored) string {
	if n := s.name(ctx, m); n != "" {
		return n
	}
	return "id " + m.Sender.ID
}

// name is who wrote m; empty when that is not known.
func (s *scribe) name(ctx context.Context, m stored) string {
	switch {
	case m.Sender.Type == "app" && m.Sender.ID == s.app:
		return "you"
	case m.Sender.Type != "user" || m.Sender.ID == "":
		return "a bot"
	}
	if n, ok := s.mind.names.get(m.Sender.ID); ok && n != "" {
		return n
	}
	if s.asked++; s.asked > maxNames {
		return ""
	}
	n, err := personName(ctx, s.rest, m.Sender.ID, nameTime)
	if err != nil {
		return ""
	}
	s.mind.names.put(m.Sender.ID, n)
	return n
}

// personName asks for the name of a person; zero limit = the usual one.
func personName(ctx context.Context, r *rest, openID string, limit time.Duration) (string, error) {
	var out struct {
		User struct {
			Name string `json:"name"`
		} `json:"user"`
	}
	err := r.do(ctx, call{method: http.MethodGet, path: "contact/v3/users/" + openID, query: map[string]string{"user_id_type": "open_id"}, limit: limit}, &out)
	return chat.PlainName(out.User.Name), err
}

// text is a message in words, attachments named, and its attachments.
func (s *scribe) text(m stored) (string, []chat.FileRef) {
	w := words(incoming{ID: m.ID, Type: m.Type, Content: m.Body.Content, Mentions: m.Mentions}, s.me())
	var parts []string
	if w.text != "" {
		parts = append(parts, w.text)
	}
	for _, f := range w.files {
		parts = append(parts, "["+string(f.Kind)+": "+f.Name+"]")
	}
	switch {
	case w.bundle:
		parts = append(parts, "[forwarded messages]")
	case w.odd != "":
		parts = append(parts, "["+w.odd+"]")
	case len(parts) == 0:
		parts = append(parts, "[no words]")
	}
	return strings.Join(parts, " "), w.files
}

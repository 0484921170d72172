package telegram

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Rules of files that people send and of signs that they put on messages.
const (
	RuleFileID   Rule = "file-id"   // a file is asked for by an id that the bot was given
	RuleDownload Rule = "download"  // files of at most 20 MB, unless the server is in local mode
	RuleFileLink Rule = "file-link" // a download follows a getFile, and has the token in its address
	RuleReacting Rule = "reacting"  // reactions in a group are told to administrators only
	RuleUnasked  Rule = "unasked"   // updates of some kinds are handed over only when they were asked for
)

// maxDownload is what the cloud hands to bots.
const maxDownload = 20 << 20

// File is a file that somebody sends.
type File struct {
	Kind    string // photo, document, voice, audio, video, video_note, animation
	Name    string
	MIME    string
	Body    []byte
	Size    int64 // as the service tells it; 0 = that of Body, negative = not told
	Seconds int
	// Hold keeps a download waiting until it is closed; nil = at once.
	Hold chan struct{}
}

// shelf is the files of a server.
type shelf struct {
	mu     sync.Mutex
	files  map[string]*File
	links  map[string]string // path → id
	dir    string            // of local mode; empty = off
	breaks int               // downloads that fail
	admins map[int64]bool    // chats in which the bot is an administrator
	counts map[string]int    // downloads by id
}

func newShelf() *shelf {
	return &shelf{files: map[string]*File{}, links: map[string]string{}, admins: map[int64]bool{}, counts: map[string]int{}}
}

// LocalMode has the server name paths of this machine, below dir, as one that
// runs with --local does.
func (s *shelf) LocalMode(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dir = dir
}

// BreakDownloads lets the next n downloads fail.
func (s *shelf) BreakDownloads(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breaks = n
}

// DropFiles lets the service forget all files that were sent.
func (s *shelf) DropFiles() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.files)
}

// Downloads is how often the file of a message was downloaded.
func (s *shelf) Downloads(message int64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[fileID(message)]
}

// MakeAdmin makes the bot an administrator of a group.
func (s *shelf) MakeAdmin(chat int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admins[chat] = true
}

func fileID(message int64) string { return "sent-" + strconv.FormatInt(message, 10) }

// put keeps a file and returns its description as messages carry it.
func (s *shelf) put(id string, f *File) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[id] = f
	size := f.Size
	if size == 0 {
		size = int64(len(f.Body))
	}
	one := func(id string, side int) map[string]any {
		j := map[string]any{"file_id": id, "file_unique_id": "u" + id}
		if size > 0 {
			j["file_size"] = size
		}
		if side > 0 {
			j["width"], j["height"] = side, side
		}
		return j
	}
	if f.Kind == "photo" {
		s.files[id+"-small"] = &File{Body: []byte("small")}
		return []any{one(id+"-small", 90), one(id, 1280)}
	}
	j := one(id, 0)
	if f.Name != "" && f.Kind != "voice" && f.Kind != "video_note" {
		j["file_name"] = f.Name
	}
	if f.MIME != "" {
		j["mime_type"] = f.MIME
	}
	if f.Seconds > 0 {
		j["duration"] = f.Seconds
	}
	return j
}

// attach gives a message its file: what was its text is a caption then.
func (s *shelf) attach(m *Message, f *File) {
	m.extra = map[string]any{f.Kind: s.put(fileID(m.ID), f)}
	m.captioned = true
}

// decorate puts what a person's message carries beside text into its form.
func decorate(out map[string]any, m *Message) {
	if m.captioned {
		delete(out, "text")
		if es, ok := out["entities"]; ok {
			out["caption_entities"] = es
			delete(out, "entities")
		}
		if m.Text != "" {
			out["caption"] = m.Text
		}
	}
	maps.Copy(out, m.extra)
}

// getFile tells where a file can be had.
func getFile(r request) (any, *refusal) {
	s, id := r.s, r.p.str("file_id")
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	f := s.files[id]
	if f == nil {
		if s.on(RuleFileID) {
			return nil, bad("wrong file_id or the file is temporarily unavailable")
		}
		f = &File{}
	}
	size := max(f.Size, int64(len(f.Body)))
	if size > maxDownload && s.dir == "" && s.on(RuleDownload) {
		return nil, bad("file is too big")
	}
	out := map[string]any{"file_id": id, "file_unique_id": "u" + id, "file_size": size}
	if s.dir != "" {
		path := filepath.Join(s.dir, id)
		if err := os.WriteFile(path, f.Body, 0o600); err != nil {
			return nil, &refusal{code: 500, text: "Internal Server Error"}
		}
		out["file_path"] = path
		return out, nil
	}
	path := f.Kind + "s/file " + strconv.Itoa(len(s.links)) + filepath.Ext(f.Name)
	s.links[path] = id
	out["file_path"] = path
	return out, nil
}

// download hands a file out. It reports false for an address of another kind.
func download(s *Server, w http.ResponseWriter, r *http.Request) bool {
	rest, ok := strings.CutPrefix(r.URL.Path, "/file/bot")
	if !ok {
		return false
	}
	token, path, _ := strings.Cut(rest, "/")
	s.mu.Lock()
	known := s.bots[token] != nil && !s.bots[token].revoked
	s.mu.Unlock()
	s.shelf.mu.Lock()
	id, linked := s.links[path]
	f := s.files[id]
	broken := s.breaks > 0
	if broken {
		s.breaks--
	} else if f != nil {
		s.counts[id]++
	}
	s.shelf.mu.Unlock()
	switch {
	case s.on(RuleFileLink) && (!known || !linked), f == nil:
		http.NotFound(w, r)
	case broken:
		http.Error(w, "<html>bad gateway</html>", http.StatusBadGateway)
	default:
		if f.Hold != nil {
			select {
			case <-f.Hold:
			case <-r.Context().Done():
				return true
			}
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(f.Body)
	}
	return true
}

// people are what persons do beside writing.
type people struct{ server *Server }

// React lets a person have exactly these reactions on a message. As with the
// service, a bot hears of it only if it asked for that kind of update, and in
// groups only as an administrator.
func (p people) React(token string, chat, message, from int64, emoji ...string) {
	p.react(token, chat, message, map[string]any{"user": person(from, fmt.Sprintf("Person %d", from))}, strconv.FormatInt(from, 10), emoji)
}

// ReactAnonymously is React of somebody who does not show who they are.
func (p people) ReactAnonymously(token string, chat, message int64, emoji ...string) {
	s := p.server
	s.mu.Lock()
	actor := chatJSON(s, chat)
	s.mu.Unlock()
	p.react(token, chat, message, map[string]any{"actor_chat": actor}, "anonymous", emoji)
}

func (p people) react(token string, chat, message int64, who map[string]any, name string, emoji []string) {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	b, c := s.bots[token], s.chats[chat]
	m := c.find(b, message)
	if m == nil {
		return
	}
	if m.signs == nil {
		m.signs = map[string][]string{}
	}
	old := m.signs[name]
	m.signs[name] = slices.Clone(emoji)
	s.shelf.mu.Lock()
	admin := s.admins[chat]
	s.shelf.mu.Unlock()
	if c.kind != Private && !admin && s.on(RuleReacting) {
		return
	}
	list := func(es []string) []any {
		out := []any{}
		for _, e := range es {
			out = append(out, map[string]any{"type": "emoji", "emoji": e})
		}
		return out
	}
	j := map[string]any{"chat": chatJSON(s, chat), "message_id": message, "date": time.Now().Unix(),
		"old_reaction": list(old), "new_reaction": list(emoji)}
	maps.Copy(j, who)
	s.push(b, "message_reaction", j)
}

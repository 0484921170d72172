package files

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"cligate/internal/chat"
	"cligate/internal/folder"
	"cligate/internal/i18n"
)

const (
	mostFiles   = 10   // messages with a file that one turn sends
	mostEntries = 2000 // names of one folder that are looked at
	mostTold    = 12   // files that are named among those not sent
	// headSize is how much of a file is read to see what it is: the size of an
	// image stands behind its thumbnail and colours.
	headSize = 256 << 10
)

// Collect takes what lies in the folder of a turn. It never fails: what cannot
// be taken is told in a reply. limit is the largest file that the chat takes, in
// bytes; 0 = any size.
func (b *Box) Collect(s chat.Session, turn int64, lang string, limit int64) []chat.Reply {
	at := place(s) + "/" + strconv.FormatInt(turn, 10)
	root, err := folder.Find(s.Workspace, at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	c := &collection{box: b, root: root, lang: lang, limit: b.largest(limit), left: b.cfg.Most, lies: path.Join(folder.Name, at)}
	if err != nil {
		b.cfg.Log.Warn("files of a turn not found", "turn", turn, "err", err)
		c.refuse("", i18n.T(lang, "files.unreadable"))
		return c.replies()
	}
	defer root.Close()
	c.all(turn)
	return c.replies()
}

// collection is one look at the folder of a turn.
type collection struct {
	box   *Box
	root  *os.Root
	lang  string
	limit int64  // of one file, bytes
	left  int64  // of all that are still to come
	lies  string // where people find the folder, from the workspace
	sent  []chat.Reply
	told  []string // why something is not sent
	more  int      // … that has no line of its own
}

// all takes one thing after the other, in the order of the names; what are too
// many go into one archive.
func (c *collection) all(turn int64) {
	entries, err := list(c.root, ".")
	if err != nil {
		c.box.cfg.Log.Warn("files of a turn not read", "turn", turn, "err", err)
		c.refuse("", i18n.T(c.lang, "files.unreadable"))
		return
	}
	if len(entries) > mostEntries {
		c.refuse("", i18n.T(c.lang, "files.crowd", "n", mostEntries))
		return
	}
	for i, e := range entries {
		if len(c.sent) == mostFiles-1 && len(entries)-i > 1 {
			c.archive("more-files.zip", entries[i:])
			return
		}
		if e.IsDir() {
			c.archive(cleanName(e.Name())+".zip", entries[i:i+1])
			continue
		}
		c.file(e.Name())
	}
}

// list returns the entries of a folder by name, one more than are looked at.
func list(root *os.Root, name string) ([]fs.DirEntry, error) {
	dir, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(mostEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// refuse notes that something is not sent.
func (c *collection) refuse(name, why string) {
	switch {
	case len(c.told) >= mostTold:
		c.more++
	case name == "":
		c.told = append(c.told, why)
	default:
		c.told = append(c.told, "`"+cleanName(name)+"`: "+why)
	}
}

func (c *collection) replies() []chat.Reply {
	if len(c.told) == 0 {
		return c.sent
	}
	if c.more > 0 {
		c.told = append(c.told, i18n.T(c.lang, "files.and_more", "n", c.more))
	}
	text := i18n.T(c.lang, "files.not_sent", "place", "`"+c.lies+"`") + "\n\n- " + strings.Join(c.told, "\n- ")
	return append(c.sent, chat.Reply{Kind: chat.ReplyNotice, Markdown: text, Silent: true})
}

// file takes one file.
func (c *collection) file(name string) {
	f, head, why := open(c.root, name, c.limit, c.lang)
	if why != "" {
		c.refuse(name, why)
		return
	}
	defer f.Close()
	if i, err := f.Stat(); err == nil && i.Size() > c.left {
		c.refuse(name, i18n.T(c.lang, "files.together", "limit", chat.Size(c.box.cfg.Most)))
		return
	}
	c.spool(cleanName(name), kindOf(head), func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
}

// spool stores a body and makes the reply that sends it.
func (c *collection) spool(name string, kind chat.FileKind, write func(w io.Writer) error) {
	r, err := c.box.reply(name, kind, c.lies, c.lang, min(c.limit, c.left), write)
	switch {
	case chat.CodeOf(err) == chat.Full && c.left < c.limit:
		c.refuse(name, i18n.T(c.lang, "files.together", "limit", chat.Size(c.box.cfg.Most)))
	case chat.CodeOf(err) == chat.Full:
		c.refuse(name, i18n.T(c.lang, "files.too_big", "limit", chat.Size(c.limit)))
	case errors.Is(err, errNothing):
		c.refuse(name, i18n.T(c.lang, "files.empty"))
	case err != nil:
		c.box.cfg.Log.Warn("a file is not sent", "err", err)
		c.refuse(name, i18n.T(c.lang, "files.unreadable"))
	default:
		c.sent = append(c.sent, r)
		c.left -= r.File.Size
	}
}

// reply stores a body in the spool and makes the reply that sends it.
func (b *Box) reply(name string, kind chat.FileKind, lies, lang string, limit int64, write func(io.Writer) error) (chat.Reply, error) {
	id, size, err := b.spool.Put(limit, write)
	if err != nil {
		return chat.Reply{}, fmt.Errorf("keep %s for the chat: %w", name, err)
	}
	return chat.Reply{
		Kind: chat.ReplyFile, Silent: true, Markdown: i18n.T(lang, "files.caption", "name", "`"+name+"`", "size", chat.Size(size)),
		File: &chat.OutFile{
			Name: name, Kind: kind, Spool: id, Size: size,
			Instead: i18n.T(lang, "files.instead", "name", name, "size", chat.Size(size), "place", lies),
		},
	}, nil
}

// open opens a regular file that may leave, and reads its beginning. why says
// in words what keeps it from leaving. A name that becomes a link meanwhile is
// noticed; a pipe does not hold us up.
func open(root *os.Root, name string, limit int64, lang string) (f *os.File, head []byte, why string) {
	seen, err := root.Lstat(name)
	switch {
	case err != nil:
		return nil, nil, i18n.T(lang, "files.unreadable")
	case secretName(name):
		return nil, nil, i18n.T(lang, "files.secret")
	case seen.Mode()&fs.ModeSymlink != 0:
		return nil, nil, i18n.T(lang, "files.link")
	case !seen.Mode().IsRegular():
		return nil, nil, i18n.T(lang, "files.special")
	case seen.Size() == 0:
		return nil, nil, i18n.T(lang, "files.empty")
	case seen.Size() > limit:
		return nil, nil, i18n.T(lang, "files.too_big_is", "size", chat.Size(seen.Size()), "limit", chat.Size(limit))
	}
	f, err = root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, i18n.T(lang, "files.unreadable")
	}
	opened, err := f.Stat()
	if err == nil && os.SameFile(seen, opened) {
		head = make([]byte, headSize)
		var n int
		if n, err = f.ReadAt(head, 0); errors.Is(err, io.EOF) {
			err = nil
		}
		head = head[:n]
	} else if err == nil {
		err = fs.ErrInvalid
	}
	if err == nil && !secretBody(head[:min(len(head), sniffed)]) {
		return f, head, ""
	}
	_ = f.Close()
	if err != nil {
		return nil, nil, i18n.T(lang, "files.unreadable")
	}
	return nil, nil, i18n.T(lang, "files.secret")
}

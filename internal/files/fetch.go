package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

const (
	mostShown = 60 // names of a folder that a list shows
	mostNear  = 3
)

// Fetch makes the reply that sends a file of a workspace to a person, or that
// says why it is not sent. limit is as in Collect. An error is ours or the
// disk's.
func (b *Box) Fetch(ctx context.Context, workspace, asked, lang string, limit int64) (chat.Reply, error) {
	f, err := b.find(workspace, unquoted(asked))
	if err != nil {
		return b.notFound(ctx, f, asked, lang, err)
	}
	shown := show(f.rel)
	root, err := os.OpenRoot(f.base)
	if err != nil {
		return chat.Reply{}, fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	if i, err := root.Lstat(f.rel); err == nil && i.IsDir() {
		return told(i18n.T(lang, "files.folder", "name", shown)), nil
	}
	dir, name := found{f.base, filepath.Dir(f.rel)}, filepath.Base(f.rel)
	switch bad, err := b.ignored(ctx, dir, []string{name}); {
	case err != nil:
		b.cfg.Log.WarnContext(ctx, "git does not say what it ignores", "err", err)
		return told(i18n.T(lang, "files.unsure", "name", shown)), nil
	case len(bad) > 0:
		return told(i18n.T(lang, "files.ignored", "name", shown)), nil
	}
	limit = b.largest(limit)
	file, head, why := open(root, f.rel, limit, lang)
	if why != "" {
		return told(i18n.T(lang, "files.refused", "name", shown, "why", why)), nil
	}
	defer file.Close()
	r, err := b.reply(cleanName(name), kindOf(head), show(filepath.Dir(f.rel)), lang, limit, func(w io.Writer) error {
		_, err := io.Copy(w, until{ctx, file})
		return err
	})
	if chat.CodeOf(err) == chat.Full { // it has grown
		return told(i18n.T(lang, "files.refused", "name", shown, "why", i18n.T(lang, "files.too_big", "limit", chat.Size(limit)))), nil
	}
	r.Silent = false
	return r, err
}

// until is a reader that ends with a context.
type until struct {
	ctx context.Context
	r   io.Reader
}

func (u until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, fmt.Errorf("read a file: %w", err)
	}
	return u.r.Read(p)
}

// notFound says why a path was not found.
func (b *Box) notFound(ctx context.Context, f found, asked, lang string, err error) (chat.Reply, error) {
	shown := show(asked)
	switch {
	case errors.Is(err, errOutside):
		return told(i18n.T(lang, "files.outside", "name", shown)), nil
	case errors.Is(err, errSecret):
		return told(i18n.T(lang, "files.refused", "name", shown, "why", i18n.T(lang, "files.secret"))), nil
	case !errors.Is(err, fs.ErrNotExist):
		return chat.Reply{}, err
	}
	if near := b.near(ctx, f); len(near) > 0 {
		return told(i18n.T(lang, "files.missing_near", "name", shown, "near", "`"+strings.Join(near, "`, `")+"`")), nil
	}
	return told(i18n.T(lang, "files.missing", "name", shown)), nil
}

// near are files beside a missing one whose names resemble it. None of them is
// ever sent instead.
func (b *Box) near(ctx context.Context, f found) []string {
	if f.base == "" {
		return nil
	}
	dir, want := filepath.Dir(f.rel), strings.ToLower(filepath.Base(f.rel))
	stem := strings.TrimSuffix(want, filepath.Ext(want))
	var out []string
	for _, e := range b.List(ctx, f.base, dir, "").Entries {
		name := strings.ToLower(filepath.Base(e.Path))
		alike := name == want || strings.TrimSuffix(name, filepath.Ext(name)) == stem ||
			utf8.RuneCountInString(stem) > 2 && (strings.Contains(name, stem) || strings.HasPrefix(want, strings.TrimSuffix(name, filepath.Ext(name))))
		if alike && len(out) < mostNear {
			out = append(out, show(e.Path))
		}
	}
	return out
}

// Listing is what a person may have of a folder.
type Listing struct {
	Entries []Entry
	More    int    // entries beyond those
	Text    string // the list in words, or why there is none
}

// Entry is a file or a folder in a listing.
type Entry struct {
	Path string // from the workspace, with slashes
	Size int64  // bytes
	Dir  bool
}

// List lists what of a folder may be fetched.
func (b *Box) List(ctx context.Context, workspace, dir, lang string) Listing {
	f, err := b.find(workspace, unquoted(dir))
	if err != nil {
		r, err := b.notFound(ctx, found{}, dir, lang, err)
		if err != nil {
			b.cfg.Log.WarnContext(ctx, "folder not listed", "err", err)
			r.Markdown = i18n.T(lang, "files.missing", "name", show(dir))
		}
		return Listing{Text: r.Markdown}
	}
	root, err := os.OpenRoot(f.abs())
	if err != nil {
		return Listing{Text: i18n.T(lang, "files.no_folder", "name", show(f.rel))}
	}
	defer root.Close()
	entries, err := list(root, ".")
	if err != nil {
		return Listing{Text: i18n.T(lang, "files.refused", "name", show(f.rel), "why", i18n.T(lang, "files.unreadable"))}
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	bad, err := b.ignored(ctx, f, names)
	if err != nil {
		b.cfg.Log.WarnContext(ctx, "git does not say what it ignores", "err", err)
		return Listing{Text: i18n.T(lang, "files.unsure", "name", show(f.rel))}
	}
	var l Listing
	for _, e := range entries {
		i, err := e.Info()
		path := filepath.ToSlash(filepath.Join(f.rel, e.Name()))
		if err != nil || secretName(e.Name()) || slices.Contains(bad, e.Name()) || !e.IsDir() && !i.Mode().IsRegular() ||
			b.private(f.base, filepath.Join(f.base, path)) {
			continue
		}
		if len(l.Entries) == mostShown {
			l.More++
			continue
		}
		l.Entries = append(l.Entries, Entry{Path: path, Size: i.Size(), Dir: e.IsDir()})
	}
	l.Text = l.words(show(f.rel), lang)
	return l
}

func (l Listing) words(name, lang string) string {
	if len(l.Entries) == 0 {
		return i18n.T(lang, "files.list_empty", "name", name)
	}
	lines := []string{i18n.T(lang, "files.list", "name", name), ""}
	for _, e := range l.Entries {
		line := "- `" + show(filepath.Base(e.Path))
		if e.Dir {
			line += "/`"
		} else {
			line += "` · " + chat.Size(e.Size)
		}
		lines = append(lines, line)
	}
	if l.More > 0 {
		lines = append(lines, "- "+i18n.T(lang, "files.list_more", "n", l.More))
	}
	return strings.Join(lines, "\n")
}

func told(text string) chat.Reply { return chat.Reply{Kind: chat.ReplyNotice, Markdown: text} }

// show is a path as it is shown between backticks.
func show(path string) string {
	const most = 200
	path = strings.Map(func(r rune) rune {
		switch {
		case r == '`':
			return '\''
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(filepath.ToSlash(path), "\uFFFD"))
	return chat.Clip(path, most)
}

// unquoted is a path without the quotes that people put around it.
func unquoted(path string) string {
	path = strings.TrimSpace(path)
	for _, q := range []string{"`", `"`, "'"} {
		if len(path) > 1 && strings.HasPrefix(path, q) && strings.HasSuffix(path, q) {
			return path[1 : len(path)-1]
		}
	}
	return path
}

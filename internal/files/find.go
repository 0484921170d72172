package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cligate/internal/folder"
)

// Git knows what git ignores.
type Git interface {
	// Ignored returns those of the names in a folder that git ignores. An error
	// means that nobody can tell; then nothing may be taken for not ignored.
	Ignored(ctx context.Context, dir string, names []string) ([]string, error)
}

// found is a path of a workspace after all links were followed.
type found struct {
	base string // the workspace
	rel  string // from there; "." = the workspace itself
}

func (f found) abs() string { return filepath.Join(f.base, f.rel) }

// Why a path is not found.
var (
	errOutside = errors.New("outside of the workspace")
	errSecret  = errors.New("on the secret list")
)

// find resolves a path that a person gave. The errors are errOutside, errSecret
// and fs.ErrNotExist; a path outside is refused without a look at it.
func (b *Box) find(workspace, asked string) (found, error) {
	base, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return found{}, fmt.Errorf("find the workspace: %w", err)
	}
	if strings.ContainsRune(asked, 0) {
		return found{}, fs.ErrNotExist
	}
	lexical, ok := inside(base, workspace, asked)
	switch {
	case !ok:
		return found{}, errOutside
	case secretName(lexical):
		return found{}, errSecret
	}
	whole, err := filepath.EvalSymlinks(filepath.Join(base, lexical))
	if err != nil {
		return found{base, lexical}, fs.ErrNotExist // or it cannot be reached, which comes to the same
	}
	rel, err := filepath.Rel(base, whole)
	switch {
	case err != nil || !filepath.IsLocal(rel):
		return found{}, errOutside
	case secretName(rel), b.private(base, whole):
		return found{}, errSecret
	}
	return found{base, rel}, nil
}

// inside is the asked path as seen from the workspace.
func inside(base, workspace, asked string) (rel string, ok bool) {
	if !filepath.IsAbs(asked) {
		rel = filepath.Clean(asked)
		return rel, filepath.IsLocal(rel)
	}
	for _, from := range []string{workspace, base} {
		if r, err := filepath.Rel(from, asked); err == nil && filepath.IsLocal(r) {
			return r, true
		}
	}
	return "", false
}

// private reports whether a path lies in a folder of ours that the workspace
// does not lie in.
func (b *Box) private(base, path string) bool {
	for _, p := range b.cfg.Private {
		if whole, err := filepath.EvalSymlinks(p); err == nil && below(whole, path) && !below(whole, base) {
			return true
		}
	}
	return false
}

func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// ignored returns which of the names in a folder git ignores: the repository
// that the folder is in, and every one around that. One around the workspace
// that ignores the workspace itself does not count: whoever put a workspace
// there, as our own default is put into a clone of our sources, means it.
func (b *Box) ignored(ctx context.Context, f found, names []string) ([]string, error) {
	if b.git == nil || ours(f.rel) || len(names) == 0 {
		return nil, nil
	}
	dir := f.abs()
	repo, ok := repository(dir)
	if !ok {
		return nil, nil
	}
	if out, err := b.disowned(ctx, f.base, repo); out || err != nil {
		return nil, err
	}
	bad, err := b.git.Ignored(ctx, dir, names)
	for err == nil && ok {
		above, inner := filepath.Dir(repo), filepath.Base(repo)
		if above == repo {
			break
		}
		if repo, ok = repository(above); !ok {
			break
		}
		if out, err := b.disowned(ctx, f.base, repo); out || err != nil {
			return bad, err
		}
		var around []string
		if around, err = b.git.Ignored(ctx, above, []string{inner}); len(around) > 0 {
			return names, nil
		}
	}
	return bad, err
}

// disowned reports whether a repository around the workspace ignores it as a
// whole.
func (b *Box) disowned(ctx context.Context, base, repo string) (bool, error) {
	if below(base, repo) {
		return false, nil // it is within the workspace, or is the workspace
	}
	bad, err := b.git.Ignored(ctx, filepath.Dir(base), []string{filepath.Base(base)})
	return len(bad) > 0, err
}

// repository returns the nearest folder at or above dir that is the top of a
// git repository.
func repository(dir string) (string, bool) {
	for {
		if isRepository(filepath.Join(dir, ".git")) {
			return dir, true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
}

// isRepository reports whether git would take a .git for one: a folder with a
// HEAD, or a file that says where the folder is. A worktree may lie in another
// user's folder; what cannot be looked at counts as one.
func isRepository(path string) bool {
	i, err := os.Stat(path)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	if !i.IsDir() {
		return true
	}
	_, err = os.Lstat(filepath.Join(path, "HEAD"))
	return !errors.Is(err, fs.ErrNotExist)
}

// ours reports whether a path of the workspace is a folder of ours, which git
// ignores because we say so: people may have what lies there.
func ours(rel string) bool {
	p := filepath.ToSlash(rel) + "/"
	return strings.HasPrefix(p, folder.Name+"/out/") || strings.HasPrefix(p, folder.Name+"/inbox/")
}

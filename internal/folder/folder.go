// Package folder makes CliGate's own folder inside a workspace: .cligate, which
// git ignores by a file of its own. What people send lies in its inbox, what
// agents send back in its out. An agent may have put anything there, so
// nothing is reached through a symbolic link, and nothing outside the workspace
// is touched.
package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Name is the folder's name in a workspace.
const Name = ".cligate"

// Open makes the folder .cligate/path of a workspace, where it is not there
// yet, and returns a root that nothing leads out of. Path has slashes and no
// dots. The caller closes the root.
func Open(workspace, path string) (*os.Root, error) {
	return descend(workspace, path, true)
}

// Find is Open for a folder that must be there; the error is fs.ErrNotExist
// when it is not.
func Find(workspace, path string) (*os.Root, error) {
	return descend(workspace, path, false)
}

func descend(workspace, path string, create bool) (*os.Root, error) {
	at, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	for i, name := range strings.Split(Name+"/"+path, "/") {
		next, err := enter(at, name, create)
		if err == nil && i == 0 && create {
			err = ignore(next)
		}
		_ = at.Close()
		if err != nil {
			if next != nil {
				_ = next.Close()
			}
			return nil, err
		}
		at = next
	}
	return at, nil
}

// enter goes into a folder of at that is no symbolic link.
func enter(at *os.Root, name string, create bool) (*os.Root, error) {
	if name == "" || strings.HasPrefix(name, "..") {
		return nil, fmt.Errorf("folder %q: %w", name, fs.ErrInvalid)
	}
	if create {
		if err := at.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("make folder %s: %w", name, err)
		}
	}
	seen, err := at.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("look at folder %s: %w", name, err)
	}
	if !seen.IsDir() {
		return nil, fmt.Errorf("%s is no folder: %w", name, fs.ErrInvalid)
	}
	next, err := at.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("open folder %s: %w", name, err)
	}
	opened, err := next.Stat(".")
	if err == nil && !os.SameFile(seen, opened) {
		err = fmt.Errorf("folder %s was exchanged: %w", name, fs.ErrInvalid)
	}
	return next, err
}

// ignore keeps git from taking the folder for a part of the work.
func ignore(at *os.Root) error {
	f, err := at.OpenFile(".gitignore", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("keep git from %s: %w", Name, err)
	}
	_, err = f.WriteString("*\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("keep git from %s: %w", Name, err)
	}
	return nil
}

package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cligate/internal/chat"
)

// workspace is /workspace [n|name]: where the agent works. Only configured
// directories can be chosen. A change replaces the session.
func workspace(ctx context.Context, s *Set, c Call) (Result, error) {
	if c.Arg == "" {
		return offerWorkspaces(s, c), nil
	}
	all := s.cfg.Workspaces
	i := slices.IndexFunc(all, func(w Workspace) bool { return w.Name == c.Arg })
	if n, err := number(c.Arg); i < 0 && err == nil && n <= int64(len(all)) {
		i = int(n) - 1
	}
	if i < 0 {
		name, err := word(c.Arg)
		if err != nil {
			return Result{}, err
		}
		names := make([]string, len(all))
		for n, w := range all {
			names[n] = w.Name
		}
		return unknown(c, "workspace_unknown", name, names), nil
	}
	was := c.Conv
	c.Conv.Workspace = all[i].Path
	return change(ctx, s, c, changed{was: was, key: "workspace", value: all[i].Name})
}

// offerWorkspaces lists them, numbered from 1 as the argument and the buttons
// are.
func offerWorkspaces(s *Set, c Call) Result {
	lines := []string{c.text("workspace_choose")}
	var rows [][]chat.Button
	for i, w := range s.cfg.Workspaces {
		line := fmt.Sprintf("%d. %s · %s", i+1, w.Name, w.Path)
		if w.Path == c.Conv.Workspace {
			line += " · " + c.text("session_current")
		} else {
			rows = addButton(rows, 3, chat.Button{Label: clip(w.Name), Data: id("ws", int64(i+1))})
		}
		lines = append(lines, line)
	}
	return notice(strings.Join(lines, "\n"), rows...)
}

// workspaceName is the configured name of a directory, or its path when it is
// not configured any more.
func (s *Set) workspaceName(path string) string {
	for _, w := range s.cfg.Workspaces {
		if w.Path == path {
			return w.Name
		}
	}
	return path
}

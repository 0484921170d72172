package command

import (
	"context"
	"fmt"
	"path"
	"strings"

	"cligate/internal/chat"
)

// mostTaps is how many entries of a listing get a button.
const mostTaps = 16

// file is /file get path, /file ls [folder] and the buttons of a listing: files
// of the conversation's workspace. It needs no agent, may be asked again, and
// may take as long as git and the disk do.
func file(ctx context.Context, s *Set, c Call) (Result, error) {
	if s.Files == nil {
		return c.say("file_off"), nil
	}
	verb, rest := c.Arg, ""
	if i := strings.IndexAny(c.Arg, " \n\t"); i >= 0 {
		verb, rest = c.Arg[:i], strings.TrimSpace(c.Arg[i:])
	}
	w := Where{Workspace: c.Conv.Workspace, Path: rest, Lang: c.Lang, Account: c.In.Place.Account}
	switch {
	case verb == "ls", verb == "":
		return s.listing(ctx, w), nil
	case verb == "get" && rest == "":
		return failed(chat.Invalid, verb)
	case verb != "get": // the path alone
		w.Path = c.Arg
	}
	r, err := s.Files.Fetch(ctx, w)
	if err != nil {
		return Result{}, fmt.Errorf("fetch a file: %w", err)
	}
	return Result{Replies: []chat.Reply{r}}, nil
}

// listing shows a folder. An entry whose path fits into a button gets one; what
// the press may do is checked as the command is.
func (s *Set) listing(ctx context.Context, w Where) Result {
	l := s.Files.List(ctx, w)
	var rows [][]chat.Button
	for _, e := range l.Entries {
		verb, label := "get", path.Base(e.Path)
		if e.Dir {
			verb, label = "ls", label+"/"
		}
		data := "file:" + verb + " " + e.Path
		if len(data) > maxData || len(rows) == mostTaps || strings.TrimSpace(e.Path) != e.Path {
			continue
		}
		rows = append(rows, []chat.Button{{Label: clip(label), Data: data}})
	}
	return notice(l.Text, rows...)
}

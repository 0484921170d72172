package command

import (
	"context"
	"errors"
	"strings"
	"testing"

	"cligate/internal/chat"
)

// drawer is files for tests.
type drawer struct {
	asked []Where
	list  []FileEntry
	err   error
}

// Fetch implements Files.
func (d *drawer) Fetch(_ context.Context, w Where) (chat.Reply, error) {
	d.asked = append(d.asked, w)
	return chat.Reply{Kind: chat.ReplyFile, Markdown: w.Path, File: &chat.OutFile{Name: w.Path}}, d.err
}

// List implements Files.
func (d *drawer) List(_ context.Context, w Where) Listing {
	d.asked = append(d.asked, w)
	return Listing{Text: "list of " + w.Path, Entries: d.list}
}

func fileCall(arg string, role chat.Role) Call {
	c := Call{Name: "file", Arg: arg, Lang: "en", Conv: chat.Conversation{ID: 1, Workspace: "/work"}}
	c.In.Role, c.In.Place.Account = role, "tg"
	return c
}

func TestFilesAreAskedForInTheWorkspaceOfTheConversation(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]string{
		"get a b.txt": "get a b.txt", "get  src/x.go ": "get src/x.go", "src/x.go": "get src/x.go", "my file.txt": "get my file.txt",
		"": "list of ", "ls": "list of ", "ls docs": "list of docs", "get ls": "get ls",
	} {
		d := &drawer{}
		s := &Set{Deps: Deps{Files: d}, table: table()}
		for range 2 { // a command may be carried out again
			r, err := s.Run(t.Context(), fileCall(arg, chat.RoleMember))
			if err != nil || len(r.Replies) != 1 {
				t.Fatalf("%q: %+v, %v", arg, r, err)
			}
			got := r.Replies[0].Markdown
			if r.Replies[0].File != nil {
				got = "get " + got
			}
			if got != want {
				t.Errorf("%q: %q, want %q", arg, got, want)
			}
		}
		if w := d.asked[0]; w.Workspace != "/work" || w.Account != "tg" || w.Lang != "en" {
			t.Errorf("%q: asked for %+v", arg, w)
		}
	}
}

func TestFilesAreForMembersAndOnlyWhereTheyAreOn(t *testing.T) {
	t.Parallel()
	d := &drawer{}
	s := &Set{Deps: Deps{Files: d}, table: table()}
	for _, role := range []chat.Role{chat.RoleViewer, ""} {
		if _, err := s.Run(t.Context(), fileCall("get x", role)); chat.CodeOf(err) != chat.Denied || len(d.asked) > 0 {
			t.Errorf("role %q: %v", role, err)
		}
	}
	if _, err := s.Run(t.Context(), fileCall("get", chat.RoleMember)); chat.CodeOf(err) != chat.Invalid || !strings.Contains(chat.DetailOf(err), "/file") {
		t.Errorf("without a path: %v", err)
	}
	d.err = errors.New("disk")
	if _, err := s.Run(t.Context(), fileCall("get x", chat.RoleMember)); chat.CodeOf(err) != chat.Internal {
		t.Errorf("a defect: %v", err)
	}
	off := &Set{table: table()}
	if r, err := off.Run(t.Context(), fileCall("get x", chat.RoleOwner)); err != nil || !strings.Contains(r.Replies[0].Markdown, "files.get") {
		t.Errorf("switched off: %+v, %v", r, err)
	}
}

func TestListingHasAButtonWhereThePathFitsIntoIt(t *testing.T) {
	t.Parallel()
	d := &drawer{list: []FileEntry{
		{Path: "docs", Dir: true}, {Path: "docs/plan v2.txt"}, {Path: strings.Repeat("long/", 20) + "x"}, {Path: "trailing "},
	}}
	s := &Set{Deps: Deps{Files: d}, table: table()}
	r, err := s.Run(t.Context(), fileCall("ls", chat.RoleMember))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range r.Replies[0].Buttons {
		got = append(got, row[0].Label+"="+row[0].Data)
		name, arg, ok := s.Click(row[0].Data) // the press says what the command says
		if !ok || name != "file" || "file:"+arg != row[0].Data {
			t.Errorf("the press means %q %q", name, arg)
		}
	}
	if strings.Join(got, "|") != "docs/=file:ls docs|plan v2.txt=file:get docs/plan v2.txt" {
		t.Errorf("buttons %q", got)
	}
	d.list = nil
	for range 40 {
		d.list = append(d.list, FileEntry{Path: "f"})
	}
	if r, _ := s.Run(t.Context(), fileCall("ls", chat.RoleMember)); len(r.Replies[0].Buttons) > mostTaps {
		t.Errorf("%d buttons", len(r.Replies[0].Buttons))
	}
}

package telegram

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"testing"
)

// incoming holds, for rules that pass something over, whether a bot gets it.
var incoming = map[Rule]func(t *testing.T, s *Server) bool{
	RuleFileLink: func(t *testing.T, s *Server) bool {
		id := s.Say(token, Say{Chat: alice, File: &File{Kind: "document", Name: "a.txt", Body: []byte("content")}})
		path := pathOf(t, s, id)
		_, ok := get(t, s, "another:token", path)
		return ok
	},
	RuleReacting: func(t *testing.T, s *Server) bool {
		id := s.Say(token, Say{Chat: group, From: bob, Text: "/x"})
		s.React(token, group, id, bob, "👍")
		return reactions(t, s, `["message_reaction"]`) == 1
	},
	RuleUnasked: func(t *testing.T, s *Server) bool {
		id := s.Say(token, Say{Chat: alice, Text: "x"})
		s.React(token, alice, id, alice, "👍")
		return reactions(t, s, `["message"]`) == 1
	},
}

func pathOf(t *testing.T, s *Server, message int64) string {
	t.Helper()
	var f struct {
		Path string `json:"file_path"`
	}
	r := call(t, s, "getFile", "file_id", fileID(message))
	if err := json.Unmarshal(r.Result, &f); err != nil || f.Path == "" {
		t.Fatalf("%+v: %v", r, err)
	}
	return f.Path
}

func get(t *testing.T, s *Server, token, path string) (string, bool) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/file/bot"+token+"/"+(&url.URL{Path: path}).EscapedPath(), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return string(b), resp.StatusCode == http.StatusOK
}

func reactions(t *testing.T, s *Server, allowed string) (n int) {
	t.Helper()
	var us []struct {
		Reaction *struct{} `json:"message_reaction"`
	}
	r := call(t, s, "getUpdates", "timeout", 0, "allowed_updates", json.RawMessage(allowed))
	if err := json.Unmarshal(r.Result, &us); err != nil {
		t.Fatal(err)
	}
	for _, u := range us {
		if u.Reaction != nil {
			n++
		}
	}
	return n
}

func TestWhatIsPassedOver(t *testing.T) {
	t.Parallel()
	all := maps.Clone(incoming)
	maps.Copy(all, topicFacts)
	for rule, passes := range all {
		if passes(t, start(t)) {
			t.Errorf("%s: with the rule it is handed over", rule)
		}
		if !passes(t, start(t, rule)) {
			t.Errorf("%s: without the rule it is not", rule)
		}
	}
}

func TestFilesAreHandedOut(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := s.Say(token, Say{Chat: alice, Text: "look", File: &File{Kind: "photo", Body: []byte("picture")}})
	path := pathOf(t, s, id)
	s.BreakDownloads(1)
	if _, ok := get(t, s, token, path); ok {
		t.Error("a broken download works")
	}
	if body, ok := get(t, s, token, path); !ok || body != "picture" || s.Downloads(id) != 1 {
		t.Errorf("%q, %v, %d downloads", body, ok, s.Downloads(id))
	}
	s.LocalMode(t.TempDir())
	if b, err := os.ReadFile(pathOf(t, s, id)); err != nil || string(b) != "picture" {
		t.Errorf("in local mode: %q, %v", b, err)
	}
	big := s.Say(token, Say{Chat: alice, File: &File{Kind: "document", Size: maxDownload + 1}})
	if r := call(t, s, "getFile", "file_id", fileID(big)); !r.OK {
		t.Errorf("local mode has a limit: %+v", r)
	}
	s.DropFiles()
	if r := call(t, s, "getFile", "file_id", fileID(id)); r.OK {
		t.Error("a forgotten file is found")
	}
}

func TestAnEditKeepsTheFileAndChangesTheCaption(t *testing.T) {
	t.Parallel()
	s := start(t)
	id := s.Say(token, Say{Chat: alice, Text: "/look", File: &File{Kind: "document", Name: "a.txt", Body: []byte("x")}})
	s.EditText(token, alice, id, "better")
	var us []struct {
		Message *struct {
			Text     string
			Caption  string
			Entities []entity `json:"caption_entities"`
			Document *struct {
				Name string `json:"file_name"`
			}
		} `json:"edited_message"`
	}
	r := call(t, s, "getUpdates", "timeout", 0)
	if err := json.Unmarshal(r.Result, &us); err != nil || len(us) != 2 || us[1].Message == nil {
		t.Fatalf("%s, %v", r.Result, err)
	}
	if m := us[1].Message; m.Text != "" || m.Caption != "better" || m.Document == nil || m.Document.Name != "a.txt" {
		t.Errorf("%+v", m)
	}
}

func TestAnAdministratorHearsOfReactions(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.MakeAdmin(group)
	id := s.Say(token, Say{Chat: group, From: bob, Text: "/x"})
	s.React(token, group, id, bob, "👍")
	s.React(token, group, id, bob)
	s.ReactAnonymously(token, group, id, "👎")
	if n := reactions(t, s, `["message_reaction"]`); n != 3 {
		t.Errorf("%d updates", n)
	}
}

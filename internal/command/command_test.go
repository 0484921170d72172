package command

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

func TestCommandsAreTakenFromTheirTextOnly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"/new": {"new"}, " /new ": {"new"}, "/NEW": {"new"}, "/new fix the bug": {"new", "fix the bug"},
		"/new\nfirst line\nsecond": {"new", "first line\nsecond"}, "/deny\u00a0no": {"deny", "no"}, "/mcp:tool x": {"mcp:tool", "x"},
		"new": {}, "/": {}, "//": {}, "/ new": {}, "/etc/passwd": {}, "/usr/bin is": {}, "please /new": {}, "/9lives": {}, "/新": {}, "/new!": {},
		"": {}, "/a\xff": {}, "/" + strings.Repeat("x", 65): {},
	} {
		name, arg, ok := Parse(text)
		if name != want[0] || arg != want[1] || ok != (want[0] != "") {
			t.Errorf("Parse(%q) = %q, %q, %v", text, name, arg, ok)
		}
	}
}

func TestWhatWaitsCanBeTold(t *testing.T) {
	t.Parallel()
	for want, in := range map[string]chat.Input{
		"do it now":     {Pieces: []chat.Piece{{Text: "do it"}, {Text: "now"}}},
		"> theirs":      {Pieces: []chat.Piece{{Quote: "theirs"}}},
		"mine":          {Pieces: []chat.Piece{{Quote: "theirs", Text: "mine"}}},
		"[photo a.png]": {Pieces: []chat.Piece{{Files: []chat.FileRef{{Kind: "photo", Name: "a.png"}}}}},
	} {
		if got := summary(in); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestMistypedNamesFindTheNearestOne(t *testing.T) {
	t.Parallel()
	names := (&Set{table: table()}).Names()
	for typed, want := range map[string]string{
		"stauts": "status", "stat": "status", "sop": "stop", "sesions": "sessions", "hlep": "help", "mdoel": "model",
		"frobnicate": "", "x": "", "aprove": "approve", "wrokspace": "workspace",
	} {
		if got := Nearest(typed, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", typed, got, want)
		}
	}
}

func TestEveryCommandHasItsTextsAndItsOwnName(t *testing.T) {
	t.Parallel()
	names, verbs := map[string]bool{}, map[string]bool{}
	for _, p := range table() {
		if names[p.name] || (p.verb != "" && verbs[p.verb]) {
			t.Errorf("%s is there twice", p.name)
		}
		names[p.name], verbs[p.verb] = true, true
		if !p.quiet && !i18n.Has("command.help_"+p.name) {
			t.Errorf("/%s has no help", p.name)
		}
		if p.least == chat.RoleNone {
			t.Errorf("/%s asks for no role", p.name)
		}
		if !nameRule.MatchString(p.name) {
			t.Errorf("/%s cannot be typed", p.name)
		}
	}
	for _, key := range []string{
		"choice_continue", "choice_retry", "choice_drop", "applies_now", "applies_next", "applies_reopen",
		"role_owner", "role_operator", "role_member", "role_viewer",
	} {
		if !i18n.Has("command." + key) {
			t.Errorf("there is no text %s", key)
		}
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	for _, bad := range [][]Workspace{nil, {{Name: "a"}}, {{Path: "/"}}, {{"a", "/x"}, {"a", "/y"}}} {
		if _, err := New(Deps{}, Config{Workspaces: bad}); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
}

func TestNumbersHaveOneMeaning(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]int64{
		"1": 1, "#12": 12, " 7 ": 7, "": 0, "#": 0, "0": 0, "-1": 0, "+1": 0, "1.5": 0, "1e3": 0, "99999999999999999999": 0, "##1": 0, "x": 0, "#+1": 0,
	} {
		got, err := number(arg)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("number(%q) = %d, %v", arg, got, err)
		}
	}
}

func FuzzCommand(f *testing.F) {
	for _, s := range []string{"/new x", "/", "/a\x00b", "/é", "/use #1", "stop:1", "ws:0", "//", "/deny #1 why"} {
		f.Add(s)
	}
	set := &Set{table: table()}
	names := set.Names()
	f.Fuzz(func(t *testing.T, text string) {
		name, arg, ok := Parse(text)
		if ok && (!nameRule.MatchString(name) || arg != strings.TrimSpace(arg) || !utf8.ValidString(arg)) {
			t.Errorf("Parse(%q) = %q, %q", text, name, arg)
		}
		if near := Nearest(name, names); near != "" && !slices.Contains(names, near) {
			t.Errorf("Nearest(%q) = %q", name, near)
		}
		if n, err := number(text); err == nil && n <= 0 {
			t.Errorf("number(%q) = %d", text, n)
		}
		if w, err := word(text); err == nil && (w != text || strings.ContainsAny(w, " \n;$`'\"\\<>|&")) {
			t.Errorf("word(%q) = %q", text, w)
		}
		if c, arg, ok := set.Click(text); ok && (!set.Has(c) || len(arg) > maxData) {
			t.Errorf("Click(%q) = %q, %q", text, c, arg)
		}
		if c := clip(text); utf8.RuneCountInString(c) > 60 {
			t.Errorf("clip left %d runes", utf8.RuneCountInString(c))
		}
	})
}

func TestNobodyIsOfferedACommandThatWouldBeRefused(t *testing.T) {
	t.Parallel()
	s := &Set{table: table()}
	last := -1
	for _, role := range []chat.Role{chat.RoleNone, chat.RoleViewer, chat.RoleMember, chat.RoleOperator, chat.RoleOwner} {
		m := s.Menu("en", role)
		for _, e := range m {
			if p, ok := s.find(e.Name); !ok || p.quiet || !role.Covers(p.least) {
				t.Errorf("%q is offered /%s", role, e.Name)
			}
		}
		if len(m) < last || role == chat.RoleNone && len(m) != 0 {
			t.Errorf("%q is offered %d commands, a lesser role %d", role, len(m), last)
		}
		last = len(m)
	}
	if last < 20 {
		t.Errorf("owners are offered %d commands", last)
	}
}

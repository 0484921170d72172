package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cligate/internal/i18n"
	"cligate/internal/sim/rig"
	"cligate/internal/sim/telegram"
)

func TestNobodyMayTalkWhereNobodyIsNamed(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{Env: []string{"CLIGATE_TELEGRAM_OWNERS="}})
	u.Say("remember the word plum")
	u.Say("/start")
	u.Await(text("receive.stranger", "id", rig.Owner))
	u.quiet(0)
	if n := u.r.Count("SELECT count(*) FROM inbound"); n != 0 {
		t.Errorf("%d messages are stored", n)
	}
	// The operator got a way in at the start: for one person, once.
	var code []string
	u.r.Until("the operator is given a link", func() bool {
		raw, err := os.ReadFile(u.r.LogFile())
		code = regexp.MustCompile(`t\.me/\S+\?start=(\S+)`).FindStringSubmatch(string(raw))
		return err == nil && code != nil
	})
	u.ask("/start "+code[1], text("receive.paired", "role", text("receive.role_owner")))
	u.remember("plum")
	u.r.Telegram.AddChat(stranger, telegram.Private, "Stranger")
	late := u.in(u.r.ChatAs(stranger, stranger))
	late.ask("/start "+code[1], text("receive.pairing_wrong"))
	u.quiet(1)
}

func TestAgentSeesNothingOfAnOuterSessionAndOfTheDaemon(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{NoTelegram: true, Env: []string{
		"CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_OAUTH_TOKEN=frozen", "ANTHROPIC_API_KEY=mine", "AWS_SECRET_ACCESS_KEY=canary",
		"CLIGATE_AGENTS_CLAUDE_ENV=WANTED=1,HOSTNAME", "HOSTNAME=here",
	}})
	m := u.ask("env", "env: ")
	given := strings.Fields(m.Text)
	for name, want := range map[string]bool{
		"CLAUDECODE": false, "CLAUDE_CODE_ENTRYPOINT": false, "CLAUDE_CODE_OAUTH_TOKEN": false, "AWS_SECRET_ACCESS_KEY": false,
		"CLIGATE_DATA_DIR": false, "CLIGATE_TELEGRAM_TOKEN": false, "ANTHROPIC_API_KEY": true, "WANTED": true, "HOSTNAME": true, "HOME": true,
	} {
		got := false
		for _, g := range given {
			got = got || g == name
		}
		if got != want {
			t.Errorf("%s is given: %v", name, got)
		}
	}
	// What a message says never stands in a command line.
	m = u.ask("args --help; -rf", "args: ")
	if strings.Contains(m.Text, "-rf") {
		t.Errorf("%s", m.Text)
	}
	u.ask("--help", "--help")
	u.ask("- item", "item")
}

func TestMissingWorkspaceIsSaidAndEndsNothing(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{NoTelegram: true})
	u.remember("plum")
	before := u.status()
	u.asleep()
	work := filepath.Join(u.r.Dir, "work")
	if err := os.Rename(work, work+"-away"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		u.ask("what was the word?", "workspace is not there: "+work)
	}
	if err := os.Rename(work+"-away", work); err != nil {
		t.Fatal(err)
	}
	u.kept(before, "plum")
}

func TestChoicesOutliveARestartAndTheFileIsNotTouched(t *testing.T) {
	t.Parallel()
	o := workspaces(t, "shop")
	o.NoTelegram = true
	file := strings.TrimPrefix(o.Env[0], "CLIGATE_CONFIG=")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	u := house(t, o)
	other := u.in(u.r.WebChat("another"))
	other.remember("fig")
	u.remember("plum")
	u.ask("/model sim-large", text("command.applies_now"))
	u.ask("/workspace shop", text("command.workspace_set", "workspace", "shop"))
	u.ask("/model sim-large", "sim-large")
	u.remember("pear")
	now := u.status()
	u.r.Kill()
	u.r.Start()
	u.kept(now, "pear")
	if s := u.status(); s.model != "sim-large" || !strings.Contains(s.text, "shop") {
		t.Errorf("status %s", s.text)
	}
	other.recall("fig")
	if s := other.status(); s.model != "sim-small" || strings.Contains(s.text, "Workspace: shop") {
		t.Errorf("a choice of one chat reached another: %s", s.text)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("the configuration became %q, %v", after, err)
	}
}

// Each class of failure is told in the language of who wrote, without anything
// from inside.
func TestFailuresAreToldInTheUsersLanguage(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Owners: []int64{rig.Owner, 1002}})
	r.Start()
	english, chinese := user{r.Chat(rig.Owner), t, r}, user{r.Chat(1002), t, r}
	say := map[string]func(string){
		"en": english.Say,
		"zh": func(words string) {
			r.Telegram.Say(rig.Token, telegram.Say{Chat: 1002, From: 1002, Text: words, Extra: map[string]any{
				"from": map[string]any{"id": 1002, "is_bot": false, "first_name": "Li", "language_code": "zh-hans"}}})
		},
	}
	chats := map[string]user{"en": english, "zh": chinese}
	for fault, key := range map[string]string{
		"400": "agent_error", "404": "model_unknown", "429": "quota", "500": "overloaded", "529": "overloaded", "login": "logged_out",
		"network": "network", "context": "context_full", "limit": "quota",
	} {
		for lang, u := range chats {
			known := u.known()
			say[lang]("fail " + fault)
			want, _, _ := strings.Cut(i18n.T(lang, "error."+key, "agent", titles[rig.Claude]), "{")
			m := u.news(known, strings.TrimSpace(want))
			for _, leak := range []string{"stopReason", "goroutine", "exit code", "{", "error."} {
				if strings.Contains(m.Text, leak) {
					t.Errorf("%s in %s: %s", fault, lang, m.Text)
				}
			}
		}
	}
	for lang, u := range chats {
		known := u.known()
		say[lang]("/frobnicate")
		want, _, _ := strings.Cut(i18n.T(lang, "command.unknown", "name", "frobnicate"), "{")
		u.news(known, want)
	}
}

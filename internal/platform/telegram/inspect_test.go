package telegram

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"cligate/internal/platform"
	fakebot "cligate/internal/sim/telegram"
)

// finding is what was found under a name.
func finding(t *testing.T, fs []platform.Finding, name string) platform.Finding {
	t.Helper()
	for _, f := range fs {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("nothing about %q in %+v", name, fs)
	return platform.Finding{}
}

func TestTheDoctorNamesEachSettingAndWhatToDo(t *testing.T) {
	t.Parallel()
	room := fmt.Sprint(team)
	menus := everywhere(map[string][]Command{"": {{"new", "start"}}})
	register := func(a *Adapter, _ *fakebot.Server) { a.menu.sync(context.Background(), map[menuKey][32]byte{}) }
	for name, c := range map[string]struct {
		cfg   Config
		q     platform.Inquiry
		set   func(a *Adapter, srv *fakebot.Server)
		about string
		ok    bool
		want  string
	}{
		"reachable":            {about: "", ok: true, want: "@testbot is reachable at http://127.0.0.1"},
		"revoked":              {set: func(_ *Adapter, s *fakebot.Server) { s.Revoke(testToken) }, about: "", want: "the one that BotFather shows"},
		"sees everything":      {about: "privacy", ok: true, want: "sees everything"},
		"privacy":              {set: flags("can_read_all_group_messages", false), about: "privacy", ok: true, want: "/setprivacy"},
		"no groups":            {set: flags("can_join_groups", false), about: "groups", ok: true, want: "/setjoingroups"},
		"no topics":            {about: "topics", ok: true, want: "Threaded Mode"},
		"topics":               {set: flags("has_topics_enabled", true), about: "topics", ok: true, want: "a conversation of its own"},
		"no description":       {about: "profile", ok: true, want: "/setdescription"},
		"described":            {set: func(_ *Adapter, s *fakebot.Server) { s.Describe(testToken, "works", "w") }, about: "profile", ok: true, want: "are set"},
		"clock":                {about: "clock", ok: true, want: "agrees"},
		"wrong clock":          {set: func(_ *Adapter, s *fakebot.Server) { s.Skew(-10 * time.Minute) }, about: "clock", want: "s off; have it set by the network"},
		"menus not set yet":    {cfg: Config{Menus: menus}, q: platform.Inquiry{Alone: true}, about: "commands", ok: true, want: "when the daemon starts"},
		"menus on their way":   {cfg: Config{Menus: menus}, about: "commands", ok: true, want: "being registered"},
		"menus not set":        {cfg: Config{Menus: menus}, set: func(a *Adapter, _ *fakebot.Server) { a.menu.settled = true }, about: "commands", want: "not registered"},
		"menus set":            {cfg: Config{Menus: menus}, set: register, about: "commands", ok: true, want: "1 command menus are registered"},
		"polling":              {set: func(_ *Adapter, s *fakebot.Server) { s.Say(testToken, fakebot.Say{Chat: ann, Text: "x"}) }, about: "delivery", ok: true, want: "no webhook is set; 1 updates wait"},
		"a webhook":            {set: func(_ *Adapter, s *fakebot.Server) { s.SetWebhook(testToken, true) }, about: "delivery", want: "telegram.remove_webhook"},
		"nobody else":          {q: platform.Inquiry{Alone: true}, about: "second program", ok: true, want: "nobody else"},
		"member":               {q: platform.Inquiry{Groups: []platform.KnownGroup{{Chat: room, Title: "Team"}}}, about: "group Team", ok: true, want: "member"},
		"hears nothing":        {q: platform.Inquiry{Groups: []platform.KnownGroup{{Chat: room, Title: "Team", All: true}}}, set: flags("can_read_all_group_messages", false), about: "group Team", want: "privacy mode hides that"},
		"administrator":        {q: platform.Inquiry{Groups: []platform.KnownGroup{{Chat: room, All: true}}}, set: admin("can_manage_topics"), about: "group " + room, ok: true, want: "it can make and close topics, it cannot delete"},
		"administrator, hears": {q: platform.Inquiry{Groups: []platform.KnownGroup{{Chat: room, All: true}}}, set: admin("can_delete_messages"), about: "group " + room, ok: true, want: "it sees everything, it cannot make"},
		"gone":                 {q: platform.Inquiry{Groups: []platform.KnownGroup{{Chat: room, Title: "Team"}}}, set: func(_ *Adapter, s *fakebot.Server) { s.Kick(testToken, team, true) }, about: "group Team", ok: true, want: "no longer there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, srv, _ := strict(t, c.cfg)
			if c.set != nil {
				c.set(a, srv)
			}
			f := finding(t, a.Inspect(t.Context(), c.q), c.about)
			if f.OK != c.ok || !strings.Contains(f.Detail, c.want) {
				t.Errorf("%+v, want ok=%v %q", f, c.ok, c.want)
			}
		})
	}
}

func flags(name string, value bool) func(*Adapter, *fakebot.Server) {
	return func(_ *Adapter, s *fakebot.Server) { s.SetFlags(testToken, map[string]any{name: value}) }
}

func admin(right string) func(*Adapter, *fakebot.Server) {
	return func(_ *Adapter, s *fakebot.Server) { s.Promote(testToken, team, map[string]any{right: true}) }
}

func TestTheDoctorFindsASecondProgramAndHarmsNothing(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{})
	other, _ := open(t, Config{APIURL: srv.URL, PollTimeout: 20 * time.Second})
	in := newInbox()
	start(t, other, in)
	if !srv.Wait(patience, func() bool { return other.Health().Connected }) {
		t.Fatal("the other does not receive")
	}
	f := finding(t, a.Inspect(t.Context(), platform.Inquiry{Alone: true}), "second program")
	if f.OK || !strings.Contains(f.Detail, "another program") {
		t.Errorf("%+v", f)
	}
	srv.Say(testToken, fakebot.Say{Chat: ann, Text: "still"})
	if !srv.Wait(patience, func() bool { return len(in.texts()) == 1 }) {
		t.Error("the other program lost a message")
	}
}

func TestTheDoctorSaysWhatBecomesOfAWebhook(t *testing.T) {
	t.Parallel()
	at := "https://bot.example.org/in"
	hook := Webhook{URL: at, Addr: "127.0.0.1:1", Secret: hookSecret}
	for name, c := range map[string]struct {
		info  string
		alone bool
		ok    bool
		want  string
	}{
		"not yet":         {`"url":""`, true, true, "when the daemon starts"},
		"gone":            {`"url":""`, false, false, "does another program poll"},
		"another's":       {`"url":"https://x.example.org/"`, false, false, "another program"},
		"delivers":        {`"url":"` + at + `","pending_update_count":0`, false, true, "received at 127.0.0.1:1; 0 updates wait"},
		"cannot deliver":  {`"url":"` + at + `","pending_update_count":7,"last_error_date":1700000000,"last_error_message":"Connection refused"`, false, false, "Connection refused (2023-11-14T22:13:20Z; 7 updates wait)"},
		"nobody is there": {`"url":"` + at + `","pending_update_count":7,"last_error_date":1700000000,"last_error_message":"Connection refused"`, true, true, "7 updates wait"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, _ := offline(t, Config{Webhook: hook}, func(method string, _ url.Values) (int, string) {
				switch method {
				case "getMe":
					return ok(meJSON)
				case "getWebhookInfo":
					return ok("{" + c.info + "}")
				}
				return no(404, "Not Found: method not found")
			})
			fs := a.Inspect(t.Context(), platform.Inquiry{Alone: c.alone})
			if f := finding(t, fs, "delivery"); f.OK != c.ok || !strings.Contains(f.Detail, c.want) {
				t.Errorf("%+v, want ok=%v %q", f, c.ok, c.want)
			}
			if f := finding(t, fs, "profile"); !f.OK || !strings.Contains(f.Detail, "cannot tell") {
				t.Errorf("an older server: %+v", f)
			}
		})
	}
}

func TestTheDoctorPrintsNoSecret(t *testing.T) {
	t.Parallel()
	a, _ := offline(t, Config{Proxy: "socks5://u:hunter2secret@127.0.0.1:9", Webhook: Webhook{URL: "https://bot.example.org/in", Addr: "127.0.0.1:1", Secret: hookSecret}},
		func(method string, _ url.Values) (int, string) {
			if method == "getMe" {
				return ok(meJSON)
			}
			return no(http.StatusBadRequest, "Bad Request: "+testToken+" hunter2secret "+hookSecret)
		})
	said := fmt.Sprintf("%+v", a.Inspect(t.Context(), platform.Inquiry{Alone: true, Groups: []platform.KnownGroup{{Chat: "-1"}}}))
	for _, secret := range []string{testToken, "hunter2secret", hookSecret} {
		if strings.Contains(said, secret) {
			t.Errorf("%q is in %s", secret, said)
		}
	}
	if !strings.Contains(said, "through socks5://127.0.0.1:9") {
		t.Errorf("the proxy is not named: %s", said)
	}
}

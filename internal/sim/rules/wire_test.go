package rules

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/sim/rig"
	"cligate/internal/sim/telegram"
	"cligate/internal/web/api"
	"cligate/internal/web/client"
)

// second is the token of another bot of these tests.
const second = "5353:AAcanary-token-of-the-second-bot"

// account is how the daemon says that an account is.
func (u user) account(name string) api.Account {
	u.t.Helper()
	c := client.New(u.r.Socket(), "en")
	defer c.Close()
	s, err := c.Status(u.t.Context())
	if err != nil {
		u.t.Fatal(err)
	}
	for _, a := range s.Accounts {
		if a.Account == name {
			return a
		}
	}
	u.t.Fatalf("no account %s in %+v", name, s.Accounts)
	return api.Account{}
}

// rob polls with the same token, as a second program does, until ctx ends.
func rob(ctx context.Context, base string) {
	for ctx.Err() == nil {
		form := strings.NewReader(url.Values{"timeout": {"3"}}.Encode())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/bot"+rig.Token+"/getUpdates", form)
		if err != nil {
			return
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return
		}
		_ = resp.Body.Close()
	}
}

func TestTheOwnerIsToldOfASecondProgramOnTheToken(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{})
	u.remember("plum")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	known := u.known()
	go func() { defer close(done); rob(ctx, u.r.Telegram.URL) }() // ends with ctx
	u.news(known, text("telegram.poller")[:60])
	if a := u.account("telegram"); !a.Connected && !strings.Contains(a.Detail, "another program") {
		t.Errorf("the status says %+v", a)
	}
	stop()
	<-done
	u.recall("plum")
	u.r.Until("all is well again", func() bool { return u.account("telegram").Connected })
}

// twoBots is a configuration file with a second bot.
func twoBots(t *testing.T, r *rig.Rig) string {
	t.Helper()
	file := filepath.Join(r.Dir, "bots.yaml")
	body := fmt.Sprintf("telegram_bots:\n  - name: helper\n    token: %q\n    owners: [\"%d\"]\n    poll_timeout: 5s\n", second, rig.Owner)
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	return "CLIGATE_CONFIG=" + file
}

// visible waits until a bot shows a text in the owner's chat.
func visible(u user, token, want string) {
	u.t.Helper()
	u.r.Until(want+" is shown", func() bool {
		for _, m := range u.r.Telegram.Visible(token, rig.Owner) {
			if strings.Contains(m.Text, want) {
				return true
			}
		}
		return false
	})
}

func TestOneRevokedTokenStopsNoOtherBot(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Telegram.AddBot(second, "helper_bot", false)
	r.Start(twoBots(t, r))
	u := user{r.Chat(rig.Owner), t, r}
	u.remember("plum")
	r.Telegram.Say(second, telegram.Say{Chat: rig.Owner, From: rig.Owner, Text: "remember the word fig"})
	visible(u, second, "fig")
	// Each bot is its own account with its own conversations.
	r.Telegram.Say(second, telegram.Say{Chat: rig.Owner, From: rig.Owner, Text: "what was the word?"})
	visible(u, second, "the word was fig")
	u.recall("plum")
	r.Telegram.Revoke(rig.Token)
	r.Until("the revoked bot is told by the other", func() bool {
		for _, m := range r.Telegram.Visible(second, rig.Owner) {
			if strings.Contains(m.Text, text("telegram.rejected")) {
				return true
			}
		}
		return false
	})
	if a := u.account("telegram"); a.Connected || !strings.Contains(a.Detail, "does not accept the bot token") {
		t.Errorf("the status says %+v", a)
	}
	r.Telegram.Say(second, telegram.Say{Chat: rig.Owner, From: rig.Owner, Text: "say still here"})
	visible(u, second, "still here")
	if a := u.account("helper"); !a.Connected {
		t.Errorf("the status says %+v", a)
	}
	r.Stop()
}

func TestTheOwnerHearsElsewhereThatFeishuLetsNobodyIn(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{Feishu: rig.Socket})
	u.remember("plum")
	known := u.known()
	f := u.r.Feishu
	f.HandshakeFails(rig.App, 514, 1000040350)
	f.Disconnect(rig.App)
	u.news(known, text("feishu.crowded"))
	if a := u.account("feishu"); a.Connected || !strings.Contains(a.Detail, text("feishu.crowded")) {
		t.Errorf("the status says %+v", a)
	}
	u.recall("plum") // the other service goes on
	there := u.in(u.r.FeishuChat(rig.Owner))
	there.Say("say still here")
	f.HandshakeFails(rig.App, 0, 0)
	there.Await("still here")
	u.r.Until("all is well again", func() bool { return u.account("feishu").Connected })
	u.r.Judge()
}

func TestAMissingNetworkAtTheStartEndsNothing(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Telegram.Fail(telegram.Fault{Kind: telegram.Blackout})
	r.Start()
	u := user{r.Chat(rig.Owner), t, r}
	known := u.known()
	u.Say("remember the word plum")
	if a := u.account("telegram"); a.Connected {
		t.Errorf("without a network the status says %+v", a)
	}
	r.Telegram.Heal()
	u.news(known, "plum")
	began := time.Now()
	r.Stop() // a poll is open
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the end took %v", took)
	}
}

func TestTheCommandMenuFollowsTheRole(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{Env: []string{"CLIGATE_TELEGRAM_OWNERS="}})
	menu := func(scope string) []string { return u.r.Telegram.Menu(rig.Token, scope, "zh") }
	u.r.Until("strangers see a small menu", func() bool { return len(menu("default")) == 2 && len(menu("all_group_chats")) > 10 })
	if got := menu("all_group_chats"); slices.Contains(got, "rules") {
		t.Errorf("members are offered what they would be refused: %v", got)
	}
	c := client.New(u.r.Socket(), "en")
	defer c.Close()
	inv, err := c.Invite(t.Context(), api.InviteAsk{Role: chat.RoleOwner})
	if err != nil {
		t.Fatal(err)
	}
	u.ask("/start "+inv.Code, text("receive.paired", "role", text("receive.role_owner")))
	own := fmt.Sprintf("chat %d", rig.Owner)
	u.r.Until("the owner sees the whole menu", func() bool { return slices.Contains(menu(own), "rules") })
	p, err := c.Pairs(t.Context())
	if err != nil || len(p.Grants) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	if err := c.Revoke(t.Context(), p.Grants[0].ID); err != nil {
		t.Fatal(err)
	}
	u.r.Until("the menu goes with the role", func() bool { return menu(own) == nil })
	sets := 0
	u.r.Kill()
	for _, call := range u.r.Telegram.Calls() {
		if call.Method == "setMyCommands" {
			sets++
		}
	}
	u.r.Start()
	u.r.Until("the next life looks at the menus", func() bool { return u.account("telegram").Connected })
	u.r.Stop()
	for _, call := range u.r.Telegram.Calls() {
		if call.Method == "setMyCommands" {
			sets--
		}
	}
	if sets != 0 {
		t.Errorf("menus that had not changed were set %d times again", -sets)
	}
}

// The token of another bot in the same place: its numbers begin anew, and the
// conversation goes on.
func TestAnotherBotOnTheSameDataGoesOn(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{})
	for range 3 { // its numbers are ahead of the other one's
		u.Say("/status")
	}
	u.remember("plum")
	u.r.Rest()
	u.r.Stop()
	tg := u.r.Telegram
	tg.AddBot(second, "other_bot", false)
	tg.Say(second, telegram.Say{Chat: rig.Owner, From: rig.Owner, Text: "what was the word?"})
	u.r.Start("CLIGATE_TELEGRAM_TOKEN=" + second)
	u.r.Until("the other bot answers", func() bool {
		return slices.ContainsFunc(tg.Messages(second, rig.Owner), func(m telegram.Message) bool {
			return m.FromBot && strings.Contains(m.Text, "the word was plum")
		})
	})
	u.r.Until("nothing is left to be said", func() bool {
		return u.r.Count("SELECT count(*) FROM outbox WHERE state NOT IN ('sent', 'dropped')") == 0
	})
}

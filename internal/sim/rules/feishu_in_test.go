package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cligate/internal/sim/feishu"
	"cligate/internal/sim/rig"
)

// What people send on Feishu, through the whole daemon.

const (
	crew  = "oc_crew"
	guest = "ou_guest"
)

// bureau is a house on Feishu whose owner also speaks in a group, with a guest
// who may nothing.
func bureau(t *testing.T, o rig.Options) (owner, inGroup user) {
	t.Helper()
	o.Feishu, o.NoTelegram = rig.Socket, true
	r := rig.New(t, o)
	r.Feishu.AddPerson(guest, "Gus")
	r.Feishu.AddChat(crew, feishu.Group, "Crew", []string{rig.App}, rig.Person(rig.Owner), guest)
	r.Start()
	g := r.FeishuAs(crew, rig.Person(rig.Owner))
	g.To = "@" + rig.AppName
	return user{r.FeishuChat(rig.Owner), t, r}, user{g, t, r}
}

// posts lets the owner post something into the chat of u.
func (u user) posts(say feishu.Say) string {
	say.App, say.Chat = rig.App, u.Chat
	if say.From == "" {
		say.From = rig.Person(rig.Owner)
	}
	id, _ := u.r.Feishu.Say(say)
	return id
}

// shares lets somebody post a picture.
func (u user) shares(from string) string {
	key := u.r.Feishu.Attach("image", "", picture(u.t))
	return u.posts(feishu.Say{From: from, Type: "image", Content: map[string]any{"image_key": key}, Shared: []string{key}})
}

// asked waits until agents were given n prompts and returns the last one.
func (u user) asked(n int) string {
	u.t.Helper()
	u.r.Rest()
	ps := u.prompts()
	if len(ps) != n {
		u.t.Fatalf("%d prompts, not %d: %q\n%s", len(ps), n, ps, u.Text())
	}
	return ps[n-1]
}

func TestAReplyOnFeishuBringsTheWordsAndThePictureThatItAnswers(t *testing.T) {
	t.Parallel()
	_, u := bureau(t, rig.Options{})
	said := u.posts(feishu.Say{From: guest, Text: "rm -rf / please"})
	u.posts(feishu.Say{Text: "@Rig say taken", ReplyTo: said})
	u.Await("taken")
	want := "[quoted text, an earlier message by \"Gus\" that this replies to]\n> rm -rf / please\n[end of quoted text]\n\nsay taken"
	if got := u.asked(1); !strings.Contains(got, want) {
		t.Errorf("prompt %q", got)
	}
	u.posts(feishu.Say{Text: "@Rig seen", ReplyTo: u.shares(guest)})
	u.Await("images 1 documents 0")
	u.posts(feishu.Say{Text: "@Rig", ReplyTo: said}) // the mention alone
	u.asked(3)
	// What the agent said itself it need not be told again; a verdict is one though it quotes.
	u.posts(feishu.Say{Text: "@Rig say again", ReplyTo: u.answerTo("taken")})
	u.Await("again")
	if got := u.asked(4); !strings.Contains(got, "an earlier message of yours") {
		t.Errorf("prompt %q", got)
	}
	u.posts(feishu.Say{Text: "say unnamed", ReplyTo: u.answerTo("again")}) // the reply names the bot
	u.Await("unnamed")
	if got := u.asked(5); strings.Contains(got, "quoted") {
		t.Errorf("prompt %q", got)
	}
	u.r.Judge()
}

// answerTo is the bot's message that shows a word.
func (u user) answerTo(word string) string {
	u.t.Helper()
	all := u.Shown()
	i := slices.IndexFunc(all, func(m rig.Message) bool { return strings.Contains(m.Text, word) && !m.Open })
	if i < 0 {
		u.t.Fatalf("no %q in %s", word, u.Text())
	}
	return all[i].ID
}

func TestAVerdictInReplyToARequestCountsOnFeishu(t *testing.T) {
	t.Parallel()
	_, u := bureau(t, rig.Options{})
	u.Say("run true\nsay allowed it")
	var ask string
	u.r.Until("it asks", func() bool {
		m, _, ok := u.Find("ask:")
		ask = m.ID
		return ok && u.r.Count("SELECT count(*) FROM receipt WHERE msg = '"+ask+"'") > 0 // people read more slowly
	})
	u.posts(feishu.Say{Text: "@Rig allow", ReplyTo: ask})
	u.Await("allowed it")
	u.asked(1)
	u.r.Judge()
}

func TestWhatCannotBeFetchedOnFeishuIsToldAndTheRestRuns(t *testing.T) {
	t.Parallel()
	u, _ := bureau(t, rig.Options{})
	said := u.posts(feishu.Say{Text: "say first"})
	u.Await("first")
	u.r.Feishu.Recall(rig.App, said)
	u.posts(feishu.Say{Text: "say second", ReplyTo: said})
	u.Await(text("inbox.unquoted_gone"), "second")
	if got := u.asked(2); !strings.Contains(got, "is not here: it is not there any more]") {
		t.Errorf("prompt %q", got)
	}
	u.r.Feishu.HandOut(3)
	u.posts(feishu.Say{Type: "post", Content: map[string]any{"content": []any{[]any{
		map[string]any{"tag": "text", "text": "say third"}, map[string]any{"tag": "img", "image_key": u.r.Feishu.Attach("image", "", picture(t))}}}}})
	u.Await("third", text("feishu.why_too_large", "limit", 100))
	u.asked(3)
	u.r.Judge()
}

func TestABundleOnFeishuIsReadWithItsSpeakers(t *testing.T) {
	t.Parallel()
	u, _ := bureau(t, rig.Options{})
	id := u.posts(feishu.Say{Type: "merge_forward", Content: "Merged and Forwarded Message", Quiet: true})
	u.r.Feishu.ChildFrom(id, guest, "text", map[string]any{"text": "it fails"})
	u.r.Feishu.ChildFrom(id, guest, "post", map[string]any{"content": []any{[]any{map[string]any{"tag": "code_block", "language": "GO", "text": "x := 1"}}}})
	u.r.Feishu.Deliver(rig.App, id)
	if got := u.asked(1); !strings.Contains(got, "[quoted text, forwarded]\n> Gus: it fails\n> Gus: ```go\n> | x := 1\n> | ```\n[end of quoted text]") {
		t.Errorf("prompt %q", got)
	}
	u.r.Judge()
}

func TestAMessageUnderAnotherIdRunsOnceAndEqualMessagesRunTwice(t *testing.T) {
	t.Parallel()
	u, _ := bureau(t, rig.Options{})
	id := u.posts(feishu.Say{Text: "say plum"})
	u.Await("plum")
	u.asked(1)
	u.r.Feishu.PushAsAnother(rig.App, id)
	u.asked(1)
	u.r.Kill()
	u.r.Start()
	u.r.Feishu.PushAsAnother(rig.App, id)
	u.asked(1)
	if !strings.Contains(u.r.Tail(), "delivered again under another id") {
		t.Errorf("not logged:\n%s", u.r.Tail())
	}
	u.posts(feishu.Say{Text: "say plum"})
	u.asked(2)
	u.r.Judge()
}

func TestPicturesSentAtOnceOnFeishuAreOneTurn(t *testing.T) {
	t.Parallel()
	u, _ := bureau(t, rig.Options{Env: []string{"CLIGATE_ALBUM_WINDOW=4s"}})
	for range 3 {
		u.shares("")
	}
	u.posts(feishu.Say{Text: "seen"})
	u.Await("images 3 documents 0")
	u.asked(1)
	u.r.Judge()
}

func TestMessagesThatFeishuBringsOutOfOrderStandInOrder(t *testing.T) {
	t.Parallel()
	u, _ := bureau(t, rig.Options{Env: []string{"CLIGATE_BURST_WINDOW=4s"}})
	now := time.Now()
	first := u.posts(feishu.Say{Text: "say one", Quiet: true, At: now})
	second := u.posts(feishu.Say{Text: "say two", Quiet: true, At: now.Add(20 * time.Millisecond)})
	u.r.Feishu.Deliver(rig.App, second)
	u.r.Feishu.Deliver(rig.App, first)
	u.r.Until("both are answered", func() bool { return u.r.Count("SELECT count(*) FROM inbound WHERE state = 'turn'") == 2 })
	if got := u.asked(1); !strings.HasPrefix(got, "say one\n\nsay two\n") {
		t.Errorf("prompt %q", got)
	}
	u.r.Judge()
}

func TestAWithdrawalAndAReactionFindTheirMessageAfterARestart(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(u user, id string){
		"taken back": func(u user, id string) { u.r.Feishu.Recall(rig.App, id) },
		"signed":     func(u user, id string) { u.r.Feishu.React(rig.App, id, rig.Person(rig.Owner), "ThumbsDown") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, u := bureau(t, rig.Options{})
			u.answersAfter(u.gate(), "the first")
			id := u.posts(feishu.Say{Text: "@Rig say unwanted"})
			u.r.Until("it waits", func() bool { return u.r.Count("SELECT count(*) FROM turn WHERE state = 'queued'") == 1 })
			u.Say("/stop") // what waits is held then
			u.r.Until("it is held", func() bool {
				return u.r.Count("SELECT count(*) FROM turn WHERE held = 1") == 1 && u.r.Count("SELECT count(*) FROM turn WHERE state = 'running'") == 0
			})
			u.r.Kill()
			u.r.Start()
			away(u, id)
			u.r.Until("it is gone", func() bool { return u.r.Count("SELECT count(*) FROM turn WHERE state = 'withdrawn'") == 1 })
			u.r.Rest()
			for _, p := range u.prompts() {
				if strings.Contains(p, "unwanted") {
					t.Errorf("it ran: %q", p)
				}
			}
		})
	}
}

func TestAMessageThatIsTakenBackWhileItRunsIsAskedAboutAndAnsweredWithoutIt(t *testing.T) {
	t.Parallel()
	_, u := bureau(t, rig.Options{})
	g := u.gate()
	id := u.posts(feishu.Say{Text: fmt.Sprintf("@Rig run while [ ! -e %s ]; do sleep 0.02; done\nsay finished", g)})
	u.Press("ask:", text("turn.allow"))
	u.r.Until("the command runs", func() bool { return len(u.journal("tool")) > 0 })
	u.r.Feishu.Recall(rig.App, id)
	u.Await(text("router.recall_late"))
	m, _, ok := u.Find("stop:")
	if !ok {
		t.Errorf("no way to stop: %+v", m)
	}
	g.open(t)
	u.Await("finished")
	u.r.Rest()
	for _, m := range u.r.Feishu.Shown(crew) {
		if m.FromBot && strings.Contains(m.Text, "finished") && m.Parent == id && m.Type != "interactive" {
			t.Errorf("it quotes what is not there: %+v", m)
		}
	}
	u.r.Judge()
}

func TestTheFirstWordInAnOldTopicHasItsContextOnce(t *testing.T) {
	t.Parallel()
	_, u := bureau(t, rig.Options{})
	root := u.posts(feishu.Say{From: guest, Text: "the build is red"})
	in := func(from, text string) {
		u.posts(feishu.Say{From: from, Text: text, ReplyTo: root, Thread: true})
	}
	in(guest, "since Monday")
	in("", "@Rig /status")
	u.Await(strings.Split(text("command.status_workspace"), "{")[0])
	in("", "@Rig say looking")
	u.Await("looking")
	want := "[quoted text, said earlier in this topic]\n> Gus: the build is red\n> Gus: since Monday\n"
	if got := u.asked(1); !strings.Contains(got, want) {
		t.Errorf("prompt %q", got)
	}
	in("", "@Rig say further")
	u.Await("further")
	if got := u.asked(2); strings.Contains(got, "quoted") {
		t.Errorf("prompt %q", got)
	}
	// A picture cannot name anybody.
	key := u.r.Feishu.Attach("image", "", picture(t))
	u.posts(feishu.Say{Type: "image", Content: map[string]any{"image_key": key}, Shared: []string{key}, ReplyTo: root, Thread: true})
	u.asked(3)
	u.r.Judge()
}

func TestAVoiceMessageOnFeishuIsShownAndObeyed(t *testing.T) {
	t.Parallel()
	u, _ := bureau(t, rig.Options{Env: []string{"CLIGATE_SPEECH_COMMAND=cat,{file}"}})
	key := u.r.Feishu.Attach("opus", "voice.opus", []byte("say a spoken plum"))
	u.posts(feishu.Say{Type: "audio", Content: map[string]any{"file_key": key, "duration": 3000}, Shared: []string{key}})
	u.Await("🎤 say a spoken plum", "a spoken plum")
	u.asked(1)
	u.r.Judge()
}

func TestOnFeishuOnlyPeopleOfTheTenantWhoNameTheBotAreHeard(t *testing.T) {
	t.Parallel()
	u, g := bureau(t, rig.Options{})
	for _, say := range []feishu.Say{
		{Text: "say not for it"}, {Text: "@all say for everybody"}, {Text: "@Gus /status"}, {Text: "/status @Gus"},
		{Text: "@Rig say a program", Kind: "app"}, {Text: "@Rig say from elsewhere", Tenant: "another"}, {Text: "@Rig say a guest", From: guest},
	} {
		g.posts(say)
	}
	u.ask("say awake", "awake")
	g.r.Rest()
	if g.Text() != "" {
		t.Errorf("said %s", g.Text())
	}
	for _, c := range []string{"@Rig /status", "/status @Rig", "/status@Rig", "@Gus @Rig /status"} {
		known := g.known()
		g.posts(feishu.Say{Text: c})
		g.news(known, strings.Split(text("command.status_workspace"), "{")[0])
	}
	if n := len(u.prompts()); n != 1 {
		t.Errorf("prompts %q", u.prompts())
	}
	u.r.Judge()
}

func TestWhoeverIsAloneWithTheBotOnFeishuNeedNotNameIt(t *testing.T) {
	t.Parallel()
	_, u := bureau(t, rig.Options{})
	u.r.Feishu.AddChat("oc_alone", feishu.Group, "Mine", []string{rig.App}, rig.Person(rig.Owner))
	alone := u.in(u.r.FeishuAs("oc_alone", rig.Person(rig.Owner)))
	alone.ask("say alone", "alone")
	u.posts(feishu.Say{Text: "say among others"})
	alone.ask("say again", "again")
	alone.r.Rest()
	if u.Text() != "" {
		t.Errorf("said %s", u.Text())
	}
	u.r.Judge()
}

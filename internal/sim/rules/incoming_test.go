package rules

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cligate/internal/sim/rig"
	"cligate/internal/sim/telegram"
)

// What people send beside words, through the whole daemon.

// send is a person's message with a file.
func (u user) send(say telegram.Say) int64 {
	say.Chat = rig.Owner
	return u.r.Telegram.Say(rig.Token, say)
}

func picture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var pathShape = regexp.MustCompile(`/\S*/\.cligate/inbox/[^"”\s]+`)

func TestAFileLiesWhereTheAgentIsTold(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{})
	u.send(telegram.Say{Text: "say taken", File: &telegram.File{Kind: "document", Name: "../no tes.txt", MIME: "text/plain", Body: []byte("the word is plum")}})
	u.Await("taken", ".cligate/inbox/")
	path := pathShape.FindString(u.Text())
	if b, err := os.ReadFile(path); err != nil || string(b) != "the word is plum" || !strings.HasPrefix(path, filepath.Join(u.r.Dir, "work")+"/") {
		t.Errorf("%s: %q, %v; the chat shows %s", path, b, err, u.Text())
	}
	if b, err := os.ReadFile(filepath.Join(u.r.Dir, "work", ".cligate", ".gitignore")); err != nil || string(b) != "*\n" {
		t.Errorf("git would take it: %q, %v", b, err)
	}
	u.send(telegram.Say{Text: "seen", File: &telegram.File{Kind: "photo", Body: picture(t)}})
	u.Await("images 1 documents 0")
	u.r.Rest()
	u.r.Judge()
}

func TestAVoiceMessageIsShownAndObeyed(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{Env: []string{"CLIGATE_SPEECH_COMMAND=cat,{file}"}})
	u.send(telegram.Say{File: &telegram.File{Kind: "voice", MIME: "audio/ogg", Seconds: 3, Body: []byte("say a spoken plum")}})
	u.Await("🎤 say a spoken plum", "a spoken plum")
	before := u.status()
	u.send(telegram.Say{File: &telegram.File{Kind: "voice", MIME: "audio/ogg", Seconds: 3, Body: []byte("/new")}})
	u.Await("🎤 /new", "[spoken] /new")
	if now := u.status(); now.session != before.session {
		t.Error("a spoken command was carried out")
	}
	u.r.Rest()
	u.r.Judge()
}

func TestAVoiceMessageThatNobodyUnderstandsIsAnswered(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{})
	u.send(telegram.Say{File: &telegram.File{Kind: "voice", Seconds: 3, Body: []byte("x")}})
	u.Await("speech.command")
	u.r.Rest()
	if all := u.Shown(); len(all) != 1 {
		t.Errorf("one recording is answered by %d messages: %+v", len(all), all)
	}
	u.send(telegram.Say{Text: "say still here", File: &telegram.File{Kind: "document", Name: "big.iso", Size: 21 << 20}})
	u.Await("20 MB", "still here")
	u.r.Rest()
	if n := len(u.prompts()); n != 1 {
		t.Errorf("%d prompts", n)
	}
	u.r.Judge()
}

func TestAServerOfOnesOwnHandsOutLargeFiles(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{})
	u.r.Telegram.LocalMode(t.TempDir())
	u.send(telegram.Say{Text: "say taken", File: &telegram.File{Kind: "document", Name: "big.txt", Size: 21 << 20, Body: []byte("plum")}})
	u.Await("taken", ".cligate/inbox/")
	if b, err := os.ReadFile(pathShape.FindString(u.Text())); err != nil || string(b) != "plum" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestAnAlbumIsOneTurnThoughTheDaemonDiesInTheMiddle(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{})
	hold := make(chan struct{})
	item := func(n int) {
		say := telegram.Say{Album: "g1", File: &telegram.File{Kind: "photo", Body: picture(t)}}
		if n == 0 {
			say.Text = "seen"
		}
		if n == 4 {
			say.File.Hold = hold
		}
		u.send(say)
	}
	for n := range 3 {
		item(n)
	}
	u.r.Until("three items are stored", func() bool { return u.r.Count("SELECT count(*) FROM inbound") == 3 })
	u.r.Kill()
	for n := 3; n < 5; n++ {
		item(n)
	}
	u.r.Start()
	u.r.Until("the turn is running", func() bool { return u.r.Count("SELECT count(*) FROM turn WHERE state = 'running'") == 1 })
	u.r.Kill() // between the acknowledgement and the last file
	close(hold)
	u.r.Start()
	u.Await("images 5 documents 0")
	u.r.Rest()
	if n := u.r.Count("SELECT count(*) FROM turn"); n != 1 || len(u.prompts()) != 1 {
		t.Errorf("%d turns, prompts %q", n, u.prompts())
	}
	u.r.Judge()
}

func TestAFileThatIsGoneAfterARestartIsTold(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{})
	hold := make(chan struct{})
	u.send(telegram.Say{Text: "say still here", File: &telegram.File{Kind: "document", Name: "a.txt", Body: []byte("x"), Hold: hold}})
	u.r.Until("the turn is running", func() bool { return u.r.Count("SELECT count(*) FROM turn WHERE state = 'running'") == 1 })
	u.r.Kill()
	close(hold)
	u.r.Telegram.DropFiles()
	u.r.Start()
	u.Await("could not be fetched", "still here")
	u.r.Rest()
}

func TestAReplyToAnOldAnswerGoesOnWithItsSession(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{})
	u.remember("plum")
	old := u.status().session
	var answer int64
	for _, m := range u.Shown() {
		if strings.Contains(m.Text, "I will remember plum") {
			_, _ = fmt.Sscan(m.ID, &answer)
		}
	}
	u.Say("/new")
	u.remember("pear")
	known := u.known()
	u.r.Telegram.Say(rig.Token, telegram.Say{Chat: rig.Owner, ReplyTo: answer, Text: "what was the word?"})
	m := u.news(known, "the word was plum")
	if !strings.Contains(m.Text, fmt.Sprintf("Session %d", old)) {
		t.Errorf("nobody says which session answers: %q", m.Text)
	}
	u.recall("pear")
	u.r.Rest()
	u.r.Judge()
}

func TestEditsAndReactionsReachWhatWaits(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{})
	u.Say("slow 1500\nsay first done")
	u.runs()
	one := u.send(telegram.Say{Text: "say wrong"})
	u.r.Until("it waits", func() bool { return u.r.Count("SELECT count(*) FROM turn WHERE state = 'queued'") == 1 })
	two := u.send(telegram.Say{Text: "say unwanted"})
	u.r.Until("both wait", func() bool { return u.r.Count("SELECT count(*) FROM turn WHERE state = 'queued'") == 2 })
	u.r.Telegram.EditText(rig.Token, rig.Owner, one, "say right")
	u.r.Telegram.React(rig.Token, rig.Owner, two, rig.Owner, "👎")
	u.Await("first done", "right")
	u.r.Rest()
	if got := u.prompts(); len(got) != 2 || got[1] != "say right" {
		t.Errorf("prompts %q", got)
	}
	if strings.Contains(u.Text(), "unwanted") {
		t.Error("what was taken back ran")
	}
	u.r.Judge()
}

func TestAReactionGivesAWaitingMessageToTheRunningTurn(t *testing.T) {
	t.Parallel()
	u := house(t, rig.Options{})
	u.Say("run sleep 4\nsay first done") // words are taken between two steps
	u.Press("ask:", text("turn.allow"))
	m := u.send(telegram.Say{Text: "say steered"})
	u.r.Until("it waits", func() bool { return u.r.Count("SELECT count(*) FROM turn WHERE state = 'queued'") == 1 })
	u.r.Telegram.React(rig.Token, rig.Owner, m, rig.Owner, "👍")
	u.Await(text("router.steered"))
	u.r.Rest()
	if n := u.r.Count("SELECT count(*) FROM turn WHERE state = 'withdrawn'"); n != 1 {
		t.Errorf("%d turns were given", n)
	}
}

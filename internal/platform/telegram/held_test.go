package telegram

import (
	"regexp"
	"strings"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/render"
	fakebot "cligate/internal/sim/telegram"
)

// keeper is a server that is asked without a network.
type keeper struct {
	srv  *fakebot.Server
	form *form
}

func newKeeper(t testing.TB) keeper {
	t.Helper()
	srv, err := fakebot.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	srv.AddBot(testToken, botName, false)
	srv.Without(fakebot.RuleRate)
	return keeper{srv, &form{}}
}

// keep renders an answer in both forms, hands over every part, and compares
// what is held with what was written.
func (k keeper) keep(t *testing.T, md string) {
	t.Helper()
	for _, rich := range []chat.Choice{chat.ChoiceOff, chat.ChoiceOn} {
		r := chat.Reply{Kind: chat.ReplyAnswer, Markdown: md, ReplyTo: chat.Ref{ID: "1"}, Rich: rich}
		parts := k.form.render(r)
		checkParts(t, r, parts)
		k.srv.AddChat(ann, fakebot.Private, "Ann")
		whole := ""
		for _, p := range parts {
			if p.File != nil {
				whole = string(p.File.Body)
				continue
			}
			d := newDraft(placeOf(ann, ""), p)
			call := d.post()
			if err := k.srv.Do(testToken, call.method, call.params); err != nil {
				t.Fatalf("%s refused: %v", call.method, err)
			}
			ms := k.srv.Visible(testToken, ann)
			m := ms[len(ms)-1]
			if es := decodeEntities(t, d.part); d.rich == nil && (m.Text != p.Text || len(m.Entities) != len(es)) {
				t.Errorf("held is %q with %d entities, sent was %q with %d", m.Text, len(m.Entities), p.Text, len(es))
			}
			for _, word := range unwanted(m) {
				t.Errorf("made of words: %s", word)
			}
		}
		if whole != "" {
			if !strings.Contains(whole, md) && !strings.HasPrefix(strings.TrimLeft(md, " >-*+0123456789.)\r\n\t"), "```") && !strings.Contains(md, "~~~") {
				t.Errorf("the file is %.60q", whole)
			}
			continue
		}
		words, _ := held(k.srv.Visible(testToken, ann))
		if missing := lostWords(likened(t, md), words); missing != "" {
			t.Errorf("rich %s: lost from %.80q", rich, missing)
		}
	}
}

// likened is what of a source must be found as it is: not where the source
// writes characters by their names, or boxes.
func likened(t *testing.T, md string) string {
	t.Helper()
	md = strip(md)
	tree := render.Parse(md)
	md = named.ReplaceAllString(md, "") // in an address they are what they stand for
	if hasTableBlock(tree) {
		return "| - |\n|-|\n" + md // order within a row is the table's
	}
	return strings.NewReplacer("[x]", "", "[X]", "", "mailto:", "").Replace(md)
}

var named = regexp.MustCompile(`&[#A-Za-z0-9]+;?`)

func hasTableBlock(bs []render.Block) bool {
	for _, b := range bs {
		if b.Kind == render.Table || hasTableBlock(b.Kids) {
			return true
		}
	}
	return false
}

func FuzzHeld(f *testing.F) {
	for _, md := range realAnswers(f) {
		if len(md) < 6000 {
			f.Add(md)
		}
	}
	f.Add("\xff#*0000000!* @**user** /_tmp_ $***HOME***")
	f.Add("😀`x`😀\t\u2028**y**")
	for _, md := range nastyAnswers(40) {
		if len(md) < 6000 {
			f.Add(md)
		}
	}
	k := newKeeper(f)
	f.Fuzz(func(t *testing.T, md string) { k.keep(t, md) })
}

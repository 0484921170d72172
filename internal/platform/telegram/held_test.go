package telegram

import (
	"testing"

	"cligate/internal/chat"
	corpus "cligate/internal/sim/answers"
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
		for _, p := range parts {
			if p.File != nil {
				if h := (corpus.Held{Name: p.File.Name, File: p.File.Body}); !h.SameFile(md) {
					t.Errorf("the file is %.60q", h.File)
				}
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
		if len(parts) > 0 && parts[len(parts)-1].File != nil {
			continue
		}
		if missing := corpus.LostWords(corpus.Likened(md, strip), held(k.srv.Visible(testToken, ann)).Words); missing != "" {
			t.Errorf("rich %s: lost from %.80q", rich, missing)
		}
	}
}

func FuzzHeld(f *testing.F) {
	for _, md := range corpus.Real(f) {
		if len(md) < 6000 {
			f.Add(md)
		}
	}
	f.Add("\xff#*0000000!* @**user** /_tmp_ $***HOME***")
	f.Add("😀`x`😀\t\u2028**y**")
	for _, md := range corpus.Nasty(40) {
		if len(md) < 6000 {
			f.Add(md)
		}
	}
	k := newKeeper(f)
	f.Fuzz(func(t *testing.T, md string) { k.keep(t, md) })
}

package feishu

import (
	"testing"

	"cligate/internal/chat"
	corpus "cligate/internal/sim/answers"
	sim "cligate/internal/sim/feishu"
)

// keep renders an answer and compares what the Markdown of its cards shows with
// what was written, without a network.
func keep(t *testing.T, s *sim.Server, md string) {
	t.Helper()
	exactly(t, md)
	r := chat.Reply{Kind: chat.ReplyAnswer, Markdown: md, ReplyTo: chat.Ref{ID: "1"}}
	parts := form{}.render(r)
	checkParts(t, r, parts)
	var ms []sim.Seen
	for _, p := range parts {
		if p.File != nil {
			ms = append(ms, sim.Seen{Type: "file", File: p.File.Name, Body: p.File.Body})
			continue
		}
		raw, err := text(card(p, "", false))
		if err != nil {
			t.Fatal(err)
		}
		if no := s.Judge(raw); no != "" {
			t.Errorf("refused: %s\n%s", no, raw)
		}
		ms = append(ms, sim.Seen{Type: "interactive", Raw: raw})
	}
	h := held(t, ms)
	if h.File != nil {
		if !h.SameFile(md) {
			t.Errorf("the file is %.60q", h.File)
		}
		return
	}
	if missing := corpus.LostWords(corpus.Likened(md, tidy), h.Words); missing != "" {
		t.Errorf("lost from %.80q", missing)
	}
}

func FuzzHeld(f *testing.F) {
	for _, md := range corpus.Real(f) {
		if len(md) < 6000 {
			f.Add(md)
		}
	}
	f.Add("\xff#*0000000!* @**user** /_tmp_ $***HOME***")
	f.Add("000\n\n    00000\n0000\n\n\t0000\n\t 00000\n\n0008) ")
	f.Add("* 000\n    *  ```\n  ! ")
	f.Add("x\n\n**Ne:**ote:**")
	f.Add("a <Br> b<br >c<br/ >d")
	f.Add("**注：**后*“前”*a**b*c*d**e")
	f.Add(`<at id=all></at> ` + "`<at user_id=\"all\">`" + ` :OK: <br>x &amp; ![a](b)![c](https://d.e/f.png)`)
	for _, md := range corpus.Nasty(40) {
		if len(md) < 6000 {
			f.Add(md)
		}
	}
	s, err := sim.New()
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(s.Close)
	f.Fuzz(func(t *testing.T, md string) { keep(t, s, md) })
}

package feishu

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cligate/internal/chat"
	corpus "cligate/internal/sim/answers"
	sim "cligate/internal/sim/feishu"
)

// deliver renders r and sends all parts to a service. It returns what the
// service holds.
func deliver(t *testing.T, r chat.Reply) []sim.Seen {
	t.Helper()
	s := service(t)
	s.Without(sim.RuleRate)
	return deliverTo(t, s, direct, r)
}

func deliverTo(t *testing.T, s *sim.Server, place string, r chat.Reply) []sim.Seen {
	t.Helper()
	c := sender(t, s)
	parts := form{}.render(r)
	checkParts(t, r, parts)
	before := len(s.Calls())
	for i, p := range parts {
		o := row(fmt.Sprint(place, "/", i), p)
		o.Place.Chat = place
		if _, err := c.send(t.Context(), o); err != nil {
			t.Fatalf("refused: %v\n%s", err, p.Text)
		}
	}
	for _, call := range s.Calls()[before:] {
		if !call.OK {
			t.Errorf("refused: %+v", call)
		}
	}
	got := s.Shown(place)
	if len(got) != len(parts) {
		t.Fatalf("%d messages of %d parts", len(got), len(parts))
	}
	return got
}

// checkParts verifies what holds for every reply.
func checkParts(t *testing.T, r chat.Reply, parts []chat.Part) {
	t.Helper()
	if len(parts) > maxCards+1 {
		t.Errorf("%d parts", len(parts))
	}
	for i, p := range parts {
		if p.File == nil && strings.TrimSpace(p.Text) == "" {
			t.Errorf("part %d is empty", i)
		}
		if i > 0 && (!p.ReplyTo.Zero() || !p.Silent) {
			t.Errorf("part %d replies or notifies", i)
		}
	}
	if len(parts) > 0 && parts[0].ReplyTo != r.ReplyTo {
		t.Error("the first part does not reply")
	}
}

// held is everything that a service holds of an answer; what must be in no
// answer is an error.
func held(t *testing.T, ms []sim.Seen) corpus.Held {
	t.Helper()
	h, odd := sim.Hold(ms)
	if len(odd) > 0 {
		t.Errorf("made of words: %q", odd)
	}
	for _, m := range ms {
		tables := 0
		for _, md := range m.Components() {
			tables += sim.Read(md).Tables
		}
		if tables > maxTables {
			t.Errorf("%d tables in a card", tables)
		}
	}
	return h
}

// tidy is a source as this adapter reads it.
func tidy(md string) string { return strings.ReplaceAll(clean(md), "&nbsp;", " ") }

func TestALostWordOrLineOfACardIsNoticed(t *testing.T) {
	t.Parallel()
	md := "some words here\n\n```go\nfunc main() {\n\tone()\n\ttwo()\n}\n```\n\n| a | b |\n|---|---|\n| cell | other |\n"
	ms := deliver(t, chat.Reply{Kind: chat.ReplyAnswer, Markdown: md})
	if what := held(t, ms).Missing(md, tidy); what != "" {
		t.Fatal(what)
	}
	for _, cut := range []string{"words ", `\ttwo()\n`, "cell ", "some words here"} {
		bad := slices.Clone(ms)
		bad[0].Raw = strings.Replace(bad[0].Raw, cut, "", 1)
		if bad[0].Raw == ms[0].Raw || held(t, bad).Missing(md, tidy) == "" {
			t.Errorf("nobody misses %q", cut)
		}
	}
	long := strings.Repeat("one two three. ", 2000)
	ms = deliver(t, chat.Reply{Kind: chat.ReplyAnswer, Markdown: long})
	ms[1].Body = ms[1].Body[:20000]
	if held(t, ms).Missing(long, tidy) == "" {
		t.Error("nobody misses the end of a file")
	}
}

func TestTwoHundredNastyAnswersArriveWhole(t *testing.T) {
	t.Parallel()
	s := service(t)
	s.Without(sim.RuleRate)
	for i, md := range corpus.Nasty(200) {
		place := fmt.Sprintf("oc_nasty_%d", i)
		s.AddChat(place, sim.P2P, "", []string{appID}, anna)
		footer := fmt.Sprintf("end of %d", i)
		ms := deliverTo(t, s, place, chat.Reply{Kind: chat.ReplyAnswer, Markdown: md, Footer: footer})
		h := held(t, ms)
		if !strings.Contains(h.Words, footer) {
			t.Errorf("answer %d: the footer is lost", i)
		}
		if h.File != nil {
			if !h.SameFile(md) {
				t.Errorf("answer %d: the file is not the answer", i)
			}
			continue
		}
		if missing := corpus.LostWords(corpus.Likened(md, tidy), h.Words); missing != "" {
			t.Errorf("answer %d of %.80q lost its words from %.80q", i, md, missing)
		}
	}
}

// A card is refused as a whole, so every beginning of an answer has to be one
// that is not.
func TestEveryBeginningOfAnAnswerIsACard(t *testing.T) {
	t.Parallel()
	s := service(t)
	for name, md := range corpus.Real(t) {
		for i := range 12 {
			so := md[:len(md)*(2*i+1)/24] // also in the middle of a character
			for _, p := range (form{}).render(chat.Reply{Kind: chat.ReplyProgress, Markdown: so, Footer: "working · 3 s"}) {
				raw, err := text(card(p, "", true))
				must(t, err)
				if no := s.Judge(raw); no != "" {
					t.Errorf("%s of %.80q: %s", name, so, no)
				}
				held(t, []sim.Seen{{Type: "interactive", Raw: raw}})
			}
		}
	}
}

// What is refused as a card is sent as a rich text, and says everything.
func TestTheRichTextOfAnAnswerSaysAllOfIt(t *testing.T) {
	t.Parallel()
	for name, md := range corpus.Real(t) {
		var ms []sim.Seen
		for _, p := range (form{}).render(chat.Reply{Kind: chat.ReplyAnswer, Markdown: md}) {
			if p.File != nil {
				ms = append(ms, sim.Seen{Type: "file", File: p.File.Name, Body: p.File.Body})
				continue
			}
			raw, err := text(post(p))
			must(t, err)
			ms = append(ms, sim.Seen{Type: "post", Raw: raw})
			if raw, err = text(raw); err != nil || len(raw) > maxRequest {
				t.Errorf("%s: a rich text of %d bytes", name, len(raw))
			}
		}
		if what := held(t, ms).Missing(md, tidy); what != "" {
			t.Errorf("%s: %s", name, what)
		}
	}
}

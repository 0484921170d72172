package telegram

import (
	"fmt"
	"strings"
	"testing"

	"cligate/internal/chat"
	corpus "cligate/internal/sim/answers"
	fakebot "cligate/internal/sim/telegram"
)

func TestTwoHundredNastyAnswersArriveWhole(t *testing.T) {
	t.Parallel()
	a, srv, log := strict(t, Config{})
	srv.Without(fakebot.RuleRate)
	answers := corpus.Nasty(200)
	for i, md := range answers {
		chatID := int64(5000 + i)
		srv.AddChat(chatID, fakebot.Private, "Ann")
		r := chat.Reply{Kind: chat.ReplyAnswer, Markdown: md, Footer: fmt.Sprintf("end of %d", i), Rich: []chat.Choice{chat.ChoiceOff, chat.ChoiceOn}[i%2]}
		parts := a.Render(r)
		checkParts(t, r, parts)
		for _, p := range parts {
			if _, err := a.Send(t.Context(), postTo(placeOf(chatID, ""), p)); err != nil {
				t.Fatalf("answer %d: %v\n%.200q", i, err, p.Text)
			}
		}
		ms := srv.Visible(testToken, chatID)
		if len(ms) != len(parts) {
			t.Errorf("answer %d: %d messages of %d parts", i, len(ms), len(parts))
		}
		h := held(ms)
		if !strings.Contains(h.Words, r.Footer) {
			t.Errorf("answer %d: the footer is lost", i)
		}
		if h.File != nil {
			if !h.Whole(md, strip) {
				t.Errorf("answer %d: the file is not the answer", i)
			}
			continue
		}
		if missing := corpus.LostWords(corpus.Likened(md, strip), h.Words); missing != "" {
			t.Errorf("answer %d of %.80q lost its words from %.80q", i, md, missing)
		}
	}
	if s := log.String(); strings.Contains(s, "refused") || strings.Contains(s, "too long") {
		t.Error(s)
	}
}

package telegram

import (
	"strings"
	"testing"

	"cligate/internal/chat"
)

func BenchmarkRender(b *testing.B) {
	all := ""
	for _, md := range realAnswers(b) {
		all += md + "\n\n"
	}
	f := &form{}
	for name, md := range map[string]string{"usual": realAnswers(b)["review_lanes"], "200 kB": strings.Repeat(all, 1+200_000/len(all))} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(md)))
			for b.Loop() {
				f.render(chat.Reply{Kind: chat.ReplyAnswer, Markdown: md, Rich: chat.ChoiceOn})
			}
		})
	}
}

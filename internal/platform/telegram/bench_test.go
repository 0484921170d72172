package telegram

import (
	"strings"
	"testing"

	"cligate/internal/chat"
	corpus "cligate/internal/sim/answers"
)

func BenchmarkRender(b *testing.B) {
	all := ""
	for _, md := range corpus.Real(b) {
		all += md + "\n\n"
	}
	f := &form{}
	for name, md := range map[string]string{"usual": corpus.Real(b)["review_lanes"], "200 kB": strings.Repeat(all, 1+200_000/len(all))} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(md)))
			for b.Loop() {
				f.render(chat.Reply{Kind: chat.ReplyAnswer, Markdown: md, Rich: chat.ChoiceOn})
			}
		})
	}
}

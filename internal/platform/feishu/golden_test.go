package feishu

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cligate/internal/chat"
	corpus "cligate/internal/sim/answers"
	sim "cligate/internal/sim/feishu"
)

var rewrite = flag.Bool("update", false, "write the golden files anew")

// golden is what a service holds: the Markdown of every component, as it came.
func golden(ms []sim.Seen) string {
	var sb strings.Builder
	for i, m := range ms {
		fmt.Fprintf(&sb, "=== message %d: %s", i+1, m.Type)
		if m.File != "" {
			fmt.Fprintf(&sb, " %s of %d bytes", m.File, len(m.Body))
		}
		sb.WriteString(" ===\n")
		for k, md := range m.Components() {
			if k > 0 {
				sb.WriteString("--- component ---\n")
			}
			sb.WriteString(md + "\n")
		}
	}
	return sb.String()
}

func TestRealAnswersLookAsTheyShould(t *testing.T) {
	t.Parallel()
	for name, md := range corpus.Real(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ms := deliver(t, chat.Reply{Kind: chat.ReplyAnswer, Markdown: md, Footer: "model · 12 s"})
			if what := held(t, ms).Missing(md, tidy); what != "" {
				t.Error(what)
			}
			file := filepath.Join("testdata", "golden", name+".txt")
			got := golden(ms)
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs:\n%s", file, got)
			}
		})
	}
}

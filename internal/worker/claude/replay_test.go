package claude

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestRecordedTranscriptsAreUnderstood plays what the real CLI said, and wants
// the driver to say what it said then and to report what the golden file says.
func TestRecordedTranscriptsAreUnderstood(t *testing.T) {
	t.Parallel()
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			lines := readTranscript(t, sc.name)
			p := newPuppet(t)
			s := newStage()
			cfg := Config{Grace: 10 * time.Second}.withDefaults()
			s.w = newWorker(t.Context(), cfg, s.spec(sc), p, slog.New(slog.DiscardHandler))
			played := make(chan struct{})
			go func() { // ends with the transcript, or with the puppet
				defer close(played)
				p.perform(t, lines)
			}()
			if err := greet(t.Context(), s.w, sc.resume != "", 10*time.Second); err != nil {
				s.end(err)
			} else {
				sc.play(t, s)
			}
			if err := s.w.Close(); err != nil {
				t.Error(err)
			}
			<-played
			golden(t, sc.name, s.text())
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs:\n%s", file, firstDifference(string(want), got))
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return "want: " + w[i] + "\ngot:  " + g[i]
		}
	}
	return "one ends earlier"
}

// spoken is one line of a transcript.
type spoken struct {
	ours bool
	text string
}

// readTranscript reads testdata/name.txt: "-> " is what the driver wrote, "<- "
// what the agent did.
func readTranscript(t *testing.T, name string) []spoken {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []spoken
	for l := range bytes.Lines(raw) {
		text := strings.TrimSuffix(string(l), "\n")
		switch {
		case strings.HasPrefix(text, "-> "):
			lines = append(lines, spoken{true, text[3:]})
		case strings.HasPrefix(text, "<- "):
			lines = append(lines, spoken{false, text[3:]})
		default:
			t.Fatalf("strange line %q", text)
		}
	}
	return lines
}

// perform plays the agent's part. Ids that the driver makes anew each time are
// put in for the recorded ones.
func (p *puppet) perform(t *testing.T, lines []spoken) {
	var ids []string // recorded, actual, …
	for _, l := range lines {
		if !l.ours {
			if _, err := io.WriteString(p.out, strings.NewReplacer(ids...).Replace(l.text)+"\n"); err != nil {
				return // the driver left early; the golden file tells whether it should have
			}
			continue
		}
		raw, err := p.in.ReadBytes('\n')
		if err != nil {
			t.Errorf("the driver left before it said %s", l.text)
			return
		}
		var want, got map[string]any
		if json.Unmarshal([]byte(l.text), &want) != nil || json.Unmarshal(raw, &got) != nil {
			t.Errorf("no JSON: %s or %s", l.text, raw)
			return
		}
		for _, key := range []string{"uuid", "request_id"} {
			was, ok1 := want[key].(string)
			is, ok2 := got[key].(string)
			if ok1 && ok2 {
				ids = append(ids, was, is)
				delete(want, key)
				delete(got, key)
			}
		}
		if !reflect.DeepEqual(want, got) {
			t.Errorf("the driver said\n%s, recorded was\n%s", raw, l.text)
		}
	}
	_ = p.out.Close() // the agent has left
}

package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

var rewrite = flag.Bool("update", false, "rewrite the golden files")

// TestRecordedTranscriptsAreUnderstood plays what real CLIs said, and wants the
// driver to say what it said then and to report what the golden file says.
func TestRecordedTranscriptsAreUnderstood(t *testing.T) {
	t.Parallel()
	for _, agent := range recorded {
		for _, sc := range scenarios {
			name := agent + "-" + sc.name
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				lines := readTranscript(t, name)
				p := &script{done: make(chan struct{})}
				p.Conn, p.far = net.Pipe()
				cfg, _ := Preset(agent)
				cfg.Store, cfg.Variable = store{}, ""
				d := &Driver{cfg: cfg.withDefaults(), log: slog.New(slog.DiscardHandler)}
				s := &stage{w: newWorker(t.Context(), d, p, sc.spec(loaded(lines), "/home/ann/project"))}
				played := make(chan struct{})
				go func() { // ends with the transcript, or with the connection
					defer close(played)
					perform(t, p, lines)
				}()
				if err := (opening{s.w.session}).open(t.Context()); err != nil {
					s.note("open: %v", err)
				} else {
					sc.play(t, s)
				}
				if err := s.w.Close(); err != nil {
					t.Error(err)
				}
				<-played
				golden(t, name, s.text())
			})
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *rewrite {
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
		t.Errorf("%s differs:\n%s", file, got)
	}
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
		if len(text) < 3 || text[:3] != "-> " && text[:3] != "<- " {
			t.Fatalf("strange line %q", text)
		}
		lines = append(lines, spoken{text[:3] == "-> ", text[3:]})
	}
	return lines
}

var loadedID = regexp.MustCompile(`"method":"session/load","params":\{"sessionId":"([^"]+)"`)

// loaded is the id of the session that a transcript begins with, if it is not a
// new one.
func loaded(lines []spoken) string {
	for _, l := range lines {
		switch m := loadedID.FindStringSubmatch(l.text); {
		case l.ours && m != nil:
			return m[1]
		case l.ours && strings.Contains(l.text, `"session/new"`):
			return ""
		}
	}
	return ""
}

// perform plays the agent's part.
func perform(t *testing.T, p *script, lines []spoken) {
	in := bufio.NewReader(p.far)
	defer func() { _, _ = io.Copy(io.Discard, in) }() // what comes at the end is nobody's
	for _, l := range lines {
		if !l.ours {
			if _, err := io.WriteString(p.far, l.text+"\n"); err != nil {
				return // the driver left early; the golden file tells whether it should have
			}
			continue
		}
		raw, err := in.ReadBytes('\n')
		if err != nil {
			t.Errorf("the driver left before it said %s", l.text)
			return
		}
		var want, got any
		if json.Unmarshal([]byte(l.text), &want) != nil || json.Unmarshal(raw, &got) != nil {
			t.Errorf("no JSON: %s or %s", l.text, raw)
			return
		}
		if !reflect.DeepEqual(want, got) {
			t.Errorf("the driver said\n%s, recorded was\n%s", raw, l.text)
		}
	}
}

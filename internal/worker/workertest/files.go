package workertest

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// picture is a small PNG.
func picture(t *testing.T) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for x := range 64 {
		for y := range 64 {
			m.Set(x, y, color.RGBA{R: uint8(4 * x), G: uint8(4 * y), A: 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// document is a PDF of one empty page.
func document() []byte {
	var b bytes.Buffer
	var at []int
	b.WriteString("%PDF-1.4\n")
	for i, body := range []string{
		"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 72 72]>>",
	} {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj%sendobj\n", i+1, body)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, start)
	return b.Bytes()
}

// hand prompts with a file and wants the agent to have got what it can take. A
// file that is not there any more costs nothing.
func (k Kit) hand(t *testing.T, f chat.FileRef, body []byte, want string) {
	t.Helper()
	w := k.open(t, k.Driver(t), "")
	f.Path = filepath.Join(t.TempDir(), f.Name)
	if err := os.WriteFile(f.Path, body, 0o600); err != nil {
		t.Fatal(err)
	}
	h := NewHost(nil)
	in := Input(k.Say[Seen])
	in.Pieces[0].Files = []chat.FileRef{f}
	if err := promptInput(t, w, in, h).wait(t); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(h.Text(), want) {
		t.Errorf("the agent got %q, want %q", h.Text(), want)
	}
	if err := os.Remove(f.Path); err != nil {
		t.Fatal(err)
	}
	if err := promptInput(t, w, in, NewHost(nil)).wait(t); chat.CodeOf(err) == chat.Crashed || chat.CodeOf(err) == chat.NoSession {
		t.Errorf("a file that is gone: %v", err)
	}
	wantAlive(t, w)
}

func pictures(t *testing.T, k Kit) {
	k.hand(t, chat.FileRef{ID: "1", Name: "photo.png", MIME: "image/png", Kind: "photo"}, picture(t),
		"images "+k.mayHave(worker.Images))
}

func documents(t *testing.T, k Kit) {
	k.hand(t, chat.FileRef{ID: "1", Name: "paper.pdf", MIME: "application/pdf", Kind: "document"}, document(),
		"documents "+k.mayHave(worker.Documents))
}

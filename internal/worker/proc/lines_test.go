package proc

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

func readAll(t *testing.T, r io.Reader, limit int) (out []Line) {
	t.Helper()
	l := NewLineReader(r, limit)
	for {
		line, err := l.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		line.Data = bytes.Clone(line.Data)
		out = append(out, line)
	}
}

func TestLinesEndWithLineFeedOnly(t *testing.T) {
	t.Parallel()
	in := "a\u2028b\u2029c\u0085d\rf\x00g\vh\n\nlast"
	got := readAll(t, strings.NewReader(in), 0)
	if len(got) != 3 || string(got[0].Data) != "a\u2028b\u2029c\u0085d\rf\x00g\vh" || len(got[1].Data) != 0 || string(got[2].Data) != "last" {
		t.Errorf("got %v", got)
	}
}

func TestLinesOfAnyLengthUpToTheCap(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, readSize - 1, readSize, readSize + 1, firstSize + 1, 1 << 20, 1<<20 + 1, 3 << 20} {
		line := strings.Repeat("y", size)
		got := readAll(t, iotest.HalfReader(strings.NewReader(line+"\nnext\n")), 1<<20)
		if len(got) != 2 || string(got[1].Data) != "next" {
			t.Fatalf("size %d: %d lines", size, len(got))
		}
		l := got[0]
		switch {
		case l.Size != int64(size) || l.Cut != (size > 1<<20):
			t.Errorf("size %d: reported %d, cut %v", size, l.Size, l.Cut)
		case l.Cut && string(l.Data) != line[:headSize], !l.Cut && string(l.Data) != line:
			t.Errorf("size %d: wrong data of %d bytes", size, len(l.Data))
		}
	}
}

// endless gives n bytes without a line feed, then one.
type endless struct{ n int }

func (e *endless) Read(b []byte) (int, error) {
	if e.n == 0 {
		return 0, io.EOF
	}
	n := min(e.n, len(b))
	clear(b[:n])
	e.n -= n
	if e.n == 0 {
		b[n-1] = '\n'
	}
	return n, nil
}

func TestMemoryIsGivenBackAfterALargeLine(t *testing.T) {
	l := NewLineReader(io.MultiReader(&endless{60 << 20}, &endless{300 << 20}, strings.NewReader("final\n")), 64<<20)
	first, err := l.Next()
	if err != nil || first.Cut || first.Size != 60<<20-1 {
		t.Fatalf("60 MiB line: %v, cut %v, size %d", err, first.Cut, first.Size)
	}
	second, err := l.Next()
	if err != nil || !second.Cut || second.Size != 300<<20-1 || len(second.Data) != headSize {
		t.Fatalf("300 MiB line: %v, cut %v, size %d", err, second.Cut, second.Size)
	}
	if last, err := l.Next(); err != nil || string(last.Data) != "final" {
		t.Fatalf("final: %q, %v", last.Data, err)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 32<<20 {
		t.Errorf("%d MiB are still held", m.HeapAlloc>>20)
	}
	runtime.KeepAlive(l)
}

func TestReadErrorIsReported(t *testing.T) {
	t.Parallel()
	l := NewLineReader(io.MultiReader(strings.NewReader("one\nhalf"), iotest.ErrReader(io.ErrUnexpectedEOF)), 0)
	if line, err := l.Next(); err != nil || string(line.Data) != "one" {
		t.Fatalf("%q, %v", line.Data, err)
	}
	if _, err := l.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\n\nc"), 2)
	f.Fuzz(func(t *testing.T, in []byte, limit int) {
		limit = 1 + abs(limit)%20000
		want := bytes.Split(in, []byte("\n"))
		if len(want[len(want)-1]) == 0 {
			want = want[:len(want)-1]
		}
		got := readAll(t, iotest.OneByteReader(bytes.NewReader(in)), limit)
		if len(got) != len(want) {
			t.Fatalf("%d lines, want %d", len(got), len(want))
		}
		for i, l := range got {
			if l.Size != int64(len(want[i])) || l.Cut != (len(want[i]) > limit) || !bytes.HasPrefix(want[i], l.Data) {
				t.Fatalf("line %d: size %d cut %v", i, l.Size, l.Cut)
			}
			if !l.Cut && len(l.Data) != len(want[i]) {
				t.Fatalf("line %d lost data", i)
			}
		}
	})
}

func abs(n int) int {
	if n < 0 {
		return -(n + 1)
	}
	return n
}

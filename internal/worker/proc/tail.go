package proc

import (
	"io"
	"sync"
)

// tailSize is how much of stderr is kept.
const tailSize = 64 << 10

// tail keeps the end of what is written to it.
type tail struct {
	mask *masker

	mu   sync.Mutex
	buf  []byte // grows to tailSize, then is a ring
	next int    // where the ring continues
}

func newTail(env []string) *tail { return &tail{mask: newMasker(env)} }

// fill reads r to its end. Most agents never say anything there, so the buffer
// grows with the first that says much.
func (t *tail) fill(r io.Reader) {
	b := make([]byte, 256)
	for {
		n, err := r.Read(b)
		t.add(b[:n])
		if err != nil {
			return
		}
		if n == len(b) && n < 16<<10 {
			b = make([]byte, 16<<10)
		}
	}
}

func (t *tail) add(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := tailSize - len(t.buf); room > 0 {
		n := min(room, len(b))
		t.buf = append(t.buf, b[:n]...)
		b = b[n:]
	}
	for len(b) > 0 {
		n := copy(t.buf[t.next:], b)
		b, t.next = b[n:], (t.next+n)%tailSize
	}
}

// String returns what is kept, with secrets masked.
func (t *tail) String() string {
	t.mu.Lock()
	s := string(t.buf[t.next:]) + string(t.buf[:t.next])
	t.mu.Unlock()
	return t.mask.Replace(s)
}

package runner

import (
	"bytes"
	"syscall"
)

// Slim gives back the pages of the program file that were only needed to start
// up. A runner waits nearly all of its life, and a few pages are enough for
// that; what is needed again comes back from the page cache. Only mappings that
// cannot be written and hold no page of their own are touched, so nothing can
// be lost. It allocates nothing: a collection would touch half of the file
// again.
func Slim() {
	fd, err := syscall.Open("/proc/self/smaps", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer syscall.Close(fd)
	var buf [4096]byte // longer than any line
	var at mapping
	held := 0
	for {
		n, err := syscall.Read(fd, buf[held:])
		if err != nil || n <= 0 {
			return
		}
		rest := buf[:held+n]
		for {
			i := bytes.IndexByte(rest, '\n')
			if i < 0 {
				break
			}
			at.line(rest[:i])
			rest = rest[i+1:]
		}
		held = copy(buf[:], rest)
	}
}

// mapping is the one that smaps is about to describe; length 0 is one that
// must be left alone.
type mapping struct{ start, length uintptr }

var anonymous = []byte("Anonymous:")

// line takes one line of smaps: the head of a mapping
// ("00400000-00500000 r-xp 00003000 fd:00 123 /path"), or a figure of it.
func (m *mapping) line(s []byte) {
	if value, ok := bytes.CutPrefix(s, anonymous); ok {
		if m.length > 0 && bytes.Equal(bytes.TrimSpace(value), []byte("0 kB")) {
			_, _, _ = syscall.RawSyscall(syscall.SYS_MADVISE, m.start, m.length, syscall.MADV_DONTNEED)
		}
		return
	}
	from, i := hex(s)
	if i == 0 || i >= len(s) || s[i] != '-' {
		return
	}
	to, j := hex(s[i+1:])
	access := s[i+1+j:]
	m.start, m.length = from, 0
	if len(access) > 3 && access[2] != 'w' && bytes.IndexByte(access, '/') > 0 && to > from {
		m.length = to - from
	}
}

// hex reads a number and returns how many digits it had.
func hex(s []byte) (n uintptr, digits int) {
	for _, c := range s {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | uintptr(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | uintptr(c-'a'+10)
		default:
			return n, digits
		}
		digits++
	}
	return n, digits
}

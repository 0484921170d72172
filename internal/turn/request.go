package turn

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
	"unicode"

	"cligate/internal/chat"
)

// digest names an exact request. Every part is written with its length, so
// that no two requests share a digest, whatever bytes they are made of.
func digest(q chat.Question) string {
	h := sha256.New()
	put(h, string(q.Kind), q.Tool, q.Detail)
	putOptions(h, q.Options)
	count(h, len(q.Queries))
	for _, k := range q.Queries {
		put(h, k.ID, k.Header, k.Text, fmt.Sprint(k.Multi, k.Free))
		putOptions(h, k.Options)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func putOptions(h hash.Hash, os []chat.Option) {
	count(h, len(os))
	for _, o := range os {
		put(h, o.ID, o.Label, string(o.Effect), o.Hint)
	}
}

func put(h hash.Hash, ss ...string) {
	for _, s := range ss {
		count(h, len(s))
		h.Write([]byte(s))
	}
}

func count(h hash.Hash, n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	h.Write(b[:])
}

// visible shows what a reader could not see: control and format characters
// (bidi overrides, zero-width ones), odd spaces, broken bytes, and blanks at
// the end of a line. Each becomes \u{hex} or \x{hex}; hidden says whether
// there was any.
func visible(s string) (shown string, hidden bool) {
	var b strings.Builder
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		end := len(strings.TrimRight(line, " \t"))
		for at, r := range line {
			switch {
			case r == unicode.ReplacementChar && !strings.HasPrefix(line[at:], "\uFFFD"):
				fmt.Fprintf(&b, `\x{%02x}`, line[at])
			case at >= end || !plain(r):
				fmt.Fprintf(&b, `\u{%02x}`, r)
			default:
				b.WriteRune(r)
				continue
			}
			hidden = true
		}
	}
	return b.String(), hidden
}

// plain reports whether a reader sees r for what it is.
func plain(r rune) bool {
	switch {
	case r == ' ' || r == '\t':
		return true
	case unicode.IsSpace(r), unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Zs):
		return false
	case r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0: // Hangul fillers look like nothing
		return false
	case r == 0xFE0E, r == 0xFE0F: // text or emoji form
		return true
	case unicode.In(r, unicode.Variation_Selector):
		return false
	}
	return true
}

// line is s on one line, bounded, with everything visible.
func line(s string, limit int) string {
	s, _ = visible(strings.Join(strings.Fields(s), " "))
	return chat.Clip(s, limit)
}

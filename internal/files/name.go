package files

import (
	"bytes"
	"image"
	_ "image/jpeg" // sizes of photos
	_ "image/png"  // sizes of photos
	"path"
	"path/filepath"
	"strings"
	"unicode"

	"cligate/internal/chat"
)

const (
	longestName = 100  // runes
	longestExt  = 16   // runes
	mostSides   = 9000 // pixels, both sides of a photo together: chats take 10000
	mostRatio   = 15   // of the sides of a photo: chats take 20
)

// cleanName makes a name harmless for every system that may store it: no
// folders, nothing that cannot be seen, none of the signs that Windows refuses.
func cleanName(s string) string {
	s = path.Base("/" + filepath.ToSlash(strings.ToValidUTF8(s, "_")))
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
			return -1
		case strings.ContainsRune(`\/:*?"<>|`+"`", r):
			return '_'
		}
		return r
	}, s)
	s = strings.TrimSpace(strings.Trim(s, ". "))
	if rs := []rune(s); len(rs) > longestName {
		ext := []rune(path.Ext(s))
		if len(ext) > longestExt {
			ext = nil
		}
		s = string(rs[:longestName-len(ext)]) + string(ext)
	}
	if s == "" {
		return "file"
	}
	return s
}

// kindOf says how a file is shown, by what it begins with: its name proves
// nothing.
func kindOf(head []byte) chat.FileKind {
	c, format, err := image.DecodeConfig(bytes.NewReader(head))
	if err != nil || format != "jpeg" && format != "png" {
		return chat.FileDocument
	}
	long, short := max(c.Width, c.Height), min(c.Width, c.Height)
	if short <= 0 || long+short > mostSides || long > mostRatio*short {
		return chat.FileDocument
	}
	return chat.FilePhoto
}

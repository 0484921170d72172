package inbox

import (
	"fmt"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cligate/internal/chat"
)

// nameBytes bounds a name; file systems take 255 bytes, and a number may be put
// into it.
const nameBytes = 160

// safeName makes a name of somebody's a plain one: no folder, nothing that a
// shell, a terminal or a command line takes for something else, no leading dot
// or dash. Letters and digits of every script stay.
func safeName(name string) string {
	name = path.Base("/" + strings.ReplaceAll(name, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError, unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r):
			return -1
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.Is(unicode.M, r), strings.ContainsRune("._-+=", r):
			return r
		}
		return '_'
	}, name)
	name = strings.Trim(name, ".")
	ext := path.Ext(name)
	if len(ext) > 16 {
		ext = ""
	}
	stem := strings.TrimLeft(strings.TrimSuffix(name, ext), ".-_")
	for len(stem)+len(ext) > nameBytes {
		_, n := utf8.DecodeLastRuneInString(stem)
		stem = stem[:len(stem)-n]
	}
	if stem == "" {
		return "file" + ext
	}
	return stem + ext
}

// numbered is the n-th name to try for a file, the first being its own.
func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	ext := path.Ext(name)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext)
}

// endings are what files of these kinds are called, where their name does not
// say it.
var endings = map[string]string{
	"image/jpeg": ".jpg", "image/png": ".png", "image/gif": ".gif", "image/webp": ".webp", "application/pdf": ".pdf",
	"application/ogg": ".ogg", "audio/mpeg": ".mp3", "audio/wave": ".wav", "video/mp4": ".mp4", "video/webm": ".webm",
	"application/zip": ".zip", "application/x-gzip": ".gz",
}

// sniffed is what the beginning of a file says it is; where that tells nothing,
// what the service said.
func sniffed(head []byte, f chat.FileRef) string {
	kind, _, err := mime.ParseMediaType(http.DetectContentType(head))
	if err != nil || kind == "application/octet-stream" || kind == "text/plain" && strings.HasPrefix(f.MIME, "text/") {
		return f.MIME
	}
	return kind
}

// fileName is the name under which a file is kept. A picture that is called
// something else than it is gets the right ending: agents go by it.
func fileName(f chat.FileRef, kind string) string {
	name := safeName(f.Name)
	ext := endings[kind]
	have := strings.ToLower(path.Ext(name))
	switch {
	case ext == "" || have == ext, kind == "image/jpeg" && have == ".jpeg", kind == "application/zip" && have != "", kind == "video/mp4" && have != "",
		kind == "application/ogg" && slices.Contains([]string{".oga", ".opus"}, have):
		return name
	case have == "" || have == ".bin":
		return strings.TrimSuffix(name, path.Ext(name)) + ext
	case strings.HasPrefix(kind, "image/"):
		return name + ext
	}
	return name
}

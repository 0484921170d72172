package telegram

import (
	"fmt"
	"math"
	"path"
	"strings"
	"unicode"

	"cligate/internal/chat"
)

// files lists what is attached to the message with that number; nothing is
// fetched here.
func (m *content) files(number int64) []chat.FileRef {
	var out []chat.FileRef
	add := func(f *file, kind chat.Media, mime, ext string) {
		if f == nil || f.ID == "" {
			return
		}
		r := chat.FileRef{
			ID: f.ID, Kind: kind, MIME: f.MIME, Size: max(f.Size, 0), Name: cleanName(f.Name),
			Seconds: int(min(max(f.Length, 0), math.MaxInt32)),
		}
		if r.MIME == "" {
			r.MIME = mime
		}
		if r.Name == "" {
			r.Name = fmt.Sprintf("%s_%d%s", kind, number, ext)
		}
		out = append(out, r)
	}
	var best *file
	for i := range m.Photo {
		if p := &m.Photo[i]; best == nil || p.Width*p.Height > best.Width*best.Height {
			best = p
		}
	}
	add(best, chat.MediaPhoto, "image/jpeg", ".jpg")
	if m.Animation == nil { // an animation is repeated as a document
		add(m.Document, chat.MediaDocument, "application/octet-stream", ".bin")
	}
	add(m.Animation, chat.MediaVideo, "video/mp4", ".mp4")
	add(m.Voice, chat.MediaVoice, "audio/ogg", ".ogg")
	add(m.Audio, chat.MediaAudio, "audio/mpeg", ".mp3")
	add(m.Video, chat.MediaVideo, "video/mp4", ".mp4")
	add(m.VideoNote, chat.MediaVideo, "video/mp4", ".mp4")
	return out
}

// cleanName makes a foreign file name harmless: no folders, no control
// characters, no leading dots, at most 120 runes.
func cleanName(s string) string {
	s = path.Base("/" + strings.ReplaceAll(s, "\\", "/"))
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '/' || r == unicode.ReplacementChar || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s)
	s = strings.TrimSpace(strings.TrimLeft(s, ". "))
	if rs := []rune(s); len(rs) > 120 {
		ext := []rune(path.Ext(s))
		if len(ext) > 16 {
			ext = nil
		}
		s = string(rs[:120-len(ext)]) + string(ext)
	}
	return s
}

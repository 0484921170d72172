package demo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

const mostFiles = 50

// briefing finds where files for the chat go, as any agent would: in what the
// session was told once.
var briefing = regexp.MustCompile(`highest number below (/[^\n]+?) \(now `)

// outbox is the newest folder of those; an error when nobody told of any.
func (b *book) outbox() (string, error) {
	all := ""
	for _, e := range b.lines {
		if m := briefing.FindStringSubmatch(e.Text); m != nil && e.Role == roleUser {
			all = m[1]
		}
	}
	if all == "" {
		return "", errors.New("nobody told where files go")
	}
	entries, err := os.ReadDir(all)
	if err != nil {
		return "", err
	}
	newest := -1
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			newest = max(newest, n)
		}
	}
	if newest < 0 {
		return "", errors.New("there is no folder for files")
	}
	return filepath.Join(all, strconv.Itoa(newest)), nil
}

// files puts so many files into the chat's folder, each with the mark and its
// number, and then says so. The answer has number 1.
func (s acts) files(ctx context.Context, p phrase, body func(mark string) []byte, ext string) {
	dir, err := s.book.outbox()
	if err != nil {
		s.say(err.Error())
		return
	}
	mark := cmp.Or(p.tail(), "demo")
	n := p.number(1, mostFiles)
	s.close(ctx, phrase{rest: mark})
	for i := 2; i <= n+1 && ctx.Err() == nil; i++ {
		name := fmt.Sprintf("%s_%d%s", filepath.Base(mark), i, ext)
		if err := os.WriteFile(filepath.Join(dir, name), body(fmt.Sprintf("%s-%d", mark, i)), 0o600); err != nil {
			s.say(" " + err.Error())
			return
		}
	}
}

// late puts a file into the folder of this turn after some seconds, whatever
// has become of the turn by then.
func (s acts) late(ctx context.Context, p phrase) {
	dir, err := s.book.outbox()
	if err != nil {
		s.say(err.Error())
		return
	}
	after, mark := time.Duration(p.number(1, mostSeconds))*time.Second, cmp.Or(p.tail(), "demo")
	time.AfterFunc(after, func() { // ends with the process
		_ = os.WriteFile(filepath.Join(dir, filepath.Base(mark)+".txt"), textBody(mark+"-2"), 0o600)
	})
	s.close(ctx, phrase{rest: mark})
	pause(ctx, mostSeconds*time.Second)
}

func textBody(mark string) []byte { return []byte(mark + "\n") }

// imageBody is a small image that carries a mark behind its end.
func imageBody(mark string) []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 40, 30))) // into memory: cannot fail
	return append(b.Bytes(), "\n"+mark+"\n"...)
}

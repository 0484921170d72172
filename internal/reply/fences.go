package reply

import "strings"

// fences knows the code fences of a text that comes in pieces.
type fences struct {
	size int
	line []byte // the beginning of the line that is not complete yet, long enough to tell
	all  []fence
}

type fence struct {
	end  int // of its line
	open bool
	mark string // the line itself: fence and language
}

const fenceLine = 40 // more of a line is not looked at

func (f *fences) write(text string) {
	for text != "" {
		line, rest, complete := strings.Cut(text, "\n")
		if room := fenceLine - len(f.line); room > 0 {
			f.line = append(f.line, line[:min(len(line), room)]...)
		}
		f.size += len(line)
		if !complete {
			return
		}
		f.size++
		f.take(strings.TrimSpace(string(f.line)))
		f.line = f.line[:0]
		text = rest
	}
}

func (f *fences) take(line string) {
	sign := ""
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			sign = line[:n]
		}
	}
	open := len(f.all) > 0 && f.all[len(f.all)-1].open
	switch {
	case sign == "":
	case !open:
		f.all = append(f.all, fence{end: f.size, open: true, mark: line})
	case line == sign && strings.HasPrefix(sign, f.all[len(f.all)-1].sign()):
		f.all = append(f.all, fence{end: f.size})
	}
}

// sign is the run of backticks or tildes alone.
func (f fence) sign() string {
	if f.mark == "" {
		return ""
	}
	return f.mark[:len(f.mark)-len(strings.TrimLeft(f.mark, f.mark[:1]))]
}

// openAt returns the line that opens again the code that offset at is in.
func (f *fences) openAt(at int) string {
	for i := len(f.all) - 1; i >= 0; i-- {
		if f.all[i].end <= at {
			if f.all[i].open {
				return f.all[i].mark + "\n"
			}
			return ""
		}
	}
	return ""
}

// Package speech turns a recording into words: with a program on this machine,
// or with a service that speaks the transcription interface of OpenAI. Which,
// the configuration says; there is no fall-back from one to the other, so that
// a recording goes nowhere that nobody chose.
//
// Guarantees: no shell is involved, and nothing that came from a chat stands in
// an argument (a file's name was made by us); neither time nor memory has no
// end; the key of a service stands in no error and no log.
package speech

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"cligate/internal/chat"
	"cligate/internal/worker/proc"
)

// Placeholder stands for the path of the recording in a command.
const Placeholder = "{file}"

// LanguagePlaceholder stands for the configured language in a command.
const LanguagePlaceholder = "{language}"

// Config says who understands speech.
type Config struct {
	// Command is a program and its arguments, one of which contains
	// Placeholder. It prints the words on its standard output.
	Command []string
	Env     []string // of the program, beside the usual: NAME=value, or NAME to inherit

	URL   string // the base of a service ("https://api.openai.com/v1"), or its full address
	Key   string // for that service; a secret; empty = none is sent
	Model string // the service's name of it

	Language string        // two letters; empty = found out
	Timeout  time.Duration // for one recording
	MaxSize  int64         // bytes of one recording; 0 = any
	MaxTime  time.Duration // how long it may play; 0 = any

	Log *slog.Logger
}

// Validate reports what is wrong with c.
func (c Config) Validate() error {
	var bad []error
	if len(c.Command) > 0 && c.URL != "" {
		bad = append(bad, errors.New("speech: both a command and a url are given; choose one"))
	}
	if len(c.Command) > 0 && !slices.ContainsFunc(c.Command[1:], func(a string) bool { return strings.Contains(a, Placeholder) }) {
		bad = append(bad, fmt.Errorf("speech: no argument of the command contains %s", Placeholder))
	}
	if u, err := url.Parse(c.URL); c.URL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		bad = append(bad, errors.New("speech: url is not an http(s) address"))
	}
	if c.Timeout <= 0 {
		bad = append(bad, errors.New("speech: a recording needs a time limit"))
	}
	if c.MaxSize < 0 || c.MaxTime < 0 {
		bad = append(bad, errors.New("speech: a limit is negative"))
	}
	return errors.Join(bad...)
}

// Listener understands recordings. It may be used from many goroutines.
type Listener struct {
	cfg  Config
	hear func(ctx context.Context, file chat.FileRef) (string, error)
}

// New makes a Listener; nil when the configuration names neither a program nor
// a service.
func New(cfg Config, s *proc.Starter) (*Listener, error) {
	if len(cfg.Command) == 0 && cfg.URL == "" {
		return nil, nil //nolint:nilnil // nobody listens, and that is no error
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	l := &Listener{cfg: cfg}
	if len(cfg.Command) > 0 {
		l.hear = program{cfg, s}.hear
	} else {
		l.hear = newService(cfg).hear
	}
	return l, nil
}

// mostWords bounds a transcript, in bytes.
const mostWords = 256 << 10

// Hear returns the words of a recording. The error's code is chat.Full for one
// that is larger or longer than is taken, chat.Nothing for one without words;
// its detail is safe to show.
func (l *Listener) Hear(ctx context.Context, file chat.FileRef) (string, error) {
	info, err := os.Stat(file.Path)
	if err != nil {
		return "", fmt.Errorf("look at the recording: %w", err)
	}
	if l.cfg.MaxSize > 0 && info.Size() > l.cfg.MaxSize {
		return "", chat.E(chat.Full, "", fmt.Errorf("a recording of %d bytes", info.Size()))
	}
	if l.cfg.MaxTime > 0 && time.Duration(file.Seconds)*time.Second > l.cfg.MaxTime {
		return "", chat.E(chat.Full, "", fmt.Errorf("a recording of %d seconds", file.Seconds))
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	words, err := l.hear(ctx, file)
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return "", chat.Say(chat.TimedOut, "speech.slow", err)
	}
	if err != nil {
		return "", err
	}
	if words = tidied(words); words == "" {
		return "", chat.E(chat.Nothing, "", errors.New("no words"))
	}
	l.cfg.Log.InfoContext(ctx, "speech understood", "seconds", file.Seconds, "took", time.Since(began))
	return words, nil
}

// tidied is a transcript without what is no text.
func tidied(s string) string {
	s = strings.ToValidUTF8(s, "")
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}

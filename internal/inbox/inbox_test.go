package inbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"cligate/internal/chat"
	"cligate/internal/sim/wording"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is a Keeper with its neighbours.
type house struct {
	*Keeper
	t    *testing.T
	work string
	turn chat.Turn

	mu    sync.Mutex
	files map[string]func(w io.Writer) error // by id
	asked []string
	said  map[string]chat.Reply
	input chat.Input
	over  bool
	grows bool // what a quotation brings is kept
	ear   func(f chat.FileRef) (string, error)
}

func build(t *testing.T, cfg Config, files ...chat.FileRef) *house {
	t.Helper()
	h := &house{t: t, work: t.TempDir(), files: map[string]func(io.Writer) error{}, said: map[string]chat.Reply{}}
	h.input = chat.Input{Pieces: []chat.Piece{{Inbound: 1, Text: "look", Files: files}}}
	h.turn = chat.Turn{ID: 7, Input: h.input, Place: chat.Place{Platform: "telegram", Account: "main"}, ReplyTo: chat.Ref{ID: "5"}}
	k, err := New(Deps{Source: h, Ledger: h, Voice: h}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	h.Keeper = k
	return h
}

// gives has the service hand out a file.
func (h *house) gives(id, content string) *house {
	h.files[id] = func(w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	}
	return h
}

func (h *house) Fetch(ctx context.Context, account string, f chat.FileRef, w io.Writer) error {
	h.mu.Lock()
	h.asked = append(h.asked, f.ID)
	give := h.files[f.ID]
	h.mu.Unlock()
	if account != "main" {
		h.t.Errorf("account %q", account)
	}
	if give == nil {
		return chat.E(chat.GiveUp, "wrong file_id", nil)
	}
	if err := give(w); err != nil {
		return err
	}
	return ctx.Err()
}

func (h *house) KeepFiles(_ context.Context, turn int64, files []chat.FileRef) (chat.Input, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over || turn != h.turn.ID {
		return chat.Input{}, chat.E(chat.Conflict, "", nil)
	}
	h.input.Pieces = slices.Clone(h.input.Pieces) // as from a ledger: nobody else's
	for i, p := range h.input.Pieces {
		list := slices.Clone(p.Files)
		for j := range list {
			for _, f := range files {
				if f.ID == list[j].ID {
					list[j] = f
				}
			}
		}
		for _, f := range files {
			if h.grows && f.Of != "" && !slices.ContainsFunc(list, func(g chat.FileRef) bool { return g.ID == f.ID }) {
				list = append(list, f)
			}
		}
		h.input.Pieces[i].Files = list
	}
	return h.input, nil
}

func (h *house) Say(_ context.Context, _ chat.Place, key string, rs ...chat.Reply) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.said[key]; !known {
		h.said[key] = rs[0]
	}
	return nil
}

func (h *house) Hear(_ context.Context, f chat.FileRef) (string, error) { return h.ear(f) }

func (h *house) prepare() (chat.Input, error) {
	h.t.Helper()
	return h.Prepare(h.t.Context(), Order{Turn: h.turn, Workspace: h.work, Lang: "en"})
}

// fetched is the one file of the prepared input.
func (h *house) fetched() chat.FileRef {
	h.t.Helper()
	in, err := h.prepare()
	if err != nil || len(in.Pieces) != 1 || len(in.Pieces[0].Files) != 1 {
		h.t.Fatalf("%+v, %v", in, err)
	}
	return in.Pieces[0].Files[0]
}

// told is everything that was told.
func (h *house) told() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for _, r := range h.said {
		all = append(all, r.Markdown)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

const png = "\x89PNG\r\n\x1a\n and so on"

func TestAFileIsLaidIntoTheWorkspace(t *testing.T) {
	t.Parallel()
	h := build(t, Config{}, chat.FileRef{ID: "p", Name: "photo_5.jpg", MIME: "image/jpeg", Kind: chat.MediaPhoto}).gives("p", png)
	f := h.fetched()
	want := filepath.Join(h.work, ".cligate", "inbox", time.Now().Format(time.DateOnly), "photo_5.jpg.png")
	if f.Path != want || f.MIME != "image/png" || f.Size != int64(len(png)) || f.Lost != "" {
		t.Errorf("%+v, want %s", f, want)
	}
	if b, err := os.ReadFile(f.Path); err != nil || string(b) != png {
		t.Errorf("%q, %v", b, err)
	}
	if b, err := os.ReadFile(filepath.Join(h.work, ".cligate", ".gitignore")); err != nil || string(b) != "*\n" {
		t.Errorf(".gitignore %q, %v", b, err)
	}
	if info, err := os.Stat(f.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(f.Path), unfinished+"*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if again := h.fetched(); again != f || len(h.asked) != 1 {
		t.Errorf("fetched again: %v", h.asked)
	}
	if h.told() != "" {
		t.Errorf("told %q", h.told())
	}
}

func TestAFileThatWasRemovedIsFetchedAgain(t *testing.T) {
	t.Parallel()
	h := build(t, Config{}, chat.FileRef{ID: "d", Name: "a.txt"}).gives("d", "content")
	f := h.fetched()
	if err := os.Remove(f.Path); err != nil {
		t.Fatal(err)
	}
	if again := h.fetched(); again.Path != f.Path || len(h.asked) != 2 {
		t.Errorf("%+v after %v", again, h.asked)
	}
	// What an agent laid in its place is not the file.
	if err := errors.Join(os.Remove(f.Path), os.Symlink("/etc/passwd", f.Path)); err != nil {
		t.Fatal(err)
	}
	if again := h.fetched(); again.Path == f.Path || len(h.asked) != 3 {
		t.Errorf("%+v after %v", again, h.asked)
	}
}

func TestFilesOfOneNameStayApart(t *testing.T) {
	t.Parallel()
	h := build(t, Config{}, chat.FileRef{ID: "1", Name: "a.txt"}, chat.FileRef{ID: "2", Name: "a.txt"}, chat.FileRef{ID: "3", Name: "../a.txt"})
	for _, id := range []string{"1", "2", "3"} {
		h.gives(id, "content "+id)
	}
	in, err := h.prepare()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range in.Fetched() {
		b, err := os.ReadFile(f.Path)
		if err != nil || string(b) != "content "+f.ID {
			t.Errorf("%+v holds %q, %v", f, b, err)
		}
		names = append(names, filepath.Base(f.Path))
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"a-2.txt", "a-3.txt", "a.txt"}) {
		t.Errorf("names %v", names)
	}
}

// linkless is a folder of a file system without hard links.
type linkless struct{ *os.Root }

func (linkless) Link(_, to string) error {
	return &os.LinkError{Op: "link", New: to, Err: syscall.EPERM}
}

func TestNoFileTakesThePlaceOfAnotherWhereThereAreNoLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	write := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.txt")
	write(".part-1")
	if err := take(linkless{root}, ".part-1", "a.txt"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a name that is taken: %v", err)
	}
	if err := take(linkless{root}, ".part-1", "a-2.txt"); err != nil {
		t.Error(err)
	}
	if err := take(linkless{root}, ".part-gone", "b.txt"); err == nil {
		t.Error("a file that is not there has a name")
	}
	for name, want := range map[string]string{"a.txt": "a.txt", "a-2.txt": ".part-1"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
			t.Errorf("%s holds %q, %v", name, b, err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left are %v", left)
	}
}

func TestNothingLeadsOutOfTheWorkspace(t *testing.T) {
	t.Parallel()
	for name, lay := range map[string]func(work, outside string) error{
		"our folder": func(work, outside string) error { return os.Symlink(outside, filepath.Join(work, ".cligate")) },
		"the inbox": func(work, outside string) error {
			return errors.Join(os.Mkdir(filepath.Join(work, ".cligate"), 0o700), os.Symlink(outside, filepath.Join(work, ".cligate", "inbox")))
		},
		"the day": func(work, outside string) error {
			dir := filepath.Join(work, ".cligate", "inbox")
			return errors.Join(os.MkdirAll(dir, 0o700), os.Symlink(outside, filepath.Join(dir, time.Now().Format(time.DateOnly))))
		},
		"a file there": func(work, _ string) error { return os.WriteFile(filepath.Join(work, ".cligate"), nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := build(t, Config{}, chat.FileRef{ID: "d", Name: "a.txt"}).gives("d", "content")
			outside := t.TempDir()
			if err := lay(h.work, outside); err != nil {
				t.Fatal(err)
			}
			if f := h.fetched(); f.Path != "" || f.Lost == "" {
				t.Errorf("%+v", f)
			}
			if left, _ := os.ReadDir(outside); len(left) > 0 {
				t.Errorf("outside: %v", left)
			}
			if !strings.Contains(h.told(), "could not be fetched") {
				t.Errorf("told %q", h.told())
			}
		})
	}
}

func TestWhatCannotBeHadIsToldOnceAndTheRestRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file chat.FileRef
		give func(io.Writer) error
		told string
	}{
		"gone":                    {chat.FileRef{Name: "a_b.txt"}, nil, `a\_b.txt`},
		"too large, known before": {chat.FileRef{Name: "a", Size: 2000}, nil, "inbox.file_max_mb"},
		"too large, found out":    {chat.FileRef{Name: "a"}, func(w io.Writer) error { _, err := w.Write(make([]byte, 2000)); return fmt.Errorf("keep: %w", err) }, "inbox.file_max_mb"},
		"more than the service":   {chat.FileRef{Name: "a"}, func(io.Writer) error { return chat.E(chat.Full, "", nil) }, "that large"},
		"more than it names":      {chat.FileRef{Name: "a"}, func(io.Writer) error { return chat.Say(chat.Full, "telegram.why_too_large", nil, "limit", 20) }, "20 MB"},
		"a full disk":             {chat.FileRef{Name: "a"}, func(io.Writer) error { return errors.New("disk full") }, "could not be fetched"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.file.ID = "bad"
			h := build(t, Config{FileMax: 1000}, c.file, chat.FileRef{ID: "good", Name: "b.txt"}).gives("good", "content")
			if c.give != nil {
				h.files["bad"] = c.give
			}
			in, err := h.prepare()
			if err != nil || len(in.Fetched()) != 1 || !strings.Contains(in.Text(), "look\n\n[a file was sent, named ") {
				t.Errorf("%q with %v, %v", in.Text(), in.Fetched(), err)
			}
			if len(h.said) != 1 || !strings.Contains(h.told(), c.told) {
				t.Errorf("told %q", h.told())
			}
			if c.file.Size > 0 && slices.Contains(h.asked, "bad") {
				t.Error("it was asked for")
			}
			if _, err = h.prepare(); err != nil || len(h.said) != 1 {
				t.Errorf("told again: %q, %v", h.told(), err)
			}
		})
	}
}

func TestAMessageOfWhichNothingIsLeftIsNotRun(t *testing.T) {
	t.Parallel()
	h := build(t, Config{}, chat.FileRef{ID: "gone", Name: "a_b.txt"})
	h.input.Pieces[0].Text = ""
	_, err := h.prepare()
	if why := chat.DetailOf(err); chat.CodeOf(err) != chat.Nothing || !strings.Contains(why, "a_b.txt") || strings.Contains(why, "passed on") {
		t.Errorf("%v", err)
	}
	if h.told() != "" { // the end of the turn says it
		t.Errorf("told %q", h.told())
	}
	h = build(t, Config{}, chat.FileRef{ID: "gone", Name: "a.txt"}, chat.FileRef{ID: "good", Name: "b.txt"}).gives("good", "content")
	h.input.Pieces[0].Text = ""
	if _, err := h.prepare(); err != nil || !strings.Contains(h.told(), "a.txt") || !strings.Contains(h.told(), "passed on") {
		t.Errorf("one of two: told %q, %v", h.told(), err)
	}
	h = build(t, Config{}, chat.FileRef{ID: "gone", Name: "a.txt"})
	h.input.Pieces[0].Text, h.input.Pieces[0].Quote = "", "a forwarded caption"
	if _, err := h.prepare(); err != nil {
		t.Errorf("with a quotation: %v", err)
	}
}

func TestAServiceThatFailsForAWhileIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := build(t, Config{}, chat.FileRef{ID: "d", Name: "a.txt"})
		tries := 0
		h.files["d"] = func(w io.Writer) error {
			tries++
			switch tries {
			case 1:
				_, _ = io.WriteString(w, "half")
				return chat.E(chat.Network, "broke off", nil)
			case 2:
				return &chat.Error{Code: chat.Wait, After: 20 * time.Second}
			}
			_, err := io.WriteString(w, "whole")
			return err
		}
		began := time.Now()
		f := h.fetched()
		if b, err := os.ReadFile(f.Path); err != nil || string(b) != "whole" || time.Since(began) < 20*time.Second {
			t.Errorf("%q after %v, %v", b, time.Since(began), err)
		}
		h.files["e"] = func(io.Writer) error { return chat.E(chat.Network, "no route", nil) }
		h.input.Pieces[0].Files = []chat.FileRef{{ID: "e", Name: "e"}}
		if f := h.fetched(); f.Lost == "" || !strings.Contains(h.told(), "no route") {
			t.Errorf("%+v, told %q", f, h.told())
		}
	})
}

func TestAStopEndsTheFetching(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := build(t, Config{}, chat.FileRef{ID: "d", Name: "a.txt"})
		h.files["d"] = func(io.Writer) error { return chat.E(chat.Network, "", nil) }
		ctx, stop := context.WithCancelCause(t.Context())
		done := make(chan error, 2)
		for range 2 { // the second one waits for the first
			go func() {
				_, err := h.Prepare(ctx, Order{Turn: h.turn, Workspace: h.work, Lang: "en"})
				done <- err
			}()
		}
		synctest.Wait()
		stop(chat.E(chat.Stopped, "", nil))
		for range 2 {
			if err := <-done; chat.CodeOf(err) != chat.Stopped {
				t.Errorf("%v", err)
			}
		}
		if h.told() != "" || h.input.Pieces[0].Files[0].Lost != "" {
			t.Errorf("told %q, %+v", h.told(), h.input)
		}
	})
}

func TestTwoWhoWantTheSameFileFetchItOnce(t *testing.T) {
	t.Parallel()
	h := build(t, Config{}, chat.FileRef{ID: "d", Name: "a.txt"})
	inside := make(chan struct{})
	h.files["d"] = func(w io.Writer) error {
		<-inside
		_, err := io.WriteString(w, "x")
		return err
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if _, err := h.prepare(); err != nil {
				t.Error(err)
			}
		})
	}
	close(inside)
	all.Wait()
	if len(h.asked) != 1 {
		t.Errorf("fetched %d times", len(h.asked))
	}
}

func TestAVoiceMessageBecomesWords(t *testing.T) {
	t.Parallel()
	h := build(t, Config{}, chat.FileRef{ID: "v", Name: "voice_5.ogg", Kind: chat.MediaVoice}).gives("v", "OggS")
	h.Ear = h
	h.ear = func(f chat.FileRef) (string, error) {
		b, err := os.ReadFile(f.Path)
		return "heard " + string(b) + " *twice*", err
	}
	in, err := h.prepare()
	if err != nil || in.Text() != "look\n\nheard OggS *twice*" || len(in.Fetched()) != 0 {
		t.Errorf("%q with %v, %v", in.Text(), in.Fetched(), err)
	}
	if h.told() != `> 🎤 heard OggS \*twice\*` {
		t.Errorf("told %q", h.told())
	}
	if _, err = h.prepare(); err != nil || len(h.asked) != 1 {
		t.Errorf("heard again: %v, %v", h.asked, err)
	}
}

func TestSpokenCommandsAreNoCommands(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{"/new": "[spoken] /new", "!rm -rf /": "[spoken] !rm -rf /", "new": "new"} {
		in := chat.Input{Pieces: []chat.Piece{{Files: []chat.FileRef{{Kind: chat.MediaVoice, Heard: words}}}}}
		if in.Text() != want {
			t.Errorf("%q", in.Text())
		}
		in.Pieces[0].Source.Kind = chat.SourceForward
		if !strings.HasPrefix(in.Text(), "[quoted text, forwarded]\n> ") {
			t.Errorf("forwarded: %q", in.Text())
		}
	}
}

func TestSpeechThatNobodyUnderstandsIsTold(t *testing.T) {
	t.Parallel()
	voice := chat.FileRef{ID: "v", Name: "voice_5.ogg", Kind: chat.MediaVoice}
	for name, c := range map[string]struct {
		err  error
		told string
	}{
		"nobody listens": {nil, "speech.command"},
		"too long":       {chat.E(chat.Full, "", nil), "speech.max_duration"},
		"silence":        {chat.E(chat.Nothing, "", nil), "no words"},
		"trouble":        {chat.E(chat.AgentError, "the program for it failed", nil), "the program for it failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := build(t, Config{}, voice).gives("v", "OggS")
			h.input.Pieces[0].Text = ""
			if c.err != nil {
				h.Ear = h
				h.ear = func(chat.FileRef) (string, error) { return "", c.err }
			}
			_, err := h.prepare()
			if chat.CodeOf(err) != chat.Nothing || !strings.Contains(chat.DetailOf(err), c.told) {
				t.Errorf("%v", err)
			}
			if len(h.said) != 0 { // the end of the turn says it
				t.Errorf("told %q", h.told())
			}
			if c.err == nil && len(h.asked) > 0 {
				t.Error("it was downloaded for nothing")
			}
		})
	}
}

func TestWhatIsToldAboutFilesIsInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind chat.Media
		err  error
	}{
		"cannot be had":       {chat.MediaDocument, chat.Say(chat.GiveUp, "telegram.why_kept", nil)},
		"nobody knows why":    {chat.MediaDocument, errors.New("no space left on device")},
		"too large":           {chat.MediaDocument, chat.E(chat.Full, "", nil)},
		"too large, with why": {chat.MediaDocument, chat.Say(chat.Full, "telegram.why_too_large", nil, "limit", 20)},
		"over the limit":      {chat.MediaDocument, errOverLimit},
		"not heard":           {chat.MediaVoice, chat.Say(chat.AgentError, "speech.failed", nil)},
		"not heard, unknown":  {chat.MediaVoice, errors.New("no space left on device")},
		"too long":            {chat.MediaVoice, chat.E(chat.Full, "", nil)},
		"silence":             {chat.MediaVoice, chat.E(chat.Nothing, "", nil)},
		"nobody listens":      {chat.MediaVoice, nil},
	} {
		for _, words := range []string{"", "看"} {
			h := build(t, Config{}, chat.FileRef{ID: "f", Name: "a.txt", Kind: c.kind, Size: 10})
			h.input.Pieces[0].Text = words
			switch {
			case c.kind == chat.MediaVoice && c.err != nil:
				h.gives("f", "OggS")
				h.Ear, h.ear = h, func(chat.FileRef) (string, error) { return "", c.err }
			case c.err != nil:
				h.files["f"] = func(io.Writer) error { return c.err }
			}
			_, err := h.Prepare(t.Context(), Order{Turn: h.turn, Workspace: h.work, Lang: "zh"})
			text := h.told() + chat.DetailOf(err)
			if bad := wording.English(text); len(bad) > 0 || !strings.ContainsRune(text, '。') || strings.Contains(text, "（）") {
				t.Errorf("%s: %q, of which %q is English (%v)", name, text, bad, err)
			}
		}
	}
}

func TestARecordingIsAFileAndWords(t *testing.T) {
	t.Parallel()
	music := chat.FileRef{ID: "m", Name: "talk.mp3", Kind: chat.MediaAudio}
	h := build(t, Config{}, music).gives("m", "ID3")
	if in, err := h.prepare(); err != nil || len(in.Fetched()) != 1 || h.told() != "" {
		t.Errorf("without ears: %+v, told %q, %v", in, h.told(), err)
	}
	h = build(t, Config{}, music).gives("m", "ID3")
	h.Ear, h.ear = h, func(chat.FileRef) (string, error) { return "the talk", nil }
	if in, err := h.prepare(); err != nil || len(in.Fetched()) != 1 || !strings.Contains(in.Text(), "the talk") {
		t.Errorf("with ears: %+v, %v", in, err)
	}
	h = build(t, Config{}, music).gives("m", "ID3")
	h.Ear, h.ear = h, func(chat.FileRef) (string, error) { return "", chat.E(chat.Nothing, "", nil) }
	if in, err := h.prepare(); err != nil || len(in.Fetched()) != 1 || h.told() != "" {
		t.Errorf("music: %+v, told %q, %v", in, h.told(), err)
	}
}

func TestNamesOfFilesAreHarmless(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a.go": "a.go", "": "file", "..": "file", "/": "file", ".": "file", "../../x": "x", "/etc/passwd": "passwd", `C:\x\y.txt`: "y.txt",
		"...bashrc": "bashrc", "-rf": "rf", "--help.txt": "help.txt", "a\x00b\n.txt": "ab.txt", "r\u202etxt.exe": "rtxt.exe",
		"$(touch x);`id`.txt": "touch_x___id_.txt", "中文 文件.md": "中文_文件.md", "ключ.pem": "ключ.pem", "é̂.txt": "é̂.txt", "a b'\"c.txt": "a_b__c.txt",
		"👍.txt": "file.txt", "-.-x": "file.-x", "con...": "con", ".txt": "txt", "x.tar.gz": "x.tar.gz",
	} {
		if got := safeName(in); got != want {
			t.Errorf("safeName(%q) = %q, want %q", in, got, want)
		}
	}
	long := safeName(strings.Repeat("文", 500) + ".tar")
	if len(long) > nameBytes || !strings.HasSuffix(long, "文.tar") {
		t.Errorf("%d bytes: %s", len(long), long)
	}
}

func FuzzSafeName(f *testing.F) {
	f.Add("../x")
	f.Add("a\x00/..\\-x.\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		got := safeName(s)
		if got == "" || len(got) > 200 || strings.ContainsAny(got, "/\\\x00\n $`'\"*?<>|;&") || strings.HasPrefix(got, ".") || strings.HasPrefix(got, "-") {
			t.Errorf("%q → %q", s, got)
		}
		if filepath.Base(got) != got {
			t.Errorf("%q → %q", s, got)
		}
	})
}

func TestTheInboxDoesNotGrowForEver(t *testing.T) {
	t.Parallel()
	h := build(t, Config{Keep: 48 * time.Hour, TotalMax: 100})
	dir := filepath.Join(h.work, ".cligate", "inbox")
	now := time.Now()
	lay := func(name string, size int, age time.Duration) {
		t.Helper()
		path := filepath.Join(dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, bytes.Repeat([]byte("x"), size), 0o600), os.Chtimes(path, now, now.Add(-age)))
		if err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(t.TempDir(), "keep")
	if err := os.WriteFile(outside, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	lay("2001-01-01/old.txt", 1, 72*time.Hour)
	lay("2001-01-02/third.txt", 60, 5*time.Hour)
	lay("2001-01-02/second.txt", 60, 4*time.Hour)
	lay("2001-01-02/first.txt", 30, 3*time.Hour)
	lay("2001-01-02/new.txt", 500, time.Minute)
	lay("2001-01-02/.part-abc", 5, 2*time.Hour)
	lay("2001-01-02/.part-now", 5, time.Minute)
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(dir, "2001-01-03")); err != nil {
		t.Fatal(err)
	}
	h.tidy(h.work, now)
	var left []string
	for _, pattern := range []string{"*/*", "*/.part*"} {
		found, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, f := range found {
			if rel, _ := filepath.Rel(dir, f); !strings.HasPrefix(rel, "2001-01-03") && !slices.Contains(left, rel) {
				left = append(left, rel)
			}
		}
	}
	slices.Sort(left)
	if !slices.Equal(left, []string{"2001-01-02/.part-now", "2001-01-02/new.txt"}) {
		t.Errorf("left %v", left)
	}
	if _, err := os.Stat(filepath.Join(dir, "2001-01-01")); err == nil {
		t.Error("an empty day stays")
	}
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("behind a link: %v", err)
	}
	h.tidy(t.TempDir(), now) // there is none, and none is made
}

func TestTheFolderIsLookedAfterWhileNothingComes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := build(t, Config{Keep: time.Hour}, chat.FileRef{ID: "d", Name: "a.txt"}).gives("d", "x")
		h.cfg.Folders = []string{filepath.Join(h.work, "gone"), h.work}
		f := h.fetched()
		wall := time.Now()
		if err := os.Chtimes(f.Path, wall, wall); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			h.Run(ctx)
			close(done)
		}()
		synctest.Wait()
		if _, err := os.Stat(f.Path); err != nil {
			t.Errorf("removed at once: %v", err)
		}
		time.Sleep(rounds + time.Minute)
		synctest.Wait()
		if _, err := os.Stat(f.Path); err == nil {
			t.Error("it stays")
		}
		stop()
		<-done
	})
}

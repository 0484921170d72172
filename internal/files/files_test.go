package files_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/files"
)

// desk is a workspace, a spool and a box.
type desk struct {
	t     *testing.T
	work  string
	spool *files.Spool
	dir   string // of the spool
	box   *files.Box
	s     chat.Session
}

func newDesk(t *testing.T, git files.Git, private ...string) *desk {
	t.Helper()
	d := &desk{t: t, work: t.TempDir(), dir: filepath.Join(t.TempDir(), "spool")}
	var err error
	if d.spool, err = files.OpenSpool(d.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.spool.Close() })
	d.box = files.NewBox(d.spool, git, files.Config{Keep: time.Hour, Private: private})
	d.s = chat.Session{ID: 1, Workspace: d.work, Seed: "1A2B3C4D-aaaa-bbbb"}
	return d
}

// begin makes the folder of a turn and returns its path, as an agent finds it.
func (d *desk) begin(turn int64) string {
	d.t.Helper()
	words, err := d.box.Begin(d.s, turn)
	if err != nil {
		d.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(words, "(now ")
	path, _, _ := strings.Cut(rest, ";")
	if i, err := os.Stat(path); err != nil || !i.IsDir() {
		d.t.Fatalf("the agent is told of %q: %v", words, err)
	}
	return path
}

func (d *desk) write(path, body string) {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// body is what the spool holds for a reply.
func (d *desk) body(r chat.Reply) string {
	d.t.Helper()
	f, err := d.spool.Open(r.File.Spool)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(f); err != nil {
		d.t.Fatal(err)
	}
	if i, err := f.Stat(); err != nil || i.Mode().Perm() != 0o600 || i.Size() != r.File.Size {
		d.t.Errorf("in the spool: %v %v, want %d bytes", i, err, r.File.Size)
	}
	return b.String()
}

// split returns the names of what is sent, and what is told.
func split(rs []chat.Reply) (names []string, told string) {
	for _, r := range rs {
		if r.File == nil {
			told += r.Markdown
			continue
		}
		names = append(names, r.File.Name)
	}
	return names, told
}

func picture(t *testing.T, w, h int) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFilesOfATurnAreSentWithNameSizeAndKind(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	out := d.begin(7)
	d.write(out+"/b plot.png", picture(t, 40, 30))
	d.write(out+"/a report.txt", "hello")
	d.write(out+"/c strip.png", picture(t, 4000, 3))
	d.write(out+"/d fake.png", "no image")
	rs := d.box.Collect(d.s, 7, "en", 0)
	names, told := split(rs)
	if !slices.Equal(names, []string{"a report.txt", "b plot.png", "c strip.png", "d fake.png"}) || told != "" {
		t.Fatalf("sent %q, told %q", names, told)
	}
	for i, k := range []chat.FileKind{"", chat.FilePhoto, "", ""} {
		if rs[i].File.Kind != k {
			t.Errorf("%s is a %q", names[i], rs[i].File.Kind)
		}
	}
	if d.body(rs[0]) != "hello" || rs[0].Markdown != "📎 `a report.txt` · 5 B" || rs[0].Kind != chat.ReplyFile {
		t.Errorf("first: %+v", rs[0])
	}
	if in := rs[0].File.Instead; !strings.Contains(in, ".cligate/out/1a2b3c4daaaa/7") || strings.Contains(in, d.work) {
		t.Errorf("where it lies: %q", in)
	}
}

func TestFilesBelongToTheTurnInWhoseFolderTheyLie(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	first := d.begin(7)
	second := d.begin(8)
	d.write(first+"/late.txt", "late") // the folder was empty, so it is gone; an agent makes it again
	if rs := d.box.Collect(d.s, 8, "en", 0); len(rs) != 0 {
		t.Errorf("a late file of another turn is sent: %+v", rs)
	}
	d.write(second+"/now.txt", "now")
	if names, _ := split(d.box.Collect(d.s, 8, "en", 0)); !slices.Equal(names, []string{"now.txt"}) {
		t.Errorf("sent %q", names)
	}
	other := d.s
	other.Seed = "ffffffff-cccc"
	if rs := d.box.Collect(other, 8, "en", 0); len(rs) != 0 {
		t.Errorf("another session sends %+v", rs)
	}
	if rs := d.box.Collect(d.s, 99, "en", 0); rs != nil {
		t.Errorf("a turn without a folder sends %+v", rs)
	}
}

func TestWhatMustNotLeaveStaysAndIsTold(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	out := d.begin(7)
	outside := filepath.Join(t.TempDir(), "shadow")
	d.write(outside, "root:x")
	d.write(d.work+"/src/main.go", "package main")
	for name, to := range map[string]string{"l1": outside, "l2": "../../../../src/main.go", "l3": "/etc", "l4": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(out, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(out+"/pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	d.write(out+"/empty", "")
	d.write(out+"/.env", "KEY=1")
	d.write(out+"/innocent.txt", "-----BEGIN OPENSSH PRIVATE KEY-----\nx")
	if err := os.WriteFile(out+"/sealed", []byte("x"), 0o000); err != nil {
		t.Fatal(err)
	}
	d.write(out+"/ok.txt", "fine")
	rs := d.box.Collect(d.s, 7, "en", 0)
	names, told := split(rs)
	if os.Getuid() == 0 { // may read anything
		names = slices.DeleteFunc(names, func(n string) bool { return n == "sealed" })
	}
	if !slices.Equal(names, []string{"ok.txt"}) {
		t.Fatalf("sent %q", names)
	}
	for _, want := range []string{
		"`l1`: a link", "`l2`: a link", "`l3`: a link", "`l4`: a link", "`pipe`: not a regular", "`empty`: it is empty",
		"`env`: it looks like a secret", "`innocent.txt`: it looks like a secret", ".cligate/out/1a2b3c4daaaa/7",
	} {
		if !strings.Contains(told, want) {
			t.Errorf("not told: %s\n%s", want, told)
		}
	}
}

func TestFolderIsSentAsAnArchiveWithoutItsSecrets(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	out := d.begin(7)
	d.write(out+"/site/index.html", "<p>")
	d.write(out+"/site/css/a.css", "p{}")
	d.write(out+"/site/.git/config", "[remote]")
	d.write(out+"/site/key.pem", "x")
	if err := os.Symlink("/etc/passwd", out+"/site/passwd"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(out+"/void", 0o700); err != nil {
		t.Fatal(err)
	}
	rs := d.box.Collect(d.s, 7, "en", 0)
	names, told := split(rs)
	if !slices.Equal(names, []string{"site.zip"}) || !strings.Contains(told, "`void.zip`: it is empty") || !strings.Contains(told, "secret") {
		t.Fatalf("sent %q, told %q", names, told)
	}
	if got := packed(t, d.body(rs[0])); !slices.Equal(got, []string{"site/css/a.css", "site/index.html"}) {
		t.Errorf("packed %q", got)
	}
}

func packed(t *testing.T, body string) (names []string) {
	t.Helper()
	z, err := zip.NewReader(strings.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

func TestTooManyFilesAreTenMessages(t *testing.T) {
	t.Parallel()
	for n, last := range map[int]string{10: "f010.txt", 11: "more-files.zip", 400: "more-files.zip"} {
		d := newDesk(t, nil)
		out := d.begin(7)
		for i := range n {
			d.write(fmt.Sprintf("%s/f%03d.txt", out, i+1), fmt.Sprint(i))
		}
		rs := d.box.Collect(d.s, 7, "en", 0)
		names, told := split(rs)
		if len(names) != 10 || names[9] != last || told != "" {
			t.Errorf("of %d files are sent %q, told %q", n, names, told)
		}
		if last == "more-files.zip" {
			if got := packed(t, d.body(rs[9])); len(got) != n-9 {
				t.Errorf("packed %d of %d", len(got), n-9)
			}
		}
	}
	d := newDesk(t, nil)
	out := d.begin(7)
	for i := range 2001 {
		d.write(fmt.Sprintf("%s/f%04d", out, i), "x")
	}
	if names, told := split(d.box.Collect(d.s, 7, "en", 0)); len(names) != 0 || !strings.Contains(told, "more than 2000 files") {
		t.Errorf("of very many are sent %q, told %q", names, told)
	}
}

func TestFileBeyondTheLimitIsToldWithItsPlace(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	out := d.begin(7)
	d.write(out+"/big.bin", strings.Repeat("x", 2001))
	d.write(out+"/fits.bin", strings.Repeat("x", 2000))
	names, told := split(d.box.Collect(d.s, 7, "en", 2000))
	if !slices.Equal(names, []string{"fits.bin"}) || !strings.Contains(told, "`big.bin`: 1.95 kB, this chat takes 1.95 kB") ||
		!strings.Contains(told, ".cligate/out/") {
		t.Errorf("sent %q, told %q", names, told)
	}
	// An archive is measured when it is packed.
	d.write(out+"/dir/noise.bin", string(noise(5000)))
	names, told = split(d.box.Collect(d.s, 7, "zh", 2000))
	if !slices.Equal(names, []string{"fits.bin"}) || !strings.Contains(told, "`dir.zip`: 大于 1.95 kB") {
		t.Errorf("sent %q, told %q", names, told)
	}
	if left, _ := os.ReadDir(d.dir); len(left) != 2 {
		t.Errorf("%d files stay in the spool, want those that are sent", len(left))
	}
}

func TestNoFileAndNoTurnFillsTheDisk(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.box = files.NewBox(d.spool, nil, files.Config{Most: 10_000})
	out := d.begin(7)
	d.write(out+"/1.bin", strings.Repeat("x", 6000))
	d.write(out+"/2.bin", strings.Repeat("x", 6000))
	d.write(out+"/3.bin", strings.Repeat("x", 3000))
	d.write(out+"/4/noise.bin", string(noise(5000)))
	d.write(out+"/5.bin", strings.Repeat("x", 1000))
	names, told := split(d.box.Collect(d.s, 7, "en", 0))
	if !slices.Equal(names, []string{"1.bin", "3.bin", "5.bin"}) || !strings.Contains(told, "`2.bin`: with the files before it more than 9.77 kB") ||
		!strings.Contains(told, "`4.zip`: with the files before it") {
		t.Errorf("sent %q, told %q", names, told)
	}
	if left, _ := os.ReadDir(d.dir); len(left) != 3 {
		t.Errorf("%d files are in the spool", len(left))
	}

	// A file without contents can be as large as it likes, also where nothing
	// is configured and the chat takes any size.
	d.box = files.NewBox(d.spool, nil, files.Config{})
	vast := func(path string) {
		d.write(path, "x")
		if err := os.Truncate(path, 1<<40); err != nil {
			t.Fatal(err)
		}
	}
	vast(d.begin(8) + "/vast.img")
	vast(d.work + "/vast.img")
	for _, limit := range []int64{0, 1 << 50} {
		if names, told := split(d.box.Collect(d.s, 8, "en", limit)); len(names) > 0 || !strings.Contains(told, "`vast.img`: 1 TB") {
			t.Errorf("sent %q, told %q", names, told)
		}
		r, err := d.box.Fetch(t.Context(), d.work, "vast.img", "en", limit)
		if err != nil || r.File != nil || !strings.Contains(r.Markdown, "this chat takes") {
			t.Errorf("fetched %+v, %v", r, err)
		}
	}
	if left, _ := os.ReadDir(d.dir); len(left) != 3 {
		t.Errorf("%d files are in the spool", len(left))
	}
}

func noise(n int) []byte {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

func TestNamesAreHarmless(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	out := d.begin(7)
	long := strings.Repeat("ü", 120) + ".txt"
	for _, n := range []string{"a\nb\u202egpj.txt", "x:y*z?.txt", " ...hidden", "back`tick", `c:\win.ini`, "\xff\xfe.bin", long} {
		d.write(out+"/"+n, "x")
	}
	names, told := split(d.box.Collect(d.s, 7, "en", 0))
	if len(names) != 7 || told != "" {
		t.Fatalf("sent %q, told %q", names, told)
	}
	for _, n := range names {
		if strings.ContainsAny(n, "/\\:*?\"<>|`\n\u202e") || strings.HasPrefix(n, ".") || len([]rune(n)) > 100 || n == "" {
			t.Errorf("name %q", n)
		}
	}
	if slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, "ü") && strings.HasSuffix(n, ".txt") }) < 0 {
		t.Errorf("the long name lost its kind: %q", names)
	}
}

func TestFolderOfATurnThatIsALinkIsNotRead(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	out := d.begin(7)
	d.write(d.work+"/src/a.txt", "x")
	if err := errors.Join(os.Remove(out), os.Symlink(d.work+"/src", out)); err != nil {
		t.Fatal(err)
	}
	if names, told := split(d.box.Collect(d.s, 7, "en", 0)); len(names) != 0 || told == "" {
		t.Errorf("sent %q, told %q", names, told)
	}
	d.begin(8)
	if _, err := os.Stat(d.work + "/src/a.txt"); err != nil {
		t.Errorf("what the link leads to: %v", err)
	}
}

func TestEarlierFoldersGoWhenTheyAreEmptyOrOld(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	void, old, recent := d.begin(1), d.begin(2), d.begin(3)
	_ = void
	d.write(old+"/a/b", "x")
	d.write(recent+"/a", "x")
	past := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	d.write(filepath.Dir(old)+"/notes.txt", "mine")
	d.begin(4)
	left, err := os.ReadDir(filepath.Dir(old))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range left {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, []string{"3", "4", "notes.txt"}) {
		t.Errorf("left are %q", names)
	}
}

func TestOldFoldersOfSessionsThatNobodyUsesGoToo(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	now := d.s
	aged := func(paths ...string) {
		past := time.Now().Add(-48 * time.Hour)
		for _, p := range paths {
			if err := os.Chtimes(p, past, past); err != nil {
				t.Fatal(err)
			}
		}
	}
	session := func(seed string, turn int64) string { d.s.Seed = seed; return d.begin(turn) }
	gone, void := session("aaaaaaaa-1111", 1), session("bbbbbbbb-2222", 2)
	partly, busy := session("cccccccc-3333", 3), session("dddddddd-4444", 5)
	recent := session("cccccccc-3333", 4)
	d.write(gone+"/a", "x")
	d.write(partly+"/a", "x") // was empty, so it was removed with the next turn
	d.write(recent+"/a", "x")
	outside := t.TempDir()
	d.write(outside+"/9/a", "mine")
	out := filepath.Dir(filepath.Dir(gone))
	if err := os.Symlink(outside, out+"/eeeeeeee5555"); err != nil {
		t.Fatal(err)
	}
	d.write(out+"/My notes/1/a", "mine")
	aged(gone, void, partly, outside+"/9", out+"/My notes/1", out+"/My notes", filepath.Dir(gone), filepath.Dir(void))
	left := func() (names []string) {
		all, err := filepath.Glob(out + "/*/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			names = append(names, strings.TrimPrefix(p, out+"/"))
		}
		slices.Sort(names)
		return names
	}
	before := left()
	files.NewBox(d.spool, nil, files.Config{}).Tidy(d.work)
	if got := left(); !slices.Equal(got, before) {
		t.Errorf("where files are kept for ever are left %q", got)
	}
	d.s = now
	d.begin(6)
	want := []string{"1a2b3c4daaaa/6", "My notes/1", "cccccccc3333/4", "dddddddd4444/5", "eeeeeeee5555/9"}
	if got := left(); !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
	for _, p := range []string{filepath.Dir(gone), filepath.Dir(void)} {
		if _, err := os.Stat(p); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder of a session that has none: %v", err)
		}
	}
	aged(busy)
	session("dddddddd-4444", 5) // it is tried again
	if _, err := os.Stat(busy); err != nil {
		t.Errorf("a turn that may run: %v", err)
	}
	d.box.Tidy(t.TempDir()) // nothing is there
}

func TestSpoolIsSweptOfWhatNoRowNames(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	out := d.begin(7)
	d.write(out+"/a", "1")
	d.write(out+"/b", "2")
	rs := d.box.Collect(d.s, 7, "en", 0)
	if n, err := d.spool.Sweep(nil, time.Hour); n != 0 || err != nil {
		t.Errorf("young files are swept: %d, %v", n, err)
	}
	if n, err := d.spool.Sweep([]string{rs[0].File.Spool, "gone"}, 0); n != 1 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	d.body(rs[0])
	d.box.Discard([]chat.Out{{Part: chat.Part{File: rs[0].File}}, {}})
	if _, err := d.spool.Open(rs[0].File.Spool); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("discarded: %v", err)
	}
	d.spool.Remove("../../" + filepath.Base(d.work))
	d.spool.Remove("")
	if _, err := os.Stat(d.work); err != nil {
		t.Error(err)
	}
}

// ignorer is git for tests: names of folders and files that it ignores.
type ignorer map[string]bool

func (g ignorer) Ignored(_ context.Context, dir string, names []string) (bad []string, err error) {
	if g["broken"] {
		return nil, errors.New("git is not installed")
	}
	for _, n := range names {
		if g[n] {
			bad = append(bad, n)
		}
	}
	return bad, nil
}

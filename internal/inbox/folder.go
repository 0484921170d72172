package inbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"cligate/internal/chat"
	"cligate/internal/folder"
)

// Inbox is the folder below CliGate's own one in a workspace; it has a folder
// for each day.
const Inbox = "inbox"

// day is the folder of one day in the inbox of a workspace.
type day struct {
	root *os.Root
	path string // absolute
}

// openDay opens today's folder, and makes it.
func openDay(workspace string, now time.Time) (*day, error) {
	name := now.Format(time.DateOnly)
	root, err := folder.Open(workspace, Inbox+"/"+name)
	if err != nil {
		return nil, fmt.Errorf("open the inbox: %w", err)
	}
	return &day{root: root, path: filepath.Join(workspace, folder.Name, Inbox, name)}, nil
}

func (d *day) close() { _ = d.root.Close() }

// unfinished is how the name of a file begins that is still being written.
const unfinished = ".part-"

// part is a file that is being written.
type part struct {
	day   *day
	file  *os.File
	name  string // in the day's folder
	head  []byte
	size  int64
	limit int64 // bytes; 0 = none
	over  bool
}

// headBytes is how much of a file says what it is.
const headBytes = 512

func (d *day) begin() (*part, error) {
	p := &part{day: d, name: unfinished + strconv.FormatInt(time.Now().UnixNano(), 36)}
	var err error
	for try := 0; try < 100; try++ {
		p.file, err = d.root.OpenFile(p.name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
		p.name += "x"
	}
	if err != nil {
		return nil, fmt.Errorf("begin a file in the inbox: %w", err)
	}
	return p, nil
}

// Write implements io.Writer.
func (p *part) Write(b []byte) (int, error) {
	if p.limit > 0 && p.size+int64(len(b)) > p.limit {
		p.over = true
		return 0, errOverLimit
	}
	n, err := p.file.Write(b)
	p.size += int64(n)
	if room := headBytes - len(p.head); room > 0 {
		p.head = append(p.head, b[:min(room, n)]...)
	}
	return n, err
}

var _ io.Writer = (*part)(nil)

// most is how many files of one name a day may have.
const most = 10000

// keep gives the finished file its name. Two of the same name are numbered.
func (p *part) keep(f chat.FileRef) (chat.FileRef, error) {
	if err := errors.Join(p.file.Sync(), p.file.Close()); err != nil {
		return f, fmt.Errorf("write a file of the inbox: %w", err)
	}
	f.MIME = sniffed(p.head, f)
	name := fileName(f, f.MIME)
	for n := 1; n < most; n++ {
		to := numbered(name, n)
		err := take(p.day.root, p.name, to)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return f, fmt.Errorf("name a file of the inbox: %w", err)
		}
		f.Path, f.Size = filepath.Join(p.day.path, to), p.size
		return f, nil
	}
	return f, fmt.Errorf("name a file of the inbox: more than %d are called %s", most, name)
}

// names is what a folder does with the names in it; an *os.Root.
type names interface {
	Link(oldname, newname string) error
	OpenFile(name string, flag int, perm os.FileMode) (*os.File, error)
	Rename(oldname, newname string) error
	Remove(name string) error
}

// take gives a file a name that no other has, and never the place of another:
// fs.ErrExist when the name is taken. Where the file system has no links, it
// may say so before it looks at the name; then the name is reserved first.
func take(in names, part, to string) error {
	err := in.Link(part, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	reserved, err := in.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(reserved.Close(), in.Rename(part, to)); err != nil {
		return errors.Join(err, in.Remove(to))
	}
	return nil
}

// drop removes what is left of an attempt.
func (p *part) drop() {
	_ = p.file.Close()
	_ = p.day.root.Remove(p.name)
}

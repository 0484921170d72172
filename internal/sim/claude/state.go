package claude

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// Kinds of journal entries.
const (
	KindStart     = "start"     // a process began a session; Args is its command line
	KindResume    = "resume"    // a process resumed a session; Args is its command line
	KindPrompt    = "prompt"    // it was given a prompt
	KindBegin     = "begin"     // it works at the prompt, which is in the transcript now
	KindAsk       = "ask"       // it asked for permission; Text is the tool
	KindAnswer    = "answer"    // it was answered; Text is allow or deny
	KindTool      = "tool"      // it ran a command: Text
	KindSet       = "set"       // a setting was changed; Text is its name and value
	KindInterrupt = "interrupt" // it was told to stop
	KindResult    = "result"    // a run ended; Text says how
	KindChild     = "child"     // it started a process that must not outlive it: Pid
	KindExit      = "exit"      // it left because its input ended
	KindOverlap   = "overlap"   // a rule was broken, such as one process per session; Text says which
)

// Entry is one line of the journal.
type Entry struct {
	At      time.Time `json:"at"`
	PID     int       `json:"pid"`
	Session string    `json:"session,omitempty"`
	Kind    string    `json:"kind"`
	ID      string    `json:"id,omitempty"` // of the prompt, or of the tool call
	Text    string    `json:"text,omitempty"`
	Args    []string  `json:"args,omitempty"`
	Pid     int       `json:"child,omitempty"` // of a child
}

// Journal reads the journal of a state directory; a missing one is empty.
func Journal(dir string) ([]Entry, error) {
	f, err := os.Open(filepath.Join(dir, "journal.jsonl"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []Entry
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		var e Entry
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			return all, fmt.Errorf("read the journal: %w", err)
		}
		all = append(all, e)
	}
	return all, sc.Err()
}

// state is what survives the process.
type state struct {
	dir     string
	journal *os.File

	mu      sync.Mutex
	current string   // session id
	file    *os.File // the transcript
	lock    *os.File
}

func stateDir() string {
	for _, v := range []string{"SIM_CLAUDE_DIR", "CLAUDE_CONFIG_DIR"} {
		if d := os.Getenv(v); d != "" {
			return d
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir()
	}
	return filepath.Join(home, ".claude")
}

func openState() (*state, error) {
	s := &state{dir: stateDir()}
	for _, d := range []string{"projects", "locks"} {
		if err := os.MkdirAll(filepath.Join(s.dir, d), 0o700); err != nil {
			return nil, err
		}
	}
	var err error
	s.journal, err = os.OpenFile(filepath.Join(s.dir, "journal.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return s, err
}

// note writes one line of the journal; a single write, so that lines of
// several processes never mix and a kill leaves whole ones.
func (s *state) note(e Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.At, e.PID = time.Now(), os.Getpid()
	if e.Session == "" {
		e.Session = s.current
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = s.journal.Write(append(line, '\n'))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "journal:", err)
	}
}

// unknownSessionError is what the real one says about an id that it does not know.
type unknownSessionError struct{ id string }

func (u *unknownSessionError) Error() string { return "No conversation found with session ID: " + u.id }

// session finds or makes the session that the options name and returns the
// user's earlier texts.
func (s *state) session(o options) (id string, past []string, err error) {
	id, kind := o.session, KindStart
	switch {
	case o.resume != "":
		id, kind = o.resume, KindResume
		if !ids.MatchString(id) {
			return "", nil, &unknownSessionError{id}
		}
		if past, err = s.read(id); err != nil || len(past) == 0 {
			return "", nil, &unknownSessionError{id}
		}
	case id == "":
		id = uuid.NewString()
	default:
		if _, err := os.Stat(s.path(id)); err == nil {
			return "", nil, fmt.Errorf("Session ID %s is already in use.", id) //nolint:staticcheck // the real one's words
		}
	}
	s.use(id)
	s.note(Entry{Kind: kind, Args: o.args})
	return id, past, nil
}

// use makes id the session of this process.
func (s *state) use(id string) {
	s.mu.Lock()
	s.current = id
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
	s.mu.Unlock()
	f, err := os.OpenFile(filepath.Join(s.dir, "locks", id), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lock:", err)
		return
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		s.note(Entry{Kind: KindOverlap, Text: "a second live process of the session"})
	}
	s.lock = f // kept open: the lock ends with the process
}

func (s *state) path(id string) string { return filepath.Join(s.dir, "projects", id+".jsonl") }

type spoken struct {
	Role string `json:"role"`
	Text string `json:"text"`
	ID   string `json:"uuid,omitempty"`
}

func (s *state) read(id string) ([]string, error) {
	f, err := os.Open(s.path(id))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var past []string
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		var m spoken
		if json.Unmarshal(sc.Bytes(), &m) == nil && m.Role == "user" { // a torn last line is skipped
			past = append(past, m.Text)
		}
	}
	return past, sc.Err()
}

// remember appends to the transcript.
func (s *state) remember(m spoken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		f, err := os.OpenFile(s.path(s.current), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			fmt.Fprintln(os.Stderr, "transcript:", err)
			return
		}
		s.file = f
	}
	line, err := json.Marshal(m)
	if err == nil {
		_, err = s.file.Write(append(line, '\n'))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "transcript:", err)
	}
}

package claude

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

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
	work    string   // the workspace
	cost    float64  // of the session, when its last process left
	file    *os.File // the transcript
	lock    *os.File
	// inherits is what was said before a fork; the transcript begins with it.
	inherits []string
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
	work, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	s := &state{dir: stateDir(), work: work}
	for _, d := range []string{s.folder(), "locks"} {
		if err := os.MkdirAll(filepath.Join(s.dir, d), 0o700); err != nil {
			return nil, err
		}
	}
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
	if o.resume != "" {
		if !ids.MatchString(o.resume) {
			return "", nil, &unknownSessionError{o.resume}
		}
		if past, err = s.read(o.resume); err != nil || past == nil {
			return "", nil, &unknownSessionError{o.resume}
		}
	}
	switch {
	case o.resume != "" && !o.fork:
		id, kind = o.resume, KindResume
	case id == "":
		id = uuid.NewString()
	default:
		if _, err := os.Stat(s.path(id)); err == nil {
			return "", nil, fmt.Errorf("Session ID %s is already in use.", id) //nolint:staticcheck // the real one's words
		}
	}
	if o.fork {
		s.inherits = past
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

// folder is where the transcripts of the workspace lie, below the state
// directory.
func (s *state) folder() string {
	return filepath.Join("projects", strings.Map(func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '-'
	}, s.work))
}

// path is a session's transcript: where it is, in whatever workspace it was
// begun, else where it would be.
func (s *state) path(id string) string {
	if found, err := filepath.Glob(filepath.Join(s.dir, "projects", "*", id+".jsonl")); err == nil && len(found) > 0 {
		return found[0]
	}
	return filepath.Join(s.dir, s.folder(), id+".jsonl")
}

// spoken is one line of a transcript, as far as it matters here.
type spoken struct {
	Type    string  `json:"type"`
	ID      string  `json:"uuid,omitempty"`
	Side    bool    `json:"isSidechain"`
	Meta    bool    `json:"isMeta,omitempty"` // not the user's own words
	Work    string  `json:"cwd,omitempty"`
	Total   float64 `json:"totalCostUSD,omitempty"` // of a cost-state
	Message *words  `json:"message,omitempty"`
}

type words struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// total notes what the session cost so far, if it has begun.
func (s *state) total(usd float64) {
	s.mu.Lock()
	begun := s.file != nil
	s.mu.Unlock()
	if begun {
		s.append(spoken{Type: "cost-state", Total: usd})
	}
}

// cleared begins the transcript of a session that was made by "/clear": it can
// be resumed though the user said nothing in it.
func (s *state) cleared() {
	s.append(spoken{Type: "user", Meta: true, Work: s.work, Message: &words{Role: "user", Content: "<command-name>/clear</command-name>"}})
}

// read returns the user's texts; nil when nobody said anything.
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
		if json.Unmarshal(sc.Bytes(), &m) != nil { // a torn last line is skipped
			continue
		}
		switch {
		case m.Type == "user" && m.Message != nil:
			if past == nil {
				past = []string{}
			}
			if !m.Meta {
				past = append(past, m.Message.Content)
			}
		case m.Type == "cost-state":
			s.cost = m.Total
		}
	}
	return past, sc.Err()
}

// remember appends what was said to the transcript.
func (s *state) remember(role, text, id string) {
	s.append(spoken{Type: role, ID: id, Work: s.work, Message: &words{Role: role, Content: text}})
}

func (s *state) append(m spoken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		f, err := os.OpenFile(s.path(s.current), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			fmt.Fprintln(os.Stderr, "transcript:", err)
			return
		}
		s.file = f
		for _, text := range s.inherits {
			s.write(spoken{Type: "user", Work: s.work, Message: &words{Role: "user", Content: text}})
		}
		s.inherits = nil
	}
	s.write(m)
}

// write appends one line; s.mu is held and the file is open.
func (s *state) write(m spoken) {
	line, err := json.Marshal(m)
	if err == nil {
		_, err = s.file.Write(append(line, '\n'))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "transcript:", err)
	}
}

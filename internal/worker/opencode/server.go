package opencode

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/proc"
)

// process is what the driver needs of a running server; *proc.Process is one.
type process interface {
	io.ReadCloser
	CloseWrite() error
	Stderr() string
	Done() <-chan struct{}
	Exit() (code int, signal syscall.Signal)
	Identity() string
	Terminate(ctx context.Context) error
}

// server is one process of the agent, for all sessions of a workspace.
type server struct {
	proc process
	api  *api
	log  *slog.Logger
	max  int // cap of one event

	life    context.Context // ends with the process
	cancel  context.CancelFunc
	gone    chan struct{} // closed when the process is gone and nothing is read any more
	tasks   sync.WaitGroup
	version string

	mu       sync.Mutex
	workers  map[string]*Worker // by session
	children map[string]*Worker // by session of a sub-agent
}

var listening = regexp.MustCompile(`listening on (https?://\S+)`)

// startServer starts a server in dir and waits until it can be used; ctx bounds
// that.
func (d *Driver) startServer(ctx context.Context, dir string) (*server, error) {
	password := rand.Text()
	env, err := d.cfg.env(password)
	if err != nil {
		return nil, chat.E(chat.Invalid, "", err)
	}
	p, err := d.launch(ctx, dir, env, "serve", "--hostname", "127.0.0.1", "--port", "0")
	if err != nil {
		return nil, err
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &server{
		proc: p, log: d.log, max: d.cfg.MaxLine, life: life, cancel: cancel, gone: make(chan struct{}),
		workers: map[string]*Worker{}, children: map[string]*Worker{},
	}
	_ = p.CloseWrite()
	said := make(chan string, 1)
	s.tasks.Go(func() { s.listen(said) })
	s.tasks.Go(func() {
		<-p.Done()
		cancel()
	})
	if err := s.ready(ctx, said, func(address string) *api { return newAPI(address, password, d.cfg.CallTimeout, d.wire()) }); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// ready waits for the server's address and makes sure that it is the one that
// was asked for: on this machine, and closed to whoever lacks the password.
func (s *server) ready(ctx context.Context, said <-chan string, reach func(address string) *api) error {
	var address string
	select {
	case address = <-said:
	case <-s.proc.Done():
		return chat.E(chat.Crashed, howEnded(s.proc), exitOf(s.proc))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if !onLoopback(address) {
		return chat.E(chat.Protocol, "", fmt.Errorf("the server listens on %q", address))
	}
	s.api = reach(address)
	var health struct {
		Version string `json:"version"`
	}
	if err := s.api.quick(ctx, http.MethodGet, "/global/health", nil, &health); err != nil {
		if no := (*refusalError)(nil); errors.As(err, &no) && no.status == http.StatusNotFound {
			return chat.E(chat.TooOld, oldest, err)
		}
		return startError(ctx, err)
	}
	s.version = health.Version
	if err := worker.Recent(s.version, oldest); err != nil {
		return err
	}
	switch closed, err := s.api.guarded(ctx); {
	case err != nil:
		return startError(ctx, err)
	case !closed:
		return chat.E(chat.TooOld, oldest, errors.New("the server takes requests without its password"))
	}
	connected := make(chan struct{})
	s.tasks.Go(func() { s.follow(connected) })
	select {
	case <-connected:
		return nil
	case <-s.life.Done():
		return chat.E(chat.Crashed, "", errGone)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// oldest is the version that is known to have all that is needed.
const oldest = "1.18"

func startError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return chat.E(chat.Protocol, "", err)
}

func onLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

// listen reads the server's output to its end, whatever it says, and passes on
// the address that it names.
func (s *server) listen(said chan<- string) {
	lines := proc.NewLineReader(s.proc, 64<<10)
	for {
		l, err := lines.Next()
		if err != nil {
			break
		}
		if m := listening.FindSubmatch(l.Data); m != nil {
			select {
			case said <- strings.TrimRight(string(m[1]), "/"):
			default: // it was told before
			}
		}
	}
	// An agent whose output has ended is of no use, even if it lives on.
	_ = s.proc.Terminate(s.life)
}

// close ends the process and waits for all that belongs to it. It may be called
// twice.
func (s *server) close() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.life), killGrace)
	defer cancel()
	if err := s.proc.Terminate(ctx); err != nil {
		s.log.Error("agent not ended", "err", err)
	}
	_ = s.proc.Close()
	s.cancel()
	s.tasks.Wait()
	if s.api != nil {
		s.api.close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.gone:
	default:
		close(s.gone)
	}
}

// killGrace is how long a server may take to end after SIGTERM. Its sessions
// are in a database: nothing is lost by a hasty end.
const killGrace = 500 * time.Millisecond

// errGone says that the agent is not there any more.
var errGone = errors.New("the agent is gone")

func exitOf(p process) error {
	return fmt.Errorf("%w: %s: %s", errGone, howEnded(p), lastLine(p.Stderr()))
}

func howEnded(p process) string {
	code, signal := p.Exit()
	if signal != 0 {
		return signal.String()
	}
	return fmt.Sprintf("exit code %d", code)
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return shorten(text[strings.LastIndexByte(text, '\n')+1:])
}

// launch starts the executable in dir.
func (d *Driver) launch(ctx context.Context, dir string, env []string, args ...string) (process, error) {
	path, err := proc.Find(d.cfg.Command)
	if err != nil {
		return nil, chat.E(chat.NotInstalled, d.cfg.Command, err)
	}
	args = append(append([]string(nil), d.cfg.Args...), args...)
	p, err := d.start(ctx, proc.Spec{Path: path, Args: args, Dir: dir, Env: proc.BuildEnv(env...)})
	switch {
	case err == nil:
		return p, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return nil, chat.E(chat.NotInstalled, d.cfg.Command, err)
	default:
		return nil, chat.E(chat.Unavailable, "", err)
	}
}

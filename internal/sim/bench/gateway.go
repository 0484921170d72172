package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// kind is what is measured.
type kind string

const (
	ref  kind = "ref" // the measuring rod
	ours kind = "ours"
)

// options are how a gateway is started.
type options struct {
	delay   time.Duration // of the API's answers
	budget  *budget       // of the API
	people  int           // who may talk: chats 1…people
	paced   bool          // ours keeps to the service's budgets, as by default
	burst   time.Duration // ours waits for companions of a message
	journal string        // file in which the agent notes its prompts
}

// gateway is a running one, with its fake API.
type gateway struct {
	kind    kind
	api     *api
	dir     string
	env     []string
	binary  string
	args    []string
	process *exec.Cmd
	log     *os.File
	began   int64
}

// open starts a gateway and waits until it polls.
func (l *lab) open(ctx context.Context, k kind, o options) (*gateway, error) {
	dir, err := l.folder()
	if err != nil {
		return nil, err
	}
	a, err := openAPI(ctx, o.delay, o.budget)
	if err != nil {
		return nil, err
	}
	g := &gateway{kind: k, api: a, dir: dir, env: l.environment(k, a.address, dir, o)}
	g.binary, g.args = l.binary, []string{"serve"}
	if k == ref {
		g.binary, g.args = l.self, []string{rodMode}
	}
	if g.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		a.close()
		return nil, err
	}
	if err := g.start(ctx); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

func (l *lab) environment(k kind, address, dir string, o options) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	if o.journal != "" {
		env = append(env, "BENCH_JOURNAL="+o.journal)
	}
	if k == ref {
		return append(env, "ROD_API="+address, "ROD_DIR="+dir, "ROD_AGENT="+l.agent)
	}
	people := make([]string, 0, o.people)
	for i := range o.people {
		people = append(people, strconv.Itoa(i+1))
	}
	return append(env,
		"CLIGATE_DATA_DIR="+filepath.Join(dir, "data"), "CLIGATE_WORKSPACE="+dir,
		"CLIGATE_AGENT=claude", "CLIGATE_AGENTS_CLAUDE_COMMAND="+l.agent,
		"CLIGATE_AGENTS_CLAUDE_ENV=BENCH_JOURNAL",
		"CLIGATE_TELEGRAM_TOKEN=1234567890:bench-bench-bench-bench-bench-bench", "CLIGATE_TELEGRAM_API_URL="+address,
		"CLIGATE_TELEGRAM_OWNERS="+strings.Join(people, ","), "CLIGATE_TELEGRAM_UNPACED="+strconv.FormatBool(!o.paced),
		"CLIGATE_BURST_WINDOW="+o.burst.String(), "CLIGATE_WEB_ADDR=127.0.0.1:0",
		"CLIGATE_DISPLAY_FOOTER=off", // an answer ends with the agent's own figures, which are read here
		"CLIGATE_FILES_OUT=false",    // the first prompt of a session would begin with words about files, not with the orders
		"CLIGATE_WORKERS_MAX="+strconv.Itoa(max(o.people, 32)),
	)
}

// startLimit bounds the time until the first poll.
const startLimit = 20 * time.Second

// start starts the process and waits for its first poll.
func (g *gateway) start(ctx context.Context) error {
	g.api.mu.Lock()
	g.api.polled = make(chan struct{})
	polled := g.api.polled
	g.api.mu.Unlock()
	g.process = exec.Command(g.binary, g.args...)
	g.process.Env, g.process.Dir = g.env, g.dir
	g.process.Stdout, g.process.Stderr = g.log, g.log
	g.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	g.began = now()
	if err := g.process.Start(); err != nil {
		return fmt.Errorf("start %s: %w", g.kind, err)
	}
	late := time.NewTimer(startLimit)
	defer late.Stop()
	select {
	case <-polled:
		return nil
	case <-late.C:
		return fmt.Errorf("%s does not poll: %w\n%s", g.kind, errLate, g.lastWords())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lastWords is the end of what it printed.
func (g *gateway) lastWords() string {
	b, err := os.ReadFile(g.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-2000):])
}

// kill ends it as a crash does.
func (g *gateway) kill() {
	_ = g.process.Process.Kill()
	_ = g.process.Wait() // it was killed
}

// close ends it in order, and the API with it.
func (g *gateway) close() error {
	if g.process != nil && g.process.Process != nil && g.process.ProcessState == nil {
		_ = g.process.Process.Signal(syscall.SIGTERM)
		stop := time.AfterFunc(20*time.Second, func() { _ = g.process.Process.Kill() })
		_ = g.process.Wait() // how it ended does not matter here
		stop.Stop()
	}
	g.api.close()
	_ = g.log.Close()
	return os.RemoveAll(g.dir)
}

func (g *gateway) pid() int { return g.process.Process.Pid }

// cpu is the processor time that the gateway has used, without its agents.
func (g *gateway) cpu() time.Duration {
	var all time.Duration
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", g.pid()))
	for _, t := range threads {
		b, err := os.ReadFile(t)
		if err != nil {
			continue // the thread has ended
		}
		used, _, _ := strings.Cut(string(b), " ")
		n, _ := strconv.ParseInt(used, 10, 64)
		all += time.Duration(n)
	}
	return all
}

// status reads a number of /proc/<pid>/status: VmRSS and VmHWM in KiB, Threads.
func (g *gateway) status(name string) float64 { return status(g.pid(), name) }

func status(pid int, name string) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return n
		}
	}
	return 0
}

// peak watches the memory from now on; what it returns ends that and says the
// most that was seen, in KiB.
func (g *gateway) peak(ctx context.Context) (stop func() float64) {
	ctx, cancel := context.WithCancel(ctx)
	seen := make(chan float64)
	go func() { // ends with stop
		most := 0.0
		for pause(ctx, time.Millisecond) == nil {
			most = max(most, g.status("VmRSS"))
		}
		seen <- most
	}()
	return func() float64 {
		cancel()
		return <-seen
	}
}

const mib = 1024 // KiB

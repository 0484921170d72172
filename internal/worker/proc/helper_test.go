package proc

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary plays every part: runner, daemon, agent and the agent's
// children.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "play" {
		play(os.Args[2], os.Args[3:])
		return
	}
	goleak.VerifyTestMain(m)
}

// quickExit takes a second from the end of each process of a race build.
const quickExit = "GORACE=atexit_sleep_ms=0"

// play is what the agents and daemons of the tests do.
func play(part string, args []string) {
	switch part {
	case "cat":
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "exit":
		n, _ := strconv.Atoi(args[0])
		os.Exit(n)
	case "sleep":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
		hang(time.Minute)
	case "tree":
		playTree(args)
	case "spawn": // a child in a session of its own for every line
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			_ = os.Setenv("SPAWN_MARK", in.Text())
			background("sleep", &syscall.SysProcAttr{Setsid: true})
			fmt.Println("spawned")
		}
	case "twice": // the middle process of a double fork
		background("sleep", &syscall.SysProcAttr{Setsid: true})
	case "bomb":
		signal.Ignore(syscall.SIGTERM)
		for range 40 {
			background("bomblet", &syscall.SysProcAttr{Setsid: true})
			hang(5 * time.Millisecond)
		}
		hang(time.Minute)
	case "bomblet": // has a child of its own again and again
		signal.Ignore(syscall.SIGTERM)
		for range 20 {
			c := exec.Command("/bin/sleep", "60")
			c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			_ = c.Start()
			hang(10 * time.Millisecond)
		}
		hang(time.Minute)
	case "look":
		playLook()
	case "flood":
		n, _ := strconv.Atoi(args[1])
		out := os.Stderr
		if args[0] == "stdout" {
			out = os.Stdout
		}
		w := bufio.NewWriterSize(out, 1<<20)
		line := strings.Repeat("x", 1023) + "\n"
		for range n {
			_, _ = w.WriteString(line)
		}
		fmt.Fprintln(w, "the last line")
		_ = w.Flush()
		fmt.Println("done")
	case "daemon":
		playDaemon(args)
	}
}

// playTree starts a child, a child in its own session and a double-forked one,
// all deaf to SIGTERM, prints "ready", and echoes.
func playTree(args []string) {
	if len(args) > 0 && args[0] == "deaf" {
		signal.Ignore(syscall.SIGTERM)
	}
	background("sleep", nil)
	background("sleep", &syscall.SysProcAttr{Setsid: true})
	c := exec.Command("/proc/self/exe", "play", "twice")
	c.Env = []string{quickExit} // without the token: only the tree gives it away
	_ = c.Run()
	fmt.Println("ready")
	_, _ = io.Copy(os.Stdout, os.Stdin)
	if len(args) > 0 && args[0] == "deaf" {
		hang(time.Minute)
	}
}

func background(part string, attr *syscall.SysProcAttr) {
	c := exec.Command("/proc/self/exe", "play", part)
	c.SysProcAttr = attr
	if attr != nil {
		c.Env = []string{quickExit, "SPAWN_MARK=" + os.Getenv("SPAWN_MARK")}
	}
	_ = c.Start()
}

// playLook prints everything that an agent could learn about the daemon.
func playLook() {
	fmt.Println("env", strings.Join(os.Environ(), " "))
	fds, _ := os.ReadDir("/proc/self/fd")
	for _, f := range fds {
		to, err := os.Readlink("/proc/self/fd/" + f.Name())
		if err == nil && !strings.Contains(to, "/fd") && !strings.Contains(to, "eventpoll") && !strings.Contains(to, "eventfd") &&
			!strings.HasPrefix(to, "/sys/fs/cgroup") { // the Go runtime's own
			fmt.Println("fd", f.Name(), to)
		}
	}
	parent := strconv.Itoa(os.Getppid())
	b, _ := os.ReadFile("/proc/" + parent + "/environ")
	fmt.Println("parent", strings.ReplaceAll(string(b), "\x00", " "))
	old := syscall.Umask(0)
	fmt.Printf("umask %o\n", old)
	pgid, sid := syscall.Getpgrp(), 0
	if r, _, e := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0); e == 0 {
		sid = int(r)
	}
	fmt.Println("own", pgid == os.Getpid(), sid == os.Getpid())
}

// playDaemon is a daemon that starts an agent with a tree and says so, then
// waits to be killed. args: token, part, part's arguments.
func playDaemon(args []string) {
	s, err := New(Config{Token: args[0]})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	p, err := s.Start(context.Background(), playing(args[1], args[2:]...))
	if err != nil {
		fmt.Println("error", err)
		return
	}
	r := NewLineReader(p, 0)
	if _, err := r.Next(); err != nil {
		fmt.Println("error", err)
		return
	}
	fmt.Println("up", p.Identity())
	hang(time.Minute)
}

// hang is what a busy agent does.
func hang(d time.Duration) { <-time.After(d) }

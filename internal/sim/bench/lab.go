package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

//go:embed agent/agent.c
var agentSource []byte

// lab is what the experiments share: the binaries, and room for data.
type lab struct {
	dir    string
	binary string // ours
	agent  string
	self   string // the measuring rod is a mode of this program
	quick  bool
	next   int // numbers prompts and folders
}

func openLab(ctx context.Context, quick bool) (_ *lab, err error) {
	l := &lab{quick: quick}
	if l.dir, err = os.MkdirTemp("", "cligate-bench-"); err != nil {
		return nil, fmt.Errorf("room for data: %w", err)
	}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if l.self, err = os.Executable(); err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	l.binary, l.agent = filepath.Join(l.dir, "cligate"), filepath.Join(l.dir, "agent")
	source := filepath.Join(l.dir, "agent.c")
	if err := os.WriteFile(source, agentSource, 0o600); err != nil {
		return nil, fmt.Errorf("the agent's source: %w", err)
	}
	if err := do(ctx, "gcc", "-O2", "-static", "-o", l.agent, source); err != nil {
		return nil, err
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return nil, err
	}
	return l, do(ctx, "make", "-s", "-C", root, "build", "BIN="+l.binary)
}

func (l *lab) close() { _ = os.RemoveAll(l.dir) }

// do runs a tool; what it prints is part of the error only.
func do(ctx context.Context, name string, args ...string) error {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, said.String())
	}
	return nil
}

func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	file := strings.TrimSpace(string(out))
	if err != nil || file == "" || file == os.DevNull {
		return "", errors.Join(errors.New("run it inside the project"), err)
	}
	return filepath.Dir(file), nil
}

// folder makes a fresh folder.
func (l *lab) folder() (string, error) {
	l.next++
	dir := filepath.Join(l.dir, strconv.Itoa(l.next))
	return dir, os.Mkdir(dir, 0o700)
}

// prompt numbers a prompt.
func (l *lab) prompt(what string) string {
	l.next++
	return what + " " + strconv.Itoa(l.next)
}

// runs is how often something is measured.
func (l *lab) runs(full int) int {
	if l.quick {
		return 1
	}
	return full
}

// some is how many of something are enough.
func (l *lab) some(full int) int {
	if l.quick {
		return max(1, full/3)
	}
	return full
}

// now is the monotonic clock that all processes of the machine share.
func now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // the clock is always there
	}
	return t.Nano()
}

// pause waits; an error means that ctx ended first.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// await waits for an answer.
func await(ctx context.Context, ch <-chan final, limit time.Duration) (final, error) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case f := <-ch:
		return f, nil
	case <-t.C:
		return final{}, errLate
	case <-ctx.Done():
		return final{}, context.Cause(ctx)
	}
}

var errLate = errors.New("no answer in time")

//go:build image

package image

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// house is the image's root: the machine's own one with the image's steps on
// top, in an overlay that goes away with the test. It needs root and a Debian
// machine, as the image's base is.
type house struct {
	t    *testing.T
	root string
	env  []string
}

func build(t *testing.T) *house {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"up", "work", "root"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h := &house{t: t, root: filepath.Join(dir, "root")}
	// The upper layer cannot lie on an overlay, so it gets a file system of its own.
	must(t, "mount", "-t", "tmpfs", "tmpfs", dir)
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	for _, d := range []string{"up", "work", "root"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	must(t, "mount", "-t", "overlay", "overlay", "-o",
		fmt.Sprintf("lowerdir=/,upperdir=%s/up,workdir=%s/work", dir, dir), h.root)
	t.Cleanup(func() { _ = exec.Command("umount", "-l", h.root).Run() })
	for _, d := range []string{"dev", "proc"} {
		must(t, "mount", "--rbind", "/"+d, filepath.Join(h.root, d))
	}
	final := dockerfile(t)[1]
	env := final.Env()
	h.env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "AGENTS=demo-only"}
	for k, v := range env {
		h.env = append(h.env, k+"="+v)
	}
	for _, s := range final.Steps {
		h.step(s)
	}
	return h
}

func must(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// step replays RUN and COPY.
func (h *house) step(s Step) {
	h.t.Helper()
	switch s.Word {
	case "RUN":
		line := s.Rest
		if strings.Contains(line, "image-agents") {
			// The agents' own installation is a test of its own (below); here the
			// script runs with nothing to install.
			line = strings.ReplaceAll(line, "$AGENTS", "")
		}
		c := exec.Command("chroot", h.root, "sh", "-c", line)
		c.Env = append(slices.Clone(h.env), "HOME=/root", "DEBIAN_FRONTEND=noninteractive")
		if out, err := c.CombinedOutput(); err != nil {
			h.t.Fatalf("RUN %s: %v\n%s", line, err, out)
		}
	case "COPY":
		f := strings.Fields(s.Rest)
		from, to := f[len(f)-2], f[len(f)-1]
		if strings.HasPrefix(s.Rest, "--from=build") {
			from = filepath.Join(root, "bin/cligate")
		} else {
			from = filepath.Join(root, from)
		}
		to = filepath.Join(h.root, to)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			h.t.Fatal(err)
		}
		must(h.t, "cp", from, to)
	}
}

// container is the image started: process 1 of its own pid space, the root
// read-only, volumes of its own.
type container struct {
	h    *house
	uid  int
	cmd  *exec.Cmd
	pid  int // of the daemon, seen from outside
	out  bytes.Buffer
	exit chan error
}

func (h *house) start(uid, owner int, env ...string) *container {
	h.t.Helper()
	c := &container{h: h, uid: uid, exit: make(chan error, 1)}
	vol := h.t.TempDir()
	script := "set -e\nmount --make-rprivate /\nmount --rbind " + h.root + " " + h.root + "\n"
	for _, dir := range []string{"/data", "/work", "/home/cligate"} {
		v := filepath.Join(vol, filepath.Base(dir))
		if err := os.Mkdir(v, 0o700); err != nil {
			h.t.Fatal(err)
		}
		if err := os.Chown(v, owner, owner); err != nil {
			h.t.Fatal(err)
		}
		script += "mount --bind " + v + " " + h.root + dir + "\n"
	}
	script += "mount -t tmpfs tmpfs " + h.root + "/tmp\nmount -t proc proc " + h.root + "/proc\n" +
		"mount -o remount,ro,bind " + h.root + "\n" +
		fmt.Sprintf("exec chroot --userspec=%d:%d %s /usr/local/bin/cligate serve\n", uid, uid, h.root)
	if err := os.Chmod(vol, 0o755); err != nil {
		h.t.Fatal(err)
	}
	c.cmd = exec.Command("unshare", "--pid", "--fork", "--mount", "sh", "-c", script)
	c.cmd.Env = append(append(slices.Clone(h.env), "CLIGATE_WEB_ADDR=off"), env...)
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.out
	if err := c.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() { c.exit <- c.cmd.Wait() }()
	h.t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		if c.pid > 0 {
			_ = syscall.Kill(c.pid, syscall.SIGKILL)
		}
	})
	return c
}

// inside runs a command as "exec" into the container would.
func (c *container) inside(in string, args ...string) (string, error) {
	cmd := exec.Command("nsenter", append([]string{"-t", strconv.Itoa(c.pid), "-m", "-p", "-r", "-S", strconv.Itoa(c.uid), "-G", strconv.Itoa(c.uid)}, args...)...)
	cmd.Env = c.h.env
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// ready waits until the health check passes.
func (c *container) ready() {
	c.h.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(30 * time.Second)
	for {
		if c.pid == 0 {
			// unshare's only child is the shell that became the daemon.
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", c.cmd.Process.Pid, c.cmd.Process.Pid))
			c.pid, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		}
		if c.pid > 0 {
			if _, err := c.inside("", "/usr/local/bin/cligate", "health"); err == nil {
				return
			}
		}
		select {
		case err := <-c.exit:
			c.h.t.Fatalf("the daemon ended: %v\n%s", err, c.out.String())
		case <-limit:
			out, err := c.inside("", "/usr/local/bin/cligate", "health")
			c.h.t.Fatalf("not healthy: %v %s\n%s", err, out, c.out.String())
		case <-tick.C:
		}
	}
}

func TestTheImageRunsAsProcessOneWithAReadOnlyRoot(t *testing.T) {
	h := build(t)
	for name, uid := range map[string]int{"its own user": 10001, "a foreign user": 4242} {
		t.Run(name, func(t *testing.T) {
			h := &house{t: t, root: h.root, env: h.env}
			c := h.start(uid, uid)
			c.ready()
			out, err := c.inside("remember the word plum\nwhat was the word?\n", "/usr/local/bin/cligate", "chat")
			if err != nil || !strings.Contains(out, "plum") {
				t.Fatalf("chat: %v\n%s\n%s", err, out, c.out.String())
			}
			if id, err := c.inside("", "sh", "-c", "cat /proc/1/comm; touch /x 2>&1; ps -eo stat= | grep -c Z"); !strings.Contains(id, "cligate") ||
				!strings.Contains(id, "Read-only") || !strings.HasSuffix(strings.TrimSpace(id), "0") {
				t.Errorf("process 1, root or zombies: %v %s", err, id)
			}
			if err := syscall.Kill(c.pid, syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-c.exit:
				if err != nil {
					t.Errorf("SIGTERM: %v\n%s", err, c.out.String())
				}
			case <-time.After(40 * time.Second):
				t.Errorf("SIGTERM is not obeyed\n%s", c.out.String())
			}
		})
	}
}

func TestAVolumeThatCannotBeWrittenIsOneClearSentence(t *testing.T) {
	h := build(t)
	c := h.start(4242, 0)
	select {
	case err := <-c.exit:
		if err == nil || !strings.Contains(c.out.String(), "/data") || strings.Contains(c.out.String(), "panic") {
			t.Errorf("%v\n%s", err, c.out.String())
		}
	case <-time.After(30 * time.Second):
		t.Errorf("it runs without a place for its state\n%s", c.out.String())
	}
}

func TestThePinnedAgentInstalls(t *testing.T) {
	prefix := t.TempDir()
	c := exec.Command(root+"/.ci/image-agents", "claude")
	c.Env = append(os.Environ(), "NPM_PREFIX="+prefix)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(prefix, "bin/claude")); err != nil {
		t.Error(err)
	}
	if out, err := exec.Command(root+"/.ci/image-agents", "nobody").CombinedOutput(); err == nil {
		t.Errorf("an unknown agent is installed: %s", out)
	}
}

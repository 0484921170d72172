package store

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"cligate/internal/chat"
)

// childDir names the data directory of a child process: it writes for ever, or
// does the job that childJob names.
const childDir = "CLIGATE_STORE_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		job := writeUntilKilled
		if name := os.Getenv(childJob); name != "" {
			job = func(dir string) error { return doJob(dir, name) }
		}
		if err := job(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// writeUntilKilled records messages from several goroutines and prints the
// number of each one that was acknowledged.
func writeUntilKilled(dir string) error {
	ctx := context.Background()
	db, err := Open(ctx, Config{Dir: dir, Ballast: -1})
	if err != nil {
		return err
	}
	if _, err := fmt.Println("open"); err != nil {
		return err
	}
	start := os.Getpid() * 1_000_000
	var n atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				i := start + int(n.Add(1))
				if _, err := db.Inbox().Record(ctx, "bot", strconv.Itoa(i), []chat.Inbound{message(i)}); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				if _, err := os.Stdout.WriteString(strconv.Itoa(i) + "\n"); err != nil {
					os.Exit(1)
				}
			}
		})
	}
	wg.Wait()
	return nil
}

// killedAfter runs a child, kills it after it has acknowledged so many writes,
// and returns what it acknowledged.
func killedAfter(t *testing.T, dir string, lines int) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.Stderr = t.Output()
	out := ok[io.ReadCloser](t)(cmd.StdoutPipe())
	must(t, cmd.Start())
	var acks []string
	for s := bufio.NewScanner(out); s.Scan(); {
		if s.Text() != "open" {
			acks = append(acks, s.Text())
		}
		if len(acks) == lines {
			must(t, cmd.Process.Kill())
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("the child ended by itself: %v", err)
	}
	return acks
}

func TestAcknowledgedMessagesSurviveKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	acked := map[string]bool{}
	for _, lines := range []int{1, 17, 60, 300, 9} {
		for _, ack := range killedAfter(t, dir, lines) {
			acked[ack] = true
		}
		l, err := Open(t.Context(), Config{Dir: dir, Ballast: -1})
		must(t, err)
		stored := map[string]bool{}
		for _, in := range ok[[]chat.Inbound](t)(l.Inbox().Unrouted(t.Context(), 1_000_000)) {
			stored[in.Ref.ID] = true
		}
		for ack := range acked {
			if !stored[ack] {
				t.Errorf("message %s was acknowledged and is not there", ack)
			}
		}
		if c := ok[string](t)(l.Inbox().Cursor(t.Context(), "bot")); !stored[c] {
			t.Errorf("the cursor %s is ahead of the messages", c)
		}
		must(t, l.Close())
	}
}

// A power cut may leave any tail behind the last byte that was synced.
func TestAcknowledgedMessagesSurviveATornLog(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	file := filepath.Join(l.cfg.Dir, "cligate.db")
	var lengths []int64
	for i := range 25 {
		l.say(i)
		fi, err := os.Stat(file + "-wal")
		must(t, err)
		lengths = append(lengths, fi.Size())
	}
	base, err := os.ReadFile(file)
	must(t, err)
	wal, err := os.ReadFile(file + "-wal")
	must(t, err)
	for i, n := range lengths {
		dir := t.TempDir()
		tail := make([]byte, 1+i*397)
		_, err := rand.Read(tail)
		must(t, err)
		copied := filepath.Join(dir, "cligate.db")
		must(t, os.WriteFile(copied, base, 0o600))
		must(t, os.WriteFile(copied+"-wal", append(append([]byte{}, wal[:n]...), tail...), 0o600))
		again := openIn(t, Config{Dir: dir, Ballast: -1})
		if got := ok[Counts](t)(again.Books().Counts(t.Context())); got.New != i+1 {
			t.Errorf("cut after %d acknowledged messages: %d are there", i+1, got.New)
		}
	}
}

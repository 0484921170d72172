package router_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/command"
)

// cabinet has files that take as long as the test likes.
type cabinet struct {
	gate  chan error // nil = at once
	mu    sync.Mutex
	asked int
}

func (c *cabinet) Fetch(ctx context.Context, w command.Where) (chat.Reply, error) {
	c.mu.Lock()
	c.asked++
	c.mu.Unlock()
	if c.gate != nil {
		select {
		case err := <-c.gate:
			if err != nil {
				return chat.Reply{}, err
			}
		case <-ctx.Done():
			return chat.Reply{Kind: chat.ReplyNotice, Markdown: "git could not be asked"}, nil
		}
	}
	return chat.Reply{Kind: chat.ReplyNotice, Markdown: "here is " + w.Path}, nil
}

func (c *cabinet) List(context.Context, command.Where) command.Listing { return command.Listing{} }

// said counts our words that contain text.
func (h *house) said(text string) (n int) {
	for _, x := range h.voice.texts() {
		if strings.Contains(x, text) {
			n++
		}
	}
	return n
}

func TestAFileThatTakesLongKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		files := &cabinet{gate: make(chan error)}
		h := open(t, func(s *setup) { s.files = files })
		h.say("/file get big")
		h.say("in the same chat")
		h.say("elsewhere", in(team))
		if ps := h.runner.prompts(); len(ps) != 2 || h.said("here is") != 0 {
			t.Fatalf("prompts %q, said %q", ps, h.voice.texts())
		}
		files.gate <- nil
		synctest.Wait()
		if files.asked != 1 || h.said("here is big") != 1 || h.unrouted() != 0 {
			t.Errorf("asked %d times, said %q", files.asked, h.voice.texts())
		}
	})
}

func TestAFileIsSentOnceHoweverOftenTheDaemonEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		h := open(t, func(s *setup) { s.dir, s.files = dir, &cabinet{gate: make(chan error)} })
		h.say("/file get big")
		h.stop()
		h = open(t, func(s *setup) { s.dir, s.files = dir, &cabinet{} })
		synctest.Wait()
		if h.said("here is big") != 1 || h.unrouted() != 0 {
			t.Errorf("said %q", h.voice.texts())
		}
		h.stop()
		h = open(t, func(s *setup) { s.dir, s.files = dir, &cabinet{} })
		synctest.Wait()
		if h.said("here is big") != 0 {
			t.Errorf("said again: %q", h.voice.texts())
		}
	})
}

func TestAFileThatCannotBeReadForAMomentIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		files := &cabinet{gate: make(chan error, 1)}
		h := open(t, func(s *setup) { s.files = files })
		files.gate <- errors.New("the disk is busy")
		h.say("/file get big")
		files.gate <- nil
		h.settleDown()
		if files.asked != 2 || h.said("here is big") != 1 || h.unrouted() != 0 {
			t.Errorf("asked %d times, said %q", files.asked, h.voice.texts())
		}
	})
}

func TestMoreFilesThanCanBeFetchedAreRefusedAloud(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		files := &cabinet{gate: make(chan error)}
		h := open(t, func(s *setup) { s.files = files })
		for i := range 20 {
			h.say(fmt.Sprintf("/file get f%d", i))
		}
		if files.asked != 2 || h.said("NOT taken") != 4 {
			t.Fatalf("%d at once, said %q", files.asked, h.voice.texts())
		}
		close(files.gate)
		synctest.Wait()
		if h.said("here is") != 16 || h.unrouted() != 0 {
			t.Errorf("said %q", h.voice.texts())
		}
	})
}

func TestAnOldFileCommandKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		files := &cabinet{gate: make(chan error)}
		h := open(t, func(s *setup) { s.files = files })
		h.say("/file get big", sentAgo(7*time.Hour))
		h.say("and this", sentAgo(7*time.Hour))
		h.told("Run")
		h.click("aged:run")
		h.say("in the same chat")
		if ps := h.runner.prompts(); len(ps) != 2 || h.said("here is") != 0 {
			t.Fatalf("prompts %q, said %q", ps, h.voice.texts())
		}
		h.click("aged:run") // once more, while it is on its way
		files.gate <- nil
		synctest.Wait()
		if files.asked != 1 || h.said("here is big") != 1 || h.unrouted() != 0 {
			t.Errorf("asked %d times, said %q", files.asked, h.voice.texts())
		}
	})
}

func TestAnOldFileCommandThatRunsOutlivesTheDaemon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		h := open(t, func(s *setup) { s.dir, s.files = dir, &cabinet{gate: make(chan error)} })
		h.say("/file get big", sentAgo(7*time.Hour))
		h.click("aged:run")
		h.stop()
		h = open(t, func(s *setup) { s.dir, s.files = dir, &cabinet{} })
		synctest.Wait()
		if h.said("here is big") != 1 || h.unrouted() != 0 {
			t.Errorf("said %q", h.voice.texts())
		}
	})
}

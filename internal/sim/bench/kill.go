package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// crash is what came of messages around a kill.
type crash struct {
	silent int // neither answered nor reported
	twice  int // prompts that the agent got twice
}

// kill measures kill -9 in the middle of turns, with messages while down.
func kill(ctx context.Context, l *lab) ([]figure, error) {
	silent, twice := series{}, series{}
	kinds := []kind{ref, ours}
	if l.quick {
		kinds = kinds[1:]
	}
	for range l.runs(3) {
		for _, k := range kinds {
			c, err := l.crash(ctx, k)
			if err != nil {
				return nil, err
			}
			silent.add(k, float64(c.silent))
			twice.add(k, float64(c.twice))
		}
	}
	return []figure{
		silent.figure("kill -9, 9 messages around it: neither answered nor reported", "", "0", atMost(0)),
		twice.figure("the same: prompts given twice", "", "0", atMost(0)),
	}, nil
}

// crash kills a gateway with a turn under way in chat 1 and one in chat 2 whose
// agent answers while nobody listens, and one message queued behind that.
// While it is down, chat 1 says three things and chats 3, 4 and 5 one each.
func (l *lab) crash(ctx context.Context, k kind) (c crash, err error) {
	dir, err := l.folder()
	if err != nil {
		return c, err
	}
	journal := filepath.Join(dir, "journal")
	g, err := l.open(ctx, k, options{people: 5, paced: true, journal: journal})
	if err != nil {
		return c, err
	}
	defer g.close()
	for _, chat := range []int64{1, 2} { // old chats
		if _, err := await(ctx, g.api.say(chat, l.prompt("m")), answerLimit); err != nil {
			return c, err
		}
	}
	if err := pause(ctx, 3*time.Second); err != nil {
		return c, err
	}
	open := map[string]int64{}
	say := func(chat int64, what string) {
		text := l.prompt(what)
		open[text] = chat
		g.api.say(chat, text)
	}
	say(1, "slow 20000")
	say(2, "slow 1500")
	if err := pause(ctx, 500*time.Millisecond); err != nil {
		return c, err
	}
	say(2, "m")
	if err := pause(ctx, 500*time.Millisecond); err != nil {
		return c, err
	}
	g.kill()
	down := now()
	for range 3 {
		say(1, "m")
	}
	for chat := int64(3); chat <= 5; chat++ {
		say(chat, "m")
	}
	if err := pause(ctx, 3*time.Second); err != nil {
		return c, err
	}
	if err := g.start(ctx); err != nil {
		return c, err
	}
	if err := g.quiet(ctx, open, down); err != nil {
		return c, err
	}
	c.silent = unheard(open, g.api.log(down))
	c.twice = repeated(journal)
	return c, nil
}

// crashLimit bounds the time after a restart: the budgets of a chat allow a
// message a second, and ref runs the long turn again.
const crashLimit = 30 * time.Second

// quiet waits until everything was heard of, or long enough.
func (g *gateway) quiet(ctx context.Context, open map[string]int64, since int64) error {
	until := time.Now().Add(crashLimit)
	for time.Now().Before(until) {
		if unheard(open, g.api.log(since)) == 0 {
			return nil
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// unheard counts the messages that were neither answered nor reported. A turn
// that was cut off is reported by a message with a button to repeat it.
func unheard(open map[string]int64, calls []call) int {
	answered, reports := map[string]bool{}, map[int64]int{}
	for _, c := range calls {
		if tag, _, ok := parseAnswer(c.text); ok {
			answered[tag] = true
		} else if c.posts() && c.offers {
			reports[c.chat]++
		}
	}
	n := 0
	for text, chat := range open {
		switch {
		case answered[text[strings.LastIndexByte(text, ' ')+1:]]:
		case strings.HasPrefix(text, "slow") && reports[chat] > 0:
			reports[chat]--
		default:
			n++
		}
	}
	return n
}

// repeated counts prompts that the agent was given more than once.
func repeated(journal string) int {
	b, err := os.ReadFile(journal)
	if err != nil {
		return 0
	}
	seen, n := map[string]bool{}, 0
	for line := range strings.Lines(string(b)) {
		if seen[line] {
			n++
		}
		seen[line] = true
	}
	return n
}

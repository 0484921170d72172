package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// heavy is one turn with much output in a gateway of its own.
type heavy struct {
	before, peak float64 // RSS in MiB
	took         float64 // seconds
	after        bool    // the chat answered the next message
}

func (l *lab) heavy(ctx context.Context, what string) (h heavy, err error) {
	g, err := l.open(ctx, ours, options{people: 1, paced: true})
	if err != nil {
		return h, err
	}
	defer g.close()
	// Before is a daemon that is awake: one at rest has given its memory back.
	for range 2 {
		if _, err := await(ctx, g.api.say(1, l.prompt("m")), answerLimit); err != nil {
			return h, err
		}
		if err := pause(ctx, 3*breath); err != nil {
			return h, err
		}
	}
	h.before = g.status("VmRSS") / mib
	peak := g.peak(ctx)
	began := now()
	f, err := await(ctx, g.api.say(1, l.prompt(what)), answerLimit)
	h.peak = peak() / mib
	if err != nil && ctx.Err() != nil {
		return h, err
	}
	if err == nil {
		h.took = float64(f.at-began) / 1e9
	}
	if err := pause(ctx, time.Second); err != nil {
		return h, err
	}
	_, err = await(ctx, g.api.say(1, l.prompt("m")), 15*time.Second)
	h.after = err == nil
	return h, ctx.Err()
}

// big measures output that is too much.
func big(ctx context.Context, l *lab) ([]figure, error) {
	var usable, peak, flood, took, noise []float64
	for range l.runs(3) {
		line, err := l.heavy(ctx, "line 20")
		if err != nil {
			return nil, err
		}
		out, err := l.heavy(ctx, "flood 100")
		if err != nil {
			return nil, err
		}
		errs, err := l.heavy(ctx, "noise 100")
		if err != nil {
			return nil, err
		}
		usable = append(usable, yes(line.after && out.after && errs.after && line.took*out.took*errs.took > 0))
		peak = append(peak, line.peak)
		flood, took = append(flood, out.peak-out.before), append(took, out.took)
		noise = append(noise, errs.peak-errs.before)
	}
	return []figure{
		alone("a line of 20 MiB, 100 MB of output, 100 MB on stderr: answered, and the chat goes on (1 = yes)", "", "1",
			func(_, ours float64) bool { return ours == 1 }, usable...),
		alone("a line of 20 MiB: peak RSS", "MiB", "≤ 46", atMost(46), peak...),
		alone("100 MB of tool results: peak over before", "MiB", "≤ 8", atMost(8), flood...),
		alone("the same: time", "s", "≤ 1.6", atMost(1.6), took...),
		alone("100 MB on stderr: peak over before", "MiB", "≤ 4", atMost(4), noise...),
	}, nil
}

func yes(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// growth measures one chat's warm turn beside more and more sessions.
func growth(ctx context.Context, l *lab) ([]figure, error) {
	if l.quick {
		return nil, nil
	}
	many := 500
	whole, cpu := series{}, series{}
	for range l.runs(3) {
		for _, k := range []kind{ref, ours} {
			one, all, err := l.grow(ctx, k, many)
			if err != nil {
				return nil, err
			}
			whole.add(k, median(all.whole)/median(one.whole))
			cpu.add(k, all.cpu/one.cpu)
		}
	}
	return []figure{
		whole.figure("warm turn, whole, p50: at 500 sessions ÷ at 1", "", "≤ 1.2", atMost(1.2)),
		cpu.figure("CPU a turn: at 500 sessions ÷ at 1", "", "≤ 1.2", atMost(1.2)),
	}, nil
}

func (l *lab) grow(ctx context.Context, k kind, many int) (one, all steps, err error) {
	g, err := l.open(ctx, k, options{people: many})
	if err != nil {
		return one, all, err
	}
	defer g.close()
	w := walk{chats: 1, gap: 50 * time.Millisecond}
	if _, err := w.turns(ctx, l, g, 20); err != nil { // warm up
		return one, all, err
	}
	if one, err = w.turns(ctx, l, g, 60); err != nil {
		return one, all, err
	}
	c := &crowdBook{answered: map[int64]int{}}
	r := rush{chats: many, rounds: 1, limit: time.Minute}
	r.first(ctx, l, g, c)
	r.next(ctx, l, g, c)
	if err := pause(ctx, 3*time.Second); err != nil {
		return one, all, err
	}
	if _, err := w.turns(ctx, l, g, 20); err != nil {
		return one, all, err
	}
	all, err = w.turns(ctx, l, g, 60)
	return one, all, err
}

// pss is the proportional memory of a process in KiB; 0 when nobody may know.
func pss(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
			n, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return n
		}
	}
	return 0
}

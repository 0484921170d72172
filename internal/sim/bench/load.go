package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"cligate/internal/worker/proc/runner"
)

// rush is many chats at once: each says its first word in the same moment, and
// each next one a while after its answer.
type rush struct {
	chats, rounds int
	limit         time.Duration // for the whole
}

// outcome is what came of a rush.
type outcome struct {
	rate          float64   // warm turns a second
	late          []float64 // milliseconds from saying to answer, warm turns
	cpu           float64   // milliseconds a turn
	lost, doubled int
	rss           float64 // KiB a further conversation, when all is quiet again
	threads       float64
	runner        float64 // KiB of PSS of one runner process
}

const (
	breath = 150 * time.Millisecond // between an answer and the next word
	quiet  = 2 * time.Second        // without a word, before memory is looked at
)

func (r rush) do(ctx context.Context, l *lab, k kind) (o outcome, err error) {
	g, err := l.open(ctx, k, options{people: r.chats})
	if err != nil {
		return o, err
	}
	defer g.close()
	if err := pause(ctx, breath); err != nil {
		return o, err
	}
	// One conversation comes first: what the code of a turn takes is no cost of
	// each.
	if _, err := await(ctx, g.api.say(1, l.prompt("m")), answerLimit); err != nil {
		return o, err
	}
	if err := pause(ctx, quiet); err != nil {
		return o, err
	}
	one, used := g.status("VmRSS"), g.cpu()
	c := &crowdBook{answered: map[int64]int{}}
	r.first(ctx, l, g, c)
	r.next(ctx, l, g, c)
	turns := r.chats * (r.rounds + 1)
	o = c.outcome(turns)
	o.cpu = (g.cpu() - used).Seconds() * 1000 / float64(turns)
	if err := pause(ctx, quiet); err != nil {
		return o, err
	}
	o.doubled = doubled(g.api)
	o.rss = (g.status("VmRSS") - one) / float64(r.chats-1)
	o.threads = g.status("Threads")
	o.runner = runnerSize(g.pid())
	return o, ctx.Err()
}

// crowdBook notes what the chats see.
type crowdBook struct {
	mu        sync.Mutex
	late      []float64
	answered  map[int64]int
	warmBegan int64
	warmEnded int64
	warm      int
}

func (c *crowdBook) note(chat, said, at int64, warm bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered[chat]++
	if !warm {
		return
	}
	c.late = append(c.late, float64(at-said)/1e6)
	c.warm++
	c.warmEnded = max(c.warmEnded, at)
	if c.warmBegan == 0 || said < c.warmBegan {
		c.warmBegan = said
	}
}

func (c *crowdBook) outcome(turns int) outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := outcome{late: c.late, lost: turns}
	for _, n := range c.answered {
		o.lost -= n
	}
	if c.warmEnded > c.warmBegan {
		o.rate = float64(c.warm) / (float64(c.warmEnded-c.warmBegan) / 1e9)
	}
	return o
}

// first lets every chat say its first word.
func (r rush) first(ctx context.Context, l *lab, g *gateway, c *crowdBook) {
	texts := make(map[int64]string, r.chats)
	for i := range r.chats {
		texts[int64(i)+1] = l.prompt("m")
	}
	said := now()
	var wg sync.WaitGroup
	for chat, ch := range g.api.sayAll(texts) {
		wg.Go(func() {
			if f, err := await(ctx, ch, r.limit); err == nil {
				c.note(chat, said, f.at, false)
			}
		})
	}
	wg.Wait()
}

// next lets every chat talk on. A chat whose answer does not come falls silent.
func (r rush) next(ctx context.Context, l *lab, g *gateway, c *crowdBook) {
	prompts := make([][]string, r.chats)
	for i := range prompts {
		for range r.rounds {
			prompts[i] = append(prompts[i], l.prompt("m"))
		}
	}
	var wg sync.WaitGroup
	for i, texts := range prompts {
		wg.Go(func() {
			for _, text := range texts {
				if pause(ctx, breath) != nil {
					return
				}
				said := now()
				f, err := await(ctx, g.api.say(int64(i)+1, text), r.limit)
				if err != nil {
					return
				}
				c.note(int64(i)+1, said, f.at, true)
			}
		})
	}
	wg.Wait()
}

// doubled counts answers that were posted more than once.
func doubled(a *api) int {
	seen, n := map[string]bool{}, 0
	for _, c := range a.log(0) {
		tag, _, ok := parseAnswer(c.text)
		if !ok || !c.posts() || c.buttons || c.refused {
			continue
		}
		if seen[tag] {
			n++
		}
		seen[tag] = true
	}
	return n
}

// load measures 50 and 200 chats.
func load(ctx context.Context, l *lab) ([]figure, error) {
	var figures []figure
	sizes := []int{50, 200}
	if l.quick {
		sizes = sizes[1:]
	}
	for _, chats := range sizes {
		fs, err := rushes(ctx, l, rush{chats: chats, rounds: 2, limit: time.Minute}, l.runs(3))
		if err != nil {
			return nil, err
		}
		figures = append(figures, fs...)
	}
	return figures, nil
}

// crowd measures 1,000 chats.
func crowd(ctx context.Context, l *lab) ([]figure, error) {
	if l.quick {
		return nil, nil
	}
	return rushes(ctx, l, rush{chats: 1000, rounds: 2, limit: time.Minute}, 2)
}

func rushes(ctx context.Context, l *lab, r rush, runs int) ([]figure, error) {
	rate, p50, p99, cpu, lost, rss, threads, shim := series{}, series{}, series{}, series{}, series{}, series{}, series{}, series{}
	for range runs {
		for _, k := range []kind{ref, ours} {
			o, err := r.do(ctx, l, k)
			if err != nil {
				return nil, err
			}
			rate.add(k, o.rate)
			p50.add(k, median(o.late))
			p99.add(k, quantile(o.late, 0.99))
			cpu.add(k, o.cpu)
			lost.add(k, float64(o.lost+o.doubled))
			rss.add(k, o.rss)
			threads.add(k, o.threads)
			if k == ours {
				shim.add(k, o.runner)
			}
		}
	}
	name := fmt.Sprintf("%d chats: ", r.chats)
	fs := []figure{
		rate.figure(name+"warm turns a second", "", "", nil),
		p50.figure(name+"p50", "ms", "", nil),
		p99.figure(name+"p99", "ms", "", nil),
		cpu.figure(name+"gateway CPU a turn", "ms", "", nil),
		lost.figure(name+"answers lost or doubled", "", "0", atMost(0)),
		rss.figure(name+"RSS a further live conversation", "KiB", "", nil),
		threads.figure(name+"OS threads", "", "", nil),
		shim.figure(name+"beside it, one runner process for an agent (PSS)", "KiB", "", nil),
	}
	switch r.chats {
	case 200:
		fs[0].goal, fs[0].reached = "≥ 0.4×", timesAtLeast(0.4)
		fs[2].goal, fs[2].reached = "≤ 5×", timesAtMost(5)
		fs[5].goal, fs[5].reached = "≤ 80", atMost(80)
		fs[6].goal, fs[6].reached = "≤ 24", atMost(24)
	case 1000:
		fs[0].goal, fs[0].reached = "≥ 0.3×", timesAtLeast(0.3)
		fs[2].goal, fs[2].reached = "≤ 6×", timesAtMost(6)
	}
	return fs, nil
}

// runnerSize is the proportional memory of one of the processes between the
// gateway and its agents: the median of some.
func runnerSize(pid int) float64 {
	var all []float64
	for _, e := range runner.Descendants(pid) {
		if kib := pss(e.PID); e.Parent == pid && kib > 0 && len(all) < 20 {
			all = append(all, kib)
		}
	}
	return median(all)
}

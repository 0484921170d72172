package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// startUp measures what a gateway needs before anybody speaks.
func startUp(ctx context.Context, l *lab) ([]figure, error) {
	info, err := os.Stat(l.binary)
	if err != nil {
		return nil, fmt.Errorf("look at the binary: %w", err)
	}
	size := figure{metric: "binary, stripped", unit: "MiB", ours: []float64{float64(info.Size()) / (1 << 20)}, goal: "≤ 20", reached: atMost(20)}
	poll, rss := series{}, series{}
	for range l.runs(5) {
		for _, k := range []kind{ref, ours} {
			g, err := l.open(ctx, k, options{people: 1, paced: true})
			if err != nil {
				return nil, err
			}
			poll.add(k, float64(g.firstPoll()-g.began)/1e6)
			err = pause(ctx, 2*time.Second)
			rss.add(k, g.status("VmRSS")/mib)
			_ = g.close()
			if err != nil {
				return nil, err
			}
		}
	}
	return []figure{
		poll.figure("exec → first poll", "ms", "≤ 3×", timesAtMost(3)),
		rss.figure("RSS 2 s after start", "MiB", "≤ 17", atMost(17)),
		size,
	}, nil
}

// firstPoll is when the gateway began to poll.
func (g *gateway) firstPoll() int64 {
	g.api.mu.Lock()
	defer g.api.mu.Unlock()
	for _, c := range g.api.calls {
		if c.method == "getUpdates" {
			return c.at
		}
	}
	return 0
}

// idle measures a gateway that has nothing to do.
func idle(ctx context.Context, l *lab) ([]figure, error) {
	span := time.Minute
	if l.quick {
		span = 5 * time.Second
	}
	var all []*gateway
	defer func() {
		for _, g := range all {
			_ = g.close()
		}
	}()
	for _, k := range []kind{ref, ours} {
		g, err := l.open(ctx, k, options{people: 1, paced: true})
		if err != nil {
			return nil, err
		}
		all = append(all, g)
	}
	if err := pause(ctx, 5*time.Second); err != nil { // what follows a start is not idle
		return nil, err
	}
	cpu := series{}
	before := []time.Duration{all[0].cpu(), all[1].cpu()}
	if err := pause(ctx, span); err != nil {
		return nil, err
	}
	for i, g := range all {
		cpu.add(g.kind, (g.cpu()-before[i]).Seconds()*1000*float64(time.Minute)/float64(span))
	}
	return []figure{cpu.figure("idle CPU a minute", "ms", "≤ 3", atMost(3))}, nil
}

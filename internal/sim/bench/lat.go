package main

import (
	"context"
	"time"
)

// walk is one run through first and warm turns, one at a time.
type walk struct {
	chats int // each says its first word
	warm  int // turns after that, in chats that wait for it the longest
	gap   time.Duration
}

// steps are what one kind of turn took.
type steps struct {
	in, out, whole []float64 // milliseconds
	cpu            float64   // milliseconds of the gateway, a turn
	calls          float64   // of the API, a turn
}

// add notes a turn.
func (s *steps) add(f final) {
	const ms = 1e6
	s.in = append(s.in, float64(f.read-f.handed)/ms)
	s.out = append(s.out, float64(f.at-f.wrote)/ms)
	s.whole = append(s.whole, float64(f.at-f.handed)/ms)
}

// answerLimit bounds one turn.
const answerLimit = 30 * time.Second

// do walks with one gateway. Turns come so far apart that the default budgets
// of messages never delay one.
func (w walk) do(ctx context.Context, l *lab, k kind, o options) (first, warm steps, err error) {
	o.people = w.chats
	g, err := l.open(ctx, k, o)
	if err != nil {
		return first, warm, err
	}
	defer g.close()
	if err := pause(ctx, 500*time.Millisecond); err != nil { // it also sets up its menu
		return first, warm, err
	}
	if first, err = w.turns(ctx, l, g, w.chats); err != nil {
		return first, warm, err
	}
	warm, err = w.turns(ctx, l, g, w.warm)
	return first, warm, err
}

func (w walk) turns(ctx context.Context, l *lab, g *gateway, n int) (s steps, err error) {
	began, used := now(), g.cpu()
	for i := range n {
		f, err := await(ctx, g.api.say(int64(i%w.chats)+1, l.prompt("m")), answerLimit)
		if err != nil {
			return s, err
		}
		s.add(f)
		if err := pause(ctx, w.gap); err != nil {
			return s, err
		}
	}
	s.cpu = (g.cpu() - used).Seconds() * 1000 / float64(n)
	s.calls = float64(len(g.api.log(began))) / float64(n)
	return s, nil
}

// series collects a figure over runs, of both.
type series map[kind][]float64

func (s series) add(k kind, v float64) { s[k] = append(s[k], v) }

func (s series) figure(metric, unit, goal string, reached func(ref, ours float64) bool) figure {
	return figure{metric: metric, unit: unit, ref: s[ref], ours: s[ours], goal: goal, reached: reached}
}

// latency measures turns one at a time: with an agent that answers at once,
// what remains is the gateway.
func latency(ctx context.Context, l *lab) ([]figure, error) {
	in, out, whole, late, cpu, calls := series{}, series{}, series{}, series{}, series{}, series{}
	firstIn, firstWhole := series{}, series{}
	w := walk{chats: 20, warm: l.some(60), gap: 110 * time.Millisecond}
	for range l.runs(5) {
		for _, k := range []kind{ref, ours} {
			first, warm, err := w.do(ctx, l, k, options{paced: true})
			if err != nil {
				return nil, err
			}
			in.add(k, median(warm.in))
			out.add(k, median(warm.out))
			whole.add(k, median(warm.whole))
			late.add(k, quantile(warm.whole, 0.95))
			cpu.add(k, warm.cpu)
			calls.add(k, warm.calls)
			firstIn.add(k, median(first.in))
			firstWhole.add(k, median(first.whole))
		}
	}
	figures := []figure{
		in.figure("warm turn, in, p50", "ms", "≤ 2×", timesAtMost(2)),
		out.figure("warm turn, out, p50", "ms", "≤ 3×", timesAtMost(3)),
		whole.figure("warm turn, whole, p50", "ms", "≤ 2.5×", timesAtMost(2.5)),
		late.figure("warm turn, whole, p95", "ms", "≤ 2.5×", timesAtMost(2.5)),
		firstIn.figure("first turn (agent is started), in, p50", "ms", "", nil),
		firstWhole.figure("first turn, whole, p50", "ms", "≤ 2.5×", timesAtMost(2.5)),
		cpu.figure("gateway CPU a warm turn", "ms", "≤ 2.5×", timesAtMost(2.5)),
		calls.figure("API calls a short warm turn", "", "≤ 2", atMost(2)),
	}
	byDefault, err := withBurst(ctx, l)
	return append(figures, byDefault), err
}

// withBurst is what the default burst window adds.
func withBurst(ctx context.Context, l *lab) (figure, error) {
	s := series{}
	w := walk{chats: 10, warm: l.some(30), gap: 110 * time.Millisecond}
	for range l.runs(3) {
		_, warm, err := w.do(ctx, l, ours, options{paced: true, burst: 150 * time.Millisecond})
		if err != nil {
			return figure{}, err
		}
		s.add(ours, median(warm.in))
	}
	return s.figure("warm turn, in, p50, with the default burst window of 150 ms", "ms", "", nil), nil
}

// farAway is the same with an API that takes 100 ms for every answer.
func farAway(ctx context.Context, l *lab) ([]figure, error) {
	in, out := series{}, series{}
	w := walk{chats: 8, warm: l.some(24), gap: 250 * time.Millisecond}
	for range l.runs(3) {
		for _, k := range []kind{ref, ours} {
			_, warm, err := w.do(ctx, l, k, options{paced: true, delay: 100 * time.Millisecond})
			if err != nil {
				return nil, err
			}
			in.add(k, median(warm.in))
			out.add(k, median(warm.out))
		}
	}
	return []figure{
		in.figure("API 100 ms away: warm turn, in, p50", "ms", "≤ 5 ms", atMost(5)),
		out.figure("API 100 ms away: warm turn, out, p50", "ms", "≤ 10 ms", atMost(10)),
	}, nil
}

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// What is judged alone: the rod has no limits, no pace and no live message.

// alone makes a figure of ours only.
func alone(metric, unit, goal string, reached func(ref, ours float64) bool, values ...float64) figure {
	return figure{metric: metric, unit: unit, ours: values, goal: goal, reached: reached}
}

// watched is what one chat saw of one turn.
type watched struct {
	calls []call // posts and edits
	end   final
}

// watch has one turn run in a fresh chat and waits until its answer is there.
func watch(ctx context.Context, g *gateway, chat int64, prompt string, limit time.Duration) (watched, error) {
	began := now()
	f, err := await(ctx, g.api.say(chat, prompt), limit)
	if err != nil {
		return watched{}, fmt.Errorf("%s: %w", prompt, err)
	}
	if err := pause(ctx, 2*time.Second); err != nil { // the live message is put away
		return watched{}, err
	}
	w := watched{end: f}
	for _, c := range g.api.log(began) {
		if c.chat == chat && (c.posts() || c.method == "editMessageText") {
			w.calls = append(w.calls, c)
		}
	}
	return w, nil
}

// times are when calls arrived.
func (w watched) times() []int64 {
	var at []int64
	for _, c := range w.calls {
		at = append(at, c.at)
	}
	return at
}

// posts counts the messages that carry a part of the answer.
func (w watched) posts() int {
	return len(slices.DeleteFunc(slices.Clone(w.calls), func(c call) bool {
		return !c.posts() || c.refused || c.buttons
	}))
}

// firstText is when a text of the agent's was visible first.
func (w watched) firstText(mark string) int64 {
	for _, c := range w.calls {
		if !c.refused && strings.Contains(c.text, mark) {
			return c.at
		}
	}
	return 0
}

// streams measures long answers and many tool calls.
func streams(ctx context.Context, l *lab) ([]figure, error) {
	g, err := l.open(ctx, ours, options{people: 4, paced: true})
	if err != nil {
		return nil, err
	}
	defer g.close()
	if _, err := await(ctx, g.api.say(1, l.prompt("m")), answerLimit); err != nil {
		return nil, err
	}
	if err := pause(ctx, 3*time.Second); err != nil {
		return nil, err
	}
	used := g.cpu()
	w, err := watch(ctx, g, 1, l.prompt("stream 2000 24 2650"), time.Minute)
	if err != nil {
		return nil, err
	}
	cpu := (g.cpu() - used).Seconds() * 1000
	t, err := watch(ctx, g, 2, l.prompt("tools 50 100000"), time.Minute)
	if err != nil {
		return nil, err
	}
	return []figure{
		alone("stream of 2,000 pieces in 5.3 s: first text", "ms", "≤ 300", atMost(300), float64(w.firstText(pieceMark)-w.end.read)/1e6),
		alone("the same: posts and edits in the busiest second", "", "≤ 3", atMost(3), float64(busiest(w.times(), time.Second))),
		alone("the same: in the busiest 3 s", "", "≤ 5", atMost(5), float64(busiest(w.times(), 3*time.Second))),
		alone("the same: gateway CPU", "ms", "", nil, cpu),
		alone("50 tool calls in 5 s: posts and edits in the busiest second", "", "≤ 3", atMost(3), float64(busiest(t.times(), time.Second))),
		alone("the same: in the busiest 3 s", "", "≤ 5", atMost(5), float64(busiest(t.times(), 3*time.Second))),
	}, nil
}

// pieceMark is how the pieces of a stream begin.
const pieceMark = "aaaaaaaaaa"

// limited measures a service that enforces its limits.
func limited(ctx context.Context, l *lab) ([]figure, error) {
	chats := 50
	g, err := l.open(ctx, ours, options{people: chats + 1, paced: true, budget: newBudget()})
	if err != nil {
		return nil, err
	}
	defer g.close()
	began := now()
	w, err := watch(ctx, g, int64(chats)+1, l.prompt(fmt.Sprintf("stream %d 24 2650", l.some(2000))), 2*time.Minute)
	if err != nil {
		return nil, err
	}
	lag := float64(w.end.at-w.end.wrote) / 1e9
	allowed := 1.5 + 1.1*float64(w.posts()-1)
	answers := 0
	c := &crowdBook{answered: map[int64]int{}}
	r := rush{chats: chats, rounds: l.some(4), limit: 2 * time.Minute}
	r.first(ctx, l, g, c)
	r.next(ctx, l, g, c)
	for _, n := range c.answered {
		answers += n
	}
	refused := 0
	for _, x := range g.api.log(began) {
		if x.refused {
			refused++
		}
	}
	return []figure{
		alone(fmt.Sprintf("stream with limits, %d messages: last piece → all there", w.posts()), "s", "≤ "+number(allowed), atMost(allowed), lag),
		alone(fmt.Sprintf("50 chats with limits, %d turns: answers lost or doubled", chats*(r.rounds+1)), "", "0", atMost(0),
			float64(chats*(r.rounds+1)-answers+doubled(g.api))),
		alone("the same: calls refused with 429", "", "", nil, float64(refused)),
	}, ctx.Err()
}

// burst measures messages that come faster than the agent answers.
func burst(ctx context.Context, l *lab) ([]figure, error) {
	lost, order := 0, 0
	for range l.runs(2) {
		g, err := l.open(ctx, ours, options{people: 1, paced: true})
		if err != nil {
			return nil, err
		}
		last, n := int64(0), 0
		var all []<-chan final
		for range 12 {
			all = append(all, g.api.say(1, l.prompt("slow 20")))
		}
		for _, ch := range all {
			f, err := await(ctx, ch, answerLimit)
			if err != nil {
				continue
			}
			n++
			if f.at < last {
				order++
			}
			last = f.at
		}
		lost += 12 - n + doubled(g.api)
		_ = g.close()
	}
	return []figure{
		alone("burst of 12 in one chat: lost or doubled", "", "0", atMost(0), float64(lost)),
		alone("the same: out of order", "", "0", atMost(0), float64(order)),
	}, ctx.Err()
}

package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// figure is one row of the table.
type figure struct {
	metric string
	unit   string
	ref    []float64 // one value a run; none where the rod means nothing
	ours   []float64
	goal   string
	// reached judges the medians; nil = there is no goal.
	reached func(ref, ours float64) bool
}

// atMost is the goal of an absolute limit.
func atMost(limit float64) func(ref, ours float64) bool {
	return func(_, ours float64) bool { return ours <= limit }
}

// timesAtMost is the goal of a limit in multiples of the rod.
func timesAtMost(limit float64) func(ref, ours float64) bool {
	return func(ref, ours float64) bool { return ref > 0 && ours/ref <= limit }
}

func timesAtLeast(limit float64) func(ref, ours float64) bool {
	return func(ref, ours float64) bool { return ref > 0 && ours/ref >= limit }
}

func heading(w io.Writer) error {
	_, err := fmt.Fprint(w, "| metric | ref | ours | ratio | goal | reached |\n|---|---|---|---|---|---|\n")
	return err
}

func rows(w io.Writer, figures []figure) error {
	for _, f := range figures {
		r, o := median(f.ref), median(f.ours)
		ratio, verdict := "", ""
		if r > 0 && len(f.ours) > 0 {
			ratio = number(o / r)
		}
		if f.reached != nil {
			verdict = "no"
			if len(f.ours) > 0 && f.reached(r, o) {
				verdict = "yes"
			}
		}
		name := f.metric
		if f.unit != "" {
			name += ", " + f.unit
		}
		_, err := fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s |\n", name, spread(f.ref), spread(f.ours), ratio, f.goal, verdict)
		if err != nil {
			return err
		}
	}
	return nil
}

// spread shows the median of several runs with the lowest and the highest.
func spread(vs []float64) string {
	switch len(vs) {
	case 0:
		return "–"
	case 1:
		return number(vs[0])
	}
	return fmt.Sprintf("%s [%s..%s]", number(median(vs)), number(slices.Min(vs)), number(slices.Max(vs)))
}

// number shows about three digits.
func number(v float64) string {
	switch a := math.Abs(v); {
	case v == math.Trunc(v) || a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.3f", v), "0"), ".")
}

func median(vs []float64) float64 { return quantile(vs, 0.5) }

// quantile is the value below which that part of vs lies; 0 for none.
func quantile(vs []float64, q float64) float64 {
	if len(vs) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(vs))
	at := q * float64(len(s)-1)
	low := int(at)
	if low+1 == len(s) {
		return s[low]
	}
	return s[low] + (at-float64(low))*(s[low+1]-s[low])
}

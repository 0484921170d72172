package chat

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// Whatever is filled in, in whatever order and number of steps, each question
// ends with what was said last about it.
func TestAFormThatIsFilledInStepByStepSaysWhatWasSaidLast(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 11))
	for range 2000 {
		q := Question{Kind: AskChoice}
		for n := range 1 + rnd.IntN(4) {
			k := Query{ID: fmt.Sprint("id", n), Multi: rnd.IntN(3) == 0, Free: rnd.IntN(2) == 0}
			for i := range rnd.IntN(4) {
				k.Options = append(k.Options, Option{Label: fmt.Sprint("label", i)})
			}
			q.Queries = append(q.Queries, k)
		}
		want, got := map[string][]string{}, Answer{}
		for step := 0; q.Unanswered(want) >= 0; step++ {
			form := map[string][]string{}
			for n, k := range q.Queries {
				var said []string
				if len(k.Options) > 0 && rnd.IntN(2) == 0 {
					i := rnd.IntN(len(k.Options))
					form[FieldOf(n, false)] = []string{strconv.Itoa(i)}
					said = []string{k.Options[i].Value()}
				}
				if len(said) == 0 && k.Words() && rnd.IntN(2) == 0 {
					own := fmt.Sprint("own ", step)
					form[FieldOf(n, true)] = []string{" " + own + "\n"}
					said = []string{own}
				}
				if said != nil {
					want[k.ID] = said
				}
			}
			next, err := q.Filled(form, got)
			if len(want) == 0 {
				if CodeOf(err) != Nothing {
					t.Fatalf("%+v: an empty form is %+v, %v", q, next, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%+v: %v", form, err)
			}
			got = next
			for _, k := range q.Queries { // none of several, once all else is answered
				if _, known := want[k.ID]; !known && k.Multi && others(q, want) {
					want[k.ID] = []string{}
				}
			}
		}
		for id, v := range want {
			if !slices.Equal(got.Values[id], v) {
				t.Fatalf("%+v: got %v, want %v", q, got.Values, want)
			}
		}
	}
}

// others reports whether every query is answered, or takes none as an answer.
func others(q Question, got map[string][]string) bool {
	some := false
	for _, k := range q.Queries {
		v, known := got[k.ID]
		if !known && !k.Multi {
			return false
		}
		some = some || len(v) > 0
	}
	return some
}

package chat

import (
	"maps"
	"slices"
)

// MayDecide reports whether p with role r, spoken where the ask was shown, may
// answer a: who asked for the turn, or an operator.
func (a Ask) MayDecide(p Person, r Role) bool {
	if p.ID == "" || p.Bot {
		return false
	}
	return r.Covers(RoleOperator) || (r.Covers(RoleMember) && p.ID == a.Asker.ID)
}

// With returns the first option of q that means e.
func (q Question) With(e Effect) (Option, bool) {
	i := slices.IndexFunc(q.Options, func(o Option) bool { return o.Effect == e })
	if i < 0 {
		return Option{}, false
	}
	return q.Options[i], true
}

// Unanswered is the index of the first query of q that has no entry in got, -1
// when there is none. An empty entry is an answer: nothing was chosen.
func (q Question) Unanswered(got map[string][]string) int {
	return slices.IndexFunc(q.Queries, func(k Query) bool {
		_, ok := got[k.ID]
		return !ok
	})
}

// Value is what the agent hears when o is chosen in a query.
func (o Option) Value() string {
	if o.ID != "" {
		return o.ID
	}
	return o.Label
}

// Same reports whether a says the same as b, whoever says it.
func (a Answer) Same(b Answer) bool {
	return a.Option == b.Option && a.Effect == b.Effect && a.Text == b.Text &&
		maps.EqualFunc(a.Values, b.Values, slices.Equal[[]string])
}

// Decider names who answered a, for people.
func (a Ask) Decider() string {
	switch by := a.Answer.By; {
	case by.Name != "":
		return by.Name
	case by.ID == a.Asker.ID && a.Asker.Name != "":
		return a.Asker.Name
	default:
		return by.ID
	}
}

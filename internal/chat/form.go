package chat

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Form is a set of fields that are filled in and sent together. Services that
// have no forms show the buttons of the reply and take words.
type Form struct {
	Fields []Field `json:"fields"`
	// Send are the buttons that send the fields: the press of one carries
	// Message.Form.
	Send []Button `json:"send"`
	// Whole says that the form offers all that the reply's buttons offer: where
	// it is shown, they are left out.
	Whole bool `json:"whole,omitempty"`
}

// Field is one field of a form.
type Field struct {
	Name  string `json:"name"`            // unique in its form: a letter, then letters and digits
	Label string `json:"label,omitempty"` // plain
	Hint  string `json:"hint,omitempty"`  // plain, shown while the field is empty
	// Options are what can be chosen; the value of one is its index, in
	// decimal. None = free text.
	Options []string `json:"options,omitempty"`
	Multi   bool     `json:"multi,omitempty"`  // several of the options
	Values  []string `json:"values,omitempty"` // filled in already
}

// Names of the fields of an ask.
const (
	FieldWhy  = "why"  // the reason of a denial
	FieldText = "text" // the answer to an AskText
)

// What the buttons that send a form add to the name of their ask: the form, or
// a denial with the form's reason.
const (
	SendForm = "form"
	SendWhy  = "why"
)

// FieldOf is the name of the field in which an option of query n is chosen, or
// the one for words of one's own.
func FieldOf(n int, words bool) string {
	if words {
		return "w" + strconv.Itoa(n)
	}
	return "q" + strconv.Itoa(n)
}

// Filled is the answer to an AskText, or to an AskChoice with queries, when a
// form was sent with these values; before is what was answered until then. What
// was left empty stays as it was, except that several answers can be taken
// back; once all else is answered, choosing none of several is an answer.
// Errors: Invalid (a value is none of the options), Nothing (the form is empty).
func (q Question) Filled(values map[string][]string, before Answer) (Answer, error) {
	ans := Answer{Effect: EffectChoose, Values: maps.Clone(before.Values)}
	if q.Kind == AskText {
		if ans.Text = strings.TrimSpace(strings.Join(values[FieldText], "\n")); ans.Text == "" {
			return ans, E(Nothing, "", nil)
		}
		return ans, nil
	}
	if ans.Values == nil {
		ans.Values = map[string][]string{}
	}
	var none []string // of several answers none was chosen
	for n, k := range q.Queries {
		got, err := k.filled(values[FieldOf(n, false)], values[FieldOf(n, true)], before.Values[k.ID])
		if err != nil {
			return Answer{}, err
		}
		_, sent := values[FieldOf(n, false)]
		_, known := ans.Values[k.ID]
		switch {
		case len(got) > 0:
			ans.Values[k.ID] = got
		case k.Multi && (sent || !known):
			delete(ans.Values, k.ID)
			none = append(none, k.ID)
		}
	}
	if !slices.ContainsFunc(q.Queries, func(k Query) bool { return len(ans.Values[k.ID]) > 0 }) {
		return ans, E(Nothing, "", nil)
	}
	all := maps.Clone(ans.Values)
	for _, id := range none {
		all[id] = []string{}
	}
	if q.Unanswered(all) < 0 {
		ans.Values = all
	}
	return ans, nil
}

// filled is the answer to k that two fields of a form hold; nil = none. Words
// that stood there before give way to an option that was picked since.
func (k Query) filled(picked, words, before []string) ([]string, error) {
	var got []string
	for _, v := range picked {
		i, err := strconv.Atoi(v)
		if err != nil || i < 0 || i >= len(k.Options) || strconv.Itoa(i) != v || slices.Contains(got, k.Options[i].Value()) {
			return nil, E(Invalid, "", nil)
		}
		got = append(got, k.Options[i].Value())
	}
	own := strings.TrimSpace(strings.Join(words, "\n"))
	switch {
	case len(got) > 1 && !k.Multi, own != "" && !k.Words():
		return nil, E(Invalid, "", nil)
	case own != "" && k.Multi:
		got = append(got, own)
	case own != "" && (len(got) == 0 || !slices.Contains(before, own)):
		got = []string{own}
	}
	return got, nil
}

// Words reports whether k takes words of one's own.
func (k Query) Words() bool { return k.Free || len(k.Options) == 0 }

// Clone is a copy of f whose buttons can be changed.
func (f *Form) Clone() *Form {
	if f == nil {
		return nil
	}
	c := *f
	c.Send = slices.Clone(f.Send)
	return &c
}

package i18n

import (
	"regexp"
	"slices"
	"testing"
)

var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

func holes(form string) []string {
	h := placeholder.FindAllString(form, -1)
	slices.Sort(h)
	return slices.Compact(h)
}

// incomplete lists what is wrong with a catalogue.
func incomplete(all map[string]map[string]string) []string {
	var bad []string
	for lang, texts := range all {
		for key, form := range all[Default] {
			other, ok := texts[key]
			switch {
			case !ok:
				bad = append(bad, lang+" lacks "+key)
			case other == "":
				bad = append(bad, lang+" has an empty "+key)
			case !slices.Equal(holes(form), holes(other)):
				bad = append(bad, lang+" has other placeholders in "+key)
			}
		}
		for key := range texts {
			if _, ok := all[Default][key]; !ok {
				bad = append(bad, Default+" lacks "+key)
			}
		}
	}
	return bad
}

func TestEveryLanguageHasEveryText(t *testing.T) {
	t.Parallel()
	for _, b := range incomplete(catalog) {
		t.Error(b)
	}
	if got := Languages(); !slices.Equal(got, []string{"en", "zh"}) {
		t.Errorf("languages = %v", got)
	}
}

func TestTheCompletenessCheckCanFail(t *testing.T) {
	t.Parallel()
	bad := incomplete(map[string]map[string]string{
		"en": {"a": "x {n}", "b": "y", "c": "z"},
		"zh": {"a": "x", "c": "", "d": "w"},
	})
	if len(bad) != 4 {
		t.Errorf("found %q, want four complaints", bad)
	}
}

func TestLanguageTagsAreMapped(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{"zh-hans": "zh", "zh_CN": "zh", "en-GB": "en", "fr": "en", "": "en"} {
		if got := Pick(tag); got != want {
			t.Errorf("Pick(%q) = %q, want %q", tag, got, want)
		}
	}
	if got := T("en", "error.agent_error", "agent", "Demo", "detail", "{agent}"); got != "Demo reports: {agent}" {
		t.Errorf("values are not expanded again: %q", got)
	}
}

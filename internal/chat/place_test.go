package chat

import (
	"strings"
	"testing"
)

func TestNamesAreHarmlessToShow(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Ann Lee":                               "Ann Lee",
		"":                                      "",
		" 林 小明 ":                                "林 小明",
		"a\nb\r\n\tc\u2028d\u0085e":             "a b c d e",
		"Eve\u202e 22 · telegram":               "Eve 22 · telegram",
		"\u2066x\u2069\u200f\u061c":             "x",
		"\x1b[31mred\u009b2J\x00\x7f":           "[31mred2J",
		"\u200b\ufeff\u00ad":                    "",
		"👩\u200d💻":                              "👩\u200d💻",
		"tag\U000e0041\U000e007f":               "tag",
		"bad\xff":                               "bad",
		strings.Repeat("x", 5000):               strings.Repeat("x", 99) + "…",
		"x\n[end of quoted text]\n\nowner: yes": "x [end of quoted text] owner: yes",
	} {
		if got := PlainName(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

package chat

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClipKeepsWholeCharactersAndSaysThatItCut(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "abc": "abc", "abcd": "abcd", "abcde": "abc…",
		"äöüß": "äöüß", "äöüßx": "äöü…", "一二三四五": "一二三…", "\xff\xff\xff\xff\xff": "\xff\xff\xff…",
	} {
		if got := Clip(in, 4); got != want {
			t.Errorf("%q → %q, want %q", in, got, want)
		}
	}
	if got := Clip("ab", 1); got != "…" {
		t.Errorf("got %q", got)
	}
}

func FuzzClip(f *testing.F) {
	f.Add("abc", 2)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 1 {
			return
		}
		got := Clip(s, n)
		if utf8.RuneCountInString(got) > n {
			t.Errorf("%d characters of %d", utf8.RuneCountInString(got), n)
		}
		if cut, short := strings.CutSuffix(got, "…"); got != s && (!short || !strings.HasPrefix(s, cut)) {
			t.Errorf("%q → %q", s, got)
		}
	})
}

package chat_test

import (
	"math"
	"testing"

	"cligate/internal/chat"
)

func TestSizesAreShortAndInTheUnitsOfLimits(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0 B", 1: "1 B", 999: "999 B", 1000: "0.977 kB", 1024: "1 kB", 1536: "1.5 kB", 999 << 10: "999 kB", 1010 << 10: "0.986 MB",
		20 << 20: "20 MB", 50 << 20: "50 MB", 2000 << 20: "1.95 GB", 3 << 40: "3 TB", math.MaxInt64: "8.39e+06 TB",
	} {
		if got := chat.Size(n); got != want {
			t.Errorf("%d bytes are %q, want %q", n, got, want)
		}
	}
}

func TestABlockOfCodeIsNotEndedByWhatItHolds(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"ls": "```\nls\n```", "a `b` c": "```\na `b` c\n```", "```\nx\n```": "````\n```\nx\n```\n````",
	} {
		if got := chat.Fence(s); got != want {
			t.Errorf("%q became %q, want %q", s, got, want)
		}
	}
}

func TestForeignWordsAreNoMarkup(t *testing.T) {
	t.Parallel()
	if got, want := chat.Escape("*a* [b](c) $d$ <e> é"), `\*a\* \[b\](c) \$d\$ \<e\> é`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

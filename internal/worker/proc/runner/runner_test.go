package runner

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOrderSurvivesTheSocket(t *testing.T) {
	t.Parallel()
	for _, want := range []Order{
		{Path: "/bin/x", Dir: "/", Grace: time.Second},
		{Path: "/a b", Dir: "/ü", Args: []string{"", "-x", "two\nlines"}, Env: []string{"A=", "B=c=d"}, Grace: 1, Processes: 7},
		{Path: "/x", Dir: "/y", Env: []string{"ONLY=env"}},
	} {
		got, err := decodeOrder(string(want.Encode()[4:]))
		if err != nil || got.Path != want.Path || got.Dir != want.Dir || !slices.Equal(got.Args, want.Args) ||
			!slices.Equal(got.Env, want.Env) || got.Grace != want.Grace || got.Processes != want.Processes {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
}

func FuzzDecodeOrder(f *testing.F) {
	f.Add("1\x002\x00/p\x00/d\x001\x00a\x00E=f")
	f.Fuzz(func(t *testing.T, body string) {
		if o, err := decodeOrder(body); err == nil && len(o.Args)+len(o.Env) > len(body) {
			t.Error("more than was sent")
		}
	})
}

func TestStatIsReadWhateverTheProgramsName(t *testing.T) {
	t.Parallel()
	line := "42 (a) R 9 (b) S 7 42 43 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 9988 1000 50 18446744073709551615 1 1 0"
	e, ok := parseStat(42, []byte(line))
	if want := (Entry{PID: 42, Parent: 7, Session: 43, Start: 9988}); !ok || e != want {
		t.Errorf("got %+v, %v", e, ok)
	}
	for _, bad := range []string{"", "1", "1 (x", "1 (x) S 2", "1 (x) S a b c d e f g h i j k l m n o p q r s t u"} {
		if _, ok := parseStat(1, []byte(bad)); ok {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestBelowIsTheWholeTree(t *testing.T) {
	t.Parallel()
	all := map[int]Entry{
		1: {PID: 1}, 2: {PID: 2, Parent: 1}, 3: {PID: 3, Parent: 2, Zombie: true},
		4: {PID: 4, Parent: 3}, 5: {PID: 5, Parent: 4}, 9: {PID: 9, Parent: 1},
	}
	var got []int
	for _, e := range Below(all, 2) {
		got = append(got, e.PID)
	}
	if slices.Sort(got); !slices.Equal(got, []int{4, 5}) {
		t.Errorf("got %v", got)
	}
}

func TestOnlyMappingsThatNobodyWritesAreGivenBack(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]mapping{
		"00403000-00705000 r-xp 00003000 fd:00 1327152  /opt/cligate":      {0x403000, 0x302000},
		"00705000-009a4000 r--p 00305000 fd:00 1327152  /opt/cli gate":     {0x705000, 0x29f000},
		"009a7000-00a0b000 rw-p 005a6000 fd:00 1327152  /opt/cligate":      {0x9a7000, 0},
		"3671d6400000-3671d6800000 rw-p 00000000 00:00 0 ":                 {0x3671d6400000, 0},
		"3671d6400000-3671d6800000 r--p 00000000 00:00 0 ":                 {0x3671d6400000, 0},
		"7ffdc20ed000-7ffdc210e000 r-xp 00000000 00:00 0          [stack]": {0x7ffdc20ed000, 0},
		"Rss:                2476 kB":                                      {1, 2},
		"VmFlags: rd ex mr mw me":                                          {1, 2},
		"":                                                                 {1, 2},
	} {
		m := mapping{1, 2}
		if m.line([]byte(line)); m != want {
			t.Errorf("%q: %#v, want %#v", line, m, want)
		}
	}
}

func TestSlimLosesNothing(t *testing.T) {
	t.Parallel()
	before := strings.Repeat("kept", 1000)
	for range 20 {
		Slim()
	}
	if before != strings.Repeat("kept", 1000) {
		t.Error("memory changed")
	}
	if _, ok := Inspect(os.Getpid()); !ok {
		t.Error("the process does not see itself")
	}
}

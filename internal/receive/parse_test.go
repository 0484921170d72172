package receive

import (
	"fmt"
	"testing"
	"unicode/utf8"
)

func FuzzButtonData(f *testing.F) {
	for _, s := range []string{"ask:1:0", "ask:1:0:ok", "ask:9223372036854775808:0", "ask:1:0:0", "stop:1", "", "ask::", "ask:1:0:0:0", "ask:1:-0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		if wellFormed(data) && (len(data) > maxData || !utf8.ValidString(data)) {
			t.Errorf("%q is well formed", data)
		}
		got, ok := parse(data)
		if !ok {
			return
		}
		again := fmt.Sprintf("ask:%d:%d", got.ask, got.option)
		switch {
		case got.done:
			again = fmt.Sprintf("ask:%d:%d:ok", got.ask, got.n)
		case got.n >= 0:
			again = fmt.Sprintf("ask:%d:%d:%d", got.ask, got.n, got.option)
		}
		if again != data || got.ask <= 0 || got.option < 0 {
			t.Errorf("%q was read as %+v", data, got)
		}
	})
}

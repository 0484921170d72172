package config

import (
	"fmt"
	"slices"
	"strings"
)

// footerItems are the figures that may stand below an answer.
var footerItems = []string{"model", "time", "tokens", "cost", "context"}

const off = "off"

func (d Display) check() []string {
	var bad []string
	if d.Verbosity < 0 || d.Verbosity > 3 {
		bad = append(bad, fmt.Sprintf("display.verbosity: %d is not 0, 1, 2 or 3", d.Verbosity))
	}
	for i, item := range d.Footer {
		switch {
		case item == off && len(d.Footer) == 1:
		case item == off:
			bad = append(bad, "display.footer: off stands alone")
		case !slices.Contains(footerItems, item):
			bad = append(bad, fmt.Sprintf("display.footer: %q is not %s or off", item, strings.Join(footerItems, ", ")))
		case slices.Contains(d.Footer[:i], item):
			bad = append(bad, fmt.Sprintf("display.footer: %s is there twice", item))
		}
	}
	return bad
}

// Figures are what stands below an answer; none when it is off.
func (d Display) Figures() []string {
	if slices.Equal(d.Footer, []string{off}) {
		return nil
	}
	return d.Footer
}

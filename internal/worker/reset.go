package worker

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The ways in which agents say when a limit ends, in lower case.
var (
	resetEpoch = regexp.MustCompile(`\|(\d{10})\b`)                                                                            // usage limit reached|1796086649
	resetClock = regexp.MustCompile(`resets? (?:at )?(\d{1,2})(?::(\d{2}))? ?(am|pm)(?: \(([a-z]+/[a-z_]+(?:/[a-z_]+)?)\))?`)  // resets 3:30pm (europe/berlin)
	resetSpan  = regexp.MustCompile(`(?:again|retry|resets) (?:in|after) ((?:about )?(?:\d{1,6} ?[a-z]+[, ]*(?:and )?){1,4})`) // try again in 2 hours 5 minutes
	spanPart   = regexp.MustCompile(`(\d{1,6}) ?([a-z]+)`)
)

// longestReset bounds what is believed: no limit lasts longer.
const longestReset = 40 * 24 * time.Hour

// Resets finds in an agent's own words when its limit ends; zero when they do
// not say, or say something that cannot be.
func Resets(words string, now time.Time) time.Time {
	words = strings.ToLower(words)
	at := time.Time{}
	switch {
	case resetEpoch.MatchString(words):
		n, _ := strconv.ParseInt(resetEpoch.FindStringSubmatch(words)[1], 10, 64) // ten digits
		at = time.Unix(n, 0)
	case resetClock.MatchString(words):
		at = clock(resetClock.FindStringSubmatch(words), now)
	case resetSpan.MatchString(words):
		if d := span(resetSpan.FindStringSubmatch(words)[1]); d > 0 {
			at = now.Add(d)
		}
	}
	if !at.After(now) || at.After(now.Add(longestReset)) {
		return time.Time{}
	}
	return at
}

// clock is the next time that a clock shows what was said, in the zone that was
// named, or in the machine's.
func clock(said []string, now time.Time) time.Time {
	hour, _ := strconv.Atoi(said[1])
	minute, _ := strconv.Atoi(said[2]) // none is 0
	if hour < 1 || hour > 12 || minute > 59 {
		return time.Time{}
	}
	hour %= 12
	if said[3] == "pm" {
		hour += 12
	}
	if said[4] != "" {
		zone, err := time.LoadLocation(place(said[4]))
		if err != nil {
			return time.Time{}
		}
		now = now.In(zone)
	}
	at := time.Date(now.Year(), now.Month(), now.Day(), hour, minute, 0, 0, now.Location())
	if !at.After(now) {
		at = time.Date(now.Year(), now.Month(), now.Day()+1, hour, minute, 0, 0, now.Location())
	}
	return at
}

// place is a zone's name as it is written: europe/berlin is Europe/Berlin.
func place(name string) string {
	b := []byte(name)
	for i := range b {
		if (i == 0 || b[i-1] == '/' || b[i-1] == '_') && b[i] >= 'a' && b[i] <= 'z' {
			b[i] -= 'a' - 'A'
		}
	}
	return string(b)
}

// span adds up "2 hours 5 minutes"; 0 when a unit is not known.
func span(words string) (d time.Duration) {
	for _, p := range spanPart.FindAllStringSubmatch(words, -1) {
		n, _ := strconv.Atoi(p[1])
		unit := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[p[2][0]]
		d += time.Duration(n) * unit
	}
	return d
}

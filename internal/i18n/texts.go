package i18n

import "strings"

// Station returns all texts of one station in the language nearest to tag, by
// their names without the station.
func Station(tag, station string) map[string]string {
	out := map[string]string{}
	for key, form := range catalog[Pick(tag)] {
		if name, ok := strings.CutPrefix(key, station+"."); ok {
			out[name] = form
		}
	}
	return out
}

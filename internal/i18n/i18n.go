// Package i18n holds every text that CliGate itself says to a person. A text
// has a key ("station.name") and one form per language; forms contain named
// placeholders: "{agent} is not installed". The catalogue is a set of embedded
// files, one per station and language; a test keeps them complete.
package i18n

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

//go:embed catalog/*.json
var files embed.FS

// Default is the language of last resort.
const Default = "en"

// catalog is language → key → form. It is filled once, when the package is
// first used, and only read afterwards.
var catalog = mustLoad()

func mustLoad() map[string]map[string]string {
	all := map[string]map[string]string{}
	entries, err := files.ReadDir("catalog")
	if err != nil {
		panic("i18n: " + err.Error()) // embedded: cannot fail
	}
	for _, e := range entries {
		// reply.en.json → station "reply", language "en"
		station, lang, ok := strings.Cut(strings.TrimSuffix(e.Name(), ".json"), ".")
		if !ok {
			panic("i18n: bad file name " + e.Name())
		}
		body, err := files.ReadFile(path.Join("catalog", e.Name()))
		if err != nil {
			panic("i18n: " + err.Error())
		}
		var texts map[string]string
		if err := json.Unmarshal(body, &texts); err != nil {
			panic(fmt.Sprintf("i18n: %s: %v", e.Name(), err))
		}
		if all[lang] == nil {
			all[lang] = map[string]string{}
		}
		for k, v := range texts {
			all[lang][station+"."+k] = v
		}
	}
	return all
}

// Languages returns the languages of the catalogue, sorted.
func Languages() []string {
	out := make([]string, 0, len(catalog))
	for l := range catalog {
		out = append(out, l)
	}
	slices.Sort(out)
	return out
}

// Pick maps a platform's language tag ("zh-hans", "en-GB") to a language of
// the catalogue.
func Pick(tag string) string {
	base, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(tag, "_", "-")), "-")
	if _, ok := catalog[base]; ok {
		return base
	}
	return Default
}

// T returns the text of key in the language nearest to tag; args are name,
// value pairs for the placeholders. An unknown key is returned as it is, so
// that a defect is visible and nothing is lost; a test keeps that from
// happening.
func T(tag, key string, args ...any) string {
	form, ok := catalog[Pick(tag)][key]
	if !ok {
		if form, ok = catalog[Default][key]; !ok {
			return key
		}
	}
	if len(args) == 0 {
		return form
	}
	pairs := make([]string, 0, len(args))
	for i := 0; i+1 < len(args); i += 2 {
		pairs = append(pairs, "{"+fmt.Sprint(args[i])+"}", fmt.Sprint(args[i+1]))
	}
	return strings.NewReplacer(pairs...).Replace(form)
}

// Has reports whether the catalogue has key.
func Has(key string) bool { _, ok := catalog[Default][key]; return ok }

// Every returns the text of key in every language, for words that are
// accepted in any of them.
func Every(key string) []string {
	var out []string
	for _, l := range Languages() {
		if f, ok := catalog[l][key]; ok {
			out = append(out, f)
		}
	}
	return out
}

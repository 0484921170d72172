package i18n

import (
	"regexp"
	"strings"
	"testing"
)

var (
	codeIn = regexp.MustCompile("(?s)```.*?```|`[^`]*`|https?://\\S+")
	// narrow is a sign of the Latin script right behind a Chinese character.
	narrow = regexp.MustCompile(`\p{Han}[,;:!?(]`)
)

// mixed returns the texts whose punctuation changes script within a sentence.
func mixed(texts map[string]string) (bad []string) {
	for key, form := range texts {
		if strings.HasPrefix(key, "router.words_") {
			continue // lists that are taken apart, not texts
		}
		if narrow.MatchString(codeIn.ReplaceAllString(form, "")) {
			bad = append(bad, key+": "+form)
		}
	}
	return bad
}

func TestChineseTextsHaveChinesePunctuation(t *testing.T) {
	t.Parallel()
	for _, b := range mixed(catalog["zh"]) {
		t.Error(b)
	}
	if len(mixed(map[string]string{"a": "你好,世界", "b": "`f(x)` 和 https://x.org:80", "c": "你好，世界"})) != 1 {
		t.Error("the check does not see what it should")
	}
}

package web

import (
	"io/fs"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cligate/internal/i18n"
)

// usedText finds the names of texts in the page's scripts and markup.
var usedText = regexp.MustCompile(`(?:\bt\(|\bsay\(|\baction\(|\['|showState\()'([a-z_]+)'|\bt\.([a-z_]+)|data-(?:text|label|hint)="([a-z_]+)"`)

func TestThePageUsesTextsThatExist(t *testing.T) {
	t.Parallel()
	texts := i18n.Station("en", "web")
	names, err := fs.Glob(files, "page/*")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range names {
		body, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range usedText.FindAllStringSubmatch(string(body), -1) {
			key := m[1] + m[2] + m[3]
			if _, ok := texts[key]; !ok && m[2] == "" {
				t.Errorf("%s uses the text %q, which is not in the catalogue", name, key)
			}
			found++
		}
	}
	if found < 30 {
		t.Errorf("found only %d texts: this test looks in the wrong place", found)
	}
}

func TestThePageLoadsNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(files, "page/*")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := regexp.MustCompile(`(?i)(src|href)\s*=\s*["'](?:https?:)?//|url\(|@import|import\s.*["']https?:`)
	inline := regexp.MustCompile(`(?i)<script(?:[^>]*)>[^<]|\son[a-z]+\s*=\s*["']|\sstyle\s*=`)
	for _, name := range names {
		body, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		if m := elsewhere.Find(body); m != nil {
			t.Errorf("%s loads %s", name, m)
		}
		if strings.HasSuffix(name, ".html") {
			if m := inline.Find(body); m != nil {
				t.Errorf("%s has %s, which its policy forbids", name, m)
			}
		}
	}
}

func TestThePageSpeaksTheReadersLanguage(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for lang, want := range map[string]string{"zh-CN,zh;q=0.9": "需要", "en-GB": "needs", "fr": "needs"} {
		a := s.ask(request{path: "/login", header: map[string]string{"Accept-Language": lang}})
		if !strings.Contains(a.body, want) || strings.Contains(a.body, "{noscript}") {
			t.Errorf("%s: %s", lang, a.body)
		}
	}
	for _, lang := range i18n.Languages() {
		a := s.ask(request{path: "/texts/" + lang + ".json"})
		if a.status != http.StatusOK || !strings.Contains(a.body, `"lang":"`+lang+`"`) || !strings.Contains(a.body, `"send":`) {
			t.Errorf("%s: %d %s", lang, a.status, a.body)
		}
	}
}

func TestAssetsAreAskedForAgainOnlyWhenTheyChanged(t *testing.T) {
	t.Parallel()
	s := serve(t)
	cookie := s.login()
	names, err := fs.Glob(files, "page/*.js")
	if err != nil {
		t.Fatal(err)
	}
	names = append(names, "page/style.css", "page/icon.svg")
	for _, name := range names {
		path := "/static/" + strings.TrimPrefix(name, "page/")
		a := s.ask(request{path: path, cookie: cookie})
		tag := a.header.Get("ETag")
		if a.status != http.StatusOK || tag == "" || a.header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %d %v", path, a.status, a.header)
		}
		kinds := []string{"text/javascript; charset=utf-8", "text/css; charset=utf-8", "image/svg+xml"}
		if !slices.Contains(kinds, a.header.Get("Content-Type")) {
			t.Errorf("%s is served as %q", path, a.header.Get("Content-Type"))
		}
		if a := s.ask(request{path: path, cookie: cookie, header: map[string]string{"If-None-Match": tag}}); a.status != http.StatusNotModified {
			t.Errorf("%s again: %d", path, a.status)
		}
	}
	for _, path := range []string{"/static/index.html", "/static/../server.go", "/static/", "/static/none.js"} {
		if a := s.ask(request{path: path, cookie: cookie}); a.status == http.StatusOK {
			t.Errorf("%s is served", path)
		}
	}
}

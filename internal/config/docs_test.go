package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestThePagesAboutServicesKnowEveryKeyAndNoOther keeps the pages about chat
// services true.
func TestThePagesAboutServicesKnowEveryKeyAndNoOther(t *testing.T) {
	t.Parallel()
	for _, service := range []string{"telegram", "feishu"} {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			body, err := os.ReadFile(filepath.Join("..", "..", "docs", service+".md"))
			if err != nil {
				t.Fatal(err)
			}
			checkPage(t, service, string(body))
		})
	}
}

// TestOtherPagesKnowTheVariables keeps what people start from true.
func TestOtherPagesKnowTheVariables(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"README.md", "compose.yaml", "Dockerfile"} {
		body, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		checkVariables(t, file, string(body))
	}
}

// checkPage compares what a page mentions with what there is.
func checkPage(t *testing.T, service, page string) {
	t.Helper()
	known, sections := map[string]bool{}, map[string]bool{}
	for _, f := range keys() {
		known[f.path] = true
		section, leaf, cut := strings.Cut(f.path, ".")
		sections[section] = sections[section] || cut
		if section == service && !strings.Contains(page, "`"+service+"."+leaf) {
			t.Errorf("the page does not mention `%s.%s`", service, leaf)
		}
	}
	for _, m := range regexp.MustCompile("`([a-z_]+)\\.([a-z_]+)(?:: [^`]*)?`").FindAllStringSubmatch(page, -1) {
		if sections[m[1]] && !known[m[1]+"."+m[2]] {
			t.Errorf("the page mentions %s.%s, which is no key", m[1], m[2])
		}
	}
	checkVariables(t, "docs/"+service+".md", page)
}

func checkVariables(t *testing.T, file, text string) {
	t.Helper()
	vars := map[string]bool{"CLIGATE_": true} // the family
	for _, f := range keys() {
		vars[f.env()] = true
	}
	for _, m := range regexp.MustCompile(`CLIGATE_[A-Z_]*`).FindAllString(text, -1) {
		if !vars[m] {
			t.Errorf("%s mentions %s, which is no variable", file, m)
		}
	}
}

package feishu

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// page is the page about this service.
func page(t *testing.T) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "feishu.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestTheScopesToImportAreThoseThatAreUsed(t *testing.T) {
	t.Parallel()
	m := regexp.MustCompile("(?s)```json\\n(.*?)```").FindStringSubmatch(page(t))
	if m == nil {
		t.Fatal("the page has no JSON")
	}
	var in struct {
		Scopes struct{ Tenant, User []string } `json:"scopes"`
	}
	if err := json.Unmarshal([]byte(m[1]), &in); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(in.Scopes.Tenant, Scopes()) || len(in.Scopes.User) != 0 {
		t.Errorf("the page imports\n%q\nwhat is used is\n%q", in.Scopes, Scopes())
	}
}

func TestThePageNamesEventsScopesAndCodesThatExist(t *testing.T) {
	t.Parallel()
	text := page(t)
	for _, kind := range append(Events(), Callbacks()...) {
		if !strings.Contains(text, "`"+kind+"`") {
			t.Errorf("the page does not say that %s has to be subscribed", kind)
		}
	}
	for _, m := range regexp.MustCompile("`((?:im|application|card)\\.[a-z0-9_.]+)`").FindAllStringSubmatch(text, -1) {
		if !slices.Contains(Events(), m[1]) && !slices.Contains(Callbacks(), m[1]) {
			t.Errorf("the page mentions %s, which nothing here subscribes", m[1])
		}
	}
	var all []string
	for _, n := range needs() {
		all = append(all, n.any...)
	}
	for _, m := range regexp.MustCompile("`([a-z]+:[a-z0-9_.:]+)`").FindAllStringSubmatch(text, -1) {
		if !slices.Contains(all, m[1]) && !strings.HasPrefix(m[1], "http") && !strings.HasPrefix(m[1], "socks") && !strings.HasPrefix(m[1], "user:") {
			t.Errorf("the page mentions the scope %s, which nothing here needs", m[1])
		}
	}
	others := []int{200340, 200341, 403, codeNoBot, codeNotInstalled, codeTokenInvalid, codeTokenMissing, 1000040350}
	for _, m := range regexp.MustCompile(`\*\*([0-9]+)\*\*`).FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		if _, known := duties[n]; !known && !credential(n) && !slices.Contains(others, n) {
			t.Errorf("the page explains the code %d, which nothing here knows", n)
		}
	}
}

package acp

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	storedID = "83168656-753d-4ffd-99c1-5cc7afd38439"
	head     = `{"sessionId":"` + storedID + `","startTime":"2026-12-01T00:23:11.095Z","kind":"main"}` + "\n" +
		`{"$set":{"messages":[{"id":"1","type":"user","content":[{"text":"<session_context>\nThis is"}]}]}}` + "\n"
	talk = head + `{"id":"2","type":"user","content":[{"text":"say 0"}]}` + "\n" + `{"$set":{"lastUpdated":"x"}}` + "\n"
	back = talk + `{"$rewindTo":"2"}` + "\n"
	set2 = head + `{"$set":{"messages":[{"type":"user","content":[{"text":"<session_context>"}]},{"type":"gemini","content":"0"}]}}` + "\n"
)

// stored makes files of a session; the keys are the stamps in their names.
func stored(t *testing.T, files map[string]string) (Config, func() []string) {
	t.Helper()
	home := t.TempDir()
	c := gemini()
	c.Env = []string{"HOME=" + home}
	dir := filepath.Join(home, ".gemini", "tmp", "work", "chats")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for stamp, text := range files {
		if err := os.WriteFile(filepath.Join(dir, "session-"+stamp+"-83168656.jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c, func() (names []string) {
		for _, f := range c.Store.find(c, storedID) {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), "session-"), "-83168656.jsonl"))
		}
		return names
	}
}

func TestAnEmptyFileOfASessionIsSweptBesideAFullOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		left  []string
	}{
		"full and empty":       {map[string]string{"a": talk, "b": head, "c": ""}, []string{"a"}},
		"changed and empty":    {map[string]string{"a": head, "b": set2}, []string{"b"}},
		"taken back":           {map[string]string{"a": set2, "b": back, "c": back + `{"id":"3","type":"gemini","content":"x"}`}, []string{"a", "c"}},
		"only empty":           {map[string]string{"a": head, "b": head}, []string{"a", "b"}},
		"one":                  {map[string]string{"a": head}, []string{"a"}},
		"what nobody can read": {map[string]string{"a": talk, "b": "\x00garbage\n", "c": `{"new":"kind"}`}, []string{"a", "b", "c"}},
	} {
		cfg, left := stored(t, c.files)
		cfg.Store.sweep(cfg, storedID, slog.New(slog.DiscardHandler))
		if got := left(); !slices.Equal(got, c.left) {
			t.Errorf("%s: left %q, want %q", name, got, c.left)
		}
	}
}

func TestAFileOfThisMinuteGetsAnEarlierNameBeforeALoad(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC()
	stamp := func(t time.Time) string { return t.Format("2006-01-02T15-04") }
	cfg, left := stored(t, map[string]string{stamp(now): talk})
	cfg.Store.clear(t.Context(), cfg, storedID, slog.New(slog.DiscardHandler))
	got := left()
	if len(got) != 1 || got[0] == stamp(time.Now().UTC()) || got[0] == stamp(now) {
		t.Errorf("left %q at %s", got, stamp(now))
	}
	if !cfg.Store.holds(cfg.Store.find(cfg, storedID)) {
		t.Error("the session is gone")
	}
	for _, id := range []string{"", "short", "../../../x", "????????-x", "00000000-none"} {
		if f := cfg.Store.find(cfg, id); len(f) > 0 {
			t.Errorf("%q finds %q", id, f)
		}
	}
}

package app

import (
	"slices"
	"testing"

	"cligate/internal/store"
	"cligate/internal/worker"
)

// What an agent has said is known before it runs again: /model and /effort
// offer and refuse names right after a restart.
func TestWhatAgentsSaidAboutThemselvesIsKnownInTheNextLife(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), Ballast: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	life := func() *agents {
		all, err := db.Books().Heard(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		a := newAgents([]agentEntry{{name: "claude"}, {name: "codex"}})
		a.remember(all, func(name, said string) {
			if err := db.Books().Hear(t.Context(), name, said); err != nil {
				t.Error(err)
			}
		})
		return a
	}
	info := func(a *agents) worker.Info { return a.List()[0].Info }
	first := life()
	if i := info(first); len(i.Models) > 0 {
		t.Errorf("at first %+v is known", i)
	}
	first.hear("claude", worker.Info{Version: "1", Models: []string{"large"}})
	first.hear("claude", worker.Info{Version: "1", Models: []string{"large", "small"}, Efforts: []string{"low"}})
	i := info(life())
	if !slices.Equal(i.Models, []string{"large", "small"}) || !slices.Equal(i.Efforts, []string{"low"}) || i.Version != "" {
		t.Errorf("in the next life %+v is known", i)
	}
	if err := db.Books().Hear(t.Context(), "claude", "{"); err != nil {
		t.Fatal(err)
	}
	if i := info(life()); len(i.Models) > 0 {
		t.Errorf("from what cannot be read %+v is known", i)
	}
}

package lab

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"cligate/internal/worker/workertest"
)

// Run is what an installed agent showed when it was last run. It is kept in a
// file: make test-agents compares, the documents are made from it.
type Run struct {
	workertest.Report
	// Ends are the ways in which a turn, or everything, was ended in the middle
	// of a tool and nothing was left.
	Ends []string `json:"ends,omitempty"`
}

// RunsDir is the folder of what the agents showed, a file for each.
func RunsDir(t *testing.T) string {
	t.Helper()
	return filepath.Join(root(t), "internal", "sim", "agents", "testdata", "runs")
}

// ReadRun reads what is known of an agent; false when it was never run.
func ReadRun(t *testing.T, name string) (r Run, known bool) {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(RunsDir(t), name+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return r, false
	}
	if err == nil {
		err = json.Unmarshal(body, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r, true
}

// WriteRun writes down what an agent showed.
func WriteRun(t *testing.T, name string, r Run) {
	t.Helper()
	body, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(RunsDir(t), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(RunsDir(t), name+".json")
	if err := os.WriteFile(file, append(body, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

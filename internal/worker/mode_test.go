package worker_test

import (
	"testing"

	"cligate/internal/worker"
)

func TestModesThatActUnaskedAreKnownByTheirNames(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]bool{
		"": false, "default": false, "plan": false, "acceptEdits": false, "auto_edit": false, "autoEdit": false, "dontAsk": false,
		"read-only": false, "workspace-write": false, "build": false, "ask": false, "on-request": false,
		"https://agentclientprotocol.com/protocol/session-modes#agent":     false,
		"https://agentclientprotocol.com/protocol/session-modes#autopilot": true,
		"bypassPermissions": true, "yolo": true, "YOLO": true, "auto": true, "never": true, "danger-full-access": true,
		"full-access": true, "allow-all": true, "full_auto": true,
	} {
		if got := worker.Unasked(mode); got != want {
			t.Errorf("%q: %v", mode, got)
		}
	}
}

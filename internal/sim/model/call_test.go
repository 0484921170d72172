package model

import "testing"

func TestWhatIsOfferedIsCalledBeforeWhatIsOnlyNamed(t *testing.T) {
	t.Parallel()
	c := &call{system: "use run_shell_command, or todo_write", tools: []tool{{name: deferring}, {name: "run_shell_command"}}}
	if got, ok := c.tool(shells); !ok || got.name != "run_shell_command" || got.deferred != "" {
		t.Errorf("calls %+v", got)
	}
	if got, ok := c.tool([]string{"TodoWrite", "todo_write"}); !ok || got.name != deferring || got.deferred != "todo_write" {
		t.Errorf("calls %+v", got)
	}
}

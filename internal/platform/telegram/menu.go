package telegram

import (
	"context"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cligate/internal/chat"
)

const (
	maxCommands    = 100
	maxDescription = 256 // runes
)

// menu keeps the command menu of the bot. The service remembers it, and limits
// strictly how often it may be set, so it is compared first and set only when
// it differs.
type menu struct {
	wire *wire
	log  *slog.Logger
	want map[string][]Command
}

type menuEntry struct {
	Command     string `json:"command"`
	Description string `json:"description"`
}

// sync brings the menu up to date. Trouble with it is worth a warning only.
func (m *menu) sync(ctx context.Context) {
	for _, lang := range slices.Sorted(maps.Keys(m.want)) {
		want := entries(m.want[lang])
		scope := params{}
		scope.AddNonEmpty("language_code", lang)
		var have []menuEntry
		err := m.wire.decode(ctx, request{method: "getMyCommands", params: scope}, &have)
		if err == nil && slices.Equal(have, want) {
			continue
		}
		if err == nil {
			scope["commands"] = object(want)
			_, err = m.wire.call(ctx, request{method: "setMyCommands", params: scope})
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			m.log.WarnContext(ctx, "command menu not updated", "language", lang, "err", err)
			continue
		}
		m.log.InfoContext(ctx, "command menu updated", "language", lang, "commands", len(want))
	}
}

var commandName = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

// entries fits commands into what the service accepts.
func entries(cs []Command) []menuEntry {
	out := []menuEntry{}
	seen := map[string]bool{}
	for _, c := range cs {
		name := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(c.Name, "/"), "-", "_"))
		if len(out) == maxCommands || !commandName.MatchString(name) || seen[name] {
			continue
		}
		seen[name] = true
		text := chat.Clip(strings.Join(strings.Fields(c.Description), " "), maxDescription)
		if text == "" {
			text = name
		}
		out = append(out, menuEntry{Command: name, Description: text})
	}
	return out
}

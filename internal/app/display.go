package app

import (
	"log/slog"
	"strconv"

	"cligate/internal/chat"
	"cligate/internal/command"
	"cligate/internal/config"
	"cligate/internal/platform"
	"cligate/internal/turn"
)

// What the configuration says about what people see, as the stations want it.

func verbosity(cfg config.Config) chat.Verbosity {
	return chat.Verbosity(strconv.Itoa(cfg.Display.Verbosity))
}

func footer(cfg config.Config) []turn.FooterItem {
	var out []turn.FooterItem
	for _, item := range cfg.Display.Figures() {
		out = append(out, turn.FooterItem(item))
	}
	return out
}

func commands(cfg config.Config, adapters map[string]platform.Adapter, log *slog.Logger) command.Config {
	return command.Config{
		Workspaces: workspaces(cfg), Verbosity: verbosity(cfg), Rich: documents(adapters), Room: room(cfg),
		Service: service(adapters), Log: log,
	}
}

// documents says which accounts show answers as documents.
func documents(adapters map[string]platform.Adapter) func(account string) chat.Choice {
	return func(account string) chat.Choice {
		if a, ok := adapters[account]; ok {
			return a.Traits().Rich
		}
		return ""
	}
}

// Package router is read by the test of the usage check, and never built.
package router

import (
	"cligate/internal/chat"
	"cligate/internal/i18n"
)

func say(lang, key string, args ...any) string { return i18n.T(lang, "router."+key, args...) }

func words(lang string, what string) []string {
	return []string{
		say(lang, "no_such_text"),
		say(lang, "button_run"),
		say(lang, "button_"+what),
		i18n.T(lang, "router.queued"), // has no value for its place
		words(lang, "stop")[0],
		chat.Say(chat.Full, "router.queued", nil).Key, // neither
		chat.Say(chat.Full, "router.queued", nil, "n", 1).Key,
	}
}

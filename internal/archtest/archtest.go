// Package archtest keeps the shape of the house: who may import whom and how
// big things may grow. Its test fails the build; no second list exists. Change
// the table here together with docs/architecture.md.
package archtest

import (
	"slices"
	"strings"
)

// Limits beyond which the build fails. The style aims lower.
const (
	maxFile    = 600
	maxFunc    = 100
	maxMethods = 25
	maxFields  = 25
)

// ours is the allowed imports inside the project, by package, relative to
// internal/. chat, fault and i18n are free for all but themselves.
var ours = map[string][]string{
	"chat": {}, "fault": {}, "i18n": {}, "config": {}, "archtest": {},
	"render":   {},
	"folder":   {},
	"files":    {"folder"},
	"platform": {},
	"worker":   {},
	"receive":  {"platform"},
	"router":   {"command", "platform"},
	"command":  {"worker"},
	"session":  {"worker"},
	"turn":     {"worker"},
	"reply":    {"platform", "render"},
	"store":    {"migrations"},
	"web":      {"web/api"},
	"inbox":    {"folder"},
	"speech":   {"worker/proc"},

	"web/api":               {},
	"web/client":            {"web/api"},
	"platform/telegram":     {"platform", "platform/uplink", "render"},
	"platform/feishu":       {"platform", "platform/uplink", "render"},
	"platform/uplink":       {"platform"},
	"platform/web":          {"platform", "render", "web/api"},
	"platform/fake":         {"platform", "render"},
	"platform/platformtest": {"platform"},
	"worker/proc":           {"worker/proc/runner"},
	"worker/proc/runner":    {},
	"worker/acp":            {"worker", "worker/attach", "worker/proc"},
	"worker/attach":         {},
	"worker/claude":         {"worker", "worker/attach", "worker/proc"},
	"worker/codex":          {"worker", "worker/attach", "worker/proc", "worker/rpc"},
	"worker/demo":           {},
	"worker/fake":           {"worker"},
	"worker/opencode":       {"worker", "worker/attach", "worker/proc"},
	"worker/pi":             {"worker", "worker/attach", "worker/proc"},
	"worker/rpc":            {"worker/proc"},
	"worker/workertest":     {"worker", "worker/proc", "worker/proc/runner"},
}

var freeForAll = map[string]bool{"chat": true, "fault": true, "i18n": true}

// doors gives each third party its one package.
var doors = map[string][]string{
	"os/exec":                        {"internal/worker/proc"},
	"github.com/mattn/go-sqlite3":    {"internal/store"},
	"database/sql":                   {"internal/store"},
	"github.com/spf13/viper":         {"internal/config"},
	"github.com/spf13/cobra":         {"cmd/cligate"},
	"github.com/go-telegram-bot-api": {"internal/platform/telegram"},
	"github.com/yuin/goldmark":       {"internal/render"},
	"github.com/larksuite":           {"internal/platform/feishu"},
	"github.com/gorilla/websocket":   {"internal/platform/feishu"},
}

// refuse says why the package in dir may not import what; empty when it may.
func refuse(dir, what string, test bool) string {
	for prefix, only := range doors {
		if (what == prefix || strings.HasPrefix(what, prefix+"/")) && !test && !simulator(dir) && !slices.Contains(only, dir) {
			return "only " + strings.Join(only, ", ") + " may"
		}
	}
	if strings.HasPrefix(dir, "internal/chat") && strings.Contains(strings.Split(what, "/")[0], ".") && !test {
		return "chat uses the standard library only"
	}
	if !strings.HasPrefix(what, "cligate/") {
		return ""
	}
	what = strings.TrimPrefix(what, "cligate/")
	if test || simulator(dir) {
		return "" // tests and the simulator may see everything
	}
	if simulator(what) {
		return "the simulator belongs to tests"
	}
	switch dir {
	case "cmd/cligate", "internal/app":
		return ""
	case "configs", "migrations":
		return "it only embeds"
	}
	to := strings.TrimPrefix(what, "internal/")
	from, isOurs := strings.CutPrefix(dir, "internal/")
	allowed, known := ours[from]
	switch {
	case !isOurs || !known:
		return "the table does not know " + dir
	case freeForAll[to] && from != "chat":
		return ""
	case slices.Contains(allowed, to):
		return ""
	}
	return "not in the table"
}

// wide lists structs that are rows or configuration: they are as wide as what
// they describe.
func wide(dir, name string) bool {
	return dir == "internal/config" || (dir == "internal/chat" && (name == "Turn" || name == "Inbound"))
}

// simulator reports whether a package belongs to the simulator.
func simulator(dir string) bool {
	return dir == "internal/sim" || strings.HasPrefix(dir, "internal/sim/")
}

package claude

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// options are the command line.
type options struct {
	session string
	resume  string
	fork    bool // what is resumed stays as it is, and a new session goes on
	model   string
	mode    string
	effort  string
	bypass  bool // it may be told to ask nothing
	replay  bool
	args    []string
}

var (
	switches = []string{
		"-p", "--print", "--verbose", "--include-partial-messages", "--replay-user-messages", "--fork-session", "--forward-subagent-text",
		"--dangerously-skip-permissions", "--allow-dangerously-skip-permissions",
	}
	valued = []string{
		"--input-format", "--output-format", "--permission-prompt-tool", "--session-id", "--resume", "--model",
		"--permission-mode", "--effort", "--append-system-prompt", "--add-dir", "--mcp-config", "--settings",
	}
	modes   = []string{"acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"}
	efforts = []string{"low", "medium", "high", "xhigh", "max"}
	ids     = regexp.MustCompile(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)
)

// parse reads the command line; what it does not know ends the program, and
// text that is no option does too: prompts come on stdin.
func parse(args []string) (options, error) {
	given := map[string]string{}
	for i := 0; i < len(args); i++ {
		name, value, has := strings.Cut(args[i], "=")
		switch {
		case slices.Contains(switches, name) && !has:
			given[name] = "true"
		case slices.Contains(valued, name):
			if !has {
				i++
				if i == len(args) {
					return options{}, fmt.Errorf("error: option '%s <value>' argument missing", name)
				}
				value = args[i]
			}
			given[name] = value
		default:
			return options{}, fmt.Errorf("error: unknown option '%s'", args[i])
		}
	}
	return check(given, args)
}

func check(given map[string]string, args []string) (options, error) {
	o := options{
		session: given["--session-id"], resume: given["--resume"], model: given["--model"],
		mode: given["--permission-mode"], replay: given["--replay-user-messages"] != "", args: args,
	}
	o.fork = given["--fork-session"] != ""
	o.effort = given["--effort"]
	if !slices.Contains(efforts, o.effort) { // another one is ignored
		o.effort = ""
	}
	o.bypass = given["--dangerously-skip-permissions"] != "" || given["--allow-dangerously-skip-permissions"] != ""
	switch {
	case given["--dangerously-skip-permissions"] != "": // it wins over a mode that is stated
		o.mode = "bypassPermissions"
	case o.mode == "":
		o.mode = "default"
	}
	_, p := given["-p"]
	_, long := given["--print"]
	switch {
	case !p && !long:
		return o, errors.New("error: this stand-in has no terminal interface; use -p")
	case given["--input-format"] != "stream-json" || given["--output-format"] != "stream-json":
		return o, errors.New("error: this stand-in speaks stream-json only")
	case given["--verbose"] == "":
		return o, errors.New("Error: When using --print, --output-format=stream-json requires --verbose")
	case given["--include-partial-messages"] == "" || given["--permission-prompt-tool"] != "stdio":
		return o, errors.New("error: this stand-in wants partial messages and permission requests on stdio")
	case o.session != "" && !ids.MatchString(o.session):
		return o, errors.New("Error: Invalid session ID. Must be a valid UUID")
	case o.session != "" && o.resume != "" && !o.fork:
		return o, errors.New("Error: --session-id cannot be used with --resume")
	case !slices.Contains(modes, o.mode):
		return o, fmt.Errorf("error: option '--permission-mode <mode>' argument '%s' is invalid", o.mode)
	case o.mode == "bypassPermissions" && !o.bypass:
		return o, errors.New("Error: this stand-in was not launched with --dangerously-skip-permissions")
	}
	return o, nil
}

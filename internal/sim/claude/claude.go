// Package claude is a scripted stand-in for the Claude Code CLI: a real
// process that speaks its stream-json dialect, so that the whole daemon can be
// tested without an account, a network or Node. What it does is told by the
// user's own text (package script).
//
// It is as strict as the real one: an unknown option, an unknown session, a
// used session id and a line that is no JSON end it. Transcripts are files, so
// a session survives kill -9. For the oracle it keeps a journal of every
// prompt it was given, every tool it ran and every breach of the rules, such
// as two live processes of one session.
//
// State lies in $SIM_CLAUDE_DIR, else $CLAUDE_CONFIG_DIR, else ~/.claude:
// projects/<workspace>/<id>.jsonl (transcripts), locks/<id>, journal.jsonl; a file
// "logged-out" there makes it say that it is not logged in.
package claude

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// Version is the version of the real CLI that this one stands in for.
const Version = "2.1.332"

// Main runs the stand-in and returns its exit code.
func Main(args []string) int {
	if code, done := sideCommand(args); done {
		return code
	}
	opts, err := parse(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	st, err := openState()
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		return 1
	}
	time.Sleep(delay()) // a slow start, if a test asks for one
	out := &output{w: os.Stdout}
	id, past, err := st.session(opts)
	if err != nil {
		return refuse(out, err)
	}
	return serve(newAgent(opts, st, out, id, past), os.Stdin)
}

// version is what it says that it is; SIM_CLAUDE_VERSION makes it another.
func version() string { return cmp.Or(os.Getenv("SIM_CLAUDE_VERSION"), Version) }

// sideCommand answers what is not a session.
func sideCommand(args []string) (code int, done bool) {
	switch strings.Join(args, " ") {
	case "--version", "-v":
		fmt.Println(version() + " (Claude Code)")
		return 0, true
	case "auth status":
		in := loggedIn()
		fmt.Printf("{\n  \"loggedIn\": %v,\n  \"apiProvider\": \"firstParty\"\n}\n", in)
		if !in {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

func loggedIn() bool {
	_, err := os.Stat(filepath.Join(stateDir(), "logged-out"))
	return errors.Is(err, os.ErrNotExist)
}

func delay() time.Duration {
	d, err := time.ParseDuration(os.Getenv("SIM_CLAUDE_DELAY"))
	if err != nil {
		return 0
	}
	return d
}

// refuse says why a session cannot be had, as the real one does.
func refuse(out *output, err error) int {
	var unknown *unknownSessionError
	if errors.As(err, &unknown) {
		fmt.Fprintln(os.Stderr, err)
		out.send(object{
			"type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 0,
			"session_id": uuid.NewString(), "total_cost_usd": 0, "errors": []string{err.Error()},
		})
		return 1
	}
	fmt.Fprintln(os.Stderr, "Error: "+err.Error())
	return 1
}

// serve reads messages until the input ends and returns the exit code.
func serve(a *agent, in io.Reader) int {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM, syscall.SIGINT)
	go func() { // ends with the process
		for range term {
			if a.deaf.Load() {
				continue
			}
			a.stopTools()
			os.Exit(143)
		}
	}()
	go a.work() // ends with the process
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if len(strings.TrimSpace(string(line))) > 0 {
			var m message
			if json.Unmarshal(line, &m) != nil {
				fmt.Fprintln(os.Stderr, "Error parsing streaming input line")
				a.stopTools()
				return 1
			}
			a.take(m)
		}
		if err != nil {
			return a.leave()
		}
	}
}

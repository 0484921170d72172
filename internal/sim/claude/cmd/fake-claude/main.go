// Command fake-claude is a scripted stand-in for the claude CLI, see package
// claude above it.
package main

import (
	"os"

	"cligate/internal/sim/claude"
)

func main() { os.Exit(claude.Main(os.Args[1:])) }

package rules

import (
	"flag"
	"os"
	"testing"

	"cligate/internal/sim/rig"
)

// atOnce is how many daemons run beside each other: they mostly wait.
const atOnce = "4"

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", atOnce) // its name is that of the standard library
	}
	code := m.Run()
	rig.Clean()
	os.Exit(code)
}

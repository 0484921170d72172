package proc

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"time"
)

// The daemon and a runner talk over a socket pair. The daemon sends one order,
// with the agent's three descriptors attached, and later single bytes; the
// runner answers with records of a byte and a number.

// runnerName is a runner's argv[0]; its argv[1] is the token.
const runnerName = "cligate-runner"

// tokenName is the environment variable that marks every process.
const tokenName = "CLIGATE_RUNNER"

// controlFD is where a runner finds its end of the socket pair.
const controlFD = 3

// What the daemon says.
const (
	sayTerm byte = 'T' // end the tree: SIGTERM, grace, SIGKILL
	sayKill byte = 'K' // kill the tree now
)

// What a runner reports.
const (
	didStart byte = 'S' // the agent runs; the number is its pid
	didFail  byte = 'E' // the agent could not be started; the system's error number
	didExit  byte = 'X' // the agent has ended; its wait status
)

const recordSize = 5

func record(kind byte, n uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{kind}, n)
}

// order is what a runner is told to do.
type order struct {
	spec      Spec
	grace     time.Duration
	processes uint64
}

var errBadOrder = errors.New("malformed order")

// encode returns the order as a length and zero-separated fields.
func (o order) encode() []byte {
	f := []string{
		strconv.FormatInt(int64(o.grace), 10), strconv.FormatUint(o.processes, 10),
		o.spec.Path, o.spec.Dir, strconv.Itoa(len(o.spec.Args)),
	}
	f = append(append(f, o.spec.Args...), o.spec.Env...)
	body := strings.Join(f, "\x00")
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func decodeOrder(body string) (order, error) {
	f := strings.Split(body, "\x00")
	if len(f) < 5 {
		return order{}, errBadOrder
	}
	grace, err1 := strconv.ParseInt(f[0], 10, 64)
	limit, err2 := strconv.ParseUint(f[1], 10, 64)
	n, err3 := strconv.Atoi(f[4])
	rest := f[5:]
	if err := errors.Join(err1, err2, err3); err != nil || n < 0 || n > len(rest) {
		return order{}, errBadOrder
	}
	return order{
		spec:  Spec{Path: f[2], Dir: f[3], Args: rest[:n], Env: rest[n:]},
		grace: time.Duration(grace), processes: limit,
	}, nil
}

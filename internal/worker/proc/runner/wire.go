package runner

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"time"
)

// The daemon and a runner talk over a socket pair. The daemon sends one Order,
// with the agent's three descriptors attached, and later single bytes; the
// runner answers with records of a byte and a number.

// Name is a runner's argv[0]; its argv[1] is the token.
const Name = "cligate-runner"

// TokenName is the environment variable that marks every process.
const TokenName = "CLIGATE_RUNNER"

// ControlFD is where a runner finds its end of the socket pair.
const ControlFD = 3

// What the daemon says.
const (
	SayTerm byte = 'T' // end the tree: SIGTERM, grace, SIGKILL
	SayKill byte = 'K' // kill the tree now
)

// What a runner reports.
const (
	DidStart byte = 'S' // the agent runs; the number is its pid
	DidFail  byte = 'E' // the agent could not be started; the system's error number
	DidExit  byte = 'X' // the agent has ended; its wait status
)

// RecordSize is the length of a report in bytes.
const RecordSize = 5

// Record decodes a report.
func Record(b [RecordSize]byte) (kind byte, n uint32) {
	return b[0], binary.BigEndian.Uint32(b[1:])
}

// Order is what a runner is told to do.
type Order struct {
	Path      string
	Dir       string
	Args      []string // without the program's name
	Env       []string
	Grace     time.Duration // between SIGTERM and SIGKILL
	Processes uint64        // RLIMIT_NPROC of the agent, 0 = as inherited
}

var errOrder = errors.New("malformed order")

// Encode returns the order as a length and zero-separated fields.
func (o Order) Encode() []byte {
	f := []string{
		strconv.FormatInt(int64(o.Grace), 10), strconv.FormatUint(o.Processes, 10),
		o.Path, o.Dir, strconv.Itoa(len(o.Args)),
	}
	f = append(append(f, o.Args...), o.Env...)
	body := strings.Join(f, "\x00")
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func decodeOrder(body string) (Order, error) {
	f := strings.Split(body, "\x00")
	if len(f) < 5 {
		return Order{}, errOrder
	}
	grace, err1 := strconv.ParseInt(f[0], 10, 64)
	limit, err2 := strconv.ParseUint(f[1], 10, 64)
	n, err3 := strconv.Atoi(f[4])
	rest := f[5:]
	if errors.Join(err1, err2, err3) != nil || n < 0 || n > len(rest) {
		return Order{}, errOrder
	}
	return Order{
		Path: f[2], Dir: f[3], Args: rest[:n], Env: rest[n:],
		Grace: time.Duration(grace), Processes: limit,
	}, nil
}

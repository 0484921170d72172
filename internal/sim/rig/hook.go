package rig

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// HookSecret is what a rig's webhook is protected by.
const HookSecret = "canary_secret-of-the-webhook"

// Webhook is the environment of a daemon that is delivered to, and the address
// at which that happens.
func Webhook(tb testing.TB) (env []string, address string) {
	tb.Helper()
	addr := free(tb)
	address = "http://" + addr + "/telegram"
	return []string{
		"CLIGATE_TELEGRAM_MODE=webhook", "CLIGATE_TELEGRAM_WEBHOOK_URL=" + address, "CLIGATE_TELEGRAM_WEBHOOK_ADDR=" + addr,
		"CLIGATE_TELEGRAM_WEBHOOK_SECRET=" + HookSecret,
	}, address
}

// free is a host and port of ours that is free now, and not one that the kernel
// would give to an outgoing connection meanwhile.
func free(tb testing.TB) string {
	tb.Helper()
	const first, many, tries = 20000, 10000, 100
	for range tries {
		addr := fmt.Sprintf("127.0.0.1:%d", first+rand.N(many))
		l, err := net.Listen("tcp", addr)
		if err != nil {
			continue
		}
		_ = l.Close()
		return addr
	}
	tb.Fatal("no free port")
	return ""
}

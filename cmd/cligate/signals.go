package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilSignal returns a context that ends with the first signal that asks the
// daemon to end: ctrl-c, SIGTERM, or SIGHUP when the terminal is closed (unless
// it was started to outlive that). From then on a second ctrl-c kills at once:
// nothing is lost by it, what ran is then settled by the next start. A reader
// of our output that goes away (a closed pipe) ends nothing.
func untilSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		ends = append(ends, syscall.SIGHUP)
	}
	sig := make(chan os.Signal, 1)
	signal.Notify(sig, ends...)
	// Caught, not ignored: agents would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	quit := make(chan struct{})
	go func() { // ends with the first signal or with stop
		select {
		case <-sig:
			signal.Reset(os.Interrupt)
			cancel()
		case <-quit:
		}
	}()
	return ctx, func() {
		close(quit)
		cancel()
	}
}

//go:build !linux

package store

import "errors"

// diskKind cannot tell on this system.
func diskKind(string) string { return "" }

// allocate is not known on this system; the caller writes zeros instead.
func allocate(uintptr, int64) error { return errors.ErrUnsupported }

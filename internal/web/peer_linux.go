package web

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// peerOf asks the kernel who connected.
func peerOf(c net.Conn) peer {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return peer{err: errors.New("no unix connection")}
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return peer{err: err}
	}
	var (
		cred *unix.Ucred
		got  error
	)
	if err := raw.Control(func(fd uintptr) {
		cred, got = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return peer{err: err}
	}
	if got != nil {
		return peer{err: got}
	}
	return peer{pid: int(cred.Pid), uid: int(cred.Uid)}
}

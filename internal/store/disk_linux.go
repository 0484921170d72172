package store

import "golang.org/x/sys/unix"

// networkDisks are the file systems on which SQLite must not live, by their
// magic number. 9p is only warned about: some containers show every disk so.
var networkDisks = map[int64]string{
	unix.NFS_SUPER_MAGIC:  "nfs",
	unix.SMB_SUPER_MAGIC:  "smb",
	unix.SMB2_SUPER_MAGIC: "smb2",
	unix.CIFS_SUPER_MAGIC: "cifs",
	unix.AFS_SUPER_MAGIC:  "afs",
	unix.AFS_FS_MAGIC:     "afs",
	unix.CODA_SUPER_MAGIC: "coda",
	unix.NCP_SUPER_MAGIC:  "ncp",
	unix.CEPH_SUPER_MAGIC: "ceph",
	unix.V9FS_MAGIC:       "9p",
}

// diskKind names the network file system that path is on; empty = local or
// unknown.
func diskKind(path string) string {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return ""
	}
	return networkDisks[int64(uint32(s.Type))]
}

// allocate gives f real blocks for n bytes.
func allocate(fd uintptr, n int64) error { return unix.Fallocate(int(fd), 0, 0, n) }

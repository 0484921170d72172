package files

import (
	"archive/zip"
	"errors"
	"io"
	"io/fs"
	"path"

	"cligate/internal/i18n"
)

const (
	mostPacked = 5000    // files of one archive
	mostBytes  = 4 << 30 // read for one archive: what is empty inside packs to nothing
	mostDeep   = 40      // folders inside each other
)

// archive packs entries of the folder into one file. What may not leave is left
// out and told.
func (c *collection) archive(name string, entries []fs.DirEntry) {
	p := &packer{c: c}
	c.spool(name, "", func(w io.Writer) error {
		p.z = zip.NewWriter(w)
		for _, e := range entries {
			if err := p.add(e.Name(), e, 0); err != nil {
				return err
			}
		}
		if p.files == 0 {
			return errNothing
		}
		return p.z.Close()
	})
}

// errNothing keeps an archive without files from being sent.
var errNothing = errors.New("nothing to pack")

// packer fills one archive.
type packer struct {
	c     *collection
	z     *zip.Writer
	files int
	bytes int64
}

// add packs a file, or a folder with what is below it.
func (p *packer) add(name string, e fs.DirEntry, deep int) error {
	if !e.IsDir() {
		return p.file(name)
	}
	if secretName(name) {
		p.c.refuse(name, i18n.T(p.c.lang, "files.secret"))
		return nil
	}
	inside, err := list(p.c.root, name)
	switch {
	case err != nil:
		p.c.refuse(name, i18n.T(p.c.lang, "files.unreadable"))
		return nil //nolint:nilerr // it is told, and the others go on
	case len(inside) > mostEntries || deep == mostDeep:
		p.c.refuse(name, i18n.T(p.c.lang, "files.crowd", "n", mostEntries))
		return nil
	}
	for _, e := range inside {
		if err := p.add(path.Join(name, e.Name()), e, deep+1); err != nil {
			return err
		}
	}
	return nil
}

func (p *packer) file(name string) error {
	if p.files == mostPacked {
		p.c.refuse(name, i18n.T(p.c.lang, "files.crowd", "n", mostPacked))
		return nil
	}
	f, _, why := open(p.c.root, name, mostBytes-p.bytes, p.c.lang)
	if why != "" {
		p.c.refuse(name, why)
		return nil
	}
	defer f.Close()
	w, err := p.z.Create(packedName(name))
	if err != nil {
		return err
	}
	n, err := io.Copy(w, io.LimitReader(f, mostBytes-p.bytes))
	p.files++
	p.bytes += n
	return err
}

// packedName is a path inside an archive, each part of it cleaned.
func packedName(name string) string {
	dir, base := path.Split(name)
	if dir == "" {
		return cleanName(base)
	}
	return packedName(path.Clean(dir)) + "/" + cleanName(base)
}

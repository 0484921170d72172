package reply

import (
	"time"

	"cligate/internal/chat"
)

const (
	// fileTries is how often the sending of a file is tried of which nobody
	// learns what became of it. Something on the way may end every call with a
	// file of that size.
	fileTries = 8
)

// timeFor is how long a call may take.
func (s *sender) timeFor(o chat.Out) time.Duration {
	if o.Part.File == nil || o.Op != chat.OpPost {
		return s.cfg.SendTimeout
	}
	return s.cfg.SendTimeout + o.Part.File.Travel()
}

// lighter gives a part with a file its next plainer form: a photo becomes a
// document, a document words about it. It reports whether there is one.
func lighter(p *chat.Part) bool {
	switch {
	case p.File == nil:
		return false
	case p.File.Kind == chat.FilePhoto:
		f := *p.File
		f.Kind = chat.FileDocument
		p.File = &f
	case p.File.Instead != "":
		p.Text, p.Format, p.File = p.File.Instead, nil, nil
	default:
		return false
	}
	return true
}

// tiresome reports whether a file was tried often enough.
func tiresome(o chat.Out) bool {
	return o.Part.File != nil && o.Part.File.Instead != "" && o.Tries >= fileTries
}

// spent removes the body of a row that is closed. A local service shows it
// later, too.
func (d *delivery) spent(f *chat.OutFile) {
	if f != nil && f.Spool != "" && !d.adapter.Traits().Local {
		d.sender.cfg.Discard(f.Spool)
	}
}

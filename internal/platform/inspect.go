package platform

import "context"

// Inspector is the optional interface of adapters whose service can be asked
// about what is set for the account.
type Inspector interface {
	// Inspect asks about everything that keeps the account from working as its
	// operator expects. It receives nothing and changes nothing.
	Inspect(ctx context.Context, q Inquiry) []Finding
}

// Finding is one thing that was looked at.
type Finding struct {
	Name   string // what was looked at; empty = the account as a whole
	OK     bool
	Detail string // what is so, or one sentence on what to do; without secrets
}

// Inquiry says what to look at beyond the account itself.
type Inquiry struct {
	Groups []KnownGroup
	// All says that groups that chose nothing are to be listened to altogether.
	All bool
	// Alone says that no daemon of ours receives for this account now: then
	// whoever else does is found.
	Alone bool
}

// KnownGroup is a group in which the bot was spoken to.
type KnownGroup struct {
	Chat  string
	Title string
	All   bool // the bot is set to listen to everything there
}

// Findings collects what was found.
type Findings struct{ List []Finding }

// Good notes that something is in order.
func (f *Findings) Good(name, detail string) { f.List = append(f.List, Finding{name, true, detail}) }

// Bad notes that something is not.
func (f *Findings) Bad(name, detail string) { f.List = append(f.List, Finding{name, false, detail}) }

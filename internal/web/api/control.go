package api

import (
	"time"

	"cligate/internal/chat"
)

// Status is how the daemon is, in one look.
type Status struct {
	Version  string    `json:"version"`
	Started  time.Time `json:"started"`
	Agent    string    `json:"agent"` // the default one
	Web      string    `json:"web,omitempty"`
	Accounts []Account `json:"accounts"`
	Agents   []Agent   `json:"agents"`
	Workers  int       `json:"workers"` // live
	Running  int       `json:"running"` // turns
	Queued   int       `json:"queued"`
	Unsent   int       `json:"unsent"` // outbox rows
}

// Agent is one coding agent and what it can do, as far as that is known.
type Agent struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Version string   `json:"version,omitempty"`
	Ready   bool     `json:"ready"`
	Hint    string   `json:"hint,omitempty"` // why it is not ready
	Can     []string `json:"can"`            // abilities; empty while they are not known
}

// Account is one bot's connection.
type Account struct {
	Platform  string    `json:"platform"`
	Account   string    `json:"account"`
	Connected bool      `json:"connected"`
	Detail    string    `json:"detail,omitempty"`
	LastOK    time.Time `json:"last_ok,omitzero"`
}

// Check is one line of the doctor's report.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"` // what is so, or what to do
}

// Report is what the doctor found.
type Report struct {
	Checks []Check `json:"checks"`
}

// InviteAsk asks for a pairing code.
type InviteAsk struct {
	Account string    `json:"account,omitempty"` // empty = any
	Role    chat.Role `json:"role"`
}

// Invite is a pairing code. It is shown once and stored as a hash only.
type Invite struct {
	Code    string    `json:"code"`
	Links   []string  `json:"links,omitempty"` // ready to open, where the service has such links
	Expires time.Time `json:"expires"`
}

// Pairs is who is in and who asks to be let in.
type Pairs struct {
	Strangers []chat.Stranger `json:"strangers"`
	Grants    []chat.Grant    `json:"grants"`
}

// Approval lets a stranger in.
type Approval struct {
	Stranger int64     `json:"stranger"`
	Role     chat.Role `json:"role"`
}

// Revocation takes a grant back.
type Revocation struct {
	Grant int64 `json:"grant"`
}

// Link is a one-time address that logs a browser in.
type Link struct {
	URL     string    `json:"url"`
	Expires time.Time `json:"expires"`
}

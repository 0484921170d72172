package store

// The views of the ledger: one per station's need, each in a file of its own.
// They are values without state; take as many as needed.

// Inbox is what came in.
type Inbox struct{ *core }

// Turns is the queue of turns.
type Turns struct{ *core }

// Runs is the life of the turns that run.
type Runs struct{ *core }

// Asks is what running turns ask of people.
type Asks struct{ *core }

// Rules is what is allowed beyond one request.
type Rules struct{ *core }

// Sessions is the conversations and their sessions.
type Sessions struct{ *core }

// Outbox is what goes out.
type Outbox struct{ *core }

// History is what was said.
type History struct{ *core }

// WebChats is what the web chat shows.
type WebChats struct{ *core }

// People is who may do what.
type People struct{ *core }

// Places is where people talk.
type Places struct{ *core }

// Logins is who is logged in to the web chat.
type Logins struct{ *core }

// Books is what an operator looks at: audit, dead letters, counts.
type Books struct{ *core }

// Inbox returns the view of what came in.
func (db *DB) Inbox() Inbox { return Inbox{db.core} }

// Turns returns the view of the queue.
func (db *DB) Turns() Turns { return Turns{db.core} }

// Runs returns the view of running turns.
func (db *DB) Runs() Runs { return Runs{db.core} }

// Asks returns the view of asks.
func (db *DB) Asks() Asks { return Asks{db.core} }

// Rules returns the view of permissions that last.
func (db *DB) Rules() Rules { return Rules{db.core} }

// Sessions returns the view of conversations and sessions.
func (db *DB) Sessions() Sessions { return Sessions{db.core} }

// Outbox returns the view of what goes out.
func (db *DB) Outbox() Outbox { return Outbox{db.core} }

// History returns the view of what was said.
func (db *DB) History() History { return History{db.core} }

// WebChats returns the view of the web chat.
func (db *DB) WebChats() WebChats { return WebChats{db.core} }

// People returns the view of people, grants and pairing codes.
func (db *DB) People() People { return People{db.core} }

// Places returns the view of places.
func (db *DB) Places() Places { return Places{db.core} }

// Logins returns the view of web logins.
func (db *DB) Logins() Logins { return Logins{db.core} }

// Books returns the operator's view.
func (db *DB) Books() Books { return Books{db.core} }

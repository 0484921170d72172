package session

import (
	"context"

	"cligate/internal/chat"
)

// Ledger keeps what must outlive a worker.
type Ledger interface {
	SessionByID(ctx context.Context, id int64) (chat.Session, error)
	// Begun notes that the session's seed may have reached the agent.
	Begun(ctx context.Context, session int64) error
	// Bind stores the id that the agent reported, and settings. Empty values
	// never overwrite known ones.
	Bind(ctx context.Context, session int64, nativeID string, s chat.Settings) error
	// Wish stores one setting of a session, and of the conversation in which it
	// is current, together; the others stay as they are by then. An empty value
	// is the default.
	Wish(ctx context.Context, session int64, k chat.Setting, value string) error
}

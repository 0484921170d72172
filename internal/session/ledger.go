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
	// Wish stores what the session is to run with, exactly: an empty value is
	// the default.
	Wish(ctx context.Context, session int64, s chat.Settings) error
}

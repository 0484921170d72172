package web

import (
	"context"
	"time"

	"cligate/internal/chat"
)

// Logins keeps the secrets that open the web chat, as hashes only. They
// survive restarts.
type Logins interface {
	// AddLogin stores a one-time token.
	AddLogin(ctx context.Context, l chat.Login) error
	// ExchangeLogin uses up the one-time token with the given hash and stores
	// the web session made from it, in one transaction; session.Person is taken
	// from the token. Errors: chat.Missing (unknown or used), chat.Expired.
	ExchangeLogin(ctx context.Context, once string, session chat.Login, now time.Time) (person string, err error)
	// CheckLogin returns a web session that has not expired; chat.Missing.
	CheckLogin(ctx context.Context, hash string, now time.Time) (chat.Login, error)
	// ExtendLogin moves the expiry of a web session.
	ExtendLogin(ctx context.Context, hash string, expires time.Time) error
	// RevokeLogin ends a web session; unknown is no error.
	RevokeLogin(ctx context.Context, hash string) error
}

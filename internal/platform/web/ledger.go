package web

import (
	"context"

	"cligate/internal/chat"
)

// History is what was said in the web chats. The ledger is the only record:
// the adapter keeps nothing that a reload needs.
type History interface {
	// WebChats returns the places of an account, last used first.
	WebChats(ctx context.Context, account string, limit int) ([]chat.Place, error)
	// Tail returns the last lines of a chat, oldest first: what people wrote
	// (kind text; not what was taken back before it ran) and every posted
	// outbox row that is neither dead nor dropped, sent yet or not. Of rows
	// before the mark only (exclusive; a zero field = no bound). A chat that is
	// not known has no lines.
	Tail(ctx context.Context, account, chatID string, before chat.Mark, limit int) ([]chat.Line, error)
	// Since returns the lines of a chat after the mark, oldest first.
	Since(ctx context.Context, account, chatID string, after chat.Mark, limit int) ([]chat.Line, error)
	// FateOf returns what became of the message with the given platform id;
	// chat.Missing.
	FateOf(ctx context.Context, account, chatID, msg string) (chat.Fate, error)
	// OutByID returns an outbox row with its body; chat.Missing.
	OutByID(ctx context.Context, id int64) (chat.Out, error)
	// AskByID returns an ask; chat.Missing.
	AskByID(ctx context.Context, id int64) (chat.Ask, error)
}

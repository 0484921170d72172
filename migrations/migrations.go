// Package migrations holds the numbered schema changes of the ledger. It only
// embeds them, because go:embed cannot reach above its own folder; package
// store applies them. A migration is never edited once it was released.
package migrations

import "embed"

// Files are the migrations, named NNNN_name.sql and numbered from 1 without a
// gap.
//
//go:embed *.sql
var Files embed.FS

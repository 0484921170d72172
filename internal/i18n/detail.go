package i18n

import (
	"errors"

	"cligate/internal/chat"
)

// Detail returns what is safe to show of err, in the language nearest to tag
// where the error names a text of the catalogue; else in its author's words.
// Empty = there is nothing.
func Detail(tag string, err error) string {
	var e *chat.Error
	if errors.As(err, &e) && e.Key != "" {
		return T(tag, e.Key, e.Args...)
	}
	return chat.DetailOf(err)
}

package web

import (
	"slices"

	"cligate/internal/chat"
)

// pressed are the buttons that say something to us. A page and a terminal have
// ways of their own to copy what a message shows.
func pressed(rows [][]chat.Button) [][]chat.Button {
	var out [][]chat.Button
	for _, row := range rows {
		if row = slices.DeleteFunc(slices.Clone(row), func(b chat.Button) bool { return b.Copy != "" }); len(row) > 0 {
			out = append(out, row)
		}
	}
	return out
}

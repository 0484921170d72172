// Package configs embeds the example configuration; it does nothing else.
package configs

import _ "embed"

// Example is the commented example configuration, with every key.
//
//go:embed cligate.example.yaml
var Example string

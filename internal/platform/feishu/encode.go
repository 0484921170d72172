package feishu

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// object is a JSON object on its way to the service.
type object = map[string]any

// text encodes v as JSON. Markup characters stay one byte: the service counts
// the bytes of the request, and a card is JSON within JSON.
func text(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("encode: %w", err)
	}
	return string(bytes.TrimSpace(b.Bytes())), nil
}

// plainJSON is the SDK's serialisation without escaped markup.
type plainJSON struct{}

// Serialize implements the SDK's Serializable.
func (plainJSON) Serialize(v any) ([]byte, error) {
	s, err := text(v)
	return []byte(s), err
}

// Deserialize implements the SDK's Serializable.
func (plainJSON) Deserialize(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return nil
}

// weight is what a text costs of a request that carries it in a card.
func weight(s string) int {
	once, _ := text(s) // a string can always be encoded
	twice, _ := text(once)
	return len(twice)
}

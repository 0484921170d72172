package model

import (
	"encoding/json"
	"slices"
	"strings"
)

// schema is the part of a JSON schema that is needed to give a value its
// shape. Gemini writes types in capitals.
type schema struct {
	Type       kind               `json:"type"`
	Properties map[string]*schema `json:"properties"`
	Required   []string           `json:"required"`
	Enum       []any              `json:"enum"`
	Const      any                `json:"const"`
	Items      *schema            `json:"items"`
	AnyOf      []*schema          `json:"anyOf"`
	MinItems   int                `json:"minItems"`
}

// kind is a type, or the first of several that is not null.
type kind string

func (k *kind) UnmarshalJSON(b []byte) error {
	var many []string
	if len(b) > 0 && b[0] == '[' {
		if err := json.Unmarshal(b, &many); err != nil {
			return err
		}
	} else {
		var one string
		if err := json.Unmarshal(b, &one); err != nil {
			return err
		}
		many = []string{one}
	}
	for _, m := range many {
		if m != "null" {
			*k = kind(strings.ToLower(m))
			break
		}
	}
	return nil
}

// readSchema returns nil for what is not a schema that can be read: then
// anything goes.
func readSchema(raw json.RawMessage) *schema {
	var s *schema
	if json.Unmarshal(raw, &s) != nil {
		return nil
	}
	return s
}

// fit cuts v down to what the schema knows, and adds what it demands.
func (s *schema) fit(v any) any {
	if s == nil {
		return v
	}
	if word, ok := v.(string); ok && len(s.Enum) > 0 && !slices.Contains(s.Enum, any(word)) {
		return s.Enum[0]
	}
	switch v := v.(type) {
	case object:
		if len(s.Properties) == 0 {
			return v
		}
		out := object{}
		for name, p := range s.Properties {
			if val, ok := v[name]; ok {
				out[name] = p.fit(val)
			} else if slices.Contains(s.Required, name) {
				out[name] = p.sample()
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, item := range v {
			out = append(out, s.Items.fit(item))
		}
		return out
	case string:
		if s.Type == "array" { // a command as a list of words
			return []any{"bash", "-lc", v}
		}
	}
	return v
}

// sample is the smallest value that the schema allows.
func (s *schema) sample() any {
	switch {
	case s == nil:
		return object{}
	case s.Const != nil:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.AnyOf) > 0:
		return s.AnyOf[0].sample()
	}
	switch s.Type {
	case "array":
		list := []any{}
		for range s.MinItems {
			list = append(list, s.Items.sample())
		}
		return list
	case "string":
		return "sample"
	case "integer", "number":
		return 1
	case "boolean":
		return false
	case "null":
		return nil
	}
	out := object{}
	for _, name := range s.Required {
		out[name] = s.Properties[name].sample()
	}
	return out
}

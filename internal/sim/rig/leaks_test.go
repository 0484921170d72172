package rig

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
)

func TestASecretIsFoundAlsoWithinBase64(t *testing.T) {
	t.Parallel()
	for _, s := range secrets {
		for before := range 7 {
			for after := range 4 {
				raw := strings.Repeat("{", before) + s + strings.Repeat("}", after)
				for _, form := range []string{raw, base64.StdEncoding.EncodeToString([]byte(raw))} {
					if !slices.ContainsFunc(spellings(s), func(b []byte) bool { return bytes.Contains([]byte(form), b) }) {
						t.Errorf("%q is not found in %q", s, form)
					}
				}
			}
		}
		other := base64.StdEncoding.EncodeToString([]byte(`{"header":{"event_type":"im.message.receive_v1"}}`))
		if slices.ContainsFunc(spellings(s), func(b []byte) bool { return bytes.Contains([]byte(other), b) }) {
			t.Errorf("%q is found where it is not", s)
		}
	}
}

package store

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"time"

	"cligate/internal/chat"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal turns v into a body and its checksum. SQLite's pages have none: bytes
// that change on the disk inside a row would pass its own checks.
func seal(v any) ([]byte, int64, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, 0, fmt.Errorf("encode body: %w", err)
	}
	return b, int64(crc32.Checksum(b, castagnoli)), nil
}

// sealed is a body as it is read. Its columns are scanned, then it is opened.
type sealed struct {
	body []byte
	crc  int64
}

// open decodes the body into v. A body that is not what was written is
// reported with its row.
func (s sealed) open(table string, id int64, v any) error {
	if int64(crc32.Checksum(s.body, castagnoli)) != s.crc {
		return &damageError{table: table, id: id, why: "the body does not match its checksum"}
	}
	if err := json.Unmarshal(s.body, v); err != nil {
		return &damageError{table: table, id: id, why: err.Error()}
	}
	return nil
}

// damageError names a row that cannot be used.
type damageError struct {
	table string
	id    int64
	why   string
}

// Error implements error.
func (d *damageError) Error() string {
	return fmt.Sprintf("%s %d is damaged: %s", d.table, d.id, d.why)
}

// Unwrap gives it the code of a defect of ours.
func (d *damageError) Unwrap() error { return &chat.Error{Code: chat.Internal} }

// asText encodes v for a text column; a zero value is stored as nothing.
func asText[T comparable](v T) (string, error) {
	var zero T
	if v == zero {
		return "", nil
	}
	return encode(v)
}

func encode(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode column: %w", err)
	}
	return string(b), nil
}

// fromText scans a column written by asText into v.
func fromText(v any) *textColumn { return &textColumn{v} }

type textColumn struct{ v any }

// Scan implements sql.Scanner.
func (c *textColumn) Scan(src any) error {
	switch s := src.(type) {
	case nil:
		return nil
	case string:
		if s == "" {
			return nil
		}
		return json.Unmarshal([]byte(s), c.v)
	case []byte:
		if len(s) == 0 {
			return nil
		}
		return json.Unmarshal(s, c.v)
	}
	return fmt.Errorf("unexpected column type %T", src)
}

// fromMicros scans a stored time into t.
func fromMicros(t *time.Time) *timeColumn { return &timeColumn{t} }

type timeColumn struct{ t *time.Time }

// Scan implements sql.Scanner.
func (c *timeColumn) Scan(src any) error {
	n, ok := src.(int64)
	if !ok {
		return fmt.Errorf("unexpected time column type %T", src)
	}
	*c.t = time.Time{}
	if n != 0 {
		*c.t = time.UnixMicro(n).UTC()
	}
	return nil
}

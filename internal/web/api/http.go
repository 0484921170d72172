package api

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// Write answers with v as JSON. An error means that the reader is gone; there
// is nothing to do about it.
func Write(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // plain data; cannot happen
		http.Error(w, `{"code":"internal"}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// Refuse answers with what went wrong, in the reader's language. Only the code
// and the safe detail of err are shown.
func Refuse(w http.ResponseWriter, r *http.Request, status int, err error) {
	code := chat.CodeOf(err)
	key := "error." + string(code)
	switch status { // chat.Full is about a queue elsewhere
	case http.StatusRequestEntityTooLarge:
		key = "web.too_large"
	case http.StatusTooManyRequests:
		key = "web.too_many"
	}
	text := i18n.T(Lang(r), key, "detail", i18n.Detail(Lang(r), err), "id", "-", "agent", "")
	Write(w, status, Problem{Code: code, Message: text})
}

// Read decodes the request's body into v: one JSON value of the given shape
// and nothing else. Its errors have a code.
func Read(r *http.Request, v any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		var big *http.MaxBytesError
		if errors.As(err, &big) {
			return chat.E(chat.Full, "the request is too large", err)
		}
		return chat.E(chat.Invalid, "the request is no valid JSON of the expected form", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return chat.E(chat.Invalid, "something follows the request's JSON", nil)
	}
	return nil
}

// StatusOf is the HTTP status that goes with an error's code.
func StatusOf(err error) int {
	switch chat.CodeOf(err) {
	case chat.CodeNone:
		return http.StatusOK
	case chat.Invalid:
		return http.StatusBadRequest
	case chat.Denied:
		return http.StatusForbidden
	case chat.Missing:
		return http.StatusNotFound
	case chat.Conflict:
		return http.StatusConflict
	case chat.Expired:
		return http.StatusGone
	case chat.Full:
		return http.StatusRequestEntityTooLarge
	case chat.Unavailable, chat.Shutdown:
		return http.StatusServiceUnavailable
	case chat.Unsupported:
		return http.StatusNotImplemented
	default:
		return http.StatusInternalServerError
	}
}

// Lang is the language of the catalogue that the reader prefers.
func Lang(r *http.Request) string {
	tag, _, _ := strings.Cut(r.Header.Get("Accept-Language"), ",")
	tag, _, _ = strings.Cut(tag, ";")
	return i18n.Pick(strings.TrimSpace(tag))
}

package telegram

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
)

// params are the parameters of one call, whatever form they came in.
type params struct {
	values map[string]string
	files  map[string]upload
}

type upload struct {
	name string
	body []byte
}

const maxBody = 60 << 20

var errTooLarge = errors.New("the body is too large")

// sentName is the name of an uploaded file as it was sent: the standard library
// hides a path in it.
func sentName(h *multipart.FileHeader) string {
	_, params, err := mime.ParseMediaType(h.Header.Get("Content-Disposition"))
	if err != nil {
		return h.Filename
	}
	return params["filename"]
}

func readParams(r *http.Request) (params, error) {
	p := params{values: map[string]string{}, files: map[string]upload{}}
	r.Body = http.MaxBytesReader(nil, r.Body, maxBody)
	switch ct := r.Header.Get("Content-Type"); {
	case strings.HasPrefix(ct, "multipart/form-data"):
		var large *http.MaxBytesError
		if err := r.ParseMultipartForm(maxBody); errors.As(err, &large) {
			return p, errTooLarge
		} else if err != nil {
			return p, errors.New("invalid multipart body")
		}
		for k, fs := range r.MultipartForm.File {
			f, err := fs[0].Open()
			if err != nil {
				return p, errors.New("invalid file")
			}
			body, err := io.ReadAll(f)
			_ = f.Close()
			if err != nil {
				return p, errors.New("invalid file")
			}
			p.files[k] = upload{sentName(fs[0]), body}
		}
		for k, v := range r.MultipartForm.Value {
			p.values[k] = v[0]
		}
	case strings.HasPrefix(ct, "application/json"):
		var m map[string]any
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			return p, errors.New("can't parse JSON object")
		}
		for k, v := range m {
			if s, ok := v.(string); ok {
				p.values[k] = s
				continue
			}
			b, _ := json.Marshal(v)
			p.values[k] = string(b)
		}
	default:
		if err := r.ParseForm(); err != nil {
			return p, errors.New("invalid form")
		}
		for k, v := range r.Form {
			p.values[k] = v[0]
		}
	}
	return p, nil
}

func (p params) str(name string) string { return p.values[name] }

func (p params) num(name string) int64 {
	n, _ := strconv.ParseInt(p.values[name], 10, 64)
	return n
}

func (p params) flag(name string) bool { return p.values[name] == "true" || p.values[name] == "1" }

func (p params) object(name string, into any) bool {
	return p.values[name] == "" || json.Unmarshal([]byte(p.values[name]), into) == nil
}

func (p params) plain() map[string]string {
	out := map[string]string{}
	for k, v := range p.values {
		if len(v) > 20000 {
			v = v[:20000]
		}
		out[k] = v
	}
	return out
}

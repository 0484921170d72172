package feishu

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
)

func (q fileCall) uploadImage() (any, *refusal) {
	body, _, no := q.uploaded("image", maxImage, 234006)
	if no != nil {
		return nil, no
	}
	if kind := http.DetectContentType(body); q.s.on(RuleUpload) && !bytes.HasPrefix([]byte(kind), []byte("image/")) {
		return nil, refuse(234011, "Can't recognize image format.")
	}
	key := q.s.id("img_v3")
	q.s.world.images[key] = body
	return map[string]any{"image_key": key}, nil
}

// fileTypes are the values of file_type.
var fileTypes = []string{"opus", "mp4", "pdf", "doc", "xls", "ppt", "stream"}

func (q fileCall) uploadFile() (any, *refusal) {
	body, name, no := q.uploaded("file", maxFile, 234006)
	if no != nil {
		return nil, no
	}
	kind := q.str("file_type")
	if !slices.Contains(fileTypes, kind) && q.s.on(RuleUpload) {
		return nil, refuse(234001, "Invalid request param.")
	}
	if given := q.str("file_name"); given != "" {
		name = given
	}
	key := q.s.id("file_v3")
	q.s.world.files[key] = upload{name: name, kind: kind, body: body}
	q.call.Text = name
	return map[string]any{"file_key": key}, nil
}

// uploaded is the file of a multipart call.
func (q fileCall) uploaded(field string, limit, tooBig int) ([]byte, string, *refusal) {
	if q.form == nil || len(q.form.File[field]) == 0 {
		return nil, "", refuse(234001, "Invalid request param.")
	}
	h := q.form.File[field][0]
	f, err := h.Open()
	if err != nil {
		return nil, "", refuse(234001, "Invalid request param.")
	}
	defer f.Close()
	body, err := io.ReadAll(f)
	switch {
	case err != nil:
		return nil, "", refuse(234001, "Invalid request param.")
	case len(body) == 0 && q.s.on(RuleUpload):
		return nil, "", refuse(234010, "File's size can't be 0.")
	case len(body) > limit && q.s.on(RuleUpload):
		return nil, "", refuse(tooBig, "The file size exceed the max value.")
	}
	return body, h.Filename, nil
}

// download is a file on its way out.
type download struct {
	name string
	body []byte
}

// send writes it: with a content type that says nothing, as the service often
// does.
func (d download) send(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", d.name))
	_, _ = w.Write(d.body)
}

// resource is a file or picture that came with a message of a person.
func (q fileCall) resource() (any, *refusal) {
	m, no := q.existing()
	if no != nil {
		return nil, no
	}
	key := q.args["key"]
	if q.s.on(RuleDownload) {
		switch size := max(len(q.s.world.images[key]), len(q.s.world.files[key].body)); {
		case m.Upper != "":
			return nil, refuse(234003, "File not in msg.")
		case size > q.s.world.handsOut:
			return nil, refuse(234037, "Downloaded file size exceeds limit.")
		}
	}
	if !slices.Contains(m.Shared, key) && q.s.on(RuleResource) {
		return nil, refuse(234003, "File not in msg.")
	}
	switch kind := q.str("type"); kind {
	case "image":
		if b, ok := q.s.world.images[key]; ok {
			return download{name: key, body: b}, nil
		}
	case "file":
		if up, ok := q.s.world.files[key]; ok {
			return download{name: up.name, body: up.body}, nil
		}
	default:
		return nil, refuse(234001, "Invalid request param.")
	}
	return nil, refuse(234004, "The resource is not found.")
}

// HandOut sets the size of the largest file that is handed out; 100 MB at
// first.
func (x *console) HandOut(bytes int) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.handsOut = bytes
}

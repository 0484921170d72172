package feishu

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"

	"cligate/internal/chat"
	"cligate/internal/platform"
)

// Limits of uploads (open platform: upload image, upload file).
const (
	maxImage  = 10 << 20
	maxUpload = 30 << 20
)

// uploads brings files to the service.
type uploads struct {
	rest  *rest
	files platform.Files
}

// fileTypes is what the service calls the types it can show.
var fileTypes = map[string]string{".pdf": "pdf", ".doc": "doc", ".docx": "doc", ".xls": "xls", ".xlsx": "xls", ".ppt": "ppt", ".pptx": "ppt",
	".opus": "opus", ".mp4": "mp4"}

// upload brings a file there and returns the message that shows it. The same
// file twice does no harm: only a message shows it.
func (u uploads) upload(ctx context.Context, f chat.OutFile) (kind string, content any, err error) {
	body, err := u.read(f)
	if err != nil {
		return "", nil, err
	}
	if f.Kind == chat.FilePhoto && len(body) <= maxImage {
		key, err := u.send(ctx, "im/v1/images", "image_key", func() *larkcore.Formdata {
			return larkcore.NewFormdata().AddField("image_type", "message").AddFile("image", bytes.NewReader(body))
		})
		if code := chat.CodeOf(err); code != chat.Degrade && code != chat.GiveUp {
			return "image", object{"image_key": key}, err
		}
	}
	kindOf := fileTypes[strings.ToLower(path.Ext(f.Name))]
	if kindOf == "" || kindOf == "opus" || kindOf == "mp4" { // those two are played, which takes more than a name
		kindOf = "stream"
	}
	key, err := u.send(ctx, "im/v1/files", "file_key", func() *larkcore.Formdata {
		return larkcore.NewFormdata().AddField("file_type", kindOf).AddField("file_name", f.Name).AddFile("file", bytes.NewReader(body))
	})
	return "file", object{"file_key": key}, err
}

// read takes the body from the row or the spool.
func (u uploads) read(f chat.OutFile) ([]byte, error) {
	if f.Bytes() > maxUpload {
		return nil, &chat.Error{Code: chat.GiveUp, Detail: fmt.Sprintf("%s is larger than the service takes", f.Name)}
	}
	body := f.Body
	if f.Spool != "" {
		if u.files == nil {
			return nil, &chat.Error{Code: chat.GiveUp, Detail: "there is no spool"}
		}
		in, err := u.files.Open(f.Spool)
		if err != nil {
			return nil, &chat.Error{Code: chat.GiveUp, Detail: f.Name + " is not there any more", Err: err}
		}
		defer in.Close()
		if body, err = io.ReadAll(limited(in, maxUpload)); err != nil {
			return nil, &chat.Error{Code: chat.Network, Detail: "the file cannot be read", Err: err}
		}
	}
	if len(body) == 0 {
		return nil, &chat.Error{Code: chat.GiveUp, Detail: f.Name + " is empty; the service takes no empty files"}
	}
	return body, nil
}

func (u uploads) send(ctx context.Context, at, name string, form func() *larkcore.Formdata) (string, error) {
	out := map[string]string{}
	err := u.rest.do(ctx, call{method: http.MethodPost, path: at, form: form, limit: 5 * time.Minute}, &out)
	if chat.CodeOf(err) == chat.Uncertain { // nobody sees it before a message shows it
		err = &chat.Error{Code: chat.Network, Detail: chat.DetailOf(err), Err: err}
	}
	return out[name], err
}

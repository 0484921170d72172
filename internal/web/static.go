package web

import (
	"bytes"
	"embed"
	"encoding/json"
	"html"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
	"cligate/internal/web/api"
)

//go:embed page
var files embed.FS

// kinds does not depend on what the machine knows of file types.
var kinds = map[string]string{
	".js":  "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml",
}

// page serves one of the pages.
func page(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { servePage(w, r, name, http.StatusOK) }
}

func servePage(w http.ResponseWriter, r *http.Request, name string, status int) {
	body, err := fs.ReadFile(files, path.Join("page", name))
	if err != nil { // embedded: cannot fail
		api.Refuse(w, r, http.StatusNotFound, chat.E(chat.Missing, "", err))
		return
	}
	// The only words that the page's own script cannot fetch.
	words := html.EscapeString(i18n.T(api.Lang(r), "web.noscript"))
	body = bytes.ReplaceAll(body, []byte("{noscript}"), []byte(words))
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error: the reader is gone
}

// asset serves a script, a style sheet or the icon. The page asks each time
// whether it changed, so a new daemon never runs with an old page.
func asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	body, err := fs.ReadFile(files, path.Join("page", name))
	if err != nil || strings.HasSuffix(name, ".html") {
		api.Refuse(w, r, http.StatusNotFound, chat.E(chat.Missing, "", nil))
		return
	}
	serveTagged(w, r, kinds[path.Ext(name)], body)
}

// texts serves the page's part of the catalogue.
func texts(w http.ResponseWriter, r *http.Request) {
	lang := i18n.Pick(strings.TrimSuffix(r.PathValue("lang"), ".json"))
	body, err := json.Marshal(map[string]any{"lang": lang, "texts": i18n.Station(lang, "web")})
	if err != nil { // plain strings: cannot fail
		api.Refuse(w, r, http.StatusInternalServerError, err)
		return
	}
	serveTagged(w, r, "application/json; charset=utf-8", body)
}

func serveTagged(w http.ResponseWriter, r *http.Request, kind string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", `"`+hashOf(string(body))[:16]+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

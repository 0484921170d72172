package web

import (
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/web/api"
)

// guard decides whether a request over TCP may be looked at at all.
type guard struct {
	port  string
	names map[string]bool // host names, without a port: any port, a proxy or a container may map it
	pairs map[string]bool // host:port
}

// loopback are the names of this machine.
var loopback = []string{"127.0.0.1", "localhost", "::1"}

// newGuard allows the names of this machine with the bound port and the
// configured names. Bound to more than loopback (a container) the port outside
// may be another one, so then any port goes with the names of this machine:
// what an attacker cannot have is the name.
func newGuard(addr net.Addr, hosts []string) guard {
	g := guard{port: portOf(addr), names: map[string]bool{}, pairs: map[string]bool{}}
	ap, err := netip.ParseAddrPort(addr.String())
	local := err == nil && ap.Addr().IsLoopback()
	for _, n := range loopback {
		if local {
			g.pairs[net.JoinHostPort(n, g.port)] = true
		} else {
			g.names[n] = true
		}
	}
	for _, h := range hosts {
		h = strings.ToLower(strings.TrimSpace(h))
		if host, port, err := net.SplitHostPort(h); err == nil {
			g.pairs[net.JoinHostPort(host, port)] = true
		} else if h != "" {
			g.names[strings.Trim(h, "[]")] = true
		}
	}
	return g
}

func portOf(addr net.Addr) string {
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return ""
	}
	return port
}

// base is the address of the page for a person on this machine.
func (g guard) base(addr net.Addr) string {
	ap, err := netip.ParseAddrPort(addr.String())
	if err != nil || ap.Addr().IsUnspecified() || ap.Addr().IsLoopback() && ap.Addr().Is4() {
		return "http://127.0.0.1:" + g.port
	}
	return "http://" + ap.String()
}

// hostOK reports whether a Host header names us.
func (g guard) hostOK(host string) bool {
	host = strings.ToLower(host)
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.Trim(host, "[]"), "80"
	} else if p, err := strconv.ParseUint(port, 10, 16); err != nil || p == 0 {
		return false
	}
	return g.names[name] || g.pairs[net.JoinHostPort(name, port)]
}

// originOK reports whether the request was made by our own page, or by no page.
// Only a person may come from elsewhere, by following a link to a page of ours.
func originOK(r *http.Request) bool {
	if o := r.Header.Get("Origin"); o != "" && !sameOrigin(o, r.Host) {
		return false
	}
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin":
		return true
	case "none": // typed in, or a bookmark
		return read
	default:
		return read && isPage(r.URL.Path) && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
			r.Header.Get("Sec-Fetch-Dest") == "document"
	}
}

func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return false
	}
	return strings.EqualFold(u.Host, host)
}

// bodyOK refuses what a foreign form could send.
func bodyOK(r *http.Request) (int, error) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if r.ContentLength != 0 {
			return http.StatusBadRequest, chat.E(chat.Invalid, "a body where none belongs", nil)
		}
		return 0, nil
	case http.MethodPost:
	default:
		return http.StatusMethodNotAllowed, chat.E(chat.Unsupported, "", nil)
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if cs := params["charset"]; err != nil || kind != "application/json" || (cs != "" && !strings.EqualFold(cs, "utf-8")) {
		return http.StatusUnsupportedMediaType, chat.E(chat.Invalid, "the body must be application/json", nil)
	}
	if r.Header.Get("Content-Encoding") != "" {
		return http.StatusUnsupportedMediaType, chat.E(chat.Invalid, "the body must not be encoded", nil)
	}
	if r.ContentLength > api.MaxBody {
		return http.StatusRequestEntityTooLarge, chat.E(chat.Full, "the request is too large", nil)
	}
	return 0, nil
}

// queryOK refuses secrets in addresses: they end up in logs and histories.
func queryOK(r *http.Request) bool {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return false
	}
	for k := range q {
		switch strings.ToLower(k) {
		case "token", "access_token", "auth", "key", "secret", "password":
			return false
		}
	}
	return true
}

// refusal says why a request over TCP is refused; status 0 = it is not.
func (g guard) refusal(r *http.Request) (status int, err error) {
	switch {
	case !g.hostOK(r.Host):
		return http.StatusMisdirectedRequest, chat.E(chat.Denied, "", nil)
	case !originOK(r):
		return http.StatusForbidden, chat.E(chat.Denied, "", nil)
	case !queryOK(r):
		return http.StatusBadRequest, chat.E(chat.Invalid, "the query", nil)
	}
	return bodyOK(r)
}

// policy is what the page may do: our own scripts, styles and requests, and no
// HTML from anywhere but the page's one place that makes it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"manifest-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types cligate"

func harden(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=()")
}

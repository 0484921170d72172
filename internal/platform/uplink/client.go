package uplink

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// ProxySchemes are the kinds of proxies that can be configured. With socks5h
// the proxy looks names up, which it does with socks5, too.
func ProxySchemes() []string { return []string{"http", "https", "socks5", "socks5h"} }

// CheckURL accepts a plain URL with one of the schemes, and an empty string. Its
// error does not repeat the URL, which may hold a password.
func CheckURL(s string, schemes ...string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil {
		return errors.New("not a URL")
	}
	if slices.Contains(schemes, u.Scheme) && u.Host != "" && u.RawQuery == "" && u.Fragment == "" {
		return nil
	}
	return fmt.Errorf("not a plain URL with one of the schemes %s", strings.Join(schemes, ", "))
}

// Proxy chooses the proxy of a request: address, or when that is empty those of
// the environment. This machine itself is never asked through a proxy.
func Proxy(address string) func(*http.Request) (*url.URL, error) {
	u, err := url.Parse(address)
	if address == "" || err != nil {
		return http.ProxyFromEnvironment // it knows loopback, too
	}
	return func(r *http.Request) (*url.URL, error) {
		if loopback(r.URL.Hostname()) {
			return nil, nil //nolint:nilnil // no proxy, no error
		}
		return u, nil
	}
}

func loopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// NewClient makes the client for one account's calls. It speaks HTTP/1.1 only:
// there a call that runs into its time limit takes its dead connection with it,
// while HTTP/2 would put the next call onto the same half-open one. It follows
// no redirects: one would carry a secret elsewhere.
func NewClient(proxy string) *http.Client {
	var only1 http.Protocols
	only1.SetHTTP1(true)
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  Proxy(proxy),
			DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
			TLSHandshakeTimeout:    10 * time.Second,
			MaxIdleConnsPerHost:    16,
			IdleConnTimeout:        50 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
			Protocols:              &only1,
		},
	}
}

// Hidden lists what is to be hidden of a proxy's address, each with what stands
// for it, as strings.NewReplacer takes them.
func Hidden(proxy string) []string {
	u, err := url.Parse(proxy)
	if err != nil || u.User == nil {
		return nil
	}
	pw, ok := u.User.Password()
	if !ok || pw == "" {
		return nil
	}
	return []string{pw, "[password]", url.QueryEscape(pw), "[password]"}
}

// Host is an address without what may be secret in it.
func Host(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Way says how a service is reached, without what may be secret.
func Way(address, proxy string) string {
	s := "at " + Host(address)
	if proxy != "" {
		s += " through " + Host(proxy)
	}
	return s
}

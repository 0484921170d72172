package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var languageRule = regexp.MustCompile(`^([a-z]{2,3}(-[A-Za-z0-9]{2,8})*)?$`)

// checkIncoming returns the problems of what becomes of files and of speech.
func (c *Config) checkIncoming() []string {
	var bad []string
	if i := c.Inbox; min(i.FileMaxMB, i.TotalMaxMB) < 0 || i.Keep < 0 {
		bad = append(bad, "inbox: a negative limit; 0 = none")
	}
	s := c.Speech
	if len(s.Command) > 0 && s.URL != "" {
		bad = append(bad, "speech: command and url are both set: give one")
	}
	if len(s.Command) > 0 && !slices.ContainsFunc(s.Command[1:], func(a string) bool { return strings.Contains(a, "{file}") }) {
		bad = append(bad, "speech.command: no argument says {file}, which stands for the recording")
	}
	if u, err := url.Parse(s.URL); s.URL != "" && (err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https")) {
		bad = append(bad, "speech.url: not an http(s) address")
	}
	if !languageRule.MatchString(s.Language) {
		bad = append(bad, fmt.Sprintf("speech.language: %q is not like en or zh", s.Language))
	}
	if s.Timeout <= 0 {
		bad = append(bad, "speech.timeout: a program that hangs has to be noticed")
	}
	if s.MaxSizeMB < 0 || s.MaxDuration < 0 {
		bad = append(bad, "speech: a negative limit; 0 = none")
	}
	for _, e := range s.Env {
		if !envRule.MatchString(e) {
			bad = append(bad, "speech.env: an entry is neither NAME=value nor NAME")
		}
	}
	return bad
}

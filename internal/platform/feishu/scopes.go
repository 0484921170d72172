package feishu

import (
	"regexp"
	"slices"
	"strings"

	"cligate/internal/i18n"
)

// The text of a refusal for want of a scope names the scopes, one of which is
// enough, and the page on which they are granted.
var (
	scopeList = regexp.MustCompile(`\[([a-z0-9_.:, -]+)\]`)
	grantPage = regexp.MustCompile(`https?://[^\s，。）)]+`)
)

// wanting takes a refusal's text apart. Either may be empty.
func wanting(text string) (scopes []string, page string) {
	if m := scopeList.FindStringSubmatch(text); m != nil {
		for s := range strings.SplitSeq(m[1], ",") {
			if s = strings.TrimSpace(s); s != "" {
				scopes = append(scopes, s)
			}
		}
	}
	slices.Sort(scopes)
	return slices.Compact(scopes), grantPage.FindString(text)
}

// lacks is told that a call at path was refused for want of a scope. The
// operator hears of each scope once, however many calls need it.
func (a *Adapter) lacks(path, text string) {
	if a.looking.Load() > 0 {
		return // the operator is asking just now
	}
	scopes, page := wanting(text)
	names := strings.Join(scopes, ", ")
	if names == "" {
		names = text
	}
	if page == "" {
		page = a.cfg.BaseURL + "/app/" + a.cfg.AppID + "/auth"
	}
	speaks := path != "im/v1/messages" && !strings.HasSuffix(path, "/reply") // else it is the right to speak
	a.log.Warn("a scope is missing", "scopes", names, "call", path)
	a.link.Once("scope/"+names, i18n.T(a.cfg.Lang, "feishu.scope", "scopes", names, "page", page), speaks)
}

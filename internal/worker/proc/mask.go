package proc

import (
	"regexp"
	"strings"

	"cligate/internal/worker/proc/runner"
)

// masker hides secrets in what an agent printed.
type masker struct {
	values *strings.Replacer
}

const masked = "***"

var secretName = regexp.MustCompile(`(?i)(KEY|TOKEN|SECRET|PASS|PASSWORD|CREDENTIALS?|COOKIE|AUTH)$|_(KEY|TOKEN|SECRET|AUTH)_`)

// secretForm finds the usual forms of credentials.
var secretForm = regexp.MustCompile(`(?i)\b(?:sk|pk|rk|gh[opsu]|github_pat|xox[abpr]|glpat|npm)[-_][A-Za-z0-9_-]{12,}` +
	`|\bAIza[A-Za-z0-9_-]{20,}` +
	`|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*` +
	`|\b\d{6,12}:[A-Za-z0-9_-]{30,}` +
	`|(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{12,}` +
	`|://[^/\s:@]+:[^/\s@]+@`)

// newMasker learns the values of the environment's secrets.
func newMasker(env []string) *masker {
	var pairs []string
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		if len(value) >= 8 && name != runner.TokenName && secretName.MatchString(name) {
			pairs = append(pairs, value, masked)
		}
	}
	return &masker{values: strings.NewReplacer(pairs...)}
}

func (m *masker) Replace(s string) string {
	return secretForm.ReplaceAllString(m.values.Replace(s), masked)
}

package acp

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// classes are what failures look like in the words of agents and of the model
// services behind them; the first that fits wins.
var classes = []struct {
	code  chat.Code
	words *regexp.Regexp
}{
	{chat.LoggedOut, regexp.MustCompile(`(?i)\b401\b|unauthori[sz]ed|authenticat|not logged in|log ?in required|please (run|use) .*login|api.?key (is )?(missing|invalid|not)|invalid (x-)?api.?key|invalid.{0,20}credential`)},
	{chat.ContextFull, regexp.MustCompile(`(?i)context.{0,20}(length|window|limit|too)|prompt is too long|maximum.{0,12}tokens|too many tokens|input is too long`)},
	{chat.Quota, regexp.MustCompile(`(?i)\b429\b|\b402\b|quota|rate.?limit|usage limit|insufficient.{0,12}(credit|fund|balance)|billing|resource.?exhausted`)},
	{chat.Overloaded, regexp.MustCompile(`(?i)\b529\b|\b503\b|\b502\b|overloaded|temporarily unavailable|at capacity`)},
	{chat.ModelUnknown, regexp.MustCompile(`(?i)model.{0,60}(not found|does not exist|not exist|unknown|unsupported|not available|invalid)|(unknown|no such|invalid) model`)},
	{chat.Network, regexp.MustCompile(`(?i)ECONN|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|fetch failed|network|connection (refused|reset|error)|socket hang up|stream disconnected|dns`)},
}

// classify guesses the class of a failure from its words.
func classify(text string) chat.Code {
	for _, c := range classes {
		if c.words.MatchString(text) {
			return c.code
		}
	}
	return chat.AgentError
}

// How agents say that they do not know a session: plainly, or of an id.
var (
	noSession = regexp.MustCompile(`(?i)\b(session|thread) not found\b|\b(unknown|no such) (session|thread)\b`)
	noSuchID  = regexp.MustCompile(`(?i)\bnot found\b|\bunknown\b|\bdoes not exist\b|\bno such\b|\bno \w+ found\b`)
)

// lost reports whether the agent says definitely that it does not know the
// session. Anything less keeps the session: losing one is worse than a failed
// turn. loading = the answer is to session/load, where the protocol's "not
// found" can mean nothing else.
func (c Config) lost(e *rpcError, id string, loading bool) bool {
	text := e.text()
	if e.Code == codeNotFound && (loading || strings.Contains(string(e.Data), id)) {
		return true
	}
	switch chat.CodeOf(e.coded(c)) {
	case chat.LoggedOut, chat.Quota, chat.Overloaded, chat.Network:
		return false // whatever else the words say
	default:
	}
	for _, words := range c.Lost {
		if strings.Contains(text, words) {
			return true
		}
	}
	return noSession.MatchString(text) || id != "" && strings.Contains(text, id) && noSuchID.MatchString(text)
}

// promptError is the error of a turn.
func (s *session) promptError(err error) error {
	var e *rpcError
	if !errors.As(err, &e) {
		return err
	}
	if s.cfg.lost(e, s.id(), false) {
		return chat.E(chat.NoSession, "", e)
	}
	return e.coded(s.cfg)
}

// coded gives an agent's error its class. Some agents put the model service's
// HTTP status into the code.
func (e *rpcError) coded(c Config) error {
	code := classify(e.text())
	switch {
	case e.Code == codeAuth || e.Code == 401 || e.Code == 403:
		code = chat.LoggedOut
	case e.Code == 429:
		code = chat.Quota
	case e.Code == 404 && code == chat.AgentError:
		code = chat.ModelUnknown
	case code == chat.AgentError && e.Code >= 502 && e.Code <= 529:
		code = chat.Overloaded
	}
	detail := short(e.text())
	if code == chat.LoggedOut && c.Login != "" {
		detail = c.Login
	}
	return chat.E(code, detail, e)
}

// openError is the error of an open; late is the code of one that took too
// long.
func (s *session) openError(ctx context.Context, err error, late chat.Code) error {
	var e *rpcError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, errLate):
		detail := strings.TrimSpace(s.cfg.commandLine() + ". " + s.cfg.Login)
		return chat.E(late, detail, err)
	case errors.Is(err, errGone):
		return s.diedAtStart()
	case errors.As(err, &e):
		id := s.spec.NativeID
		switch {
		case id == "" || !s.cfg.lost(e, id, true):
			return e.coded(s.cfg)
		case s.cfg.Store.holds(s.cfg.Store.find(s.cfg, id)): // it is there, for another folder or unreadable
			return chat.E(chat.AgentError, i18n.T(i18n.Default, "acp.elsewhere", "agent", s.cfg.Name), e)
		}
		return chat.E(chat.NoSession, "", e)
	}
	return chat.E(chat.Protocol, "", err)
}

// diedAtStart is the error of a process that ended before its session was
// there: what it said may show that it is not logged in.
func (s *session) diedAtStart() error {
	err := s.conn.obituary()
	said := s.conn.proc.Stderr()
	switch {
	case unknownSwitch.MatchString(said):
		return chat.E(chat.TooOld, s.cfg.commandLine()+". "+s.cfg.Install, err)
	case classify(said) == chat.LoggedOut:
		return chat.E(chat.LoggedOut, s.cfg.Login, err)
	}
	return chat.E(chat.Crashed, s.cfg.commandLine()+": "+chat.DetailOf(err), err)
}

// unknownSwitch is what a program says that does not know the switch which
// makes it speak the protocol.
var unknownSwitch = regexp.MustCompile(`(?i)\b(unknown|unrecognized|unexpected|invalid) (arguments?|options?|flags?)\b.{0,20}acp`)

// setError is the error of a change of settings; refused is the code for a no
// of the agent.
func (s *session) setError(ctx context.Context, err error, refused chat.Code, what string) error {
	var e *rpcError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, errGone):
		return s.conn.obituary()
	case errors.Is(err, errLate):
		return chat.E(chat.TimedOut, "", err)
	case errors.As(err, &e) && e.Code == codeNoMethod:
		return chat.E(chat.Unsupported, what, e)
	case errors.As(err, &e):
		if code := classify(e.text()); code == chat.LoggedOut {
			return e.coded(s.cfg)
		}
		return chat.E(refused, what, e)
	}
	return err
}

// shortSize is how much of an agent's words a person is shown, in characters.
const shortSize = 300

// paths are what an error text may tell about this machine.
var paths = regexp.MustCompile(`(?:/[\w.@+-]+){3,}`)

// short makes an agent's words fit to be shown: one line, no long paths, no
// end.
func short(s string) string {
	return chat.Clip(strings.Join(strings.Fields(paths.ReplaceAllString(s, "…")), " "), shortSize)
}

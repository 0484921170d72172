package feishu

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
	sim "cligate/internal/sim/feishu"
)

// found renders findings; "-" stands before what is wrong.
func found(fs []platform.Finding) (out []string) {
	for _, f := range fs {
		mark := "+"
		if !f.OK {
			mark = "-"
		}
		out = append(out, mark+f.Name+": "+f.Detail)
	}
	return out
}

// has reports whether one line begins and goes on so.
func has(lines []string, begin string, parts ...string) bool {
	return slices.ContainsFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, begin) && !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(l, p) })
	})
}

func wrong(lines []string) (out []string) {
	for _, l := range lines {
		if strings.HasPrefix(l, "-") {
			out = append(out, l)
		}
	}
	return out
}

func TestTheDoctorFindsNothingWrongWithAnAppThatIsSetUp(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{false, true} {
		s, o := service(t), &operator{}
		s.Configure(appID, sim.Setup{Silent: silent})
		a := adapter(t, s, func(c *Config) { c.Alarm = o.alarm })
		lines := found(a.Inspect(t.Context(), platform.Inquiry{Alone: true, All: true}))
		for _, want := range []string{"+: Rig is reachable", "+clock", "+published", "+events", "+callbacks", "+scopes: all are granted", "+delivery: a long connection is given"} {
			if !has(lines, want) {
				t.Errorf("no line %q in\n%s", want, strings.Join(lines, "\n"))
			}
		}
		if bad := wrong(lines); len(bad) != 0 || len(o.heard()) != 0 {
			t.Errorf("wrong: %q, told %q", bad, o.heard())
		}
		if got := texts(s, direct); len(got) != 0 || s.Connections(appID) != 0 {
			t.Errorf("asking said %q and left %d connections", got, s.Connections(appID))
		}
	}
}

func TestTheDoctorNamesEachMissingScope(t *testing.T) {
	t.Parallel()
	for _, n := range needs() {
		t.Run(n.name, func(t *testing.T) {
			t.Parallel()
			s, o := service(t), &operator{}
			s.Withdraw(appID, n.any...)
			if n.name == "reading" {
				s.Withdraw(appID, "im:message.p2p_msg:readonly") // which lets direct messages be read
			}
			a := adapter(t, s, func(c *Config) { c.Alarm = o.alarm })
			lines := found(a.Inspect(t.Context(), platform.Inquiry{Alone: true}))
			mark := "+"
			if n.must {
				mark = "-"
			}
			if !has(lines, mark+"scope for "+n.name+": not granted", n.any[0], "/app/"+appID+"/auth?q=", n.what) {
				t.Errorf("not named in\n%s", strings.Join(lines, "\n"))
			}
			if has(lines, "+scopes: all") {
				t.Error("all are said to be granted")
			}
			if len(o.heard()) != 0 {
				t.Errorf("the operator is told of what they are asking: %q", o.heard())
			}
		})
	}
}

// The list of grants may be silent, or ahead of what is in force.
func TestATrialHasTheLastWordAboutAScope(t *testing.T) {
	t.Parallel()
	s := service(t)
	a := adapter(t, s, nil)
	s.Fail(sim.Fault{Kind: sim.Refuse, Method: "scopes", Status: 500, Code: 55001, Text: "x"})
	s.Fail(sim.Fault{Kind: sim.Refuse, Method: "chat.get", Code: 99991672, Text: "Access denied: [im:chat:readonly] https://open.feishu.cn/app/x/auth?q=im:chat:readonly"})
	lines := found(a.Inspect(t.Context(), platform.Inquiry{Alone: true}))
	if !has(lines, "-scopes: could not be asked for") || !has(lines, "-scope for chats: not granted", "https://open.feishu.cn/app/x/auth") ||
		!has(lines, "+scope for files: the service does not tell", "im:resource") || has(lines, "-scope for sending") {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
}

func TestTheDoctorNamesEachMissingStepInTheConsole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		setup sim.Setup
		want  string
		says  []string
	}{
		"no bot":                 {sim.Setup{Botless: true}, "-: ", []string{"Bot", "11205"}},
		"nothing published":      {sim.Setup{Unpublished: true}, "-published: no version", nil},
		"nothing in force":       {sim.Setup{Unpublished: true}, "-scopes: none is in force", nil},
		"not in use":             {sim.Setup{Unpublished: true}, "-: Rig", []string{"not in use yet", "publish"}},
		"switched off":           {sim.Setup{Disabled: true}, "-: Rig", []string{"switched off", "administrator"}},
		"no connection for it":   {sim.Setup{Disabled: true}, "-delivery: ", []string{"code"}},
		"a version that waits":   {sim.Setup{Waiting: true}, "+published: a newer version waits", nil},
		"no messages":            {sim.Setup{Without: []string{eventMessage}}, "-events: im.message.receive_v1 is not subscribed", []string{"Event Configuration"}},
		"no messages, by detour": {sim.Setup{Without: []string{eventMessage}}, "-events: im.message.receive_v1 is not subscribed", nil},
		"no presses":             {sim.Setup{Without: []string{eventClick}}, "-callbacks: card.action.trigger is not subscribed", []string{"200340", "Callback Configuration"}},
		"less than all":          {sim.Setup{Without: []string{eventRecalled, eventMenu}}, "+events: not subscribed, which may be", []string{eventRecalled, eventMenu}},
		"events another way":     {sim.Setup{Way: "webhook"}, "-events: events are set to come by webhook", []string{"feishu.mode"}},
		"presses another way":    {sim.Setup{Way: "webhook"}, "-callbacks: callbacks are set to come by webhook", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := service(t)
			c.setup.Silent = strings.HasSuffix(name, "by detour")
			s.Configure(appID, c.setup)
			a := adapter(t, s, nil)
			lines := found(a.Inspect(t.Context(), platform.Inquiry{Alone: true}))
			if !has(lines, c.want, c.says...) {
				t.Errorf("no line %q in\n%s", c.want, strings.Join(lines, "\n"))
			}
		})
	}
}

func TestWhatTheServiceDoesNotTellIsALineOfWhatToLookAt(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{WebSocket, Webhook} {
		s := service(t)
		s.Withdraw(appID, scopeSelf)
		a := adapter(t, s, func(c *Config) { c.Mode, c.EncryptKey = mode, "key" })
		lines := found(a.Inspect(t.Context(), platform.Inquiry{Alone: true}))
		want := append([]string{scopeSelf, "a version is published", "Event Configuration", "Callback Configuration"}, Events()...)
		if want = append(want, Callbacks()...); mode == Webhook {
			want = append(want, "Encrypt Key")
		}
		if !has(lines, "+console: ", want...) || len(wrong(lines)) != 0 {
			t.Errorf("%s:\n%s", mode, strings.Join(lines, "\n"))
		}
	}
}

func TestTheDoctorNamesAnAppThatIsNotAccepted(t *testing.T) {
	t.Parallel()
	s := service(t)
	s.ChangeSecret(appID, "another")
	lines := found(adapter(t, s, nil).Inspect(t.Context(), platform.Inquiry{Alone: true}))
	if len(lines) != 1 || !has(lines, "-: ", "Credentials", "10014") || strings.Contains(lines[0], secret) {
		t.Errorf("%q", lines)
	}
}

func TestTheDoctorTellsWhichGroupsHearLessThanTheyAreSetTo(t *testing.T) {
	t.Parallel()
	s := service(t)
	s.AddChat("oc_team", sim.Group, "Team", []string{appID}, anna)
	s.AddChat("oc_left", sim.Group, "Left", nil, anna)
	a := adapter(t, s, nil)
	q := platform.Inquiry{Groups: []platform.KnownGroup{
		{Chat: "oc_team", Title: "Team", All: true}, {Chat: "oc_left", Title: "Left"}, {Chat: "oc_none", Title: "None"}}}
	lines := found(a.Inspect(t.Context(), q))
	if !has(lines, "+group Team: it is a member") || !has(lines, "+group Left: it is no longer there") || !has(lines, "+group None: it is no longer there") {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
	s.Withdraw(appID, scopeGroups)
	lines = found(a.Inspect(t.Context(), q))
	if !has(lines, "-group Team: ", scopeGroups) || !has(lines, "-scope for all group messages") {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
	if tr := a.Traits(); tr.Overhears || tr.Unheard == "" {
		t.Errorf("%+v", tr)
	}
}

func TestTheOperatorHearsAtTheStartOfScopesWhoseLackShowsNowhere(t *testing.T) {
	t.Parallel()
	s, o := service(t), &operator{}
	s.Withdraw(appID, "im:message.p2p_msg:readonly", scopeGroups, "contact:user.base:readonly")
	a := adapter(t, s, func(c *Config) { c.Alarm, c.ListenAll = o.alarm, true })
	run(t, a, &ledger{})
	if !s.Wait(patience, func() bool { return len(o.heard()) == 2 }) {
		t.Fatalf("the operator hears %q", o.heard())
	}
	if got := strings.Join(o.heard(), "\n"); !strings.Contains(got, "im:message.p2p_msg:readonly") || !strings.Contains(got, scopeGroups) || !strings.Contains(got, "/auth?q=") {
		t.Errorf("%s", got)
	}
}

// Every scope that an app of ours is granted by the import is needed, and
// nothing that works takes another one.
func TestTheImportedScopesAreAllThatIsNeeded(t *testing.T) {
	t.Parallel()
	s, o := service(t), &operator{}
	for _, scope := range sim.Scopes() {
		if !slices.Contains(Scopes(), scope) {
			s.Withdraw(appID, scope)
		}
	}
	for _, scope := range Scopes() {
		if !slices.Contains(sim.Scopes(), scope) {
			t.Errorf("the service knows no scope %s", scope)
		}
	}
	a := adapter(t, s, func(c *Config) { c.Alarm, c.ListenAll = o.alarm, true })
	in := &ledger{}
	run(t, a, in)
	connected(t, s, 1)
	id, _ := s.Say(sim.Say{App: appID, Chat: direct, From: anna, Text: "hello"})
	if !s.Wait(patience, func() bool { return in.count() > 0 }) {
		t.Fatalf("nothing arrives: %+v, %+v", s.Deliveries(), s.Calls())
	}
	place := chat.Place{Platform: Name, Account: "feishu", Chat: direct, Direct: true}
	_ = a.Signal(t.Context(), place, chat.Ref{ID: id, Chat: direct}, chat.Signal{Kind: chat.SignalReact, Emoji: "👀"})
	for n, part := range a.Render(chat.Reply{Kind: chat.ReplyAnswer, Markdown: "# hello\n\nworld"}) {
		if _, err := a.Send(t.Context(), chat.Out{ID: int64(n) + 1, Key: fmt.Sprint("k", n), Op: chat.OpPost, Place: place, Part: part}); err != nil {
			t.Error(err)
		}
	}
	file := chat.Part{File: &chat.OutFile{Name: "a.txt", Body: []byte("x")}}
	if _, err := a.Send(t.Context(), chat.Out{ID: 99, Key: "f", Op: chat.OpPost, Place: place, Part: file}); err != nil {
		t.Error(err)
	}
	for _, c := range s.Calls() {
		if c.Code == codeNoScope {
			t.Errorf("%s is refused: %s", c.Method, c.Error)
		}
	}
	if len(o.heard()) != 0 {
		t.Errorf("told %q", o.heard())
	}
	if bad := wrong(found(a.Inspect(t.Context(), platform.Inquiry{All: true}))); len(bad) != 0 {
		t.Errorf("%q", bad)
	}
}

func TestAnotherProgramThatTakesEventsIsNoticed(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, c := range map[string]struct {
		came         func(n int) bool
		theft, known bool
	}{
		"alone":                 {func(int) bool { return true }, false, true},
		"half is taken":         {func(n int) bool { return n%2 == 0 }, true, true},
		"one was lost":          {func(n int) bool { return n != 3 }, false, true},
		"not subscribed at all": {func(int) bool { return false }, false, false},
	} {
		e := newEcho(func() time.Time { return now })
		for n := range 12 {
			e.made(fmt.Sprint(n), "OnIt")
			if c.came(n) {
				e.came(fmt.Sprint(n), "OnIt")
			}
		}
		if theft, _ := e.verdict(); theft {
			t.Errorf("%s: judged before it is late", name)
		}
		now = now.Add(echoLate)
		if theft, known := e.verdict(); theft != c.theft || known != c.known {
			t.Errorf("%s: theft %v, known %v", name, theft, known)
		}
	}
	e := newEcho(func() time.Time { return now })
	e.made("x", "OK")
	e.came("x", "OK")
	for n := range 12 {
		e.made(fmt.Sprint(n), "OK")
	}
	e.away()
	now = now.Add(echoLate)
	if theft, _ := e.verdict(); theft {
		t.Error("what was lost with the connection counts as taken")
	}
}

func TestTwoProgramsOnOneAppAreToldToTheOperator(t *testing.T) {
	t.Parallel()
	s, o := service(t), &operator{}
	a := adapter(t, s, func(c *Config) { c.Alarm = o.alarm })
	clock := &ticker{at: time.Now()}
	a.echo.now = clock.now
	run(t, a, &ledger{})
	connected(t, s, 1)
	other := &ear{}
	listen(t, s, other, nil)
	connected(t, s, 2)
	place := chat.Place{Platform: Name, Account: "feishu", Chat: direct, Direct: true}
	react := func(n int) {
		for range n {
			id, _ := s.Say(sim.Say{App: appID, Chat: direct, From: anna, Text: "x", Quiet: true})
			if err := a.Signal(t.Context(), place, chat.Ref{ID: id, Chat: direct}, chat.Signal{Kind: chat.SignalReact, Emoji: "👀"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	echoes := func() (n int) {
		for _, d := range s.Deliveries() {
			if d.Type == eventReaction && d.Acked {
				n++
			}
		}
		return n
	}
	react(24)
	if !s.Wait(patience, func() bool { return echoes() == 24 }) {
		t.Fatalf("%d of 24 pushed", echoes())
	}
	clock.pass(echoLate)
	react(24) // one of these comes here, which is when it shows
	if !s.Wait(patience, func() bool { return len(o.heard()) == 1 }) {
		t.Fatalf("the operator hears %q; %d went to the other", o.heard(), other.count())
	}
	if !strings.Contains(o.heard()[0], "same app id") {
		t.Errorf("%q", o.heard())
	}
	if lines := found(a.Inspect(t.Context(), platform.Inquiry{})); !has(lines, "-second program") {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
}

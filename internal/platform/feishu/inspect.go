package feishu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/platform"
	"cligate/internal/platform/uplink"
)

var _ platform.Inspector = (*Adapter)(nil)

// inspection collects findings.
type inspection struct {
	*Adapter
	platform.Findings
}

// Inspect implements platform.Inspector: it names each scope, event, callback
// and step in the developer console that is missing, as far as the service
// tells; what it does not tell is a line of what to look at there.
func (a *Adapter) Inspect(ctx context.Context, q platform.Inquiry) []platform.Finding {
	a.looking.Add(1)
	defer a.looking.Add(-1)
	i := &inspection{Adapter: a}
	if !i.hello(ctx) {
		return i.List
	}
	a.rest.clock.Inspect(&i.Findings, "the service")
	i.console(ctx)
	i.scopes(ctx, q)
	i.delivery(ctx, q.Alone)
	if !q.Alone {
		i.others()
	}
	for _, g := range q.Groups {
		i.group(ctx, g)
	}
	return i.List
}

// hello asks who the bot is. Without one there is nothing more to ask.
func (i *inspection) hello(ctx context.Context) bool {
	var out about
	err := i.rest.do(ctx, call{method: http.MethodGet, path: botInfo}, &out)
	if err != nil || out.Bot.Open == "" {
		t, err := unknown(err)
		detail := says(i.cfg.Lang, t)
		if err != nil {
			detail += " (" + err.Error() + ")"
		}
		i.Bad("", detail)
		return false
	}
	where := uplink.Way(i.cfg.BaseURL, i.cfg.Proxy)
	switch out.Bot.Status {
	case 2:
		i.Good("", fmt.Sprintf("%s is reachable %s", out.Bot.Name, where))
	case 1:
		i.Bad("", fmt.Sprintf("%s is reachable %s, but the app is switched off; an administrator switches it on in the admin console", out.Bot.Name, where))
	default:
		i.Bad("", fmt.Sprintf("%s is reachable %s, but not in use yet: in the developer console, Version Management & Release, create a version and publish it", out.Bot.Name, where))
	}
	return true
}

// console compares what is subscribed and published with what is needed.
func (i *inspection) console(ctx context.Context) {
	s, err := i.rest.settings(ctx)
	if err != nil {
		i.checklist(err)
		return
	}
	switch {
	case s.Online == "":
		i.Bad("published", "no version is published: in the developer console, Version Management & Release, create a version and publish it")
	case s.Waiting != "":
		i.Good("published", "a newer version waits for an administrator's approval; what it changes is not in force yet")
	default:
		i.Good("published", "a version is published; a change of scopes, events or callbacks takes a new one")
	}
	way := waySocket
	if i.hook != nil {
		way = wayWebhook
	}
	if s.Event == nil {
		i.Good("events", "the service does not say what is subscribed; "+i.eventList())
	} else {
		i.events(*s.Event, way)
	}
	if s.Callback == nil {
		i.Good("callbacks", "the service does not say what is subscribed; "+i.callbackList())
	} else {
		i.callbacks(*s.Callback, way)
	}
}

// checklist says what to look at in the console, as the service does not tell.
func (i *inspection) checklist(err error) {
	why := "cannot be looked up (" + err.Error() + ")"
	if lacking(err) {
		why = "cannot be looked up without the scope " + scopeSelf
	}
	i.Good("console", why+"; look there yourself: a version is published; "+i.eventList()+"; "+i.callbackList())
}

func (i *inspection) wayWords() string {
	if i.hook != nil {
		return "sent to your server (the request URL, with the Encrypt Key and the Verification Token of the configuration)"
	}
	return "received through a persistent connection"
}

func (i *inspection) eventList() string {
	return "under Events and Callbacks, Event Configuration: " + i.wayWords() + ", with " + strings.Join(Events(), ", ") + came(i.seen.kinds())
}

func (i *inspection) callbackList() string {
	return "under Callback Configuration, a page of its own: " + i.wayWords() + ", with " + strings.Join(Callbacks(), ", ")
}

// came says which kinds of events have come so far.
func came(kinds []string) string {
	if len(kinds) == 0 {
		return ""
	}
	return " (so far came: " + strings.Join(kinds, ", ") + ")"
}

// add is how a missing subscription is mended.
func add(tab string, kinds ...string) string {
	return "in the developer console, Events and Callbacks, " + tab + ", add " + strings.Join(kinds, ", ") + ", then publish a version"
}

func (i *inspection) events(f feed, way string) {
	if f.Way != "" && f.Way != way {
		i.Bad("events", fmt.Sprintf("events are set to come by %s, but feishu.mode is %s; in the developer console, Events and Callbacks, Event Configuration, change how they are received (a long connection can be chosen there while the daemon runs)", f.Way, i.cfg.Mode))
	}
	var nice []string
	good := true
	for _, w := range subscriptions() {
		switch {
		case slices.Contains(f.Events, w.kind):
		case w.must:
			good = false
			i.Bad("events", w.kind+" is not subscribed: "+w.what+"; "+add("Event Configuration", w.kind))
		default:
			nice = append(nice, w.kind+" ("+w.what+")")
		}
	}
	switch {
	case len(nice) > 0:
		i.Good("events", "not subscribed, which may be as you want it: "+strings.Join(nice, ", "))
	case good:
		i.Good("events", "all are subscribed"+came(i.seen.kinds()))
	}
}

func (i *inspection) callbacks(f feed, way string) {
	if how := cmp.Or(f.WayB, f.Way); how != "" && how != way {
		i.Bad("callbacks", fmt.Sprintf("callbacks are set to come by %s, but feishu.mode is %s; in the developer console, Events and Callbacks, Callback Configuration, change how they are received", how, i.cfg.Mode))
	}
	if !slices.Contains(f.Callbacks, eventClick) {
		i.Bad("callbacks", eventClick+" is not subscribed: every button shows error 200340; "+add("Callback Configuration", eventClick))
		return
	}
	i.Good("callbacks", eventClick+" is subscribed")
}

// lacking reports whether err is a refusal for want of a scope.
func lacking(err error) bool {
	var no *refused
	return errors.As(err, &no) && duties[no.code].tell
}

// scopes looks at each right: the list of grants, and where something harmless
// can be tried, that it really works.
func (i *inspection) scopes(ctx context.Context, q platform.Inquiry) {
	err := i.grants.ask(ctx, i.rest)
	var no *refused
	switch {
	case errors.As(err, &no) && no.code == codeNotInstalled:
		i.Bad("scopes", "none is in force, as no version of the app is published")
	case err != nil:
		i.Bad("scopes", "could not be asked for: "+err.Error())
	}
	all := q.All || slices.ContainsFunc(q.Groups, func(g platform.KnownGroup) bool { return g.All })
	missing := 0
	for _, n := range needs() {
		lacks, page, known := i.wants(ctx, n)
		if !lacks {
			if !known {
				i.Good("scope for "+n.name, "the service does not tell; one of "+strings.Join(n.any, ", ")+" has to be granted")
			}
			continue
		}
		missing++
		say := fmt.Sprintf("not granted (%s): %s; grant it at %s and publish a version", strings.Join(n.any, " or "), n.what, page)
		if n.must || n.any[0] == scopeGroups && all {
			i.Bad("scope for "+n.name, say)
		} else {
			i.Good("scope for "+n.name, say)
		}
	}
	if missing == 0 && err == nil {
		i.Good("scopes", "all are granted")
	}
}

// wants reports whether a right is missing, and where it is granted. The trial
// has the last word: what is granted may not be in force yet.
func (i *inspection) wants(ctx context.Context, n need) (lacks bool, page string, known bool) {
	page = i.cfg.page(n.any...)
	have, known := i.grants.has(n.any...)
	if n.probe == nil {
		return known && !have, page, known
	}
	_, err := i.rest.send(ctx, *n.probe)
	var no *refused
	switch {
	case lacking(err):
		if errors.As(err, &no) {
			if _, where := wanting(no.msg); where != "" {
				page = where
			}
		}
		return true, page, true
	case err == nil, errors.As(err, &no) && no.status < 500:
		return false, page, true
	}
	return known && !have, page, known
}

// delivery asks for a connection, which tells whether one would be given. None
// is made: it would take events.
func (i *inspection) delivery(ctx context.Context, alone bool) {
	if i.hook != nil {
		i.Good("delivery", fmt.Sprintf("posts are taken at %s%s; the request URL in the developer console has to lead there", i.cfg.WebhookAddr, i.cfg.WebhookPath))
		return
	}
	if !alone {
		return // the state of the connection says it
	}
	_, err := newSocket(i.cfg, i.log, i.link, nil).ask(ctx)
	var no *fatal
	switch {
	case errors.As(err, &no):
		i.Bad("delivery", says(i.cfg.Lang, no.trouble())+" ("+no.Error()+")")
	case err != nil:
		i.Bad("delivery", "a long connection could not be asked for: "+err.Error())
	default:
		i.Good("delivery", "a long connection is given when the daemon starts")
	}
}

// others says whether somebody else takes events of this app.
func (i *inspection) others() {
	switch theft, known := i.echo.verdict(); {
	case theft:
		i.Bad("second program", says(i.cfg.Lang, troubleShared))
	case known:
		i.Good("second program", "nobody else takes events of this app")
	default:
		i.Good("second program", "not known yet; the service gives each event to one connection only, so nothing else may be connected with this app id")
	}
}

// group looks at the bot's standing in one group.
func (i *inspection) group(ctx context.Context, g platform.KnownGroup) {
	name := "group " + cmp.Or(g.Title, g.Chat)
	_, err := i.rest.send(ctx, call{method: http.MethodGet, path: "im/v1/chats/" + g.Chat})
	var no *refused
	have, known := i.grants.has(scopeGroups)
	switch {
	case chat.CodeOf(err) == chat.Park, errors.As(err, &no) && (no.code == 232006 || no.code == 232011):
		i.Good(name, "it is no longer there")
	case lacking(err):
		i.Good(name, "cannot be looked up without the scope im:chat:readonly")
	case err != nil:
		i.Bad(name, "could not be asked for: "+err.Error())
	case g.All && known && !have:
		i.Bad(name, "it is set to listen to everything there, but without the scope "+scopeGroups+" only mentions arrive; grant it at "+i.cfg.page(scopeGroups)+" and publish a version, or set /listen mention there")
	default:
		i.Good(name, "it is a member")
	}
}

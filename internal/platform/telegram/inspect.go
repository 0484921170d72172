package telegram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"cligate/internal/platform"
	"cligate/internal/platform/uplink"
)

// robTime is how long another program gets to show that it polls, too. One that
// we push aside comes back within seconds.
const robTime = 6 * time.Second

// Inspect asks Telegram about everything that can be set for the bot and that
// keeps it from working as its operator expects. It receives nothing.
func (a *Adapter) Inspect(ctx context.Context, q platform.Inquiry) []platform.Finding {
	i := &inspection{Adapter: a}
	me, err := a.wire.me(ctx)
	if err != nil {
		i.Bad("", says(a.link.lang, diagnose(err))+" ("+err.Error()+")")
		return i.List
	}
	i.Good("", fmt.Sprintf("@%s is reachable %s", me.Username, uplink.Way(a.wire.base, a.wire.proxy)))
	i.wire.clock.Inspect(&i.Findings, "Telegram")
	i.settings(me)
	i.profile(ctx)
	i.commands(ctx, q.Alone)
	if free := i.delivery(ctx, q.Alone); free && q.Alone {
		i.poller(ctx)
	}
	for _, g := range q.Groups {
		i.group(ctx, me, g)
	}
	return i.List
}

// inspection collects findings.
type inspection struct {
	*Adapter
	platform.Findings
}

// settings are those that only BotFather changes.
func (i *inspection) settings(me user) {
	if me.Joins {
		i.Good("groups", "it can be added to groups")
	} else {
		i.Good("groups", "it cannot be added to groups; to allow that: BotFather, /setjoingroups, Enable")
	}
	if me.ReadAll {
		i.Good("privacy", "in groups it sees everything")
	} else {
		i.Good("privacy", "privacy mode is on: in groups it sees commands, replies to it and mentions; to let it see everything: BotFather, /setprivacy, Disable, then remove it from the group and add it again (or make it an administrator there)")
	}
	if me.Topics {
		i.Good("topics", "private chats have topics: each is a conversation of its own")
	} else {
		i.Good("topics", "private chats have no topics; to have several conversations with it there: the BotFather mini app, the bot's settings, Threaded Mode")
	}
}

// profile is what people see before they write.
func (i *inspection) profile(ctx context.Context) {
	var about struct {
		Description string `json:"description"`
		Short       string `json:"short_description"`
	}
	for _, method := range []string{"getMyDescription", "getMyShortDescription"} {
		if err := i.wire.decode(ctx, request{method: method}, &about); err != nil {
			i.unasked("profile", err)
			return
		}
	}
	var todo []string
	if about.Description == "" {
		todo = append(todo, "people who open the chat see no word of what it does; BotFather, /setdescription")
	}
	if about.Short == "" {
		todo = append(todo, "its profile is empty; BotFather, /setabouttext")
	}
	if len(todo) == 0 {
		todo = []string{"description and profile text are set"}
	}
	i.Good("profile", strings.Join(todo, "; "))
}

// commands compares the menus that do not depend on persons.
func (i *inspection) commands(ctx context.Context, alone bool) {
	if i.menu.want == nil {
		return
	}
	menus, err := i.menu.want(ctx)
	if err != nil {
		i.Bad("commands", "the command menus are not known: "+err.Error())
		return
	}
	n, differ := 0, 0
	for _, m := range menus {
		if m.Scope.Chat != "" {
			continue
		}
		for lang, cs := range m.Commands {
			var now []menuEntry
			if err := i.wire.decode(ctx, request{method: "getMyCommands", params: menuKey{m.Scope, lang}.params()}, &now); err != nil {
				i.unasked("commands", err)
				return
			}
			if n++; !slices.Equal(now, entries(cs)) {
				differ++
			}
		}
	}
	switch {
	case differ == 0:
		i.Good("commands", fmt.Sprintf("%d command menus are registered", n))
	case alone:
		i.Good("commands", fmt.Sprintf("%d of %d command menus are registered when the daemon starts", differ, n))
	case i.menu.pending():
		i.Good("commands", fmt.Sprintf("%d of %d command menus are being registered", differ, n))
	default:
		i.Bad("commands", fmt.Sprintf("%d of %d command menus are not registered; the log says why, and it is tried again every %s", differ, n, menuEvery))
	}
}

// delivery looks at the webhook. free means that updates can be fetched.
func (i *inspection) delivery(ctx context.Context, alone bool) (free bool) {
	h, err := i.wire.hookInfo(ctx)
	if err != nil {
		i.unasked("delivery", err)
		return false
	}
	waits := fmt.Sprintf("%d updates wait", h.Pending)
	if i.hook == nil {
		if h.URL != "" {
			i.Bad("delivery", says(i.link.lang, troubleWebhook)+" ("+waits+")")
			return false
		}
		i.Good("delivery", "updates are fetched (long polling), no webhook is set; "+waits)
		return true
	}
	switch {
	case h.URL == "" && alone:
		i.Good("delivery", "the webhook is set when the daemon starts; "+waits)
	case h.URL == "":
		i.Bad("delivery", "the webhook is not set; does another program poll with this token?")
	case !alike(h.URL, i.hook.cfg.URL):
		i.Bad("delivery", says(i.link.lang, troubleTaken))
	case h.Pending > 0 && h.ErrorDate > 0 && !alone:
		i.Bad("delivery", fmt.Sprintf("%s: %s (%s; %s)", says(i.link.lang, troubleUndelivered), h.Error, time.Unix(h.ErrorDate, 0).UTC().Format(time.RFC3339), waits))
	default:
		i.Good("delivery", fmt.Sprintf("Telegram delivers to %s, received at %s; %s", i.wire.redact(h.URL), i.hook.cfg.Addr, waits))
	}
	return false
}

// poller finds out whether another program polls with this token. Our own poll
// pushes it aside, acknowledges nothing, and is pushed aside when it returns.
func (i *inspection) poller(ctx context.Context) {
	var got []struct{}
	err := i.wire.decode(ctx, request{
		method: "getUpdates",
		params: params{"limit": "1", "timeout": fmt.Sprint(int(robTime / time.Second)), "allowed_updates": wanted},
		limit:  robTime + 10*time.Second,
	}, &got)
	var r *refusal
	switch {
	case errors.As(err, &r) && r.Status == http.StatusConflict:
		i.Bad("second program", says(i.link.lang, troublePoller))
	case err != nil:
		i.unasked("second program", err)
	default:
		i.Good("second program", "nobody else receives with this token")
	}
}

// adminRights are rights of an administrator that something here makes use of.
var adminRights = []struct{ key, what string }{
	{"can_manage_topics", "it can make and close topics"},
	{"can_delete_messages", "it can delete messages of others"},
}

// group looks at the bot's standing in one group.
func (i *inspection) group(ctx context.Context, me user, g platform.KnownGroup) {
	name := "group " + cmp.Or(g.Title, g.Chat)
	var m map[string]any
	err := i.wire.decode(ctx, request{method: "getChatMember", params: params{"chat_id": g.Chat, "user_id": fmt.Sprint(me.ID)}}, &m)
	var r *refusal
	switch {
	case errors.As(err, &r) && (r.Status == http.StatusForbidden || r.Status == http.StatusBadRequest):
		i.Good(name, "it is no longer there")
		return
	case err != nil:
		i.unasked(name, err)
		return
	}
	status, _ := m["status"].(string)
	switch status {
	case "left", "kicked":
		i.Good(name, "it is no longer there")
	case "administrator", "creator":
		says := []string{"administrator: it sees everything"}
		for _, right := range adminRights {
			if can, _ := m[right.key].(bool); can {
				says = append(says, right.what)
			} else {
				says = append(says, strings.Replace(right.what, "can", "cannot", 1))
			}
		}
		i.Good(name, strings.Join(says, ", "))
	default:
		if g.All && !me.ReadAll {
			i.Bad(name, "it is set to listen to everything there, but privacy mode hides that from it; make it an administrator of the group, or BotFather, /setprivacy, Disable, then remove and add it again")
			return
		}
		i.Good(name, "member; whoever wants topics made by it makes it an administrator with the right to manage topics")
	}
}

// unasked notes that something could not be found out.
func (i *inspection) unasked(name string, err error) {
	var r *refusal
	if errors.As(err, &r) && r.says("method not found") {
		i.Good(name, "this Bot API server cannot tell")
		return
	}
	i.Bad(name, "could not be asked for: "+err.Error())
}

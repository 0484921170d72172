package feishu

import (
	"context"
	"net/http"
	"slices"
)

// wanted is an event that has to be subscribed in the developer console.
type wanted struct {
	kind string
	what string // that does not work without it
	must bool
}

// subscriptions lists the events.
func subscriptions() []wanted {
	return []wanted{
		{eventMessage, "no message arrives", true},
		{eventRecalled, "it does not notice withdrawn messages", false},
		{eventReaction, "reactions of people are not seen", false},
		{eventAdded, "it does not notice when it is added to a group", false},
		{eventRemoved, "it does not notice when it is removed from a group", false},
		{eventEntered, "nobody is welcomed who opens the chat with it", false},
		{eventGone, "it does not notice when a group is dissolved", false},
		{eventMenu, "entries of the bot's menu do nothing", false},
	}
}

// Events are the events to be subscribed in the developer console.
func Events() (out []string) {
	for _, w := range subscriptions() {
		out = append(out, w.kind)
	}
	return out
}

// Callbacks are the callbacks to be subscribed there.
func Callbacks() []string { return []string{eventClick} }

// Ways in which events and callbacks reach an app, as the service calls them.
const (
	waySocket  = "websocket"
	wayWebhook = "webhook"
)

// settings is what the service says of an app. What it leaves out is empty.
type settings struct {
	Status    int    `json:"status"` // 0 switched off, 1 on, 2 not enabled yet
	Online    string `json:"online_version_id"`
	Waiting   string `json:"unaudit_version_id"`
	Event     *feed  `json:"event"`
	Callback  *feed  `json:"callback"`
	CallbackB *feed  `json:"callback_info"` // its other name
}

// feed is what is subscribed, and how it comes.
type feed struct {
	Way       string   `json:"subscription_type"`
	WayB      string   `json:"callback_type"`
	Events    []string `json:"subscribed_events"`
	Callbacks []string `json:"subscribed_callbacks"`
}

// settings asks for the app's own settings.
func (r *rest) settings(ctx context.Context) (settings, error) {
	var out struct {
		App settings `json:"app"`
	}
	err := r.do(ctx, call{method: http.MethodGet, path: "application/v6/applications/me", query: map[string]string{"lang": "en_us"}}, &out)
	s := out.App
	if s.Callback == nil {
		s.Callback = s.CallbackB
	}
	if err == nil && s.Event == nil && s.Online != "" {
		if kinds, verr := r.published(ctx, s.Online); verr == nil {
			s.Event = &feed{Events: kinds}
		}
	}
	return s, err
}

// published asks which events a published version subscribes.
func (r *rest) published(ctx context.Context, version string) ([]string, error) {
	var out struct {
		Version struct {
			Events []struct {
				Kind string `json:"event_type"`
			} `json:"event_infos"`
		} `json:"app_version"`
	}
	err := r.do(ctx, call{method: http.MethodGet, path: "application/v6/applications/me/app_versions/" + version, query: map[string]string{"lang": "en_us"}}, &out)
	if err != nil {
		return nil, err
	}
	kinds := []string{}
	for _, e := range out.Version.Events {
		kinds = append(kinds, e.Kind)
	}
	slices.Sort(kinds)
	return kinds, nil
}

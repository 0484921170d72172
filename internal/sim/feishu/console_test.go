package feishu

import (
	"slices"
	"testing"
)

// pushed are the types of events that were pushed to an app.
func pushed(s *Server) (out []string) {
	for _, d := range s.Deliveries() {
		out = append(out, d.Type)
	}
	return out
}

func TestNothingIsPushedThatIsNotSubscribedAndPublished(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		setup Setup
		lacks []string
	}{
		"everything":        {Setup{}, nil},
		"a missing event":   {Setup{Without: []string{"im.message.receive_v1"}}, []string{"im.message.receive_v1"}},
		"a missing press":   {Setup{Without: []string{cardAction}}, []string{cardAction}},
		"no version":        {Setup{Unpublished: true}, []string{"im.message.receive_v1", cardAction, "im.message.reaction.created_v1"}},
		"switched off":      {Setup{Disabled: true}, []string{"im.message.receive_v1", cardAction, "im.message.reaction.created_v1"}},
		"no bot":            {Setup{Botless: true}, []string{"im.message.receive_v1", cardAction, "im.message.reaction.created_v1"}},
		"a version to come": {Setup{Waiting: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, off := range []bool{false, true} {
				s := start(t).s
				s.Configure(rig, c.setup)
				if off {
					s.Without(RuleSubscribe)
				}
				s.Ladder(1)
				id, _ := s.Say(Say{App: rig, Chat: direct, From: anna, Text: "x"})
				click := s.Press(rig, id, anna, map[string]any{"a": "b"}, nil)
				s.React(rig, id, anna, "OK")
				got := pushed(s)
				for _, kind := range []string{"im.message.receive_v1", cardAction, "im.message.reaction.created_v1"} {
					if want := off || !slices.Contains(c.lacks, kind); slices.Contains(got, kind) != want {
						t.Errorf("rule off %v: %s is pushed: %v", off, kind, !want)
					}
				}
				if lost := !off && slices.Contains(c.lacks, cardAction); (click.Code == 200340) != lost {
					t.Errorf("rule off %v: the press shows %d", off, click.Code)
				}
			}
		})
	}
}

func TestAnAppHearsOfItsOwnReactions(t *testing.T) {
	t.Parallel()
	c := start(t)
	id := field(c.text(direct, "x"), "message_id")
	r := c.call("POST", "im/v1/messages/"+id+"/reactions", map[string]any{"reaction_type": map[string]any{"emoji_type": "OK"}})
	if code(r) != 0 || !slices.Contains(pushed(c.s), "im.message.reaction.created_v1") {
		t.Errorf("%v, %q", r, pushed(c.s))
	}
}

func list(v any) []any { l, _ := v.([]any); return l }

func TestTheConsoleSaysWhatIsSet(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.s.Configure(rig, Setup{Without: []string{"im.message.recalled_v1", cardAction}, Way: "webhook", Waiting: true})
	r := c.call("GET", "application/v6/applications/me?lang=en_us", nil)
	app := r["data"].(map[string]any)["app"].(map[string]any)
	event, callback := app["event"].(map[string]any), app["callback"].(map[string]any)
	if app["online_version_id"] != "oav_1" || app["unaudit_version_id"] != "oav_2" || event["subscription_type"] != "webhook" ||
		len(list(event["subscribed_events"])) != len(Events())-1 || len(list(callback["subscribed_callbacks"])) != 0 {
		t.Errorf("%v", app)
	}
	v := c.call("GET", "application/v6/applications/me/app_versions/oav_1?lang=en_us", nil)
	infos := v["data"].(map[string]any)["app_version"].(map[string]any)["event_infos"]
	if len(list(infos)) != len(Events())-1 {
		t.Errorf("%v", infos)
	}
}

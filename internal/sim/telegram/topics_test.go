package telegram

import (
	"encoding/json"
	"strings"
	"testing"
)

// seen is what a bot is given of a message.
type seen struct {
	ID     int64 `json:"message_id"`
	Thread int64 `json:"message_thread_id"`
	Topic  bool  `json:"is_topic_message"`
	Text   string
	Chat   struct{ ID int64 }
	From   struct{ ID int64 }
	As     *struct{ ID int64 } `json:"sender_chat"`
	Auto   bool                `json:"is_automatic_forward"`
	Reply  *seen               `json:"reply_to_message"`
	Made   *struct {
		Name     string
		Implicit bool `json:"is_name_implicit"`
	} `json:"forum_topic_created"`
	Edited   *struct{ Name string } `json:"forum_topic_edited"`
	Closed   *struct{}              `json:"forum_topic_closed"`
	Reopened *struct{}              `json:"forum_topic_reopened"`
	To       int64                  `json:"migrate_to_chat_id"`
	OldHome  int64                  `json:"migrate_from_chat_id"`
}

// told are the messages that wait for the bot.
func told(t *testing.T, s *Server) (out []seen) {
	t.Helper()
	var us []struct{ Message *seen }
	r := call(t, s, "getUpdates", "timeout", 0)
	if err := json.Unmarshal(r.Result, &us); err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	for _, u := range us {
		if u.Message != nil {
			out = append(out, *u.Message)
		}
	}
	return out
}

func last(t *testing.T, s *Server) seen {
	t.Helper()
	all := told(t, s)
	if len(all) == 0 {
		t.Fatal("nothing was handed over")
	}
	return all[len(all)-1]
}

// offence makes a call on a topic that a person made, in a forum in which the
// bot has these rights.
func offence(want, method string, admin map[string]any, kv ...any) violation {
	return violation{want, func(t *testing.T, s *Server) reply {
		s.Promote(token, forum, admin)
		id := s.MakeTopic(token, forum, alice, "Plums")
		s.CloseTopic(token, forum, 78, alice, true)
		return call(t, s, method, append([]any{"chat_id", forum, "message_thread_id", id}, kv...)...)
	}}
}

var manages = map[string]any{"can_manage_topics": true}

// topicOffences holds one offence against each rule that refuses.
var topicOffences = map[Rule]violation{
	RuleForum: {"the chat is not a forum", func(t *testing.T, s *Server) reply {
		return call(t, s, "createForumTopic", "chat_id", alice, "name", "x")
	}},
	RuleRights:    offence("not enough rights", "editForumTopic", nil, "name", "Pears"),
	RuleTitle:     offence("must be non-empty", "createForumTopic", manages, "name", "  "),
	RuleTopicSame: offence("TOPIC_NOT_MODIFIED", "editForumTopic", manages, "name", "Plums"),
	RuleClosed: {"TOPIC_CLOSED", func(t *testing.T, s *Server) reply {
		return call(t, s, "sendMessage", "chat_id", forum, "text", "x", "message_thread_id", 78)
	}},
	RuleDeleted: {"TOPIC_DELETED", func(t *testing.T, s *Server) reply {
		s.DeleteTopic(token, forum, 77)
		return call(t, s, "sendMessage", "chat_id", forum, "text", "x", "message_thread_id", 77)
	}},
}

// topicFacts holds, for rules that say how something is handed over, whether it
// comes the other way.
var topicFacts = map[Rule]func(t *testing.T, s *Server) bool{
	RuleGeneral: func(t *testing.T, s *Server) bool {
		s.Say(token, Say{Chat: forum, From: alice, Text: "/x"})
		return last(t, s).Thread != 0
	},
	RuleImplicit: func(t *testing.T, s *Server) bool {
		s.SetFlags(token, map[string]any{"has_topics_enabled": true})
		s.Say(token, Say{Chat: alice, Text: "x"})
		return last(t, s).Thread == 0
	},
	RuleCreation: func(t *testing.T, s *Server) bool {
		s.Say(token, Say{Chat: forum, From: alice, Thread: 77, Text: "/x"})
		m := last(t, s)
		return m.Reply == nil || m.Reply.Made == nil
	},
	RuleReplyThread: func(t *testing.T, s *Server) bool {
		s.AddChat(target, Supergroup, "Plain")
		first := s.Say(token, Say{Chat: target, From: alice, Text: "/x"})
		second := s.Say(token, Say{Chat: target, From: alice, ReplyTo: first, Text: "/y"})
		s.Say(token, Say{Chat: target, From: alice, ReplyTo: second, Text: "/z"})
		m := last(t, s)
		if m.Topic {
			t.Error("it is taken for a topic")
		}
		return m.Thread != first
	},
	RuleNews: func(t *testing.T, s *Server) bool {
		s.RenameTopic(token, forum, 77, alice, "Pears")
		all := told(t, s)
		return len(all) == 0 || all[0].Edited == nil || all[0].Edited.Name != "Pears" || all[0].Thread != 77
	},
	RuleStandIn: func(t *testing.T, s *Server) bool {
		s.SayAnonymously(token, Say{Chat: group, From: alice, Text: "/x"})
		m := last(t, s)
		return m.From.ID == alice || m.As == nil || m.As.ID != group
	},
	RulePrivacy: func(t *testing.T, s *Server) bool {
		s.Say(token, Say{Chat: group, From: alice, Text: "talk"})
		return len(told(t, s)) == 1
	},
	RuleCount: func(t *testing.T, s *Server) bool {
		s.Members(group, 2)
		return string(call(t, s, "getChatMemberCount", "chat_id", group).Result) != "2"
	},
	RuleOldHome: func(t *testing.T, s *Server) bool {
		s.Upgrade(token, moved, target, SaidNew)
		all := told(t, s)
		return len(all) != 1 || all[0].OldHome != moved || all[0].Chat.ID != target
	},
}

func TestATopicLivesAsOneInTheService(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Promote(token, forum, manages)
	r := call(t, s, "createForumTopic", "chat_id", forum, "name", strings.Repeat("x", 200))
	var made struct {
		Thread int64 `json:"message_thread_id"`
		Name   string
	}
	if err := json.Unmarshal(r.Result, &made); err != nil || made.Thread == 0 || len(made.Name) != 128 {
		t.Fatalf("%+v %s", r, r.Result)
	}
	send := func() reply {
		return call(t, s, "sendMessage", "chat_id", forum, "text", "x", "message_thread_id", made.Thread)
	}
	id := send().id(t)
	s.Promote(token, forum, nil) // whoever made a topic may change it
	for _, step := range []struct {
		method, want string
	}{{"closeForumTopic", "TOPIC_CLOSED"}, {"reopenForumTopic", ""}} {
		if r := call(t, s, step.method, "chat_id", forum, "message_thread_id", made.Thread); !r.OK {
			t.Errorf("%s: %+v", step.method, r)
		}
		if r := send(); r.OK != (step.want == "") || !strings.Contains(r.Description, step.want) {
			t.Errorf("after %s: %+v", step.method, r)
		}
	}
	if r := call(t, s, "editMessageText", "chat_id", forum, "message_id", made.Thread, "text", "x"); r.OK {
		t.Error("a message of the service can be edited")
	}
	if r := call(t, s, "deleteForumTopic", "chat_id", forum, "message_thread_id", made.Thread); r.OK {
		t.Error("a topic is deleted without the right to")
	}
	s.DeleteTopic(token, forum, made.Thread)
	if first, then := send(), send(); first.Description != "Bad Request: TOPIC_DELETED" || then.Description != "Bad Request: message thread not found" {
		t.Errorf("%q, %q", first.Description, then.Description)
	}
	if r := call(t, s, "editMessageText", "chat_id", forum, "message_id", id, "text", "y"); r.OK {
		t.Error("a message of a deleted topic is there")
	}
	if all := told(t, s); len(all) != 3 || all[0].Made == nil || all[1].Closed == nil || all[2].Reopened == nil {
		t.Errorf("told %+v", all)
	}
}

func TestGeneralIsClosedAndOpenedWithoutANumber(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.CloseTopic(token, forum, 1, alice, true)
	if r := call(t, s, "sendMessage", "chat_id", forum, "text", "x"); !strings.Contains(r.Description, "TOPIC_CLOSED") {
		t.Errorf("%+v", r)
	}
	s.Promote(token, forum, manages)
	if r := call(t, s, "reopenGeneralForumTopic", "chat_id", forum); !r.OK {
		t.Errorf("%+v", r)
	}
	if m := last(t, s); m.Reopened == nil || m.Thread != 0 {
		t.Errorf("%+v", m)
	}
	if r := call(t, s, "sendMessage", "chat_id", forum, "text", "x"); !r.OK {
		t.Errorf("%+v", r)
	}
}

func TestAPrivateChatWithTopicsHasNoPlainLane(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.SetFlags(token, map[string]any{"has_topics_enabled": true})
	s.Say(token, Say{Chat: alice, Text: "one"})
	all := told(t, s)
	if len(all) != 2 || all[0].Made == nil || !all[0].Made.Implicit || all[1].Thread != all[0].ID || all[1].Text != "one" {
		t.Fatalf("%+v", all)
	}
	if r := call(t, s, "sendMessage", "chat_id", alice, "text", "x", "message_thread_id", all[0].ID); !r.OK || !strings.Contains(string(r.Result), "message_thread_id") {
		t.Errorf("%+v", r)
	}
	if r := call(t, s, "sendMessage", "chat_id", alice, "text", "x", "message_thread_id", 4711); !strings.Contains(r.Description, "message thread not found") {
		t.Errorf("%+v", r)
	}
}

func TestWhoIsNoPersonIsShownAsSuch(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.SayAsChannel(token, Say{Chat: group, From: alice, Text: "/x"}, -100900)
	s.Forwarded(token, Say{Chat: group, From: alice, Text: "/x"}, -100900)
	all := told(t, s)
	if len(all) != 2 || all[0].From.ID != channelAuthor || all[0].As.ID != -100900 || all[1].From.ID != serviceItself || !all[1].Auto {
		t.Errorf("%+v", all)
	}
	s.MakeAdmin(group)
	s.Say(token, Say{Chat: group, From: alice, Text: "talk"})
	if m := last(t, s); m.Text != "talk" {
		t.Errorf("an administrator does not hear %+v", m)
	}
	s.Migrate(token, group, target)
	if all := told(t, s)[3:]; len(all) != 2 || all[0].To != target || all[1].OldHome != group || all[1].ID != 1 {
		t.Errorf("%+v", all)
	}
}

package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cligate/internal/chat"
)

const (
	maxTopicName = 128 // characters
	topicsShown  = 30
)

// topic is /topic and /topic new <name> [workspace].
func topic(ctx context.Context, s *Set, c Call) (Result, error) {
	if !s.service(c).Topics {
		return c.say("topic_unsupported"), nil
	}
	verb, rest, _ := strings.Cut(c.Arg, " ")
	switch {
	case c.Arg == "":
		return topics(ctx, s, c)
	case verb == "new" && strings.TrimSpace(rest) != "":
		return newTopic(s, c, strings.TrimSpace(rest)), nil
	}
	return failed(chat.Invalid, clip(c.Arg))
}

// newTopic orders a topic. It is made after this message has ended, once, by
// the sender of the chat; what becomes of it is told there.
func newTopic(s *Set, c Call, words string) Result {
	path := c.Conv.Workspace
	if i := strings.LastIndex(words, " "); i > 0 {
		for _, w := range s.cfg.Workspaces {
			if w.Name == words[i+1:] {
				path, words = w.Path, words[:i]
				break
			}
		}
	}
	name := chat.Clip(chat.PlainName(words), maxTopicName)
	if name == "" {
		return c.say("topic_name")
	}
	hello := c.text("topic_hello", "agent", s.agentTitle(c.Conv.Agent), "workspace", s.workspaceName(path))
	return Result{Topic: &TopicOrder{
		Topic:    chat.Topic{Name: name, Agent: c.Conv.Agent, Workspace: path, Lang: c.Lang},
		Greeting: chat.Reply{Kind: chat.ReplyNotice, Markdown: hello},
	}}
}

// topics shows where the caller is, and what the other topics of the chat work
// on.
func topics(ctx context.Context, s *Set, c Call) (Result, error) {
	p := c.In.Place
	all, err := s.Rooms.Seats(ctx, p.Account, p.Chat)
	if err != nil {
		return Result{}, fmt.Errorf("read the topics: %w", err)
	}
	here := c.text("topic_outside")
	if p.Thread != "" {
		here = c.text("topic_here", "name", topicName(p))
	}
	lines := []string{here + " · " + s.workspaceName(c.Conv.Workspace)}
	all = slices.DeleteFunc(all, func(o chat.Seat) bool {
		return o.Thread == "" || o.Thread == p.Thread || o.Person != "" && o.Person != c.In.Sender.ID
	})
	for _, o := range all[:min(len(all), topicsShown)] {
		lines = append(lines, "· "+s.topicLine(c, o))
	}
	if more := len(all) - topicsShown; more > 0 {
		lines = append(lines, "· …")
	}
	return notice(strings.Join(append(lines, c.text("topic_how")), "\n")), nil
}

func (s *Set) topicLine(c Call, o chat.Seat) string {
	parts := []string{clip(topicName(o.Place))}
	if o.Workspace != "" {
		parts = append(parts, s.workspaceName(o.Workspace))
	}
	switch o.State {
	case chat.PlaceShut:
		parts = append(parts, c.text("topic_closed"))
	case chat.PlaceVanished:
		parts = append(parts, c.text("topic_gone"))
	case chat.PlaceOpen, chat.PlaceParked:
	}
	if o.Waiting > 0 && o.State != chat.PlaceOpen {
		parts = append(parts, c.text("topic_waiting", "n", o.Waiting))
	}
	return strings.Join(parts, " · ")
}

func topicName(p chat.Place) string {
	if p.Title != "" {
		return p.Title
	}
	return "#" + p.Thread
}

// lost is what is chosen about messages whose topic is closed or deleted:
// <place>:here, :new or :drop.
func lost(ctx context.Context, s *Set, c Call) (Result, error) {
	ref, what, _ := strings.Cut(c.Arg, ":")
	n, err := number(ref)
	if err != nil {
		return Result{}, err
	}
	seat, err := s.Rooms.Seat(ctx, n)
	switch {
	case err != nil && chat.CodeOf(err) != chat.Missing:
		return Result{}, fmt.Errorf("read the topic: %w", err)
	case err != nil, seat.Account != c.In.Place.Account, seat.Chat != c.In.Place.Chat:
		return failed(chat.Invalid, "") // a button of this chat never names a topic of another
	case seat.Person != "" && seat.Person != c.In.Sender.ID && !c.In.Role.Covers(chat.RoleOperator):
		return failed(chat.Denied, "")
	case seat.Waiting == 0:
		return c.say("lost_nothing"), nil
	}
	switch what {
	case "here":
		if err := s.Rooms.Redirect(ctx, seat.ID, c.In.Place.ID); err != nil {
			return Result{}, fmt.Errorf("send the topic's messages on: %w", err)
		}
		return c.say("lost_here", "n", seat.Waiting), nil
	case "drop":
		if _, err := s.Rooms.Discard(ctx, seat.ID); err != nil {
			return Result{}, fmt.Errorf("drop the topic's messages: %w", err)
		}
		return c.say("lost_dropped", "n", seat.Waiting), nil
	case "new":
		return Result{Topic: &TopicOrder{
			Key:      fmt.Sprintf("lost/%d/%s", seat.ID, c.In.Ref.ID), // pressed twice, made once
			Topic:    chat.Topic{Name: chat.Clip(topicName(seat.Place), maxTopicName), From: seat.ID, Lang: c.Lang},
			Greeting: chat.Reply{Kind: chat.ReplyNotice, Markdown: c.text("lost_new", "workspace", s.workspaceName(seat.Workspace))},
		}}, nil
	}
	return failed(chat.Invalid, "")
}

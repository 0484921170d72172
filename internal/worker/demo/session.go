package demo

import (
	"context"
	"strings"
	"sync"
	"time"

	"cligate/internal/i18n"
)

// session is one conversation with the demo agent. One prompt runs at a time.
type session struct {
	agent *agent
	book  *book
	dir   string // the workspace

	mu     sync.Mutex
	cancel context.CancelFunc // of the running turn, nil between turns
	set    settings

	seen seen            // what came with the running turn's prompt
	lang string          // of that prompt
	said strings.Builder // the running turn's answer
}

// takeTurn claims the session for a prompt and returns the turn's ctx.
func (s *session) takeTurn(ctx context.Context) (context.Context, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		return nil, false
	}
	ctx, s.cancel = context.WithCancel(ctx)
	return ctx, true
}

// cancelTurn ends the running turn, if there is one.
func (s *session) cancelTurn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		s.cancel()
	}
}

// release ends the claim on the session.
func (s *session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel()
	s.cancel = nil
}

// run answers one prompt and returns the stop reason. The prompt is on the
// disk before anything is answered.
func (s *session) run(ctx context.Context, text string) (reason string, err error) {
	s.said.Reset()
	s.lang = langOf(text)
	if err := s.book.add(entry{Role: roleUser, Text: text, Word: wordIn(text)}); err != nil {
		return "", err
	}
	err = acts{s}.obey(ctx, understand(text))
	if said := s.said.String(); said != "" {
		if bad := s.book.add(entry{Role: roleAgent, Text: said}); bad != nil && err == nil {
			err = bad
		}
	}
	stop := "end_turn"
	if ctx.Err() != nil {
		stop, err = "cancelled", nil
	}
	return stop, err
}

// say sends a piece of the answer.
func (s *session) say(text string) {
	s.said.WriteString(text)
	s.update(chunk("agent_message_chunk", text))
}

// tell sends a text of the catalogue as the answer, a paragraph at a time.
func (s *session) tell(key string, args ...any) {
	for part := range strings.SplitAfterSeq(i18n.T(s.lang, "demo."+key, args...), "\n\n") {
		s.say(part)
	}
}

// update sends a session/update.
func (s *session) update(u map[string]any) {
	s.agent.write(packet{Method: "session/update", Params: map[string]any{"sessionId": s.book.id, "update": u}})
}

// pause waits, and reports false when the turn was cancelled.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func chunk(kind, text string) map[string]any {
	return map[string]any{"sessionUpdate": kind, "content": map[string]any{"type": "text", "text": text}}
}

// commands tells the client which slash command there is.
func commands() map[string]any {
	return map[string]any{
		"sessionUpdate": "available_commands_update",
		"availableCommands": []any{map[string]any{
			"name": "demo", "description": i18n.T(i18n.Default, "demo.command"),
			"input": map[string]any{"hint": "stream 20 | ask | question | plan | tool | markdown | long 50 | files 2 | photos 1 | fail | crash"},
		}, map[string]any{"name": "compact", "description": i18n.T(i18n.Default, "demo.compact")}},
	}
}

package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"cligate/internal/chat"
	"cligate/internal/config"
	"cligate/internal/i18n"
	"cligate/internal/session"
	"cligate/internal/web/api"
	"cligate/internal/worker"
	"cligate/internal/worker/proc"
)

const (
	liveLimit  = 90 * time.Second // for one agent, from its start to its answer
	liveDetail = 120              // runes of an answer that are shown
	liveWords  = "Reply with the single word OK. Use no tools."
)

// CheckLive has every installed agent that sessions may use answer one short
// question, in an empty directory of its own: only that shows that its login still holds. It uses the
// agents' models, and so costs what they cost.
func CheckLive(ctx context.Context, cfg config.Config) []api.Check {
	s, err := proc.New(proc.Config{Token: fmt.Sprintf("doctor-live-%d", os.Getpid())})
	if err != nil {
		return []api.Check{{Name: "answers", Detail: "cannot start processes: " + err.Error()}}
	}
	defer s.Close()
	entries, err := openAgents(cfg, s, slog.New(slog.DiscardHandler))
	if err != nil {
		return []api.Check{{Name: "answers", Detail: err.Error()}}
	}
	return answers(ctx, entries)
}

// answers are those of the installed agents. One that would act without asking
// anybody, which is not allowed, is not asked either.
func answers(ctx context.Context, entries []agentEntry) []api.Check {
	allowed := newAgents(entries).settings()
	var out []api.Check
	for _, e := range entries {
		if e.installed != nil && !e.installed() {
			continue
		}
		c := api.Check{Name: "answer of " + e.name}
		began := time.Now()
		answer, err := askLive(ctx, e, allowed)
		switch c.OK = err == nil; {
		case c.OK:
			c.Detail = fmt.Sprintf("%q after %s", chat.Clip(strings.TrimSpace(answer), liveDetail), time.Since(began).Round(time.Millisecond))
		case chat.CodeOf(err) == chat.Unasked:
			c.OK, c.Detail = true, "not asked: it acts without asking anybody, and unattended is not set for it"
		default:
			c.Detail = unanswered(e, err)
		}
		out = append(out, c)
	}
	return out
}

// unanswered says why an agent did not answer, and what to do about it.
func unanswered(e agentEntry, err error) string {
	key := "error." + string(chat.CodeOf(err))
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %s", liveLimit)
	case i18n.Has(key) && chat.CodeOf(err) != chat.Internal:
		return strings.TrimSpace(i18n.T(i18n.Default, key, "agent", e.title, "detail", i18n.Detail(i18n.Default, err)))
	}
	return err.Error()
}

// askLive opens a session, asks, and leaves nothing behind but what the agent
// keeps of its own sessions.
func askLive(ctx context.Context, e agentEntry, allowed session.Agents) (answer string, err error) {
	ctx, cancel := context.WithTimeout(ctx, liveLimit)
	defer cancel()
	dir, err := os.MkdirTemp("", "cligate-doctor-")
	if err != nil {
		return "", fmt.Errorf("make a workspace: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d := e.defaults()
	w, err := allowed.Open(ctx, e.driver, e.name, worker.Spec{Workspace: dir, Seed: uuid.NewString(), Model: d.Model, Mode: d.Mode, Effort: d.Effort})
	if err != nil {
		return "", err
	}
	defer func() { _ = w.Close() }() // why it ended does not matter any more
	var h listener
	if err := w.Prompt(ctx, chat.Input{Pieces: []chat.Piece{{Text: liveWords}}}, &h); err != nil {
		return "", err
	}
	if text := h.text(); strings.TrimSpace(text) != "" {
		return text, nil
	}
	return "", chat.E(chat.AgentError, "it said nothing", nil)
}

// listener is a host that keeps the answer and allows nothing.
type listener struct {
	mu   sync.Mutex
	said strings.Builder
}

// Emit is described at worker.Host.
func (l *listener) Emit(_ context.Context, e chat.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Kind == chat.EventText {
		l.said.WriteString(e.Text)
	}
	return nil
}

// Ask is described at worker.Host.
func (l *listener) Ask(context.Context, chat.Question) (chat.Answer, error) {
	return chat.Answer{}, chat.E(chat.Denied, "", nil)
}

func (l *listener) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said.String()
}

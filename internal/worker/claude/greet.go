package claude

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// greeting is the agent's answer to "initialize".
type greeting struct {
	Version  string `json:"claude_code_version"`
	Commands []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"commands"`
	Models []offer `json:"models"`
}

// offer is a model that can be chosen.
type offer struct {
	Value    string   `json:"value"`
	Resolved string   `json:"resolvedModel"`
	Efforts  []string `json:"supportedEffortLevels"`
}

// oldest is the version from which on the agent is known to say all that is
// needed here.
const oldest = "2.1"

// greet greets the agent and learns what it can do.
func greet(ctx context.Context, w *Worker, resumed bool, limit time.Duration) error {
	body, err := w.link.call(ctx, limit+time.Second, object{"subtype": "initialize"})
	switch {
	case err == nil:
	case errors.Is(err, errGone), errors.Is(err, errTorn):
		if err := w.proc.Terminate(ctx); err != nil {
			return fmt.Errorf("end an agent that did not start: %w", err)
		}
		<-w.gone
		return startFailure(w.known.lastWords(), w.proc)
	default:
		return err
	}
	var g greeting
	if err := decode(body, &g); err != nil {
		return chat.E(chat.Protocol, "", fmt.Errorf("read the agent's greeting: %w", err))
	}
	if err := worker.Recent(g.Version, oldest); err != nil {
		return err
	}
	w.known.introduce(g.info(w.cfg.modes(), w.spec), g.Models)
	if resumed {
		w.known.owe(w.paid(ctx))
	}
	if err := w.observe(ctx); err != nil {
		w.log.DebugContext(ctx, "agent does not show its settings", "err", err)
	}
	return nil
}

func (g greeting) info(modes []string, s worker.Spec) worker.Info {
	info := worker.Info{Version: g.Version, Model: s.Model, Mode: s.Mode, Effort: s.Effort, Modes: modes}
	for _, m := range g.Models {
		info.Models = append(info.Models, m.Value)
		if s.Model == "" && m.Value == "default" {
			info.Model = m.Resolved
		}
	}
	info.Efforts = efforts(g.Models, info.Model)
	for _, c := range g.Commands {
		info.Commands = append(info.Commands, worker.Command{Name: c.Name, Help: c.Description})
	}
	return info
}

// efforts are what the model can do, by either of its names; of one that is not
// listed it is not known.
func efforts(models []offer, name string) []string {
	for _, m := range models {
		if m.Value == name || m.Resolved == name {
			return slices.Clone(m.Efforts)
		}
	}
	return nil
}

// glimpse bounds each question about the agent's own figures: they are not
// worth a wait.
const glimpse = time.Second

// paid asks what the session has cost so far: its total goes on where it ended
// when it is resumed.
func (w *Worker) paid(ctx context.Context) (usd float64, ok bool) {
	body, err := w.link.call(ctx, glimpse, object{"subtype": "get_usage"})
	var u struct {
		Session struct {
			Cost *float64 `json:"total_cost_usd"`
		} `json:"session"`
	}
	if err == nil {
		err = decode(body, &u)
	}
	if err != nil || u.Session.Cost == nil {
		w.log.DebugContext(ctx, "agent does not tell what the session cost", "err", err)
		return 0, false
	}
	return *u.Session.Cost, true
}

// observe asks for the model and the effort in use.
func (w *Worker) observe(ctx context.Context) error {
	body, err := w.link.call(ctx, glimpse, object{"subtype": "get_settings"})
	if err != nil {
		return err
	}
	var s struct {
		Applied struct {
			Model  string `json:"model"`
			Effort string `json:"effort"`
		} `json:"applied"`
	}
	if err := decode(body, &s); err != nil {
		return fmt.Errorf("read the agent's settings: %w", err)
	}
	w.known.applied(s.Applied.Model, s.Applied.Effort)
	return nil
}

// measure asks how full the context is, after a turn that did not tell: a
// command of the agent's own calls no model.
func (w *Worker) measure(ctx context.Context) (used, window int64) {
	body, err := w.link.call(context.WithoutCancel(ctx), glimpse, object{"subtype": "get_context_usage"})
	var c struct {
		Used   int64 `json:"totalTokens"`
		Window int64 `json:"rawMaxTokens"`
	}
	if err == nil {
		err = decode(body, &c)
	}
	if err != nil {
		w.log.DebugContext(ctx, "agent does not tell how full its context is", "err", err)
		return 0, 0
	}
	return c.Used, c.Window
}

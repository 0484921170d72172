package claude

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cligate/internal/chat"
)

// Set implements worker.Worker.
func (w *Worker) Set(ctx context.Context, s chat.Settings) (chat.Applied, error) {
	if err := w.cfg.checkSettings(s); err != nil {
		return "", err
	}
	was, applied := w.known.settings()
	if s.Model != "" && s.Model != was.Model {
		if err := w.set(ctx, object{"subtype": "set_model", "model": s.Model}); err != nil {
			return "", err
		}
		was.Model = s.Model
		w.known.want(was)
		if err := w.observe(ctx); err != nil { // the next run tells, too
			w.log.DebugContext(ctx, "agent does not show its settings", "err", err)
		}
	}
	if s.Mode != "" && s.Mode != was.Mode {
		if err := w.set(ctx, object{"subtype": "set_permission_mode", "mode": s.Mode}); err != nil {
			return "", err
		}
		w.known.observe(s.Mode)
	}
	if s.Effort != "" && s.Effort != w.known.about().Effort {
		if err := w.setEffort(ctx, s.Effort); err != nil {
			return "", err
		}
	}
	return applied, nil
}

// setEffort changes the effort. The agent takes any word and applies those that
// it knows, so it is asked afterwards.
func (w *Worker) setEffort(ctx context.Context, effort string) error {
	can := w.known.about().Efforts
	if len(can) > 0 && !slices.Contains(can, effort) {
		return noEffort(can, effort)
	}
	err := w.set(ctx, object{"subtype": "apply_flag_settings", "settings": object{"effortLevel": effort}})
	if err != nil {
		return err
	}
	if err := w.observe(ctx); err != nil {
		return chat.E(chat.Unsupported, "", err)
	}
	if w.known.about().Effort != effort {
		return noEffort(can, effort)
	}
	return nil
}

func noEffort(can []string, effort string) error {
	return chat.E(chat.Invalid, "effort: "+strings.Join(can, ", "), fmt.Errorf("effort %q", effort))
}

// set changes one setting.
func (w *Worker) set(ctx context.Context, body object) error {
	_, err := w.link.call(ctx, w.cfg.ControlTimeout, body)
	var no *refusalError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &no):
		return chat.E(chat.Invalid, shorten(no.text), err)
	case errors.Is(err, errGone):
		return w.crash()
	default:
		return err
	}
}

package claude

import (
	"context"
	"errors"

	"cligate/internal/chat"
)

// Set implements worker.Worker.
func (w *Worker) Set(ctx context.Context, s chat.Settings) (chat.Applied, error) {
	if err := checkSettings(s); err != nil {
		return "", err
	}
	was, applied := w.known.settings()
	if s.Model != "" && s.Model != was.Model {
		if err := w.set(ctx, object{"subtype": "set_model", "model": s.Model}); err != nil {
			return "", err
		}
		was.Model = s.Model
		w.known.want(was)
	}
	if s.Mode != "" && s.Mode != was.Mode {
		if err := w.set(ctx, object{"subtype": "set_permission_mode", "mode": s.Mode}); err != nil {
			return "", err
		}
		was.Mode = s.Mode
		w.known.want(was)
	}
	return applied, nil
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

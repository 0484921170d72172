package app

import (
	"context"
	"io"
	"log/slog"
	"strings"

	"cligate/internal/config"
)

// NewLog makes the daemon's logger. Every record passes one redaction: no
// secret of the configuration leaves through it, whatever station wrote it.
func NewLog(w io.Writer, cfg config.Config) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		level = slog.LevelInfo
	}
	opts := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewTextHandler(w, opts)
	if cfg.Log.Format == "json" {
		h = slog.NewJSONHandler(w, opts)
	}
	var pairs []string
	for _, s := range cfg.Secrets() {
		pairs = append(pairs, s, "[redacted]")
	}
	return slog.New(redactor{h, strings.NewReplacer(pairs...)})
}

// redactor replaces secrets in everything that is logged.
type redactor struct {
	slog.Handler
	hide *strings.Replacer
}

// Handle implements slog.Handler.
func (r redactor) Handle(ctx context.Context, rec slog.Record) error {
	clean := slog.NewRecord(rec.Time, rec.Level, r.hide.Replace(rec.Message), rec.PC)
	rec.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(r.attr(a))
		return true
	})
	return r.Handler.Handle(ctx, clean)
}

// WithAttrs implements slog.Handler.
func (r redactor) WithAttrs(as []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(as))
	for i, a := range as {
		clean[i] = r.attr(a)
	}
	return redactor{r.Handler.WithAttrs(clean), r.hide}
}

// WithGroup implements slog.Handler.
func (r redactor) WithGroup(name string) slog.Handler {
	return redactor{r.Handler.WithGroup(name), r.hide}
}

func (r redactor) attr(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(r.hide.Replace(a.Value.String()))
	case slog.KindGroup:
		var kids []slog.Attr
		for _, k := range a.Value.Group() {
			kids = append(kids, r.attr(k))
		}
		a.Value = slog.GroupValue(kids...)
	case slog.KindAny:
		// Errors and the like are logged as their text; that text is cleaned.
		text := slog.AnyValue(a.Value.Any()).String()
		if clean := r.hide.Replace(text); clean != text {
			a.Value = slog.StringValue(clean)
		}
	default: // numbers, times: nothing to hide
	}
	return a
}

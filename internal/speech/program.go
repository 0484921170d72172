package speech

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/worker/proc"
)

// program understands speech by running a program.
type program struct {
	cfg     Config
	starter *proc.Starter
}

func (p program) hear(ctx context.Context, file chat.FileRef) (string, error) {
	path, err := proc.Find(p.cfg.Command[0])
	if err != nil {
		return "", chat.Say(chat.NotInstalled, "speech.not_installed", err)
	}
	// The path is absolute, so it is never taken for an option.
	fill := strings.NewReplacer(Placeholder, file.Path, LanguagePlaceholder, p.cfg.Language)
	args := make([]string, len(p.cfg.Command)-1)
	for i, a := range p.cfg.Command[1:] {
		args[i] = fill.Replace(a)
	}
	// Some programs write files beside what they print.
	dir, err := os.MkdirTemp("", "cligate-speech-")
	if err != nil {
		return "", fmt.Errorf("make a folder for a program: %w", err)
	}
	defer os.RemoveAll(dir)
	run, err := p.starter.Start(ctx, proc.Spec{Path: path, Args: args, Dir: dir, Env: proc.BuildEnv(p.cfg.Env...)})
	if err != nil {
		return "", chat.Say(chat.NotInstalled, "speech.not_started", err)
	}
	defer func() { _ = run.Close() }()
	defer context.AfterFunc(ctx, func() { _ = run.Close() })()
	_ = run.CloseWrite()
	words, err := io.ReadAll(io.LimitReader(run, mostWords+1))
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", fmt.Errorf("read the words of a program: %w", err)
	case len(words) > mostWords:
		return "", chat.Say(chat.AgentError, "speech.endless", nil)
	}
	select {
	case <-run.Done():
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if code, signal := run.Exit(); code != 0 {
		why := fmt.Errorf("exit code %d, signal %d, stderr %q", code, signal, tail(run.Stderr()))
		return "", chat.Say(chat.AgentError, "speech.failed", why)
	}
	return string(words), nil
}

// tail is the end of what a program complained about, for the log.
func tail(s string) string {
	const most = 500
	return strings.ToValidUTF8(s[max(0, len(s)-most):], "")
}

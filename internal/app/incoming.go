package app

import (
	"context"
	"fmt"
	"io"

	"cligate/internal/chat"
	"cligate/internal/inbox"
	"cligate/internal/platform"
	"cligate/internal/speech"
)

// mb is the unit of sizes in the configuration, in bytes.
const mb = 1 << 20

// openInbox makes the station that keeps what people send beside words.
func (a *App) openInbox(adapters map[string]platform.Adapter) (*inbox.Keeper, error) {
	s := a.cfg.Speech
	listener, err := speech.New(speech.Config{
		Command: s.Command, Env: s.Env, URL: s.URL, Key: s.Key, Model: s.Model, Language: s.Language,
		Timeout: s.Timeout, MaxSize: s.MaxSizeMB * mb, MaxTime: s.MaxDuration, Log: a.log,
	}, a.starter)
	if err != nil {
		return nil, fmt.Errorf("speech: %w", err)
	}
	d := inbox.Deps{Source: sources{adapters}, Ledger: a.db.Runs(), Voice: a.core.voice}
	if listener != nil {
		d.Ear = listener
	}
	var folders []string
	for _, w := range workspaces(a.cfg) {
		folders = append(folders, w.Path)
	}
	i := a.cfg.Inbox
	a.core.inbox, err = inbox.New(d, inbox.Config{
		FileMax: i.FileMaxMB * mb, TotalMax: i.TotalMaxMB * mb, Keep: i.Keep, Folders: folders, Log: a.log,
	})
	return a.core.inbox, err
}

// sources hand out the files of all accounts.
type sources struct{ adapters map[string]platform.Adapter }

// Fetch implements inbox.Source.
func (s sources) Fetch(ctx context.Context, account string, f chat.FileRef, w io.Writer) error {
	a, ok := s.adapters[account]
	if !ok {
		return chat.Say(chat.Missing, "app.no_account", nil)
	}
	return a.Fetch(ctx, f, w)
}

// incoming is the inbox as turns and the router want it.
type incoming struct{ *inbox.Keeper }

// Prepare implements turn.Files and router.Files.
func (i incoming) Prepare(ctx context.Context, t chat.Turn, workspace, lang string) (chat.Input, error) {
	return i.Keeper.Prepare(ctx, inbox.Order{Turn: t, Workspace: workspace, Lang: lang})
}

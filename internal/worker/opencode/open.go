package opencode

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Open implements worker.Driver.
func (d *Driver) Open(ctx context.Context, s worker.Spec) (worker.Worker, error) {
	if err := checkSpec(s); err != nil {
		return nil, err
	}
	if err := checkWorkspace(s.Workspace); err != nil {
		return nil, err
	}
	l, err := d.acquire(ctx, filepath.Clean(s.Workspace))
	if err != nil {
		return nil, err
	}
	late := chat.StartTimeout
	limit := d.cfg.StartTimeout
	if s.NativeID != "" {
		late, limit = chat.LoadTimeout, d.cfg.LoadTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, chat.E(late, "", errors.New("the session was not ready in time")))
	defer cancel()
	w, err := d.open(ctx, s, l)
	if err != nil {
		d.release(l)
		return nil, err
	}
	return w, nil
}

func checkWorkspace(dir string) error {
	if !filepath.IsAbs(dir) {
		return chat.E(chat.Invalid, "workspace", fmt.Errorf("workspace %q is not absolute", dir))
	}
	info, err := os.Stat(dir)
	if err != nil {
		return chat.E(chat.Invalid, "workspace", err)
	}
	if !info.IsDir() {
		return chat.E(chat.Invalid, "workspace", fmt.Errorf("workspace %q is no directory", dir))
	}
	return nil
}

// open makes or finds the session on a server, and gives it its settings.
func (d *Driver) open(ctx context.Context, s worker.Spec, l *lease) (*Worker, error) {
	a := l.server.api
	known, err := learn(ctx, a)
	if err != nil {
		return nil, openError(ctx, l.server, err)
	}
	settings, err := known.choose(chat.Settings{Model: s.Model, Mode: s.Mode, Effort: s.Effort})
	if err != nil {
		return nil, err
	}
	var session sessionInfo
	if s.NativeID != "" {
		session, err = a.session(ctx, s.NativeID)
	} else {
		session, err = a.create(ctx, object{})
	}
	if err != nil {
		return nil, openError(ctx, l.server, err)
	}
	if !idGrammar.MatchString(session.ID) {
		return nil, chat.E(chat.Protocol, "", fmt.Errorf("the session has the id %q", session.ID))
	}
	w := newWorker(d, l, s, session, known, settings)
	if err := known.checkEffort(settings.Effort, w.model); err != nil { // the model is another than when it was chosen
		w.log.InfoContext(ctx, "effort not used", "err", err)
		w.settings.Effort, w.effort = "", ""
	}
	if s.NativeID != "" {
		if err := w.settleIn(ctx); err != nil {
			return nil, openError(ctx, l.server, err)
		}
	}
	if err := w.guard(ctx, settings.Mode); err != nil {
		return nil, openError(ctx, l.server, err)
	}
	w.begin()
	return w, nil
}

// openError names what went wrong at an open.
func openError(ctx context.Context, s *server, err error) error {
	no := (*refusalError)(nil)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case isClosed(s.life.Done()):
		return chat.E(chat.Crashed, howEnded(s.proc), errors.Join(err, exitOf(s.proc)))
	case errors.As(err, &no) && no.unknown():
		return chat.E(chat.NoSession, "", err)
	case errors.As(err, &no):
		return no.asError(no)
	}
	return chat.E(chat.Protocol, "", err)
}

// settleIn makes sure that a session rests before it is used: what an earlier
// process of ours began on this server is over.
func (w *Worker) settleIn(ctx context.Context) error {
	last, err := w.api.messages(ctx, w.id, 1)
	if err != nil {
		return err
	}
	for _, m := range last {
		w.note(m.Info)
	}
	all, err := w.api.statuses(ctx)
	if err != nil {
		return err
	}
	if s, busy := all[w.id]; busy && s.Type != statusIdle {
		return w.api.abort(ctx, w.id)
	}
	return nil
}

// guard gives the session the rules that it needs in a mode.
func (w *Worker) guard(ctx context.Context, mode string) error {
	rules := wanted(w.known.agents, mode)
	w.mu.Lock()
	has := w.rules
	w.mu.Unlock()
	if rules == nil || ends(has, rules) {
		return nil
	}
	var s sessionInfo // the server puts new rules behind those that it has
	if err := w.api.quick(ctx, http.MethodPatch, "/session/"+w.id, object{"permission": rules}, &s); err != nil {
		return err
	}
	if !ends(s.Permission, rules) {
		return chat.E(chat.Protocol, "", errors.New("the server does not keep a session's permissions"))
	}
	w.mu.Lock()
	w.rules = s.Permission
	w.mu.Unlock()
	return nil
}

// known is what a server says about what can be chosen.
type known struct {
	agents   []agentInfo
	modes    []string
	models   map[string]model
	model    string // that the agent starts with, as far as it says
	commands []commandInfo
}

// model is what is known about one.
type model struct {
	efforts    []string
	image, pdf bool
	window     int64 // tokens
}

func learn(ctx context.Context, a *api) (*known, error) {
	k := &known{models: map[string]model{}}
	var p providers
	var config struct {
		Model string `json:"model"`
	}
	for path, out := range map[string]any{
		"/agent": &k.agents, "/config/providers": &p, "/command": &k.commands, "/config": &config,
	} {
		if err := a.call(ctx, http.MethodGet, path, nil, out); err != nil {
			return nil, fmt.Errorf("learn what can be chosen: %w", err)
		}
	}
	k.model = config.Model
	for _, a := range k.agents {
		if a.Mode != "subagent" && !a.Hidden {
			k.modes = append(k.modes, a.Name)
		}
	}
	slices.Sort(k.modes)
	for _, provider := range p.Providers {
		for id, m := range provider.Models {
			if m.Status == "deprecated" {
				continue
			}
			k.models[provider.ID+"/"+id] = model{
				efforts: inOrder(slices.Collect(maps.Keys(m.Variants))), window: m.Limit.Context,
				image: m.Capabilities.Input.Image, pdf: m.Capabilities.Input.PDF,
			}
		}
	}
	return k, nil
}

// efforts in the order in which they are shown.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

func inOrder(names []string) []string {
	slices.SortFunc(names, func(a, b string) int {
		if d := slices.Index(efforts, a) - slices.Index(efforts, b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names
}

// modeAsk is the mode to start in where nobody chose: always a stated one.
const modeAsk = "build"

// choose checks what is wished for and fills in the mode.
func (k *known) choose(s chat.Settings) (chat.Settings, error) {
	if s.Mode == "" {
		s.Mode = modeAsk
		if !slices.Contains(k.modes, modeAsk) && len(k.modes) > 0 {
			s.Mode = k.modes[0]
		}
	}
	if !slices.Contains(k.modes, s.Mode) {
		return s, chat.E(chat.Invalid, "mode: "+strings.Join(k.modes, ", "), fmt.Errorf("mode %q", s.Mode))
	}
	if _, ok := k.models[s.Model]; s.Model != "" && !ok {
		return s, chat.E(chat.ModelUnknown, s.Model, fmt.Errorf("model %q", s.Model))
	}
	return s, nil
}

// checkEffort refuses an effort that a model does not have; the agent itself
// takes any word and ignores it.
func (k *known) checkEffort(effort, in string) error {
	if effort == "" || in == "" {
		return nil
	}
	if has := k.models[in].efforts; !slices.Contains(has, effort) {
		return chat.E(chat.Invalid, "effort: "+strings.Join(has, ", "), fmt.Errorf("effort %q of %s", effort, in))
	}
	return nil
}

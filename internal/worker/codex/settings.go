package codex

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// known is what is known about the session; callers and the reader share it.
type known struct {
	models []model

	mu      *sync.Mutex
	native  string // the session's id, once there is something to resume
	info    worker.Info
	wanted  chat.Settings // for the next turn; what is empty stays as it is
	applied string        // the mode that the server was told last
	before  string        // the mode to go back to when a plan was accepted
	total   tokens        // of the thread, as last told
}

func newKnown(srv *server, s worker.Spec, got opened) known {
	k := known{
		models: srv.models, mu: new(sync.Mutex), native: s.NativeID,
		wanted: chat.Settings{Model: got.Model, Mode: s.Mode, Effort: cmp.Or(s.Effort, got.Effort)},
		before: modeAsk, applied: s.Mode,
		info: worker.Info{
			Version: srv.version, Model: got.Model, Mode: s.Mode, Effort: cmp.Or(s.Effort, got.Effort),
			Modes: slices.Clone(modes), Commands: []worker.Command{{Name: "compact", Help: "make room: replace the conversation so far by a summary"}},
		},
	}
	for _, m := range srv.models {
		k.info.Models = append(k.info.Models, m.ID)
	}
	k.info.Efforts = k.efforts(got.Model)
	return k
}

// efforts are those of a model; of one that is not listed, those of the default
// one.
func (k *known) efforts(name string) []string {
	for _, m := range k.models {
		if m.ID == name {
			return m.efforts()
		}
	}
	for _, m := range k.models {
		if m.Default {
			return m.efforts()
		}
	}
	return nil
}

func (k *known) id() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.native
}

// remembered notes that the session can be resumed from now on, and reports
// whether that is news.
func (k *known) remembered(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.native == id {
		return false
	}
	k.native = id
	return true
}

func (k *known) about() worker.Info {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.info
}

// observe notes the model and the effort that the server says it uses.
func (k *known) observe(model, effort string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if model != "" {
		k.info.Model = model
		k.info.Efforts = k.efforts(model)
	}
	k.info.Effort = effort
}

// spent notes the thread's tokens and returns what a call of the model took
// since they were last told. The server tells the same figures more than once.
func (k *known) spent(u tokenUsage) tokens {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.total
	k.total = u.Total
	return u.since(before)
}

// Set implements worker.Worker. Settings go with the next turn.
func (w *Worker) Set(_ context.Context, s chat.Settings) (chat.Applied, error) {
	if isClosed(w.done) {
		return "", w.crash()
	}
	if err := checkSettings(s); err != nil {
		return "", err
	}
	if err := w.known.want(s); err != nil {
		return "", err
	}
	if s == (chat.Settings{}) {
		return chat.AppliedNow, nil
	}
	return chat.AppliedNext, nil
}

// want notes what the next turn is to use.
func (k *known) want(s chat.Settings) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	next := s.Or(k.wanted)
	if all := k.efforts(next.Model); s.Effort != "" && len(all) > 0 && !slices.Contains(all, s.Effort) {
		return chat.E(chat.Invalid, "effort: "+strings.Join(all, ", "), fmt.Errorf("effort %q", s.Effort))
	}
	if s.Mode == modePlan && k.wanted.Mode != modePlan {
		k.before = k.wanted.Mode
	}
	k.wanted = next
	return nil
}

// approved leaves plan mode.
func (k *known) approved() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wanted.Mode = k.before
}

// apply adds what a turn is to use to its request and returns it. The mode's policy is stated
// when it changed: the operator's own settings refine it when a thread is
// opened.
func (k *known) apply(params object) chat.Settings {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := policyOf(k.wanted.Mode)
	if k.wanted.Mode != k.applied {
		params["approvalPolicy"], params["sandboxPolicy"], params["approvalsReviewer"] = p.approval, p.detail, "user"
	}
	var effort any
	if k.wanted.Effort != "" {
		effort = k.wanted.Effort
		params["effort"] = effort
	}
	if k.wanted.Model != "" {
		params["model"] = k.wanted.Model
		params["collaborationMode"] = object{"mode": p.collab, "settings": object{
			"model": k.wanted.Model, "reasoning_effort": effort, "developer_instructions": nil,
		}}
	}
	return k.wanted
}

// started notes that a turn runs with what was applied.
func (k *known) started(s chat.Settings) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.applied = s.Mode
	k.info.Mode = s.Mode
	k.info.Model = cmp.Or(s.Model, k.info.Model)
	k.info.Effort = cmp.Or(s.Effort, k.info.Effort)
	k.info.Efforts = k.efforts(k.info.Model)
}

// planning reports whether plans are to be presented.
func (k *known) planning() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.info.Mode == modePlan
}

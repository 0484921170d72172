package claude

import (
	"errors"
	"sync"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// known is what is known about the session; callers and the reader share it.
type known struct {
	mu     sync.Mutex
	native string // the session's id, as the agent reported it
	info   worker.Info
	models []offer       // with what each can
	wanted chat.Settings // as last set
	paid   float64       // money that the session took before this process
	unpaid bool          // paid is not known
	turn   *turn         // the user's turn that runs
	last   string        // what the agent said before it left
}

func (k *known) id() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.native
}

func (k *known) about() worker.Info {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.info
}

// introduce notes what the agent said about itself when it was greeted.
func (k *known) introduce(i worker.Info, models []offer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.info, k.models = i, models
}

// observe notes the mode that the agent reports; an empty one says nothing.
func (k *known) observe(mode string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if mode != "" {
		k.info.Mode = mode
	}
}

// applied notes the model and the effort that the agent reports.
func (k *known) applied(model, effort string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if model != "" {
		k.info.Model = model
	}
	k.info.Effort = effort
	k.info.Efforts = efforts(k.models, k.info.Model)
}

// owe notes what the session cost so far; not ok when nobody knows.
func (k *known) owe(paid float64, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.paid, k.unpaid = paid, !ok
}

// spent returns what the session cost before this process.
func (k *known) spent() (float64, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.paid, !k.unpaid
}

// identify notes what the agent says about itself when a run begins, and
// reports whether the session's id is another than before. An empty id says
// nothing.
func (k *known) identify(session, model string) (changed bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if model != "" {
		k.info.Model = model
		k.info.Efforts = efforts(k.models, model)
	}
	if session == "" || session == k.native {
		return false
	}
	k.native = session
	return true
}

// enter makes t the running turn.
func (k *known) enter(t *turn) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.turn != nil {
		return chat.E(chat.Conflict, "", errors.New("a turn runs already"))
	}
	k.turn = t
	return nil
}

// leave says that Prompt is about to return.
func (k *known) leave() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.turn = nil
}

// current returns the user's turn that runs; nil as soon as the agent has
// ended it, even if Prompt has not returned yet: what comes then is not its.
func (k *known) current() *turn {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.turn != nil && !k.turn.ended() {
		return k.turn
	}
	return nil
}

// settings returns what was last set, the mode as the agent reports it, and
// when a change would apply.
func (k *known) settings() (chat.Settings, chat.Applied) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.wanted
	if k.info.Mode != "" { // it leaves plan mode by itself
		s.Mode = k.info.Mode
	}
	if k.turn != nil {
		return s, chat.AppliedNext
	}
	return s, chat.AppliedNow
}

func (k *known) want(s chat.Settings) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wanted = s
}

// say notes what the agent said outside any run.
func (k *known) say(text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last = text
}

// lastWords returns what the agent said before it left.
func (k *known) lastWords() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last
}

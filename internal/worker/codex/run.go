package codex

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cligate/internal/chat"
	"cligate/internal/i18n"
)

// run is one turn of the agent: the decoding state of what is told about it.
// Only the reader touches its fields without a lock around them, until done.
type run struct {
	w     *Worker
	t     *turn
	end   func(error)   // closes the turn of a run that nobody asked for
	sent  chan struct{} // closed when the request was written and reported, or could not be
	begun chan struct{} // closed when the agent's id of it is known
	done  chan struct{} // closed when the agent has ended it
	err   error         // its end; written before done is closed
	once  sync.Once     // closes done
	heard atomic.Int64  // how much was told about it

	answer answer
	failed turnError // the last failure that was final
	plan   item      // the plan that was shown last

	mu    sync.Mutex
	name  string
	tools map[string]chat.Tool // that run
	files map[string]item      // patches that run, with what they change
}

func newRun(w *Worker, t *turn) *run {
	return &run{
		w: w, t: t, sent: make(chan struct{}), begun: make(chan struct{}), done: make(chan struct{}),
		tools: map[string]chat.Tool{}, files: map[string]item{},
	}
}

// id is the agent's id of the turn, empty until it is known.
func (r *run) id() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.name
}

// begin notes the id and reports whether it was not known.
func (r *run) begin(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.name != ""
	r.name = id
	if !known {
		close(r.begun)
	}
	return !known
}

// bind gives a run its id. What the agent had begun by itself may be that turn:
// then it is the user's from now on.
func (r *run) bind(id string) {
	if !r.begin(id) {
		return
	}
	if own := r.w.stage.takeOwn(id); own != nil {
		own.leave(nil)
	}
	if r.w.known.remembered(r.w.thread) {
		r.t.emit(chat.Event{Kind: chat.EventSession, Text: r.w.thread})
	}
}

// note takes what is told about the run.
func (r *run) note(method string, n note) {
	r.heard.Add(1)
	<-r.sent // the request was written: whoever wrote it is about to say so
	switch method {
	case onText:
		r.say(r.answer.add(n.ItemID, n.Delta))
	case onThought, onRawThought:
		r.think(n.Delta)
	case onThoughtPart:
		if r.answer.thought {
			r.think("\n\n")
		}
	case onItemStarted:
		r.started(n.Item)
	case onItemCompleted:
		r.completed(n.Item)
	case onPlan:
		r.t.emit(chat.Event{Kind: chat.EventPlan, Plan: steps(n.Plan)})
	case onError:
		r.trouble(n.Error, n.Retry)
	case onTurnCompleted:
		r.finish(n.Turn)
	}
}

// say emits pieces of the answer.
func (r *run) say(pieces []piece) {
	for _, p := range pieces {
		switch {
		case p.text != "":
			r.t.emit(chat.Event{Kind: chat.EventText, Text: p.text})
		case p.ends:
			r.t.emit(chat.Event{Kind: chat.EventBreak})
		}
	}
}

func (r *run) think(text string) {
	if text != "" {
		r.say(r.answer.settle())
		r.answer.thought = true
		r.t.emit(chat.Event{Kind: chat.EventThought, Text: text})
	}
}

func (r *run) notice(key string, args ...any) {
	r.t.emit(chat.Event{Kind: chat.EventNotice, Text: i18n.T(i18n.Default, key, args...)})
}

func (r *run) started(it item) {
	switch it.Type {
	case itemThought:
		r.answer.thought = false
		return
	case itemFile:
		r.mu.Lock()
		r.files[it.ID] = it
		r.mu.Unlock()
	case itemCommand:
		r.t.called(it.ID)
	}
	name := it.tool()
	if name == "" {
		return
	}
	r.say(r.answer.finish())
	t := chat.Tool{ID: it.ID, Name: name, Title: it.title(), State: chat.ToolRunning}
	r.mu.Lock()
	r.tools[t.ID] = t
	r.mu.Unlock()
	r.t.emit(chat.Event{Kind: chat.EventTool, Tool: &t})
}

func (r *run) completed(it item) {
	switch it.Type {
	case itemAnswer:
		r.say(r.answer.whole(it.ID, it.Text))
	case itemThought:
		if !r.answer.thought {
			r.think(strings.Join(it.Summary, "\n\n"))
		}
	case itemPlan:
		r.say(r.answer.finish())
		r.plan = it
	case itemCompact:
		r.notice("codex.compacted")
	default:
		r.toolEnded(it.ID, it.Status == "failed" || it.Status == "declined")
	}
}

// toolEnded reports the end of a tool.
func (r *run) toolEnded(id string, failed bool) {
	r.mu.Lock()
	t, ok := r.tools[id]
	delete(r.tools, id)
	delete(r.files, id)
	r.mu.Unlock()
	if !ok {
		return
	}
	t.State = chat.ToolDone
	if failed {
		t.State = chat.ToolFailed
	}
	r.t.emit(chat.Event{Kind: chat.EventTool, Tool: &t})
}

// closeTools ends the tools that were ended with their turn: the agent does not
// tell.
func (r *run) closeTools() {
	r.mu.Lock()
	open := make([]chat.Event, 0, len(r.tools))
	for _, id := range slices.Sorted(maps.Keys(r.tools)) {
		t := r.tools[id]
		t.State = chat.ToolFailed
		open = append(open, chat.Event{Kind: chat.EventTool, Tool: &t})
	}
	clear(r.tools)
	r.mu.Unlock()
	r.t.last(open...)
}

// file returns the patch that is asked about.
func (r *run) file(id string) item {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.files[id]
}

// trouble takes a failed call of the model. One that is repeated although that
// is no use ends the turn.
func (r *run) trouble(e turnError, again bool) {
	if !again {
		r.failed = e
		return
	}
	r.answer.restart()
	code := e.code()
	r.t.emit(chat.Event{Kind: chat.EventRetry, Code: code, Text: e.text()})
	if code == chat.LoggedOut {
		last := turnError{Message: cmp.Or(e.Details, e.Message)}
		r.t.cancel(chat.E(code, last.text(), errors.New("the model refused the login")))
	}
}

// finish takes the end of the turn.
func (r *run) finish(info turnInfo) {
	if isClosed(r.done) {
		return
	}
	r.say(r.answer.finish())
	if info.Status == turnFailed && info.Error == nil {
		info.Error = &r.failed
	}
	r.once.Do(func() { r.over(info) })
}

// over notes how the turn ended. It is called once.
func (r *run) over(info turnInfo) {
	r.t.mu.Lock()
	r.t.usage.Took += time.Duration(info.Took) * time.Millisecond
	r.t.usage.Model = r.w.Info().Model
	r.t.mu.Unlock()
	switch info.Status {
	case turnCompleted:
	case turnFailed:
		r.err = info.Error.failure(r.w.srv.limitEnds(), time.Now())
	case turnInterrupted:
		r.err = chat.E(chat.Stopped, "", errors.New("the agent ended the turn"))
	default:
		r.err = chat.E(chat.Protocol, "", fmt.Errorf("a turn ended as %q", info.Status))
	}
	if !r.t.quiet() { // else whoever cancelled it does that
		r.closeTools()
	}
	close(r.done)
}

// errTaken says that a user's turn took over what the agent had begun by itself.
var errTaken = errors.New("a user's turn took over")

// leave ends a run that nobody asked for.
func (r *run) leave(err error) {
	if !isClosed(r.done) && err == nil { // a user's turn took it over
		r.t.hush()
		r.t.cancel(errTaken)
		r.end(nil)
		return
	}
	r.t.report()
	r.t.hush()
	r.t.cancel(nil)
	r.end(err)
}

func steps(plan []planStep) []chat.Step {
	all := make([]chat.Step, 0, len(plan))
	for _, s := range plan {
		all = append(all, chat.Step{Text: s.Step, Done: s.Status == "completed"})
	}
	return all
}

// knows reports whether an item is a tool or a message of this run.
func (r *run) knows(id string) bool {
	r.mu.Lock()
	_, tool := r.tools[id]
	r.mu.Unlock()
	return tool || r.answer.seen[id]
}

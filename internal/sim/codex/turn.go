package codex

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"cligate/internal/sim/script"
)

// turn is one turn of a thread.
type turn struct {
	t        *thread
	id, root string
	compacts bool
	deaf     atomic.Bool
	over     chan struct{} // closed by an interrupt
	stop     func()

	mu     sync.Mutex
	steps  []script.Step
	images int
	told   bool      // its end was told already
	fresh  [][]input // that were not looked at
	news   chan struct{}
	items  int

	// The lock of the thread guards these.
	coming int           // words that were accepted and are not here yet
	last   bool          // it takes no words any more
	gone   chan struct{} // closed when it makes room for the next one
}

func newTurn(t *thread, in []input, root string) *turn {
	n := &turn{t: t, id: uuid.NewString(), root: root, over: make(chan struct{}), news: make(chan struct{}, 1), gone: make(chan struct{})}
	if n.root == "" {
		n.root = n.id
	}
	n.stop = sync.OnceFunc(func() { close(n.over) })
	if in != nil {
		n.fresh = [][]input{in}
	}
	return n
}

func (n *turn) info(status string, failure object) object {
	var e any
	if failure != nil {
		e = failure
	}
	return object{"id": n.id, "rootTurnId": n.root, "items": []any{}, "status": status, "error": e, "durationMs": 5}
}

// expect has the turn wait for words that it was told about. The answer that
// says so goes out before anything comes of them. t.mu is held.
func (t *thread) expect(n *turn, in []input) (after func()) {
	n.coming++
	return func() {
		n.push(in)
		t.mu.Lock()
		defer t.mu.Unlock()
		n.coming--
	}
}

// rests reports whether nothing is to be done any more. From then on no words
// are taken.
func (n *turn) rests() bool {
	n.t.mu.Lock()
	coming := n.coming > 0
	n.mu.Lock()
	n.last = !coming && len(n.fresh) == 0
	n.mu.Unlock()
	last := n.last
	n.t.mu.Unlock()
	if coming {
		<-time.After(time.Millisecond)
	}
	return last
}

// push takes words in.
func (n *turn) push(in []input) {
	n.mu.Lock()
	n.fresh = append(n.fresh, in)
	n.mu.Unlock()
	select {
	case n.news <- struct{}{}:
	default:
	}
}

func (n *turn) tell(method string, p object) {
	p["threadId"], p["turnId"] = n.t.id, n.id
	n.t.s.tell(method, p)
}

// item is the id of the next one.
func (n *turn) item(kind string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.items++
	return fmt.Sprintf("%s_%s_%d", kind, n.id[:8], n.items)
}

func (n *turn) ended() bool {
	select {
	case <-n.over:
		return true
	default:
		return false
	}
}

// play runs the turn.
func (n *turn) play() {
	n.t.s.tell("thread/status/changed", object{"threadId": n.t.id, "status": object{"type": "active"}})
	n.t.s.tell("turn/started", object{"threadId": n.t.id, "turn": n.info("inProgress", nil)})
	var failure object
	if n.compacts {
		n.summary()
	} else {
		failure = n.work()
	}
	status := "completed"
	switch {
	case n.ended():
		status, failure = "interrupted", nil
	case failure != nil:
		status = "failed"
		n.tell("error", object{"error": failure, "willRetry": false})
	}
	n.end(func() { n.t.s.tell("turn/completed", object{"threadId": n.t.id, "turn": n.info(status, failure)}) })
}

// end makes room for the next turn and tells the end of this one, once.
func (n *turn) end(tell func()) {
	if n.told {
		return
	}
	n.told = true
	n.t.mu.Lock()
	n.t.turn = nil
	close(n.gone)
	n.t.kept.Last = n.id
	if n.t.parent == nil {
		n.t.save()
	}
	n.t.mu.Unlock()
	tell()
}

func (n *turn) summary() {
	id := n.item("compact")
	n.tell("item/started", object{"item": object{"type": "contextCompaction", "id": id}})
	if pause(n.over, 20*time.Millisecond) {
		n.t.usage(n.id, 50, 5)
		n.tell("item/completed", object{"item": object{"type": "contextCompaction", "id": id}})
	}
}

// take looks at words that came and reports whether there were any: they
// replace what was to be done.
func (n *turn) take() bool {
	n.mu.Lock()
	fresh := n.fresh
	n.fresh = nil
	n.mu.Unlock()
	for _, in := range fresh {
		text := ""
		for _, i := range in {
			if i.Type == "text" {
				text += i.Text
			} else {
				n.images++
			}
		}
		id := n.item("user")
		user := object{"type": "userMessage", "id": id, "content": in}
		n.tell("item/started", object{"item": user})
		n.tell("item/completed", object{"item": user})
		n.t.mu.Lock()
		n.t.kept.Texts = append(n.t.kept.Texts, text)
		if n.t.parent == nil {
			n.t.save()
		}
		n.t.mu.Unlock()
		n.steps = script.Parse(text)
		if slices.ContainsFunc(n.steps, func(st script.Step) bool { return st.Verb == "deaf" }) {
			n.deaf.Store(true) // from the first word on
		}
	}
	return len(fresh) > 0
}

// work does what it was told, and returns the failure that ends it.
func (n *turn) work() object {
	n.take()
	n.t.usage(n.id, 100, 0)
	for !n.ended() {
		for len(n.steps) > 0 && !n.ended() {
			st := n.steps[0]
			n.steps = n.steps[1:]
			if failure := n.step(st); failure != nil {
				return failure
			}
			n.take()
		}
		if n.ended() || !n.take() && n.rests() {
			break
		}
	}
	n.t.usage(n.id, 10, 10)
	return nil
}

// say gives a whole answer.
func (n *turn) say(text string) {
	id := n.begin()
	n.delta(id, text)
	n.finish(id, text)
}

func (n *turn) begin() string {
	id := n.item("msg")
	n.tell("item/started", object{"item": object{"type": "agentMessage", "id": id, "text": ""}})
	return id
}

func (n *turn) delta(id, text string) {
	n.tell("item/agentMessage/delta", object{"itemId": id, "delta": text})
}

func (n *turn) finish(id, text string) {
	n.tell("item/completed", object{"item": object{"type": "agentMessage", "id": id, "text": text}})
}

// stream streams pieces until words come or it is interrupted. An interrupted
// message is never finished.
func (n *turn) stream(count int, gap time.Duration) {
	id := n.begin()
	var all strings.Builder
	for i := range count {
		piece := fmt.Sprintf("tick %d ", i+1)
		all.WriteString(piece)
		n.delta(id, piece)
		select {
		case <-n.over:
			return
		case <-n.news:
			n.finish(id, all.String())
			return
		case <-time.After(gap):
		}
	}
	n.finish(id, all.String())
}

func (n *turn) texts() []string {
	n.t.mu.Lock()
	defer n.t.mu.Unlock()
	return slices.Clone(n.t.kept.Texts)
}

package feishu

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// ackWithin is how long the service waits for the acknowledgement of an event.
const ackWithin = 3 * time.Second

// ladder is when an event that was not acknowledged is pushed again: seen by
// users of the service, four times at most, always under the same event id.
var ladder = []time.Duration{15 * time.Second, 5 * time.Minute, time.Hour, 6 * time.Hour}

// Delivery is one event on its way to an app.
type Delivery struct {
	ID       string // event id
	Type     string
	Message  string    // that it is about, of a new message
	Pushed   time.Time // for the first time
	Taken    time.Time // when it was acknowledged; zero = not yet
	Attempts int
	Acked    bool
	Code     int             // of the last acknowledgement
	Took     time.Duration   // from the push to its acknowledgement
	Data     json.RawMessage // what the acknowledgement carried
	Error    string          // why the last attempt failed
}

// dispatch pushes events to apps.
type dispatch struct {
	s       *Server
	mu      sync.Mutex
	conns   []*conn
	tickets map[string]string // ticket → app
	sent    []*delivery
	steps   []time.Duration
	within  time.Duration
	split   int // bytes of a frame's payload; 0 = never
	wg      sync.WaitGroup
	over    bool
}

type delivery struct {
	Delivery
	app     string
	payload []byte
	done    chan struct{} // closed when it is acknowledged or given up
	again   chan struct{}
}

func newDispatch(s *Server) *dispatch {
	return &dispatch{s: s, tickets: map[string]string{}, steps: ladder, within: ackWithin}
}

// Ladder sets when events that were not acknowledged are pushed again, and how
// long an acknowledgement may take.
func (d *dispatch) Ladder(within time.Duration, steps ...time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.within, d.steps = within, steps
}

// Split makes events travel in frames of at most n bytes.
func (d *dispatch) Split(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.split = n
}

// Deliveries returns what was pushed so far.
func (d *dispatch) Deliveries() []Delivery {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]Delivery, len(d.sent))
	for i, dv := range d.sent {
		out[i] = dv.Delivery
	}
	return out
}

// Pending returns how many events of an app are still to be acknowledged.
// Presses are not among them: they are pushed once.
func (d *dispatch) Pending(app string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, dv := range d.sent {
		if dv.app == app && !dv.Acked && dv.Type != cardAction {
			n++
		}
	}
	return n
}

// PushAgain pushes an event at once that waits for its next step, or that was
// acknowledged already: the service does that too.
func (d *dispatch) PushAgain(event string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, dv := range d.sent {
		if dv.ID != event {
			continue
		}
		if dv.Acked {
			d.start(dv, false)
			return
		}
		select {
		case dv.again <- struct{}{}:
		default:
		}
	}
}

// PushAsNew pushes the content of an event once more under another event id.
func (d *dispatch) PushAsNew(event string) {
	d.mu.Lock()
	i := slices.IndexFunc(d.sent, func(dv *delivery) bool { return dv.ID == event })
	var app, kind string
	var payload []byte
	if i >= 0 {
		app, kind, payload = d.sent[i].app, d.sent[i].Type, d.sent[i].payload
	}
	d.mu.Unlock()
	if payload == nil {
		return
	}
	var body struct {
		Event map[string]any `json:"event"`
	}
	_ = json.Unmarshal(payload, &body)
	d.push(app, kind, body.Event)
}

// push hands an event to an app and goes on until it is acknowledged or given
// up. A card action is pushed once.
func (d *dispatch) push(app, kind string, event any) *delivery {
	d.s.mu.Lock()
	id := d.s.id("ev")
	token := ""
	a := d.s.apps[app]
	if a.hook != nil {
		token = a.hook.token
	}
	told := a.told(d.s, kind)
	d.s.mu.Unlock()
	body, _ := json.Marshal(map[string]any{
		"schema": "2.0",
		"header": map[string]any{
			"event_id": id, "event_type": kind, "create_time": fmt.Sprint(d.s.now().UnixMilli()),
			"token": token, "app_id": app, "tenant_key": Tenant,
		},
		"event": event,
	})
	dv := &delivery{Delivery: Delivery{ID: id, Type: kind, Message: about(event)}, app: app, payload: body, done: make(chan struct{}), again: make(chan struct{}, 1)}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !told {
		dv.Error = unsubscribed
		close(dv.done)
		return dv
	}
	dv.Pushed = time.Now()
	d.sent = append(d.sent, dv)
	d.start(dv, kind != cardAction)
	return dv
}

// unsubscribed is why an event is not pushed at all.
const unsubscribed = "not subscribed"

// about is the id of the new message that an event carries.
func about(event any) string {
	e, _ := event.(map[string]any)
	m, _ := e["message"].(map[string]any)
	id, _ := m["message_id"].(string)
	return id
}

// start begins an attempt; the lock is held.
func (d *dispatch) start(dv *delivery, ladder bool) {
	if d.over {
		return
	}
	d.wg.Go(func() { d.climb(dv, ladder) })
}

// climb tries until the event is acknowledged.
func (d *dispatch) climb(dv *delivery, repeat bool) {
	defer d.finish(dv)
	d.mu.Lock()
	steps := slices.Clone(d.steps)
	d.mu.Unlock()
	for n := 0; ; n++ {
		if d.attempt(dv) || !repeat || n >= len(steps) || !d.s.on(RuleAck) {
			return
		}
		t := time.NewTimer(steps[n])
		select {
		case <-t.C:
		case <-dv.again:
		case <-d.s.closed:
			t.Stop()
			return
		}
		t.Stop()
	}
}

func (d *dispatch) finish(dv *delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-dv.done:
	default:
		close(dv.done)
	}
}

// attempt pushes once and reports whether the event was acknowledged.
func (d *dispatch) attempt(dv *delivery) bool {
	d.s.mu.Lock()
	hook := d.s.apps[dv.app].hook
	d.s.mu.Unlock()
	d.mu.Lock()
	dv.Attempts++
	within := d.within
	d.mu.Unlock()
	began := time.Now()
	var code int
	var data []byte
	var err error
	if hook != nil {
		code, data, err = hook.post(dv.payload, within)
	} else {
		code, data, err = d.overSocket(dv, within)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	dv.Took, dv.Code, dv.Error = time.Since(began), code, ""
	if err != nil {
		dv.Error = err.Error()
		return false
	}
	if code != 200 {
		dv.Error = fmt.Sprintf("answered with %d: %.200s", code, data)
	}
	if code == 200 {
		dv.Acked, dv.Data = true, data
		if dv.Taken.IsZero() {
			dv.Taken = time.Now()
		}
	}
	return code == 200
}

// overSocket sends the event to one of the app's connections, whichever.
func (d *dispatch) overSocket(dv *delivery, within time.Duration) (int, []byte, error) {
	d.mu.Lock()
	var mine []*conn
	for _, c := range d.conns {
		if c.app == dv.app {
			mine = append(mine, c)
		}
	}
	split := d.split
	d.mu.Unlock()
	if len(mine) == 0 {
		return 0, nil, fmt.Errorf("no connection of app %s", dv.app)
	}
	c := mine[rand.IntN(len(mine))]
	return c.event(dv.ID, dv.payload, split, within)
}

// hangUp ends everything that is still to be pushed.
func (d *dispatch) hangUp() {
	d.mu.Lock()
	d.over = true
	conns := slices.Clone(d.conns)
	d.mu.Unlock()
	for _, c := range conns {
		c.close()
	}
	d.wg.Wait()
}

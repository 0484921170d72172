package feishu

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// echoLate is when an event that has not come will not come: the service
	// pushes one that was not acknowledged again after 15 s and after 5 min.
	echoLate = 7 * time.Minute
	// echoMost is how many of the last reactions are judged.
	echoMost = 24
	// echoLeast is how many have to be missing, at least.
	echoLeast = 3
)

// kinds are the types of events that came so far.
type kinds struct {
	mu sync.Mutex
	m  map[string]bool
}

func (k *kinds) note(kind string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.m == nil {
		k.m = map[string]bool{}
	}
	if len(k.m) < 64 {
		k.m[kind] = true
	}
}

func (k *kinds) kinds() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(maps.Keys(k.m))
}

// overhear notes what an event tells about the connection itself.
func (a *Adapter) overhear(payload []byte) {
	var e struct {
		Header struct {
			Type string `json:"event_type"`
			App  string `json:"app_id"`
		} `json:"header"`
		Event struct {
			Message  string `json:"message_id"`
			By       string `json:"operator_type"`
			App      string `json:"app_id"`
			Reaction struct {
				Emoji string `json:"emoji_type"`
			} `json:"reaction_type"`
		} `json:"event"`
	}
	_ = json.Unmarshal(payload, &e) // one of another form is the decoder's affair
	if e.Header.Type == "" || e.Header.App != a.cfg.AppID {
		return
	}
	a.seen.note(e.Header.Type)
	if e.Header.Type == eventReaction && e.Event.By == "app" && e.Event.App == a.cfg.AppID {
		a.echo.came(e.Event.Message, e.Event.Reaction.Emoji)
	}
	if theft, _ := a.echo.verdict(); theft {
		a.link.Tell(string(troubleShared), says(a.cfg.Lang, troubleShared), true)
	}
}

// echo finds out whether another program is connected as this app. The service
// gives each event to one connection, whichever, and tells nobody how many there
// are. But it also tells an app of its own reactions; those that we made and do
// not hear of went to somebody else.
type echo struct {
	now func() time.Time

	mu      sync.Mutex
	waiting map[string]time.Time // by message and emoji
	order   []string
	heard   bool   // at least one came: they are subscribed
	last    []bool // of the last ones, whether it came
}

func newEcho(now func() time.Time) *echo { return &echo{now: now, waiting: map[string]time.Time{}} }

// made notes a reaction of ours.
func (e *echo) made(message, emoji string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := message + "/" + emoji
	if _, known := e.waiting[key]; !known {
		e.order = append(e.order, key)
	}
	e.waiting[key] = e.now()
	e.expire()
}

// came notes that we were told of one.
func (e *echo) came(message, emoji string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = true
	key := message + "/" + emoji
	if _, ok := e.waiting[key]; ok {
		delete(e.waiting, key)
		e.judge(true)
	}
	e.expire()
}

// forget takes back what made noted: there was no reaction.
func (e *echo) forget(message, emoji string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.waiting, message+"/"+emoji)
}

// away forgets what is waited for: we were not connected, and what was pushed
// meanwhile may be lost without anybody's doing.
func (e *echo) away() {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.waiting)
	e.order = nil
}

// verdict reports whether somebody else takes events; known is false while there
// is too little to tell by.
func (e *echo) verdict() (theft, known bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.expire()
	missing := 0
	for _, ok := range e.last {
		if !ok {
			missing++
		}
	}
	if !e.heard || len(e.last) < 2*echoLeast {
		return false, false
	}
	return missing >= echoLeast && 5*missing >= len(e.last), true
}

// expire judges what is too late. The lock is held.
func (e *echo) expire() {
	for len(e.order) > 0 {
		key := e.order[0]
		at, waits := e.waiting[key]
		if waits && e.now().Sub(at) < echoLate {
			return
		}
		e.order = e.order[1:]
		if waits {
			delete(e.waiting, key)
			e.judge(false)
		}
	}
}

func (e *echo) judge(ok bool) {
	if e.last = append(e.last, ok); len(e.last) > echoMost {
		e.last = e.last[1:]
	}
}

package opencode

import (
	"net/http"
	"os"
	"time"
)

// queued is a prompt that came while its session was busy. Its message is in
// the session at once; the model gets it with its next call.
type queued struct {
	user string
	in   fakePrompt
}

// enter puts the message of a prompt into a session and tells it. The caller
// holds f.mu.
func (f *fake) enter(s *fakeSession, in fakePrompt, model string) object {
	id := s.Info["id"].(string)
	message := f.id("msg")
	user := object{"id": message, "role": "user", "sessionID": id, "agent": in.Agent, "model": object{"providerID": "mock", "modelID": model}, "time": object{"created": time.Now().UnixMilli()}}
	parts := []object{}
	for _, p := range in.Parts {
		if p["id"] == nil { // a client may choose it
			p["id"] = f.id("prt")
		}
		p["messageID"], p["sessionID"] = message, id
		parts = append(parts, p)
	}
	s.Messages = append(s.Messages, fakeMessage{user, parts})
	s.Info["model"] = map[string]any{"id": model, "providerID": "mock"}
	f.save(s)
	f.tell("message.updated", object{"sessionID": id, "info": user})
	for _, p := range parts {
		f.tell("message.part.updated", object{"sessionID": id, "part": p})
	}
	return user
}

// enqueue keeps a prompt for a session that is busy. Whoever sees its message in
// the session may rely on its being in the queue.
func (f *fake) enqueue(s *fakeSession, in fakePrompt) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	busy, model := s.busy, "large"
	if m, _ := s.Info["model"].(map[string]any); m != nil {
		model = m["id"].(string)
	}
	if !busy {
		return false
	}
	if in.Model != nil {
		model = in.Model.ModelID
	}
	if d, err := time.ParseDuration(os.Getenv(fakeLate)); err == nil {
		s.came++
		go f.late(s, in, d)
		return true
	}
	user := f.enter(s, in, model)["id"].(string)
	s.queue = append(s.queue, queued{user, in})
	s.came++
	return true
}

// late runs a prompt some time after its session has come to rest.
func (f *fake) late(s *fakeSession, in fakePrompt, after time.Duration) {
	for busy := true; busy; <-time.After(time.Millisecond) {
		f.mu.Lock()
		busy = s.busy
		f.mu.Unlock()
	}
	<-time.After(after)
	f.turn(s, in, nil)
}

// hold is a tool that runs until so many prompts have come.
func (g *going) hold(rest string) error {
	id, call := g.newID("prt"), g.newID("call")
	in := object{"input": object{"filePath": "/big"}}
	g.tool(id, call, "read", "running", in)
	err := g.until(rest)
	g.tool(id, call, "read", "completed", in)
	if err != nil || g.queued() {
		return err
	}
	return g.say("read it")
}

// until waits until so many prompts have come.
func (g *going) until(rest string) error {
	for n := number(rest, 1); ; {
		g.mu.Lock()
		came := g.s.came
		g.mu.Unlock()
		if came >= n {
			return nil
		}
		if err := g.pause(5 * time.Millisecond); err != nil {
			return err
		}
	}
}

// again answers a message that the last turn has missed.
func (f *fake) again(s *fakeSession, q queued) {
	g := &going{fake: f, s: s, id: s.Info["id"].(string), user: q.user, prompt: q.in, model: "large", stopped: make(chan struct{})}
	f.mu.Lock()
	s.busy, s.cancel, s.status = true, g.stopped, object{"type": "busy"}
	f.mu.Unlock()
	f.publish("session.status", object{"sessionID": g.id, "status": object{"type": "busy"}})
	g.begin()
	g.finish(g.steps())
}

// queued reports whether a prompt waits.
func (g *going) queued() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.s.queue) > 0
}

// next ends an answer and begins the one to the prompt that came last; the
// model sees those before it, too. False when none has come.
func (g *going) next() bool {
	g.mu.Lock()
	n := len(g.s.queue)
	if n == 0 {
		g.mu.Unlock()
		return false
	}
	last := g.s.queue[n-1]
	g.s.queue = nil
	g.end(nil)
	g.mu.Unlock()
	g.told()
	g.user, g.prompt = last.user, last.in
	g.begin()
	return true
}

// forget takes a message out of a session that rests.
func (f *fake) forget(w http.ResponseWriter, r *http.Request, s *fakeSession) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.busy {
		f.breach("a message was taken out of a busy session")
	}
	id := r.PathValue("message")
	for i, m := range s.Messages {
		if m.Info["id"] == id {
			s.Messages = append(s.Messages[:i:i], s.Messages[i+1:]...)
			go f.publish("message.removed", object{"sessionID": s.Info["id"], "messageID": id})
		}
	}
	give(w, true)
}

package opencode

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// fakePrompt is what a prompt may hold.
type fakePrompt struct {
	Agent   string           `json:"agent"`
	Variant string           `json:"variant"`
	Model   *modelName       `json:"model"`
	Parts   []map[string]any `json:"parts"`
}

func (f *fake) prompt(w http.ResponseWriter, r *http.Request, s *fakeSession) {
	var in fakePrompt
	if !f.read(w, r, &in) {
		return
	}
	w.WriteHeader(http.StatusNoContent)
	known := false
	for _, a := range f.agents() {
		known = known || a.Name == in.Agent && a.Mode != "subagent" && !a.Hidden
	}
	id := s.Info["id"].(string)
	if !known {
		f.breach("a prompt for the agent %q", in.Agent)
		f.publish("session.error", object{"sessionID": id, "error": object{"name": "UnknownError", "data": object{"message": "Agent not found: " + in.Agent}}})
		return
	}
	if !f.enqueue(s, in) {
		go f.turn(s, in, nil)
	}
}

func (f *fake) command(w http.ResponseWriter, r *http.Request, s *fakeSession) {
	var in struct {
		Command, Arguments, Agent, Model, Variant string
	}
	if !f.read(w, r, &in) {
		return
	}
	if in.Command != "review" {
		f.breach("no command %q", in.Command)
		refuse(w, http.StatusBadRequest, "UnknownError", "Command not found: "+in.Command)
		return
	}
	done := make(chan struct{})
	go f.turn(s, fakePrompt{Agent: in.Agent, Parts: []map[string]any{{"type": "text", "text": "say reviewed " + in.Arguments}}}, done)
	<-done
	give(w, object{"info": object{}, "parts": []object{}})
}

func (f *fake) summarize(w http.ResponseWriter, r *http.Request, s *fakeSession) {
	var in struct {
		ProviderID string `json:"providerID"`
		ModelID    string `json:"modelID"`
	}
	if !f.read(w, r, &in) {
		return
	}
	if in.ProviderID != "mock" || in.ModelID == "" {
		f.breach("compact with %+v", in)
	}
	done := make(chan struct{})
	go f.turn(s, fakePrompt{Agent: "compaction"}, done)
	<-done
	give(w, true)
}

// going is a turn of the stand-in.
type going struct {
	*fake
	s       *fakeSession
	id      string
	user    string
	prompt  fakePrompt
	answer  int // index of the answer in the session
	model   string
	stopped chan struct{}
	deaf    bool
	failing bool
}

var errFakeStop = errors.New("aborted")

// turn runs a prompt: the same events in the same order as the real one.
func (f *fake) turn(s *fakeSession, in fakePrompt, done chan struct{}) {
	if done != nil {
		defer close(done)
	}
	g := &going{fake: f, s: s, id: s.Info["id"].(string), prompt: in, model: "large", stopped: make(chan struct{})}
	if m, _ := s.Info["model"].(map[string]any); m != nil {
		g.model = fmt.Sprint(m["id"])
	}
	if in.Model != nil {
		g.model = in.Model.ModelID
	}
	f.mu.Lock()
	user := f.enter(s, in, g.model)
	f.mu.Unlock()
	g.user = user["id"].(string)
	if d, err := time.ParseDuration(os.Getenv(fakeSlow)); err == nil {
		<-time.After(d)
	}
	f.mu.Lock()
	s.busy, s.cancel, s.status = true, g.stopped, object{"type": "busy"}
	f.mu.Unlock()
	f.publish("session.status", object{"sessionID": g.id, "status": object{"type": "busy"}})
	if g.model == "nope" {
		g.failBefore()
		return
	}
	g.begin()
	err := g.steps()
	for err == nil && g.next() {
		err = g.steps()
	}
	g.finish(err)
	user["summary"] = object{"diffs": []object{}} // the real one looks at the files afterwards
	f.publish("message.updated", object{"sessionID": g.id, "info": user})
}

func (g *going) failBefore() {
	g.failing = true
	words := "Model not found: mock/nope."
	g.publish("session.error", object{"sessionID": g.id, "error": object{"name": "UnknownError", "data": object{"message": words}}})
	g.rest()
	g.publish("session.error", object{"sessionID": g.id, "error": object{"name": "UnknownError", "data": object{"message": "ProviderModelNotFoundError: " + words + "\n    at <anonymous>"}}})
}

// begin starts an answer of the model.
func (g *going) begin() {
	g.mu.Lock()
	info := object{
		"id": g.fake.id("msg"), "parentID": g.user, "role": "assistant", "sessionID": g.id, "agent": g.prompt.Agent, "mode": g.prompt.Agent,
		"modelID": g.model, "providerID": "mock", "cost": 0, "time": object{"created": time.Now().UnixMilli()},
		"tokens": object{"input": 0, "output": 0, "reasoning": 0, "cache": object{"read": 0, "write": 0}},
	}
	if g.prompt.Agent == "compaction" {
		info["summary"] = true
	}
	g.s.Messages = append(g.s.Messages, fakeMessage{info, []object{}})
	g.answer = len(g.s.Messages) - 1
	g.mu.Unlock()
	g.told()
}

// told publishes the answer's state.
func (g *going) told() {
	g.mu.Lock()
	info := object{}
	for k, v := range g.s.Messages[g.answer].Info {
		info[k] = v
	}
	g.mu.Unlock()
	g.publish("message.updated", object{"sessionID": g.id, "info": info})
}

// finish ends an answer, well or not.
func (g *going) finish(err error) {
	failure := object(nil)
	switch named := (*fakeError)(nil); {
	case errors.As(err, &named):
		failure = named.failure
	case err != nil:
		failure = object{"name": "MessageAbortedError", "data": object{"message": "Aborted"}}
	}
	g.failing = failure != nil
	if failure != nil { // the first word of the end comes before the answer is finished
		g.publish("session.error", object{"sessionID": g.id, "error": failure})
		g.rest()
	}
	g.mu.Lock()
	g.end(failure)
	g.mu.Unlock()
	g.told()
	g.told()
	if g.prompt.Agent == "compaction" {
		g.publish("session.compacted", object{"sessionID": g.id})
	}
	g.rest()
}

// end writes down that the answer is finished; g.mu is held.
func (g *going) end(failure object) {
	info := g.s.Messages[g.answer].Info
	info["time"] = object{"created": 1, "completed": time.Now().UnixMilli()}
	g.count(info)
	info["finish"] = "stop"
	if failure != nil {
		info["error"] = failure
	}
	g.save(g.s)
}

// used notes what a call of the model took.
func (g *going) used() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count(g.s.Messages[g.answer].Info)
}

// count puts the figures of a call of the model into an answer.
func (*going) count(info object) {
	info["tokens"] = object{"input": 100, "output": 5, "reasoning": 1, "cache": object{"read": 10, "write": 0}}
	info["cost"] = 0.002
}

func (g *going) rest() {
	g.mu.Lock()
	late := g.s.queue
	g.s.queue = nil
	g.s.busy, g.s.status, g.s.cancel = false, nil, nil
	g.mu.Unlock()
	g.publish("session.status", object{"sessionID": g.id, "status": object{"type": "idle"}})
	g.publish("session.idle", object{"sessionID": g.id})
	if len(late) > 0 && !g.failing { // a turn that is aborted or fails leaves them unanswered
		go g.again(g.s, late[len(late)-1])
	}
}

func (f *fake) abort(s *fakeSession) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.cancel != nil {
		close(s.cancel)
		s.cancel = nil
	}
}

type fakeError struct{ failure object }

func (*fakeError) Error() string { return "failed" }

// pause waits, unless the turn is aborted.
func (g *going) pause(d time.Duration) error {
	if g.deaf {
		select {}
	}
	select {
	case <-g.stopped:
		return errFakeStop
	case <-time.After(d):
		return nil
	}
}

// part puts a part into the answer and publishes it.
func (g *going) part(p object) {
	g.mu.Lock()
	p["messageID"], p["sessionID"] = g.s.Messages[g.answer].Info["id"], g.id
	parts := &g.s.Messages[g.answer].Parts
	for i, old := range *parts {
		if old["id"] == p["id"] {
			(*parts)[i] = p
			parts = nil
			break
		}
	}
	if parts != nil {
		*parts = append(*parts, p)
	}
	g.mu.Unlock()
	g.publish("message.part.updated", object{"sessionID": g.id, "part": p})
}

func (g *going) newID(kind string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.fake.id(kind)
}

// write streams a text or a thought. As with the real one, nobody can ask for
// it before it is whole.
func (g *going) write(kind string, pieces []string, wait time.Duration) error {
	id := g.newID("prt")
	g.part(object{"id": id, "type": kind, "text": "", "time": object{"start": 1}})
	g.mu.Lock()
	message := g.s.Messages[g.answer].Info["id"]
	g.mu.Unlock()
	all := ""
	var err error
	for _, p := range pieces {
		g.publish("message.part.delta", object{"sessionID": g.id, "messageID": message, "partID": id, "field": "text", "delta": p})
		all += p
		if err = g.pause(wait); err != nil {
			break
		}
	}
	g.part(object{"id": id, "type": kind, "text": all, "time": object{"start": 1, "end": 2}})
	return err
}

func (g *going) say(text string) error { return g.write("text", []string{text}, 0) }

// tool shows a call of a tool.
func (g *going) tool(id, call, name, state string, more object) {
	s := object{"status": state}
	for k, v := range more {
		s[k] = v
	}
	g.part(object{"id": id, "type": "tool", "tool": name, "callID": call, "state": s})
}

// ask asks a person and waits.
func (g *going) ask(kind, event string, q object) (fakeReply, error) {
	id := g.newID(kind)
	ch := make(chan fakeReply, 1)
	q["id"] = id
	if q["sessionID"] == nil {
		q["sessionID"] = g.id
	}
	g.mu.Lock()
	g.pending[id], g.requests[id] = ch, q
	g.mu.Unlock()
	g.publish(event, q)
	defer func() {
		g.mu.Lock()
		delete(g.pending, id)
		delete(g.requests, id)
		g.mu.Unlock()
	}()
	select {
	case r := <-ch:
		return r, nil
	case <-g.stopped:
		return fakeReply{}, errFakeStop
	}
}

// text is the prompt's text.
func (g *going) text() string {
	for _, p := range g.prompt.Parts {
		if p["type"] == "text" {
			return fmt.Sprint(p["text"])
		}
	}
	return ""
}

// steps does what the lines of the prompt say.
func (g *going) steps() error {
	if g.prompt.Agent == "compaction" {
		return g.say("a summary that is no answer")
	}
	lines := bufio.NewScanner(strings.NewReader(g.text()))
	for lines.Scan() {
		if g.queued() { // the model answers what was said last
			return nil
		}
		verb, rest, _ := strings.Cut(lines.Text(), " ")
		do := fakeSteps[verb]
		if do == nil {
			do = func(g *going, _ string) error { return g.say("I do not understand") }
		}
		if err := do(g, rest); err != nil {
			return err
		}
	}
	return nil
}

var plum = regexp.MustCompile(`remember the word (\w+)`)

func (g *going) recall(string) error {
	g.mu.Lock()
	word := "none"
	for _, m := range g.s.Messages {
		for _, p := range m.Parts {
			if found := plum.FindStringSubmatch(fmt.Sprint(p["text"])); found != nil && m.Info["role"] == "user" {
				word = found[1]
			}
		}
	}
	g.mu.Unlock()
	return g.say("the word was " + word)
}

func number(s string, def int) int {
	first, _, _ := strings.Cut(s, " ")
	if n, err := strconv.Atoi(first); err == nil {
		return n
	}
	return def
}

// child leaves a process behind that has left the agent's session.
func child() error {
	c := exec.Command("sleep", "300")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return c.Start()
}

package opencode

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// fakeSteps is what the stand-in can be told to do.
var fakeSteps map[string]func(g *going, rest string) error

func init() { //nolint:gochecknoinits // the steps use each other
	fakeSteps = map[string]func(g *going, rest string) error{
		"say":      func(g *going, rest string) error { return g.say(rest) },
		"remember": func(g *going, _ string) error { return g.say("I shall") },
		"what":     (*going).recall,
		"think": func(g *going, rest string) error {
			return g.write("reasoning", []string{"I ", "think: " + rest}, 0)
		},
		"stream": func(g *going, rest string) error {
			pieces := make([]string, number(rest, 200))
			for i := range pieces {
				pieces[i] = fmt.Sprintf("tick %d ", i)
			}
			return g.write("text", pieces, 10*time.Millisecond)
		},
		"model": func(g *going, _ string) error { return g.say("model: " + g.model + " effort: " + g.prompt.Variant) },
		"seen":  (*going).seen,
		"run":   (*going).run,
		"long":  (*going).long,
		"hold":  (*going).hold,
		"until": (*going).until,
		"used": func(g *going, _ string) error { // a call of the model is over, and another follows
			g.used()
			g.told()
			return nil
		},
		"ask":   (*going).question,
		"three": (*going).three,
		"todo": func(g *going, _ string) error {
			g.publish("todo.updated", object{"sessionID": g.id, "todos": []object{{"content": "look", "status": "completed"}, {"content": "leap", "status": "pending"}}})
			return nil
		},
		"helper":   (*going).helper,
		"withdraw": (*going).withdrawn,
		"fail":     (*going).fail,
		"bigline":  (*going).bigline,
		"garbage": func(g *going, _ string) error {
			g.line("data: \x00\xff{{{\n\ndata:\n\n: comment\n\nevent: x\ndata: [1,2]\n\ndata: {\"type\":7}\n\ndata: {\"type\":\"message.updated\",\"properties\":{\"sessionID\":3}}\n\n")
			return nil
		},
		"stderr": func(_ *going, rest string) error {
			line := strings.Repeat("x", 1000) + strings.TrimLeft(rest, "0123456789") + "\n"
			for range number(rest, 1) {
				fmt.Fprint(os.Stderr, line)
			}
			return nil
		},
		"child": func(g *going, _ string) error {
			if err := child(); err != nil {
				return err
			}
			return g.say("left one")
		},
		"die": func(g *going, _ string) error {
			g.settle()
			fmt.Fprintln(os.Stderr, "canary")
			os.Exit(3)
			return nil
		},
		"mute": func(g *going, _ string) error {
			g.settle()
			_ = os.Stdout.Close()
			return g.pause(time.Hour)
		},
		"deaf": func(g *going, _ string) error {
			g.settle()
			g.deaf = true
			return g.pause(0)
		},
		"breakoff": func(g *going, _ string) error { g.breakOff(); return nil },
	}
}

// settle waits until what was said has been read.
func (g *going) settle() { <-time.After(200 * time.Millisecond) }

// breakOff ends every event stream.
func (g *going) breakOff() {
	g.mu.Lock()
	for s := range g.streams {
		s <- nil
		delete(g.streams, s)
	}
	g.mu.Unlock()
}

func (g *going) seen(string) error {
	images, documents := 0, 0
	for _, p := range g.prompt.Parts {
		url, _ := p["url"].(string)
		mime, _ := p["mime"].(string)
		if p["type"] != "file" || !strings.HasPrefix(url, "data:"+mime+";base64,") {
			continue
		}
		if mime == "application/pdf" {
			documents++
		} else {
			images++
		}
	}
	return g.say(fmt.Sprintf("images %d documents %d", images, documents))
}

// run is a command that needs leave.
func (g *going) run(command string) error {
	id, call := g.newID("prt"), g.newID("call")
	in := object{"input": object{"command": command}}
	g.tool(id, call, "bash", "pending", object{"input": object{}, "raw": ""})
	g.tool(id, call, "bash", "running", in)
	r, err := g.ask("per", "permission.asked", object{
		"permission": "bash", "patterns": []string{command}, "metadata": object{"command": command}, "always": []string{"x *"},
		"tool": object{"callID": call},
	})
	if err != nil || r.reply != "once" {
		in["error"] = "The user rejected permission to use this specific tool call."
		if r.message != "" {
			in["error"] = "rejected with the following feedback: " + r.message
		}
		g.tool(id, call, "bash", "error", in)
		if err == nil && r.message != "" { // without words the real one ends its turn here
			return g.say("denied: " + r.message)
		}
		return err
	}
	in["output"] = "done"
	g.tool(id, call, "bash", "completed", in)
	return g.say("ran: " + command)
}

// long is a tool that needs no leave.
func (g *going) long(rest string) error {
	id, call := g.newID("prt"), g.newID("call")
	in := object{"input": object{"filePath": "/big"}}
	g.tool(id, call, "read", "running", in)
	err := g.pause(time.Duration(number(rest, 1)) * time.Millisecond)
	g.tool(id, call, "read", "completed", in) // the real one says so too when it was aborted
	if err != nil || g.queued() {
		return err
	}
	return g.say("read it")
}

func options(labels ...string) []object {
	var all []object
	for _, l := range labels {
		all = append(all, object{"label": l, "description": "choose " + l})
	}
	return all
}

func (g *going) questions(qs []object) error {
	id, call := g.newID("prt"), g.newID("call")
	g.tool(id, call, "question", "running", object{"input": object{"questions": qs}})
	r, err := g.ask("que", "question.asked", object{"questions": qs})
	g.tool(id, call, "question", "completed", object{"input": object{"questions": qs}})
	if err != nil {
		return err
	}
	return g.say(fmt.Sprintf("answered %v", r.answers))
}

func (g *going) question(string) error {
	return g.questions([]object{{"question": "Which colour?", "header": "Colour", "options": options("red", "blue")}})
}

func (g *going) three(string) error {
	return g.questions([]object{
		{"question": "Which colour?", "header": "Colour", "options": options("red", "blue"), "custom": false},
		{"question": "Which fruits?", "header": "Fruit", "options": options("plum", "fig"), "multiple": true},
		{"question": "What name?", "header": "Name", "options": []object{}, "custom": true},
	})
}

// helper is a sub-agent that asks for leave and talks to itself.
func (g *going) helper(string) error {
	s := g.newSession(g.id)
	id := s.Info["id"].(string)
	message := g.newID("msg")
	g.publish("message.updated", object{"sessionID": id, "info": object{"id": message, "role": "assistant", "sessionID": id, "modelID": "large", "providerID": "mock",
		"cost": 0.5, "tokens": object{"input": 7, "output": 3}, "time": object{"completed": 5}}})
	g.publish("message.part.updated", object{"sessionID": id, "part": object{"id": g.newID("prt"), "type": "text", "text": "secret talk", "messageID": message, "sessionID": id}})
	r, err := g.ask("per", "permission.asked", object{"sessionID": id, "permission": "bash", "patterns": []string{"ls"}, "metadata": object{"command": "ls"}})
	g.publish("session.idle", object{"sessionID": id})
	if err != nil {
		return err
	}
	return g.say("the helper heard " + r.reply)
}

// withdrawn asks for leave, and somebody else answers.
func (g *going) withdrawn(string) error {
	go func() {
		<-time.After(300 * time.Millisecond)
		g.mu.Lock()
		for id, ch := range g.pending {
			if g.requests[id]["sessionID"] == g.id {
				ch <- fakeReply{reply: "reject", message: "elsewhere"}
				q := object{"sessionID": g.id, "requestID": id, "reply": "reject"}
				go g.publish("permission.replied", q)
			}
		}
		g.mu.Unlock()
	}()
	return g.run("echo taken back")
}

// fail fails as the real one does with its provider's words.
func (g *going) fail(rest string) error {
	kinds := map[string]object{
		"401":     {"statusCode": 401, "message": "Incorrect API key provided: dummy."},
		"404":     {"statusCode": 404, "message": "The model `no-such-model` does not exist or you do not have access to it."},
		"429":     {"statusCode": 429, "message": "You exceeded your current quota, please check your plan and billing details."},
		"529":     {"statusCode": 529, "message": "The engine is currently overloaded, please try again later."},
		"context": {"message": "Your input exceeds the context window of this model."},
		"cut":     {"message": "Cannot connect to API: The socket connection was closed unexpectedly."},
	}
	d, name := kinds[rest], "APIError"
	if rest == "context" {
		name = "ContextOverflowError"
	}
	if rest == "429" || rest == "529" || rest == "cut" {
		for i := 1; i <= 20; i++ { // longer than anybody waits
			if rest == "cut" {
				g.half(i == 1)
			}
			s := object{"type": "retry", "attempt": i, "message": d["message"], "next": 1}
			g.mu.Lock()
			g.s.status = s
			g.mu.Unlock()
			g.publish("session.status", object{"sessionID": g.id, "status": s})
			if err := g.pause(time.Duration(i) * 50 * time.Millisecond); err != nil {
				return err
			}
		}
	}
	return &fakeError{object{"name": name, "data": d}}
}

// half begins an answer that breaks off. Each try begins a text of its own and
// leaves the one before as it was: not ended, and without what was streamed.
// What comes in the moment of the break is lost with the connection.
func (g *going) half(lost bool) {
	g.part(object{"id": g.newID("prt"), "type": "step-start"})
	if lost {
		return
	}
	id := g.newID("prt")
	g.part(object{"id": id, "type": "text", "text": "", "time": object{"start": 1}})
	g.mu.Lock()
	message := g.s.Messages[g.answer].Info["id"]
	g.mu.Unlock()
	for _, p := range []string{"half of", " an ans"} {
		g.publish("message.part.delta", object{"sessionID": g.id, "messageID": message, "partID": id, "field": "text", "delta": p})
	}
}

// bigline is a tool whose output is larger than an event may be.
func (g *going) bigline(rest string) error {
	id, call := g.newID("prt"), g.newID("call")
	g.tool(id, call, "bash", "running", object{"input": object{"command": "cat big"}})
	g.tool(id, call, "bash", "completed", object{"input": object{"command": "cat big"}, "output": strings.Repeat("y", number(rest, 1)<<20)})
	return nil
}

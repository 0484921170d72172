package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"cligate/internal/worker/workertest"
)

var detached = &syscall.SysProcAttr{Setsid: true}

// errEnded ends a turn without a word more.
var errEnded = errors.New("the turn is over")

// turn plays one turn.
func (p *player) turn(ctx context.Context, id json.RawMessage, blocks []content) {
	text := ""
	seen := map[string]int{}
	for _, b := range blocks {
		switch {
		case b.Type == "text":
			text += b.Text
		case strings.HasPrefix(b.MIME, "image/"):
			seen["images"]++
		case b.MIME == "application/pdf":
			seen["documents"]++
		}
	}
	act, _, _ := strings.Cut(text, "\n")
	err := p.act(ctx, workertest.Act(act), seen)
	p.lock.Lock()
	p.busy, p.stop = false, nil
	p.lock.Unlock()
	switch {
	case errors.Is(err, errEnded):
	case ctx.Err() != nil:
		p.answer(id, `{"stopReason":"cancelled"}`)
	case err == nil:
		p.answer(id, p.over())
	case p.textual:
		p.say(p.id, "Error: "+err.Error())
		p.answer(id, p.over())
	default:
		code := -32603
		_, _ = fmt.Sscanf(err.Error(), "%d", &code)
		p.fail(id, code, err.Error())
	}
}

// over is the answer to a prompt.
func (p *player) over() string {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.total++
	switch {
	case p.sums:
		return fmt.Sprintf(`{"stopReason":"end_turn","usage":{"inputTokens":%d,"outputTokens":%d}}`, 1000*p.total, 10*p.total)
	case p.quota:
		return `{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":1000,"output_tokens":10}}}}`
	}
	return `{"stopReason":"end_turn"}`
}

// calls shows what a call of the model took.
func (p *player) calls() {
	if p.perCall {
		p.update(p.id, `"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""},"_meta":{"usage":{"inputTokens":1000,"outputTokens":10}}`)
	}
	if p.window {
		p.update(p.id, `"sessionUpdate":"usage_update","used":1000,"size":128000`)
	}
}

// keep notes what was said, and says the answer.
func (p *player) keep(text, answer string) {
	_, file := p.history(p.id)
	if file == "" {
		found, _ := filepath.Glob(p.files(p.dir, p.id, time.Time{}))
		if len(found) == 0 {
			return
		}
		file = found[0]
	}
	p.note(file, map[string]string{"type": "user", "content": text})
	p.note(file, map[string]string{"type": "gemini", "content": answer})
	p.say(p.id, answer)
}

// act does what an act says.
func (p *player) act(ctx context.Context, act workertest.Act, seen map[string]int) error { //nolint:cyclop // one case an act
	if p.breaks && p.broken {
		return errors.New("400 please ensure that the number of function response parts is equal")
	}
	p.calls()
	switch act {
	case workertest.Remember:
		p.keep("remember plum", "kept")
	case workertest.Recall:
		said, _ := p.history(p.id)
		word := "none"
		if strings.Contains(strings.Join(said, "\n"), "plum") {
			word = "plum"
		}
		p.keep("recall", "the word: "+word)
	case workertest.Model:
		p.keep("model", "model: "+modelName(p.model))
	case workertest.Seen:
		p.keep("seen", fmt.Sprintf("images %d documents %d", seen["images"], seen["documents"]))
	case workertest.Think:
		p.update(p.id, `"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}`)
		p.keep("think", "thought")
	case workertest.Fixed, workertest.Compact:
		p.keep("fixed", "the same")
	case workertest.Halfway:
		p.keep("remember plum", "kept")
		return p.act(ctx, workertest.Stream, seen)
	case workertest.Stream, workertest.Spend:
		for i := 0; i < 220 && ctx.Err() == nil; i++ {
			p.say(p.id, fmt.Sprintf("piece %d ", i))
			<-time.After(10 * time.Millisecond)
		}
	case workertest.Approval:
		return p.leave(ctx, func() { p.say(p.id, "done") })
	case workertest.LongTool:
		return p.leave(ctx, func() {
			c := child("90")
			<-ctx.Done()
			_ = c.Process.Kill()
			_ = c.Wait()
		})
	case workertest.Busy:
		return p.busyTool(ctx)
	case workertest.Question, workertest.FreeAnswer:
		p.question(ctx, p.id)
	case workertest.Questions:
		p.questions(ctx)
	case workertest.AgentTurn:
		p.say(p.id, "started")
		go p.ownTurn() // ends with the turn that it begins
	case workertest.FailLogin:
		return errors.New("401 invalid x-api-key")
	case workertest.FailQuota:
		return errors.New("429 Rate limit exceeded")
	case workertest.FailOverload:
		return errors.New("503 The model is overloaded")
	case workertest.FailModel:
		return errors.New("404 model \"x\" not found")
	case workertest.FailContext:
		return errors.New("400 prompt is too long: the maximum number of tokens is 3")
	case workertest.Cut:
		p.say(p.id, "half an")
		return errors.New("500 terminated")
	default:
		if !p.wild(ctx, act, p.id) {
			return errEnded
		}
	}
	return nil
}

// leave asks for leave to use a tool, unless the mode asks nobody, and uses it.
func (p *player) leave(ctx context.Context, use func()) error {
	p.lock.Lock()
	p.total++
	call := fmt.Sprintf(`"toolCallId":"call-%d","kind":"execute","title":"touch x","rawInput":{"command":"touch x"}`, p.total)
	p.lock.Unlock()
	if !p.quiet {
		p.update(p.id, `"sessionUpdate":"tool_call","status":"pending",`+call)
	}
	if p.mode != p.unasks && !p.allowAll {
		r := p.ask(ctx, "session/request_permission", `{"sessionId":"`+p.id+`","toolCall":{`+call+`},"options":[
			{"optionId":"proceed_always","name":"Always","kind":"allow_always"},{"optionId":"proceed_once","name":"Allow","kind":"allow_once"},
			{"optionId":"cancel","name":"Reject","kind":"reject_once"}]}`)
		if !strings.Contains(string(r), "proceed_once") {
			return p.denied(ctx, call)
		}
	}
	p.lock.Lock()
	p.broken = p.breaks
	p.lock.Unlock()
	use()
	status := "completed"
	if ctx.Err() != nil {
		status = "failed"
	}
	if ctx.Err() == nil || !p.quiet {
		p.update(p.id, `"sessionUpdate":"tool_call_update","status":"`+status+`",`+call)
	}
	p.lock.Lock()
	p.broken = p.broken && ctx.Err() != nil
	p.lock.Unlock()
	return nil
}

// denied is a turn that goes on, or not, after a no.
func (p *player) denied(ctx context.Context, call string) error {
	p.lock.Lock()
	p.broken = p.breaks && ctx.Err() != nil
	p.lock.Unlock()
	switch {
	case p.quiet:
	default:
		p.update(p.id, `"sessionUpdate":"tool_call_update","status":"failed",`+call)
	}
	if ctx.Err() == nil && !p.denyEnds {
		p.say(p.id, "then not")
	}
	if p.textual {
		p.say(p.id, "Info: Operation cancelled by user")
	}
	return nil
}

// busyTool uses a tool for a while, and then asks whether more has come.
func (p *player) busyTool(ctx context.Context) error {
	return p.leave(ctx, func() {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return
		}
		r := p.ask(ctx, methodDrain, `{"sessionId":"`+p.id+`","todoStopGuardWatchQueuedPrompt":true}`)
		var d struct{ Messages []string }
		_ = json.Unmarshal(r, &d)
		for _, m := range d.Messages {
			p.say(p.id, m)
		}
		p.say(p.id, " that took long")
	})
}

// ownTurn begins a turn after a while, as often as it must.
func (p *player) ownTurn() {
	ctx := context.Background()
	for range 20 {
		<-time.After(300 * time.Millisecond)
		r := p.ask(ctx, methodStartTurn, `{"sessionId":"`+p.id+`","source":"background_notification","turnId":"t1"}`)
		if !strings.Contains(string(r), "true") {
			continue
		}
		p.update(p.id, `"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Background task completed."},"_meta":{"source":"background_notification"}`)
		p.update(p.id, `"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"the task is done"},"_meta":{"source":"background_notification_response"}`)
		p.calls()
		p.raw(`{"jsonrpc":"2.0","method":"` + methodEndTurn + `","params":{"sessionId":"` + p.id + `","reason":"end_turn","turnId":"t1"}}` + "\n")
		return
	}
	fmt.Fprintln(os.Stderr, "nobody let me begin")
}

// questions asks three at once.
func (p *player) questions(ctx context.Context) {
	r := p.ask(ctx, "session/request_permission", `{"sessionId":"`+p.id+`","toolCall":{"toolCallId":"q3","title":"Ask user 3 questions",
		"_meta":{"qwenQuestions":[{"question":"Which?","header":"A","options":[{"label":"red"},{"label":"blue"}]},
		{"question":"Which ones?","header":"B","multiSelect":true,"options":[{"label":"salt"},{"label":"pepper"}]},
		{"question":"What else?","header":"C","options":[]}]}},
		"options":[{"optionId":"submit","name":"Submit","kind":"allow_once"},{"optionId":"cancel","name":"Cancel","kind":"reject_once"}]}`)
	p.say(p.id, "answers "+string(r))
}

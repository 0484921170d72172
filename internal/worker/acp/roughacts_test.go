package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cligate/internal/worker/workertest"
)

// roughLacks are the acts that the rough agent cannot be made to do: it is one
// of which nothing is known but what it announces, and that is little.
var roughLacks = map[workertest.Act]string{
	workertest.Nudge:     "it announces no steering",
	workertest.Reason:    "the protocol has no words for a denial",
	workertest.Withdraw:  "it waits for every answer",
	workertest.Plan:      "it announces no plans",
	workertest.AgentTurn: "it announces no turns of its own",
	workertest.Model:     "it offers no models",
	workertest.Think:     "it announces no thoughts",
	workertest.Spend:     "it tells no figures",
	workertest.Compact:   "it announces no commands",
}

// roughFailures are its words for failures, of which it has no codes.
var roughFailures = map[workertest.Act]string{
	workertest.FailLogin:    `{"code":401,"message":"{\"error\":{\"code\":401,\"message\":\"invalid x-api-key\"}}"}`,
	workertest.FailQuota:    `{"code":-32603,"message":"Internal error","data":{"details":"rate limited"}}`,
	workertest.FailOverload: `{"code":-32603,"message":"Internal error","data":{"details":"503 the model is overloaded"}}`,
	workertest.FailModel:    `"404 model not found: x"`,
	workertest.FailContext:  `{"code":400,"message":"prompt is too long","data":["strange"]}`,
}

// fails fails a prompt; false when the act is no failure.
func (a *rough) fails(id json.RawMessage, session string, act workertest.Act) bool {
	failure, ok := roughFailures[act]
	if act == workertest.Cut {
		a.say(session, "half of the ans")
		failure, ok = `{"code":500,"message":"terminated"}`, true
	}
	if ok {
		a.raw(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":` + failure + "}\n")
	}
	return ok
}

// tame does what any agent does; false when the act is none of that.
func (a *rough) tame(ctx context.Context, session string, act workertest.Act) bool {
	switch act {
	case workertest.Remember:
		a.keep(session)
		a.say(session, "kept")
	case workertest.Recall:
		word, _ := os.ReadFile(filepath.Join(a.dir, session))
		a.say(session, "the word: "+string(word))
	case workertest.Halfway:
		a.keep(session)
		a.stream(ctx, session)
	case workertest.Stream:
		a.stream(ctx, session)
	case workertest.Busy:
		a.tool(ctx, session, 2*time.Second)
	case workertest.LongTool:
		a.tool(ctx, session, 90*time.Second)
	case workertest.Fixed:
		a.say(session, "always the same")
	case workertest.Approval:
		a.approval(ctx, session)
	case workertest.Question, workertest.FreeAnswer:
		a.question(ctx, session)
	case workertest.Questions:
		a.questions(ctx, session)
	default:
		if !strings.HasPrefix(string(act), string(workertest.Seen)) { // files are named behind the words
			return false
		}
		a.say(session, "images 0 documents 0")
	}
	return true
}

func (a *rough) keep(session string) {
	_ = os.WriteFile(filepath.Join(a.dir, session), []byte("plum"), 0o600)
}

func (a *rough) stream(ctx context.Context, session string) {
	for i := 0; i < 300 && ctx.Err() == nil; i++ {
		a.say(session, fmt.Sprintf("piece %d\u2028", i))
		<-time.After(10 * time.Millisecond)
	}
}

// tool uses a tool that it announces only by changing it.
func (a *rough) tool(ctx context.Context, session string, d time.Duration) {
	a.mu.Lock()
	call := fmt.Sprintf(`"sessionUpdate":"tool_call_update","toolCallId":"tool-%d","kind":"execute","rawInput":{"command":["sleep",1]}`, a.turns)
	a.mu.Unlock()
	a.update(session, call+`,"status":"in_progress"`)
	status := "completed"
	select {
	case <-time.After(d):
	case <-ctx.Done():
		status = "cancelled_by_somebody"
	}
	a.update(session, call+`,"status":"`+status+`"`)
	if ctx.Err() == nil {
		a.say(session, "that took long")
	}
}

// questions asks three at once.
func (a *rough) questions(ctx context.Context, session string) {
	r := a.ask(ctx, "session/request_permission", `{"sessionId":"`+session+`","toolCall":{"toolCallId":"q3","title":"Ask user 3 questions",
		"_meta":{"qwenQuestions":[{"question":"Which?","header":"A","options":[{"label":"red"},{"label":"blue"}]},
		{"question":"Which ones?","multiSelect":true,"options":[{"label":"salt"},{"label":"pepper"}]},{"question":"What else?"}]}},
		"options":[{"optionId":"submit","name":"Submit","kind":"allow_once"},{"optionId":"cancel","name":"Cancel","kind":"reject_once"}]}`)
	a.say(session, "answers "+string(r))
}

package codex

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"cligate/internal/sim/script"
)

// rogue is a turn that goes wrong.
type rogue struct{ *turn }

// fail fails as the real one does when its model service answers so.
func (n rogue) fail(st script.Step) object {
	switch status := st.Int(0, 500); {
	case status == 404:
		return trouble("The model `no-such-model` does not exist or you do not have access to it.", "modelNotFound")
	case status == 429 && strings.Contains(st.Rest, "quota"):
		n.t.s.tell("account/rateLimits/updated", object{"rateLimits": object{
			"primary": object{"usedPercent": 100, "resetsAt": time.Now().Add(time.Hour).Unix()}, "secondary": nil,
		}})
		return trouble("Quota exceeded. Check your plan and billing details.", "usageLimitExceeded")
	case status == 400 && strings.Contains(st.Rest, "context"):
		return trouble("Codex ran out of room in the model's context window.", "contextWindowExceeded")
	case status == 400:
		return trouble(`{"error":{"message":"the request was malformed, as told","type":"invalid_request_error"}}`+"\n", "other")
	default:
		words := fmt.Sprintf("unexpected status %d: as told, url: http://127.0.0.1:1/v1/responses", status)
		for i := range 2 {
			again := trouble(fmt.Sprintf("Reconnecting... %d/2", i+1), object{"responseStreamDisconnected": object{"httpStatusCode": status}})
			again["additionalDetails"] = words
			n.tell("error", object{"error": again, "willRetry": true})
			if !pause(n.over, 50*time.Millisecond) {
				return nil
			}
		}
		return trouble(words, object{"httpConnectionFailed": object{"httpStatusCode": status}})
	}
}

func trouble(message string, info any) object {
	return object{"message": message, "codexErrorInfo": info, "additionalDetails": nil}
}

// cut streams half an answer twice and gives up.
func (n rogue) cut() object {
	const words = "stream disconnected before completion: Transport error: network error: error decoding response body"
	for i := range 2 {
		n.delta(n.begin(), "half an answer ")
		again := trouble(fmt.Sprintf("Reconnecting... %d/2", i+1), object{"responseStreamDisconnected": object{"httpStatusCode": nil}})
		again["additionalDetails"] = words
		n.tell("error", object{"error": again, "willRetry": true})
	}
	return trouble(words, "other")
}

// trouble does what no healthy agent does.
func (n rogue) trouble(st script.Step) {
	s := n.t.s
	word := st.Verb
	if word == script.Echo {
		word = st.First()
	}
	switch {
	case st.Verb == "bigline": // the output of a tool, and an answer
		id := n.item("call")
		it := object{"type": "commandExecution", "id": id, "command": "big", "status": "inProgress"}
		n.tell("item/started", object{"item": it})
		s.raw(long(fmt.Sprintf(`{"method":"item/completed","params":{"item":{"type":"commandExecution","id":%q,"command":"big","status":"completed","aggregatedOutput":"`, id),
			st.Int(0, 5), fmt.Sprintf(`"},"threadId":%q,"turnId":%q}}`, n.t.id, n.id)))
	case st.Verb == "double": // an answer in pieces, then as a line over the cap, and an end over the cap
		msg := n.begin()
		n.delta(msg, "a long answer")
		n.finish(msg, "a long answer"+strings.Repeat("y", st.Int(0, 5)<<20))
		n.end(func() {
			s.raw(long(fmt.Sprintf(`{"method":"turn/completed","params":{"threadId":%q,"turn":{"id":%q,"items":[{"text":"`, n.t.id, n.id),
				st.Int(0, 5), `"}],"status":"completed"}}}`))
		})
	case st.Verb == "garbage":
		s.raw([]byte("no JSON\n{\"broken\n[1,2]\n\"text\"\n\n{}\n{\"id\":999,\"result\":{}}\n{\"method\":\"item/started\",\"params\":7}\n"))
		s.raw([]byte("\x00\xff\xfe\x01binary\n"))
		s.tell("no/such/notification", object{"threadId": n.t.id, "item": "text"})
		n.tell("item/started", object{"item": object{"type": 7, "id": []int{1}}})
		if result, ok := n.put("no/such/request", object{}); ok && result != nil {
			breach("an unknown request was answered: " + string(result))
		}
	case st.Verb == "stderr":
		line := []byte(st.After(1) + strings.Repeat(" flood", 150) + "\n")
		for range st.Int(0, 1000) {
			_, _ = os.Stderr.Write(line)
		}
	case st.Verb == "die":
		os.Exit(st.Int(0, 1))
	case st.Verb == "mute":
		s.out.mu.Lock()
		_ = s.out.w.Close()
		s.out.mu.Unlock()
		select {}
	case st.Verb == "deaf":
		n.deaf.Store(true)
		select {}
	case st.Verb == "child":
		child := exec.Command("/bin/sleep", "300")
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		child.Env = os.Environ()
		_ = child.Start()
		n.say("a child")
	case word == "withdraw":
		id, _ := s.ask("item/commandExecution/requestApproval", object{
			"threadId": n.t.id, "turnId": n.id, "itemId": n.item("call"), "command": "rm -r /", "cwd": n.t.kept.Dir,
		})
		pause(n.over, 200*time.Millisecond)
		n.tell("serverRequest/resolved", object{"requestId": id})
		n.say("never mind")
	case word == "bigask":
		id, answer := s.expect()
		s.raw(fmt.Appendf(nil, `{"method":"item/commandExecution/requestApproval","id":%d,"params":{"command":%q,"threadId":%q,"turnId":%q,"itemId":"big"}}`+"\n",
			id, strings.Repeat("x", 3<<20), n.t.id, n.id))
		select {
		case result := <-answer:
			if !bytes.Contains(result, []byte("decline")) {
				breach("a request that could not be read was answered " + string(result))
			}
			n.say("denied")
		case <-n.over:
		}
	case word == "permissions":
		result, ok := n.put("item/permissions/requestApproval", object{
			"itemId": n.item("call"), "cwd": n.t.kept.Dir, "reason": "to fetch", "permissions": object{"network": object{"enabled": true}, "fileSystem": nil},
		})
		if ok {
			n.say("granted: " + string(bytes.TrimSpace(result)))
		}
	case word == "form":
		result, ok := n.put("mcpServer/elicitation/request", object{
			"serverName": "tickets", "mode": "form", "message": "Close ticket 7?", "requestedSchema": object{"type": "object", "properties": object{}},
		})
		if ok {
			n.say("form: " + string(bytes.TrimSpace(result)))
		}
	default:
		n.say(st.Rest)
	}
}

// long is a line with so many MiB of text in its middle. To quote that much
// takes longer than tests are patient.
func long(before string, mib int, after string) []byte {
	return []byte(before + strings.Repeat("x", mib<<20) + after + "\n")
}

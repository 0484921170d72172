package pi

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

func number(s string, def int) int {
	first, _, _ := strings.Cut(s, " ")
	if n, err := strconv.Atoi(first); err == nil {
		return n
	}
	return def
}

// steps does what the lines of a prompt say.
func (g *going) steps(text string) error {
	g.begin()
	stop, trouble := "stop", ""
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		verb, rest, _ := strings.Cut(lines.Text(), " ")
		err := g.step(verb, rest)
		if err == nil {
			continue
		}
		if err == errFake { //nolint:errorlint // the very value
			return err
		}
		stop, trouble = "aborted", "Request was aborted."
		g.finish(stop, trouble)
		return err
	}
	g.finish(stop, trouble)
	return nil
}

func (g *going) say1(text string) error { return g.stream("text", []string{text}, 0) }

func (g *going) step(verb, rest string) error {
	switch verb {
	case "say":
		return g.say1(rest)
	case "remember":
		return g.say1("I shall")
	case "what":
		return g.say1(g.recall())
	case "think":
		return g.stream("thinking", []string{"I ", "think: " + rest}, 0)
	case "stream", "burst":
		pieces := make([]string, number(rest, 200))
		for i := range pieces {
			pieces[i] = fmt.Sprintf("tick %d ", i)
		}
		wait := 10 * time.Millisecond
		if verb == "burst" {
			wait = 0
		}
		return g.stream("text", pieces, wait)
	case "model":
		return g.say1("model: " + g.model + " effort: " + g.level)
	case "seen":
		return g.say1(fmt.Sprintf("images %d documents 0", g.images))
	case "tool":
		return g.tool(rest)
	case "fail":
		return g.fail(rest)
	case "dialog":
		return g.dialog(rest)
	case "huge": // each piece repeats it all, so that soon no line can be read whole
		pieces := make([]string, number(rest, 1)*10)
		for i := range pieces {
			pieces[i] = strings.Repeat("y", 100<<10)
		}
		return g.stream("text", pieces, 0)
	case "garbage":
		g.line("\x00\xff{{{\n\n[1,2]\n{\"type\":7}\n{\"type\":\"message_update\",\"assistantMessageEvent\":{\"type\":\"text_delta\",\"contentIndex\":\"x\"}}\nnull\n\"x\"")
		return nil
	case "stderr":
		line := strings.Repeat("x", 1000) + strings.TrimLeft(rest, "0123456789") + "\n"
		for range number(rest, 1) {
			fmt.Fprint(os.Stderr, line)
		}
		return nil
	case "child":
		if err := child(); err != nil {
			return err
		}
		return g.say1("left one")
	case "die":
		fmt.Fprintln(os.Stderr, "canary")
		os.Exit(3)
	case "mute":
		_ = os.Stdout.Close()
		return g.pause(time.Hour)
	case "deaf":
		g.deaf = true
		return g.pause(0)
	}
	return g.say1("I do not understand")
}

// tool is a command; nobody is asked.
func (g *going) tool(rest string) error {
	g.typed("tool_execution_start", object{"toolCallId": "call_" + rest, "toolName": "bash", "args": object{"command": "sleep " + rest}})
	err := g.pause(time.Duration(number(rest, 1)) * time.Millisecond)
	g.typed("tool_execution_end", object{"toolCallId": "call_" + rest, "toolName": "bash", "result": object{}, "isError": err != nil})
	if err != nil {
		return err
	}
	g.mu.Lock()
	waits := len(g.queue) > 0
	g.mu.Unlock()
	if waits { // the next call of the model is given the words
		return nil
	}
	return g.say1("that took long")
}

// fail fails as the real one does with its provider's words. What can be
// repeated is repeated, after the end was told.
func (g *going) fail(rest string) error {
	words := map[string]string{
		"401":     "401 Incorrect API key provided: dummy.",
		"404":     "404 The model `no-such-model` does not exist or you do not have access to it.",
		"429":     "429 You exceeded your current quota, please check your plan and billing details.",
		"529":     "529 The engine is currently overloaded, please try again later.",
		"context": "400 Your input exceeds the context window of this model.",
		"cut":     "terminated",
		"once":    "529 The engine is currently overloaded, please try again later.",
	}[rest]
	if rest == "cut" {
		if err := g.say1("half an ans"); err != nil {
			return err
		}
	}
	g.finish("error", words)
	if rest != "429" && rest != "529" && rest != "once" {
		return errFake
	}
	for i := 1; i <= 3; i++ {
		g.mu.Lock()
		g.running = false // it says that it rests, until it tries again
		g.mu.Unlock()
		g.typed("agent_end", object{"messages": []object{}})
		g.typed("auto_retry_start", object{"attempt": i, "maxAttempts": 3, "delayMs": 100, "errorMessage": words})
		if err := g.pause(100 * time.Millisecond); err != nil {
			g.typed("auto_retry_end", object{"success": false, "attempt": i, "finalError": "Retry cancelled"})
			return errFake
		}
		g.mu.Lock()
		g.running = true
		g.mu.Unlock()
		g.say(object{"type": "agent_start"})
		g.begin()
		if rest == "once" {
			g.typed("auto_retry_end", object{"success": true, "attempt": i})
			return nil
		}
		g.finish("error", words)
	}
	g.typed("auto_retry_end", object{"success": false, "attempt": 3, "finalError": words})
	return errFake
}

// dialog is a question of an extension.
func (g *going) dialog(method string) error {
	g.mu.Lock()
	g.serial++
	id := "ui-" + strconv.Itoa(g.serial)
	ch := make(chan map[string]any, 1)
	g.dialogs[id] = ch
	g.mu.Unlock()
	g.typed("extension_ui_request", object{"id": id, "method": method, "title": "Which colour?", "message": "really?", "options": []string{"red", "blue"}})
	if method == "notify" {
		return g.say1("told")
	}
	select {
	case a := <-ch:
		return g.say1(fmt.Sprint("answered ", a["value"], a["confirmed"], a["cancelled"]))
	case <-g.stopped:
		return errFakeStop
	}
}

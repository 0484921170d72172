package client

import (
	"strings"
	"testing"

	"cligate/internal/chat"
)

// cut tells of a turn that was cut off, as a daemon does that was restarted.
func (d *daemon) cut(buttons ...chat.Button) {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	r := chat.Reply{Kind: chat.ReplyNotice, Markdown: "Interrupted: restarted.", Buttons: [][]chat.Button{buttons}}
	d.post(d.t.Context(), chat.OutFinal, r)
}

func TestWhatWasInterruptedIsShownWithTheWordsToType(t *testing.T) {
	t.Parallel()
	d := serve(t)
	if _, err := d.pipe("first"); err != nil {
		t.Fatal(err)
	}
	note := []chat.Button{{Label: "Continue", Data: "cont:7"}, {Label: "Retry", Data: "retry:7"}, {Label: "Drop", Data: "drop:7"}}
	want := "Interrupted: restarted.\n  /continue 7 (Continue)   /retry 7 (Retry)   /drop 7 (Drop)"
	before := d.terminal()
	before.until("Chat “terminal”")
	d.stop()
	before.until("connection lost")
	d.start()
	before.until("connected again")
	d.cut(note...)
	before.until(want) // somebody sat there
	after := d.terminal()
	if out := after.until("Chat “terminal”"); !strings.Contains(out, want) || strings.Contains(out, "You said") {
		t.Errorf("somebody who comes later sees %q", out)
	}
	after.say("/continue 7")
	after.until("This is /continue 7")
	if out, err := d.pipe("second"); err != nil || out != "You said second\n" {
		t.Errorf("%v, a script reads %q", err, out)
	}
}

func TestButtonWithoutACommandHasANumber(t *testing.T) {
	t.Parallel()
	d := serve(t)
	x := d.terminal()
	x.until("Chat “terminal”")
	x.say("first")
	x.until("You said first")
	d.cut(chat.Button{Label: "Now", Data: "edit:steer:7:1"}, chat.Button{Label: "Stop", Data: "stop:7"})
	x.until("  #1 (Now)   /stop (Stop)")
	x.say("#1")
	x.say("#2") // has a command, so this is a message
	x.until("You said #2")
	if got := d.received(); got != "first; edit:steer:7:1; #2" {
		t.Errorf("received %s", got)
	}
}

package reply_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform/fake"
)

func TestAnUnknownOutcomeGivesOneCopy(t *testing.T) {
	for name, o := range map[string]fake.Outcome{
		"it had arrived":                  {Err: coded(chat.Uncertain), Arrives: true},
		"it had not arrived":              {Err: coded(chat.Uncertain)},
		"the answer never came":           {Hang: true},
		"a deadline without a code":       {Err: context.DeadlineExceeded, Arrives: true},
		"wrapped by somebody in a hurry":  {Err: fmt.Errorf("post: %w", context.DeadlineExceeded)},
		"an error that proves no arrival": {Err: errors.New("refused")},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, traits, func(h *house) {
				p := h.place("1", true)
				h.tg.Script(failing("first", 1, o))
				h.say(p, "a", "first")
				h.say(p, "b", "second")
				sleep(5 * time.Minute)
				h.want("1", "first", "second")
				if h.resent != 0 {
					t.Error("marked as sent again")
				}
			})
		})
	}
}

func TestAProcessThatDiesInASendLeavesOneCopy(t *testing.T) {
	for _, arrived := range []bool{true, false} {
		t.Run(fmt.Sprint("arrived ", arrived), func(t *testing.T) {
			bubble(t, traits, func(h *house) {
				p := h.place("1", true)
				h.cfg.Drain = time.Millisecond
				h.stop()
				h.start()
				h.tg.Script(func(o chat.Out) fake.Outcome {
					if arrived {
						return fake.Outcome{Hang: true}
					}
					return fake.Outcome{Delay: time.Hour}
				})
				h.say(p, "a", "first")
				sleep(time.Second)
				h.stop()
				h.tg.Script(nil)
				h.say(p, "b", "second")
				h.start()
				sleep(time.Minute)
				h.want("1", "first", "second")
			})
		})
	}
}

func TestAnOutcomeThatStaysUnknownIsSentAgainMarkedOnce(t *testing.T) {
	for _, text := range []string{"the answer", "**the** answer", "这是答复"} {
		t.Run(text, func(t *testing.T) {
			bubble(t, traits, func(h *house) {
				p := h.place("1", true)
				h.tg.Script(failing("", 9, fake.Outcome{Err: coded(chat.Uncertain)}))
				h.enqueue(h.voice.Compose(p, 3, "final/3", chat.OutFinal, chat.Reply{Markdown: text}))
				h.say(p, "b", "second")
				sleep(5 * time.Minute)
				got := h.tg.Texts("1")
				plain := strings.ReplaceAll(text, "*", "")
				if len(got) != 2 || !strings.Contains(got[0], plain) || len(got[0]) < len(plain)+20 || got[1] != "second" {
					t.Errorf("shows %q", got)
				}
				if n := strings.Count(got[0], "(Sent again") + strings.Count(got[0], "（重新发送"); n != 1 || h.resent < 1 {
					t.Errorf("%d marks in %q, counted %d", n, got[0], h.resent)
				}
			})
		})
	}
}

func TestARefusedFormBecomesPlainThenAFileThenADeadLetter(t *testing.T) {
	for refusals, want := range map[int]string{1: "bold text", 2: "This answer could not be shown"} {
		bubbleRun(t, fmt.Sprintf("%d refusals", refusals), func(h *house) {
			h.tg.Script(failing("", refusals, fake.Outcome{Err: coded(chat.Degrade)}))
			p := h.place("1", true)
			h.enqueue(h.voice.Compose(p, 3, "final/3", chat.OutFinal, chat.Reply{Markdown: "**bold** text"}))
			sleep(time.Minute)
			got := h.tg.Messages("1")
			if len(got) != 1 || !strings.HasPrefix(got[0].Part.Text, want) || got[0].Part.Format != nil {
				h.t.Fatalf("shows %+v", got)
			}
			if refusals == 2 && (got[0].Part.File == nil || string(got[0].Part.File.Body) != "bold text") {
				h.t.Errorf("file %+v", got[0].Part.File)
			}
		})
	}
	bubbleRun(t, "everything is refused", func(h *house) {
		h.tg.Script(failing("", 9, fake.Outcome{Err: chat.E(chat.Degrade, "no form pleases", nil)}))
		p := h.place("1", true)
		h.enqueue(h.voice.Compose(p, 3, "final/3", chat.OutFinal, chat.Reply{Markdown: "**bold** text"}))
		sleep(time.Minute)
		if len(h.dead) != 1 || !strings.HasSuffix(h.dead[0], "no form pleases") {
			h.t.Errorf("dead: %q", h.dead)
		}
	})
}

func bubbleRun(t *testing.T, name string, f func(h *house)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { bubble(t, traits, f) })
}

func TestAHopelessRowIsBuriedAndDoesNotHoldTheOthers(t *testing.T) {
	bubble(t, traits, func(h *house) {
		p := h.place("1", true)
		h.tg.Script(func(o chat.Out) fake.Outcome {
			switch o.Part.Text {
			case "hopeless":
				return fake.Outcome{Err: chat.E(chat.GiveUp, "the topic is gone", nil)}
			case "panics":
				panic("a defect in an adapter")
			}
			return fake.Outcome{}
		})
		for _, text := range []string{"hopeless", "panics", "fine"} {
			h.say(p, text, text)
		}
		sleep(time.Minute)
		h.want("1", "fine")
		if len(h.dead) != 2 || h.dead[0] != "hopeless: the topic is gone" {
			t.Errorf("dead: %q", h.dead)
		}
	})
}

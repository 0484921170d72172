package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	fakebot "cligate/internal/sim/telegram"
)

func textUpdate(id int64, text string) string {
	return fmt.Sprintf(`{"update_id":%d,"message":{"message_id":%d,"date":1,"chat":{"id":11,"type":"private"},"from":{"id":11,"first_name":"A"},"text":%q}}`, id, id, text)
}

// service is a scripted server: each poll takes the next step, and when there
// are none the poll stays open.
type service struct {
	mu      sync.Mutex
	steps   []func(form url.Values) (int, string)
	offsets []string
	polls   []time.Time
	method  map[string]int
}

func (s *service) answer(method string, form url.Values) (int, string) {
	s.mu.Lock()
	if s.method == nil {
		s.method = map[string]int{}
	}
	s.method[method]++
	var step func(url.Values) (int, string)
	if method == "getUpdates" {
		s.offsets = append(s.offsets, form.Get("offset"))
		s.polls = append(s.polls, time.Now())
		if len(s.steps) > 0 {
			step, s.steps = s.steps[0], s.steps[1:]
		}
	}
	s.mu.Unlock()
	switch method {
	case "getMe":
		return ok(meJSON)
	case "getUpdates":
		if step != nil {
			return step(form)
		}
		n, _ := strconv.Atoi(form.Get("timeout"))
		time.Sleep(time.Duration(n) * time.Second)
		return ok("[]")
	}
	return ok("true")
}

func batch(us ...string) func(url.Values) (int, string) {
	return func(url.Values) (int, string) { return ok("[" + strings.Join(us, ",") + "]") }
}

func refuse(code int, text string) func(url.Values) (int, string) {
	return func(url.Values) (int, string) { return no(code, text) }
}

func times[T any](n int, v T) []T { return slices.Repeat([]T{v}, n) }

func TestOneUndecodableUpdateDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{steps: []func(url.Values) (int, string){batch(
			textUpdate(10, "one"), `{"update_id":11,"message":{"message_id":"x"}}`, `7`, textUpdate(12, "two"))}}
		a, log := offline(t, Config{}, s.answer)
		in := newInbox()
		stop := start(t, a, in)
		synctest.Wait()
		if got := in.texts(); !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("got %q", got)
		}
		if in.cursor != "13" || s.offsets[len(s.offsets)-1] != "13" {
			t.Errorf("cursor %q, next offset %q, want 13", in.cursor, s.offsets[len(s.offsets)-1])
		}
		if len(in.unread) != 2 || string(in.unread[1].Raw) != "7" || !strings.Contains(string(in.unread[0].Raw), `"message_id":"x"`) {
			t.Errorf("kept %v", in.unread)
		}
		if !strings.Contains(log.String(), "update not understood") {
			t.Error("the odd update is not in the log")
		}
		_ = stop()
	})
}

func TestNothingIsAcknowledgedBeforeItIsStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{steps: []func(url.Values) (int, string){batch(textUpdate(10, "one"))}}
		a, _ := offline(t, Config{}, s.answer)
		in := newInbox()
		in.fail = func(n int) error {
			if n < 4 {
				return errors.New("disk full")
			}
			return nil
		}
		stop := start(t, a, in)
		time.Sleep(300 * time.Millisecond)
		synctest.Wait()
		if len(s.offsets) != 1 {
			t.Fatalf("polled again with offsets %v before the batch was stored", s.offsets)
		}
		if h := a.Health(); h.Connected || !strings.Contains(h.Detail, "cannot be stored") {
			t.Errorf("health hides that nothing can be stored: %+v", h)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := in.texts(); !slices.Equal(got, []string{"one"}) {
			t.Errorf("got %q, want the message once", got)
		}
		if len(s.offsets) < 2 || s.offsets[1] != "11" {
			t.Errorf("offsets %v, want 11 after the commit", s.offsets)
		}
		if h := a.Health(); !h.Connected {
			t.Errorf("health after the disk came back: %+v", h)
		}
		_ = stop()
	})
}

func TestUpdateNumbersMayRestartLower(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{steps: []func(url.Values) (int, string){batch(textUpdate(1000, "old")), batch(textUpdate(5, "new"), textUpdate(6, "newer"))}}
		a, _ := offline(t, Config{}, s.answer)
		in := newInbox()
		stop := start(t, a, in)
		synctest.Wait()
		if got := in.texts(); !slices.Equal(got, []string{"old", "new", "newer"}) {
			t.Errorf("got %q", got)
		}
		if in.cursor != "7" || len(s.offsets) > 3 {
			t.Errorf("cursor %q after %d polls", in.cursor, len(s.offsets))
		}
		keys := map[string]bool{}
		for _, m := range in.msgs {
			keys[m.Key] = true
		}
		if len(keys) != 3 {
			t.Errorf("keys %v are not unique", keys)
		}
		_ = stop()
	})
}

func TestKeysStayUniqueWhenUpdateNumbersRepeat(t *testing.T) {
	t.Parallel()
	d := decoder{me: user{ID: 1}, now: time.Now}
	first, err := d.take([]byte(textUpdate(7, "a")))
	if err != nil {
		t.Fatal(err)
	}
	again, _ := d.take([]byte(textUpdate(7, "a")))
	other, _ := d.take([]byte(strings.Replace(textUpdate(7, "b"), `"message_id":7`, `"message_id":900`, 1)))
	if first.msgs[0].Key != again.msgs[0].Key {
		t.Error("a redelivered update has another key")
	}
	if first.msgs[0].Key == other.msgs[0].Key {
		t.Error("two messages share a key because the update number came again")
	}
}

func TestAServerThatRepeatsItselfIsNotAskedInALoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		same := times(1000, batch(textUpdate(10, "again")))
		empty := times(1000, batch())
		for name, steps := range map[string][]func(url.Values) (int, string){"same batch": same, "no waiting": empty} {
			s := &service{steps: steps}
			a, _ := offline(t, Config{}, s.answer)
			stop := start(t, a, newInbox())
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if n := len(s.polls); n > 22 {
				t.Errorf("%s: %d polls in 10 s", name, n)
			}
			_ = stop()
		}
	})
}

func TestEveryPollNamesTheWantedKinds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var forms []url.Values
		a, _ := offline(t, Config{PollTimeout: 7 * time.Second}, func(method string, form url.Values) (int, string) {
			if method != "getUpdates" {
				return ok(meJSON)
			}
			forms = append(forms, form)
			time.Sleep(7 * time.Second)
			return ok("[]")
		})
		stop := start(t, a, newInbox())
		time.Sleep(20 * time.Second)
		synctest.Wait()
		for i, f := range forms {
			if f.Get("allowed_updates") != wanted || f.Get("timeout") != map[bool]string{true: "0", false: "7"}[i == 0] || f.Get("limit") != "100" {
				t.Errorf("poll with %v", f)
			}
		}
		if len(forms) < 2 {
			t.Errorf("%d polls", len(forms))
		}
		_ = stop()
	})
}

func TestASecondPollerIsNamedAndOutlived(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const text = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
		s := &service{steps: append(times(8, refuse(409, text)), batch(textUpdate(3, "here")))}
		var alarms []string
		a, log := offline(t, Config{Alarm: func(d string, _ bool) { alarms = append(alarms, d) }}, s.answer)
		in := newInbox()
		stop := start(t, a, in)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if h := a.Health(); h.Connected || !strings.Contains(h.Detail, "another program") {
			t.Errorf("health %+v", h)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if got := in.texts(); !slices.Equal(got, []string{"here"}) {
			t.Errorf("after the conflict got %q", got)
		}
		if len(alarms) != 1 {
			t.Errorf("the operator was told %d times", len(alarms))
		}
		if n := strings.Count(log.String(), "not receiving"); n != 1 {
			t.Errorf("%d log lines about one trouble", n)
		}
		if d := s.polls[7].Sub(s.polls[6]); d < 10*time.Second {
			t.Errorf("pause %v after 7 conflicts: no back-off", d)
		}
		_ = stop()
	})
}

func TestAWebhookIsNamedAndNotRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{steps: times(20, refuse(409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"))}
		a, _ := offline(t, Config{}, s.answer)
		stop := start(t, a, newInbox())
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if h := a.Health(); !strings.Contains(h.Detail, "webhook") {
			t.Errorf("health %+v", h)
		}
		if s.method["deleteWebhook"] != 0 {
			t.Error("the webhook was removed without asking")
		}
		_ = stop()
	})
}

func TestARefusedTokenEndsRun(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]answers{
		"at the start": func(string, url.Values) (int, string) { return no(401, "Unauthorized") },
		"malformed":    func(string, url.Values) (int, string) { return no(404, "Not Found") },
		"later": func() answers {
			hello := false
			return func(method string, _ url.Values) (int, string) {
				if method == "getMe" && !hello {
					hello = true
					return ok(meJSON)
				}
				return no(401, "Unauthorized")
			}
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a, _ := offline(t, Config{}, f)
				err := a.Run(t.Context(), newInbox())
				if chat.CodeOf(err) != chat.Denied || !strings.Contains(chat.DetailOf(err), "telegram.token") {
					t.Errorf("Run returned %v", err)
				}
				if strings.Contains(fmt.Sprint(err), testToken) {
					t.Error("the error shows the token")
				}
			})
		})
	}
}

func TestOneUnauthorizedIsNotTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{steps: []func(url.Values) (int, string){refuse(401, "Unauthorized"), batch(textUpdate(3, "here"))}}
		a, _ := offline(t, Config{}, s.answer)
		in := newInbox()
		stop := start(t, a, in)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := in.texts(); !slices.Equal(got, []string{"here"}) {
			t.Errorf("got %q", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestTheToldWaitIsKeptBetweenPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{steps: []func(url.Values) (int, string){func(url.Values) (int, string) {
			return 429, `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 40","parameters":{"retry_after":40}}`
		}}}
		a, _ := offline(t, Config{}, s.answer)
		stop := start(t, a, newInbox())
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if d := s.polls[1].Sub(s.polls[0]); d < 40*time.Second {
			t.Errorf("polled again after %v, told to wait 40 s", d)
		}
		_ = stop()
	})
}

func TestAnOutageIsOneLogLineAndFewCalls(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]func(url.Values) (int, string){
		"refused":  func(url.Values) (int, string) { return 0, "" },
		"cut":      func(url.Values) (int, string) { return -1, "" },
		"html 502": func(url.Values) (int, string) { return 502, "<html>502 Bad Gateway</html>" },
		"portal":   func(url.Values) (int, string) { return 200, "<html>please log in</html>" },
		"json 500": refuse(500, "Internal Server Error"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var healed atomic.Bool
				s := &service{}
				a, log := offline(t, Config{}, func(method string, form url.Values) (int, string) {
					if method == "getUpdates" && !healed.Load() {
						s.mu.Lock()
						defer s.mu.Unlock()
						s.polls = append(s.polls, time.Now())
						return step(form)
					}
					return s.answer(method, form)
				})
				in := newInbox()
				stop := start(t, a, in)
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				if n := len(s.polls); n > 50 || n < 15 {
					t.Errorf("%d polls in 10 minutes", n)
				}
				if n := strings.Count(log.String(), "not receiving"); n != 1 {
					t.Errorf("%d log lines", n)
				}
				s.steps = []func(url.Values) (int, string){batch(textUpdate(3, "back"))}
				healed.Store(true)
				time.Sleep(35 * time.Second)
				synctest.Wait()
				if got := in.texts(); !slices.Equal(got, []string{"back"}) {
					t.Errorf("35 s after the outage got %q", got)
				}
				if !strings.Contains(log.String(), "receiving again") {
					t.Error("the end of the outage is not in the log")
				}
				_ = stop()
			})
		})
	}
}

func TestHealthIsGoodAsSoonAsTheServerAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{steps: []func(url.Values) (int, string){batch()}}
		a, _ := offline(t, Config{}, s.answer)
		stop := start(t, a, newInbox())
		synctest.Wait()
		if h := a.Health(); !h.Connected {
			t.Errorf("with the first long poll open health says %+v", h)
		}
		_ = stop()
	})
}

func TestNoNetworkAtBootIsNoReasonToExit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var up atomic.Bool
		s := &service{steps: []func(url.Values) (int, string){batch(textUpdate(3, "here"))}}
		a, _ := offline(t, Config{}, func(method string, form url.Values) (int, string) {
			if !up.Load() {
				return 0, ""
			}
			return s.answer(method, form)
		})
		in := newInbox()
		stop := start(t, a, in)
		time.Sleep(5 * time.Minute)
		up.Store(true)
		time.Sleep(35 * time.Second)
		synctest.Wait()
		if got := in.texts(); !slices.Equal(got, []string{"here"}) {
			t.Errorf("got %q", got)
		}
		_ = stop()
	})
}

func TestADeadConnectionIsNoticed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _ := open(t, Config{})
		polls := 0
		a.wire.client.Transport = roundTrip(func(ctx context.Context, method string) (int, string, error) {
			switch {
			case method == "getMe":
				return 200, `{"ok":true,"result":` + meJSON + `}`, nil
			case polls < 1:
				polls++
				return 200, `{"ok":true,"result":[]}`, nil
			}
			<-ctx.Done() // accepted, never answered
			return 0, "", ctx.Err()
		})
		stop := start(t, a, newInbox())
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if h := a.Health(); !h.Connected {
			t.Fatalf("while all is well health says %+v", h)
		}
		time.Sleep(62 * time.Second)
		synctest.Wait()
		if h := a.Health(); h.Connected || !strings.HasPrefix(h.Detail, says("", troubleNetwork)) {
			t.Errorf("after the connection died health says %+v", h)
		}
		_ = stop()
	})
}

func TestShutdownDoesNotWaitForThePoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _ := open(t, Config{})
		a.wire.client.Transport = roundTrip(func(ctx context.Context, method string) (int, string, error) {
			if method == "getUpdates" {
				<-ctx.Done()
				return 0, "", ctx.Err()
			}
			return 200, `{"ok":true,"result":` + meJSON + `}`, nil
		})
		stop := start(t, a, newInbox())
		time.Sleep(5 * time.Second)
		began := time.Now()
		if err := stop(); err != nil {
			t.Errorf("Run returned %v at shutdown", err)
		}
		if d := time.Since(began); d > time.Second {
			t.Errorf("shutdown took %v", d)
		}
	})
}

// Two programs that take turns make many changes, and are one trouble.
func TestTroubleThatComesAndGoesIsToldOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const text = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
		var steps []func(url.Values) (int, string)
		for i := range 30 {
			steps = append(steps, refuse(409, text), batch(textUpdate(int64(100+i), "x")))
		}
		told := 0
		a, _ := offline(t, Config{Alarm: func(string, bool) { told++ }}, (&service{steps: steps}).answer)
		in := newInbox()
		stop := start(t, a, in)
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if n := len(in.texts()); told != 1 || n != 30 {
			t.Errorf("told %d times, %d messages", told, n)
		}
		_ = stop()
	})
}

// The poll that nobody answers is over before the next one begins: there is no
// conflict with ourselves, and what came meanwhile arrives.
func TestADeafServerIsAskedAgainWithoutAConflictWithOurselves(t *testing.T) {
	t.Parallel()
	a, srv, _ := strict(t, Config{PollTimeout: time.Second, PollGrace: 500 * time.Millisecond})
	in := newInbox()
	start(t, a, in)
	if !srv.Wait(patience, func() bool { return a.Health().Connected }) {
		t.Fatal("not connected")
	}
	for round := range 3 {
		hang := make(chan struct{})
		f := srv.Fail(fakebot.Fault{Kind: fakebot.Hang, Method: "getUpdates", Times: 1, Until: hang})
		srv.Say(testToken, fakebot.Say{Chat: ann, Text: strconv.Itoa(round)})
		ok := srv.Wait(patience, func() bool { return srv.Used(f) == 1 && len(in.texts()) >= round+1 })
		close(hang)
		if !ok {
			t.Fatalf("round %d: got %q, health %+v", round, in.texts(), a.Health())
		}
	}
	for _, c := range srv.Calls() {
		if c.Code == 409 {
			t.Errorf("a conflict: %+v", c)
		}
	}
}

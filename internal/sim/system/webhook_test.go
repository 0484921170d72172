package system

import (
	"net/http"
	"strings"
	"testing"

	"cligate/internal/fault"
	"cligate/internal/sim/rig"
)

// What Telegram delivers is once in the ledger and answered once, whenever the
// daemon is killed: before the commit, or between it and the 200.
func TestFaultWhileAWebhookDelivers(t *testing.T) {
	t.Parallel()
	for _, at := range []fault.Point{fault.UpdatesRead, fault.UpdatesStored, fault.RouterWoken} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			env, _ := rig.Webhook(t)
			r := rig.New(t, rig.Options{Env: env})
			r.Start("CLIGATE_FAULT=" + string(at) + ":2")
			p := &person{t: t, r: r, c: r.Chat(rig.Owner), name: "h"}
			for range 3 {
				p.tell(r.Words().Echo)
			}
			p.settle()
			if p.died != 1 {
				t.Fatalf("died %d times", p.died)
			}
			r.Until("all is delivered", func() bool { return r.Telegram.Pending(rig.Token) == 0 })
			p.last()
			if n := r.Count("SELECT count(*) FROM inbound"); n != p.n {
				t.Errorf("%d messages in the ledger, %d were said", n, p.n)
			}
			failed := 0
			for _, d := range r.Telegram.Deliveries(rig.Token) {
				if d.Status != http.StatusOK {
					failed++
				}
			}
			if failed == 0 && at != fault.RouterWoken { // that one dies beside the answer, before or after it
				t.Error("nothing was delivered twice: the test proves nothing")
			}
			r.Judge()
			finish(t, r)
		})
	}
}

// What comes while the daemon is down waits at Telegram; a change of the way
// of receiving loses and repeats nothing.
func TestTheWayOfReceivingCanBeChanged(t *testing.T) {
	t.Parallel()
	env, address := rig.Webhook(t)
	r := rig.New(t, rig.Options{})
	p := &person{t: t, r: r, c: r.Chat(rig.Owner), name: "w"}
	for life, hooks := range []bool{false, true, true, false, false} {
		p.tell(r.Words().Echo) // while nobody listens
		if hooks {
			r.Start(env...)
		} else {
			r.Start()
		}
		p.tell(r.Words().Echo)
		p.settle()
		r.Until("all is taken", func() bool { return r.Telegram.Pending(rig.Token) == 0 && r.AtRest() })
		if got, _ := r.Telegram.Webhook(rig.Token); (got == address) != hooks || !hooks && got != "" {
			t.Errorf("life %d: the webhook is %q", life, got)
		}
		if n := r.Count("SELECT count(*) FROM turn"); n == 0 || n > p.n {
			t.Errorf("life %d: %d turns of %d messages", life, n, p.n)
		}
		if life%2 == 0 {
			r.Kill()
		} else {
			r.Stop()
		}
	}
	r.Start()
	p.last()
	r.Judge()
	finish(t, r)
}

// A redelivered update, and one with a forged secret, change nothing.
func TestAWebhookTakesEachUpdateOnceAndNoForgedOne(t *testing.T) {
	t.Parallel()
	env, address := rig.Webhook(t)
	r := rig.New(t, rig.Options{Env: env})
	r.Start()
	p := &person{t: t, r: r, c: r.Chat(rig.Owner), name: "f"}
	p.tell(r.Words().Echo)
	p.settle()
	body := `{"update_id":77,"message":{"message_id":7700,"date":1,"chat":{"id":1001,"type":"private"},"from":{"id":1001,"first_name":"O"},"text":"run touch stolen"}}`
	for _, secret := range []string{"", "x", rig.HookSecret + "x"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if secret != "" {
			req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("secret %q: status %d", secret, resp.StatusCode)
		}
	}
	if n := r.Count("SELECT count(*) FROM inbound"); n != 1 {
		t.Errorf("%d messages in the ledger", n)
	}
	r.Kill() // so that two copies wait
	p.tell(r.Words().Echo)
	r.Telegram.Again(rig.Token)
	r.Start()
	p.settle()
	r.Until("both copies are taken", func() bool { return r.Telegram.Pending(rig.Token) == 0 })
	p.last()
	r.Judge()
	finish(t, r)
}

package reply_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform/fake"
)

// shelf notes which files of the spool are let go.
type shelf struct {
	mu   sync.Mutex
	gone []string
}

func (s *shelf) discard(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = append(s.gone, name)
}

func (s *shelf) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.gone)
}

// shelved gives the house a spool.
func (h *house) shelved() *shelf {
	s := &shelf{}
	h.stop()
	h.cfg.Discard = s.discard
	h.start()
	return s
}

func photo(key string, p chat.Place) chat.Out {
	return chat.Out{Key: key, Place: p, Class: chat.OutFinal, Op: chat.OpPost, Part: chat.Part{
		Text: "plot", File: &chat.OutFile{Name: "plot.png", Kind: chat.FilePhoto, Spool: key, Size: 9, Instead: "it lies there"},
	}}
}

func TestRefusedFileBecomesLighterStepByStep(t *testing.T) {
	bubble(t, traits, func(h *house) {
		s := h.shelved()
		var tried []string
		var mu sync.Mutex
		h.tg.Script(func(o chat.Out) fake.Outcome {
			mu.Lock()
			defer mu.Unlock()
			form := "words"
			if o.Part.File != nil {
				form = "file " + string(o.Part.File.Kind)
				tried = append(tried, form)
				return fake.Outcome{Err: coded(chat.Degrade)}
			}
			tried = append(tried, form)
			return fake.Outcome{}
		})
		h.enqueue([]chat.Out{photo("k1", h.place("a", true))})
		time.Sleep(time.Minute)
		synctest.Wait()
		h.want("a", "it lies there")
		if !slices.Equal(tried, []string{"file photo", "file ", "words"}) {
			t.Errorf("tried %q", tried)
		}
		if got := s.names(); !slices.Equal(got, []string{"k1"}) {
			t.Errorf("let go: %q", got)
		}
		if len(h.dead) > 0 {
			t.Errorf("given up: %q", h.dead)
		}
	})
}

func TestFileLeavesTheSpoolWithItsReceiptAndNotBefore(t *testing.T) {
	bubble(t, traits, func(h *house) {
		s := h.shelved()
		down := true
		var mu sync.Mutex
		h.tg.Script(func(chat.Out) fake.Outcome {
			mu.Lock()
			defer mu.Unlock()
			if down {
				return fake.Outcome{Err: coded(chat.Network)}
			}
			return fake.Outcome{}
		})
		h.enqueue([]chat.Out{photo("k1", h.place("a", true))})
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := s.names(); len(got) > 0 {
			t.Fatalf("let go before it arrived: %q", got)
		}
		mu.Lock()
		down = false
		mu.Unlock()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if got := s.names(); !slices.Equal(got, []string{"k1"}) {
			t.Errorf("let go: %q", got)
		}
	})
}

func TestFileOfALocalServiceStays(t *testing.T) {
	local := traits
	local.Local = true // it is read there later, too
	bubble(t, local, func(h *house) {
		s := h.shelved()
		h.enqueue([]chat.Out{photo("k1", h.place("a", true))})
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := s.names(); len(got) > 0 {
			t.Errorf("let go: %q", got)
		}
	})
}

func TestUploadThatNeverGetsAnAnswerEndsInWords(t *testing.T) {
	bubble(t, traits, func(h *house) {
		s := h.shelved()
		h.tg.Script(func(o chat.Out) fake.Outcome {
			if o.Part.File != nil { // something on the way cuts every upload
				return fake.Outcome{Err: coded(chat.Uncertain)}
			}
			return fake.Outcome{}
		})
		p := h.place("a", true)
		h.enqueue([]chat.Out{photo("k1", p)})
		h.say(p, "n", "and what follows")
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		h.want("a", "it lies there", "and what follows")
		if got := s.names(); !slices.Equal(got, []string{"k1"}) {
			t.Errorf("let go: %q", got)
		}
	})
}

func TestLargeFileHasTimeToTravel(t *testing.T) {
	bubble(t, traits, func(h *house) {
		h.shelved()
		h.tg.Script(func(o chat.Out) fake.Outcome {
			return fake.Outcome{Delay: 5 * time.Minute} // beyond the limit of a call without a file
		})
		o := photo("k1", h.place("a", true))
		o.Part.File.Size = 50 << 20
		h.enqueue([]chat.Out{o})
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		h.want("a", "plot")
	})
}

func TestFileOverASlowUplinkIsSentOnce(t *testing.T) {
	bubble(t, traits, func(h *house) {
		var calls atomic.Int32
		h.tg.Script(func(chat.Out) fake.Outcome {
			calls.Add(1)
			return fake.Outcome{Delay: 50 << 20 / (40 << 10) * time.Second}
		})
		o := photo("k1", h.place("a", true))
		o.Part.File.Size = 50 << 20
		h.enqueue([]chat.Out{o})
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		h.want("a", "plot")
		if n := calls.Load(); n != 1 {
			t.Errorf("sent %d times", n)
		}
	})
}

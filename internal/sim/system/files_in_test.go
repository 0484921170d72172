package system

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"testing"

	"cligate/internal/fault"
	"cligate/internal/sim/rig"
	"cligate/internal/sim/telegram"
)

func TestFaultWhileFilesAreFetched(t *testing.T) {
	t.Parallel()
	var body bytes.Buffer
	if err := png.Encode(&body, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	for _, p := range []fault.Point{fault.FileFetching, fault.FileFetched} {
		for hit := 1; hit <= 3; hit++ {
			t.Run(fmt.Sprintf("%s/%d", p, hit), func(t *testing.T) {
				t.Parallel()
				r := rig.New(t, rig.Options{})
				r.Start(fmt.Sprintf("CLIGATE_FAULT=%s:%d", p, hit))
				for n, caption := range []string{"seen", "", ""} {
					r.Telegram.Say(rig.Token, telegram.Say{Chat: rig.Owner, Album: "g", Text: caption, File: &telegram.File{
						Kind: "photo", Body: append(bytes.Clone(body.Bytes()), byte(n)),
					}})
				}
				r.Until("the point is reached", func() bool { return !r.Alive() })
				if !r.Killed() {
					t.Fatalf("not by the fault\n%s", r.Tail())
				}
				r.Start()
				r.Chat(rig.Owner).Await("images 3 documents 0")
				r.Rest()
				if n := r.Count("SELECT count(*) FROM turn"); n != 1 {
					t.Errorf("%d turns", n)
				}
				r.Judge()
				finish(t, r)
			})
		}
	}
}

package system

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"testing"
	"time"

	"cligate/internal/fault"
	"cligate/internal/sim/feishu"
	"cligate/internal/sim/rig"
	"cligate/internal/sim/telegram"
)

func TestFaultWhileFilesAreFetched(t *testing.T) {
	t.Parallel()
	for _, platform := range []string{"telegram", "feishu"} {
		for _, p := range []fault.Point{fault.FileFetching, fault.FileFetched} {
			for hit := 1; hit <= 3; hit++ {
				if platform == "feishu" && hit == 1 && !full() {
					continue // the first file is like the others
				}
				t.Run(fmt.Sprintf("%s/%s/%d", platform, p, hit), func(t *testing.T) {
					t.Parallel()
					r := rig.New(t, on(platform, rig.Options{Owners: []int64{2001}}))
					r.Start(fmt.Sprintf("CLIGATE_FAULT=%s:%d", p, hit))
					c := place(r, platform, 0)
					if r.Feishu != nil {
						r.Until("the daemon is connected", r.Hears)
						pictures(t, r, c.Chat)
					} else {
						album(t, r)
					}
					r.Until("the point is reached", func() bool { return !r.Alive() })
					if !r.Killed() {
						t.Fatalf("not by the fault\n%s", r.Tail())
					}
					r.Start()
					c.Await("images 3 documents 0")
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
}

// picture is one of several pictures.
func picture(t *testing.T, n int) []byte {
	t.Helper()
	var body bytes.Buffer
	if err := png.Encode(&body, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	return append(body.Bytes(), byte(n))
}

// album says three pictures that belong together on Telegram.
func album(t *testing.T, r *rig.Rig) {
	t.Helper()
	for n, caption := range []string{"seen", "", ""} {
		r.Telegram.Say(rig.Token, telegram.Say{Chat: 2001, Album: "g", Text: caption, File: &telegram.File{Kind: "photo", Body: picture(t, n)}})
	}
}

// pictures says words and three pictures at once on Feishu, as its clients do
// when several are chosen: each is a message.
func pictures(t *testing.T, r *rig.Rig, chat string) {
	t.Helper()
	now := time.Now()
	r.Feishu.Say(feishu.Say{App: rig.App, Chat: chat, From: rig.Person(2001), Text: "seen", At: now})
	for n := range 3 {
		key := r.Feishu.Attach("image", "", picture(t, n))
		r.Feishu.Say(feishu.Say{App: rig.App, Chat: chat, From: rig.Person(2001), Type: "image", Content: map[string]string{"image_key": key}, Shared: []string{key}, At: now})
	}
}

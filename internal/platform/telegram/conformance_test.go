package telegram

import (
	"context"
	"errors"
	"testing"
	"time"

	"cligate/internal/platform/platformtest"
	fakebot "cligate/internal/sim/telegram"
)

func TestTheAdapterConforms(t *testing.T) {
	t.Parallel()
	platformtest.Run(t, func(t *testing.T) platformtest.House {
		t.Helper()
		a, srv, _ := strict(t, Config{})
		return platformtest.House{
			Adapter: a,
			Place:   placeOf(ann, ""),
			Texts:   func() []string { return texts(srv, ann) },
			Say: func(ctx context.Context, text string) error {
				srv.Say(testToken, fakebot.Say{Chat: ann, Text: text})
				end, _ := ctx.Deadline()
				if !srv.Wait(time.Until(end), func() bool { return srv.Pending(testToken) == 0 }) {
					return errors.New("the update is not acknowledged")
				}
				return nil
			},
		}
	})
}

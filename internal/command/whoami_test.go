package command

import (
	"testing"

	"cligate/internal/chat"
)

func TestTheIdThatAConfigurationNeedsCanBeCopied(t *testing.T) {
	t.Parallel()
	in := chat.Inbound{Message: chat.Message{Sender: chat.Person{ID: "4711", Name: "Ann"}}, Role: chat.RoleMember}
	r, err := whoami(t.Context(), nil, Call{In: in, Lang: "en"})
	if err != nil || len(r.Replies) != 1 {
		t.Fatal(r, err)
	}
	if bs := r.Replies[0].Buttons; len(bs) != 1 || len(bs[0]) != 1 || bs[0][0].Copy != "4711" || bs[0][0].Data != "" {
		t.Errorf("buttons %+v", bs)
	}
}

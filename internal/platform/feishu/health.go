package feishu

import (
	"log/slog"

	"cligate/internal/i18n"
	"cligate/internal/platform/uplink"
)

// Why the account does not receive.
const (
	troubleNone     = uplink.None
	troubleNetwork  = uplink.Network
	troubleRejected = uplink.Rejected // the app or its secret is not accepted
	troubleStorage  = uplink.Storage
	troubleCut      = uplink.Trouble("cut")     // calls work, the long connection does not
	troubleCrowded  = uplink.Trouble("crowded") // too many programs are connected as this app
	troubleRefused  = uplink.Trouble("refused") // no connection is given, for another reason
	troubleBotless  = uplink.Trouble("botless") // the app has no bot
	troubleShared   = uplink.Trouble("shared")  // another program takes some of the events
	troubleSealed   = uplink.Trouble("sealed")  // posts come, and none can be opened
)

// says puts t into words for the operator.
func says(lang string, t uplink.Trouble) string {
	if t == troubleNone {
		return i18n.T(lang, "feishu.receiving")
	}
	return i18n.T(lang, "feishu."+string(t))
}

// tone is how the operator is told of t.
func tone(t uplink.Trouble) uplink.Tone {
	switch t {
	case troubleCrowded, troubleRefused:
		return uplink.Tone{Aloud: true, Speaks: true}
	case troubleRejected, troubleBotless:
		return uplink.Tone{Aloud: true}
	case troubleCut, troubleSealed:
		return uplink.Tone{Speaks: true}
	default:
		return uplink.Tone{}
	}
}

func newLink(lang string, alarm func(detail string, speaks bool), log *slog.Logger) *uplink.State {
	return uplink.NewState(uplink.Voice{
		Lang: lang, Tone: tone, Tell: alarm, Says: func(t uplink.Trouble) string { return says(lang, t) },
	}, log)
}

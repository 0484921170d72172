package system

import (
	"math/rand/v2"
	"net/http"

	"cligate/internal/sim/feishu"
	"cligate/internal/sim/rig"
	"cligate/internal/sim/telegram"
)

// telegramSky is what comes from Telegram.
type telegramSky struct {
	r     *rig.Rig
	fault *telegram.Fault
}

func newTelegramSky(r *rig.Rig) *telegramSky {
	r.Telegram.EnforceRates(true)
	for _, method := range []string{"sendMessage", "sendDocument", "sendPhoto"} {
		r.Telegram.Fail(telegram.Fault{Kind: telegram.Refuse, Method: method, Chat: doomed, Text: "Bad Request: DOOMED"})
	}
	r.Telegram.AddChat(stranger, telegram.Private, "Stranger")
	return &telegramSky{r: r}
}

func (s *telegramSky) chats() ([]*rig.Talk, *rig.Talk) {
	return []*rig.Talk{s.r.Chat(3001), s.r.Chat(3002)}, s.r.Chat(doomed)
}

func (s *telegramSky) strange() {
	s.r.Telegram.Say(rig.Token, telegram.Say{Chat: stranger, Text: "long 1 strange"})
}

func (s *telegramSky) fail(rnd *rand.Rand) {
	if s.fault != nil && s.r.Telegram.Used(s.fault) == 0 && rnd.IntN(10) > 0 {
		return
	}
	kinds := []telegram.Fault{
		{Kind: telegram.TooMany, After: 1}, {Kind: telegram.Lose}, {Kind: telegram.BadPage}, {Kind: telegram.Internal},
		{Kind: telegram.Drop}, {Kind: telegram.CutBody},
	}
	f := kinds[rnd.IntN(len(kinds))]
	f.Method, f.Times = []string{"sendMessage", "sendMessage", "sendDocument", "sendPhoto"}[rnd.IntN(4)], 1 // files are rare
	f.Chat = []int64{3001, 3002}[rnd.IntN(2)]
	s.fault = s.r.Telegram.Fail(f)
}

// feishuSky is what comes from Feishu.
type feishuSky struct {
	r     *rig.Rig
	fault *feishu.Fault
}

// Chats on Feishu: a group, and the direct one of somebody who may nothing.
const (
	feishuTeam     = "oc_team"
	feishuStranger = "oc_stranger"
	nobody         = "ou_stranger"
)

// refusedForGood is a code that no table of ours knows.
const refusedForGood = 99992402

func newFeishuSky(r *rig.Rig) *feishuSky {
	for _, method := range []string{"message.create", "message.reply"} {
		r.Feishu.Fail(feishu.Fault{Kind: feishu.Refuse, Method: method, Chat: rig.Direct(doomed), Code: refusedForGood, Text: "DOOMED"})
	}
	r.Feishu.AddPerson(nobody, "Stranger")
	r.Feishu.AddChat(feishuStranger, feishu.P2P, "", []string{rig.App}, nobody)
	r.Feishu.AddChat(feishuTeam, feishu.Group, "Team", []string{rig.App}, rig.Person(3002))
	return &feishuSky{r: r}
}

func (s *feishuSky) chats() ([]*rig.Talk, *rig.Talk) {
	team := s.r.FeishuAs(feishuTeam, rig.Person(3002))
	team.To = "@" + rig.AppName
	return []*rig.Talk{s.r.FeishuChat(3001), team}, s.r.FeishuChat(doomed)
}

func (s *feishuSky) strange() {
	s.r.Feishu.Say(feishu.Say{App: rig.App, Chat: feishuStranger, From: nobody, Text: "long 1 strange"})
}

// fail also hands over again what the daemon has: under the same id, and under
// another one, as the service is known to do. The long connection is cut, or
// events come in pieces.
func (s *feishuSky) fail(rnd *rand.Rand) {
	switch srv := s.r.Feishu; rnd.IntN(8) {
	case 0, 1:
		if all := srv.Deliveries(); len(all) > 0 {
			d := all[len(all)-1-rnd.IntN(min(len(all), 5))]
			if again := []func(string){srv.PushAgain, srv.PushAsNew}[rnd.IntN(2)]; d.Message != "" {
				again(d.ID)
			}
		}
	case 2:
		srv.Disconnect(rig.App)
	case 3:
		srv.Split([]int{0, 300}[rnd.IntN(2)])
	default:
		s.failCall(rnd)
	}
}

func (s *feishuSky) failCall(rnd *rand.Rand) {
	if s.fault != nil && s.r.Feishu.Used(s.fault) == 0 && rnd.IntN(10) > 0 {
		return
	}
	kinds := []feishu.Fault{
		{Kind: feishu.Refuse, Status: http.StatusTooManyRequests, Code: tooOften, Reset: 1}, {Kind: feishu.Refuse, Code: tooMany},
		{Kind: feishu.Lose}, {Kind: feishu.BadPage}, {Kind: feishu.Drop}, {Kind: feishu.CutBody},
	}
	methods := []string{"message.create", "message.create", "card.create", "card.update", "element.content", "file.create", "image.create", "reaction.create"}
	f := kinds[rnd.IntN(len(kinds))]
	f.Method, f.Times = methods[rnd.IntN(len(methods))], 1
	s.fault = s.r.Feishu.Fail(f)
}

// tooMany is Feishu's code for too many messages to a chat, or changes of one.
const tooMany = 230020

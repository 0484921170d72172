package telegram

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"cligate/internal/chat"
)

var testBot = user{ID: 123456, IsBot: true, Username: "TestBot"}

// wrap makes an update of a message given as JSON fields.
func wrap(kind, fields string) []byte {
	return fmt.Appendf(nil, `{"update_id":1,%q:{%s}}`, kind, fields)
}

const (
	inPrivate = `"message_id":5,"date":1700000000,"chat":{"id":11,"type":"private","first_name":"Ann"},"from":{"id":11,"first_name":"Ann","last_name":"B","language_code":"zh-hans"}`
	inGroup   = `"message_id":5,"date":1700000000,"chat":{"id":-500,"type":"group","title":"Team"},"from":{"id":11,"first_name":"Ann"}`
	inForum   = `"message_id":5,"date":1700000000,"chat":{"id":-1001,"type":"supergroup","title":"Forum","is_forum":true},"from":{"id":11,"first_name":"Ann"}`
)

func decodeOne(t *testing.T, me user, raw []byte) (chat.Message, bool) {
	t.Helper()
	if !json.Valid(raw) {
		t.Fatalf("the test's own JSON is bad: %s", raw)
	}
	got, err := decoder{account: "main", me: me, now: time.Now}.take(raw)
	if err != nil {
		t.Fatalf("take: %v", err)
	}
	if len(got.msgs) == 0 {
		return chat.Message{}, false
	}
	return got.msgs[0], true
}

func TestWhereAMessageBelongs(t *testing.T) {
	t.Parallel()
	threads := testBot
	threads.Topics = true
	for name, c := range map[string]struct {
		me                  user
		fields              string
		chat, thread, space string
		direct              bool
	}{
		"private":                          {testBot, inPrivate, "11", "", spaceBot, true},
		"basic group":                      {testBot, inGroup, "-500", "", spaceBot, false},
		"supergroup":                       {testBot, inForum, "-1001", "", "-1001", false},
		"topic":                            {testBot, inForum + `,"message_thread_id":77,"is_topic_message":true`, "-1001", "77", "-1001", false},
		"reply chain in a group":           {testBot, inForum + `,"message_thread_id":77`, "-1001", "", "-1001", false},
		"topic in a private chat":          {threads, inPrivate + `,"message_thread_id":9`, "11", "9", spaceBot, true},
		"reply in a private chat, no mode": {testBot, inPrivate + `,"message_thread_id":9`, "11", "", spaceBot, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, ok := decodeOne(t, c.me, wrap("message", c.fields+`,"text":"hi"`))
			p := m.Place
			if !ok || p.Chat != c.chat || p.Thread != c.thread || p.Space != c.space || p.Direct != c.direct {
				t.Errorf("place %+v", p)
			}
			if p.Platform != Name || p.Account != "main" || (p.Title == "") != (c.thread != "") { // a topic is not called like its chat
				t.Errorf("place %+v", p)
			}
			if m.Ref != (chat.Ref{ID: "5", Chat: c.chat, Num: 5}) {
				t.Errorf("ref %+v", m.Ref)
			}
			// What comes in from a place goes out to the same one.
			out := newDraft(p, chat.Part{Text: "x"}).post().params
			if out["chat_id"] != c.chat || out["message_thread_id"] != c.thread {
				t.Errorf("answer goes to %v", out)
			}
		})
	}
}

func TestOnlyPersonsAreSenders(t *testing.T) {
	t.Parallel()
	const chatJSON = `"message_id":5,"date":1,"chat":{"id":-1001,"type":"supergroup","title":"T"},"text":"hi"`
	for name, c := range map[string]struct {
		fields string
		id     string
		bot    bool
	}{
		"a person":                  {`"from":{"id":11,"first_name":"Ann"}`, "11", false},
		"a bot":                     {`"from":{"id":12,"is_bot":true,"first_name":"B"}`, "12", true},
		"an anonymous admin":        {`"from":{"id":1087968824,"is_bot":true,"first_name":"Group"},"sender_chat":{"id":-1001,"type":"supergroup"}`, "1087968824", true},
		"the admin id alone":        {`"from":{"id":1087968824,"first_name":"Group"}`, "1087968824", true},
		"somebody as a channel":     {`"from":{"id":136817688,"first_name":"Channel"},"sender_chat":{"id":-1009,"type":"channel"}`, "136817688", true},
		"a linked channel":          {`"from":{"id":777000,"first_name":"Telegram"},"sender_chat":{"id":-1009,"type":"channel"},"is_automatic_forward":true`, "777000", true},
		"a person writing as group": {`"from":{"id":11,"first_name":"Ann"},"sender_chat":{"id":-1001,"type":"supergroup"}`, "11", true},
		"nobody":                    {`"sender_chat":{"id":-1009,"type":"channel","title":"News"}`, "-1009", true},
		"id zero":                   {`"from":{"id":0,"first_name":"X"}`, "", true},
		"negative id":               {`"from":{"id":-11,"first_name":"X"}`, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, ok := decodeOne(t, testBot, wrap("message", chatJSON+","+c.fields))
			if !ok || m.Sender.ID != c.id || m.Sender.Bot != c.bot {
				t.Errorf("sender %+v", m.Sender)
			}
		})
	}
}

// ents marks each of the given pieces of text with an entity of its type.
func ents(text string, marks ...string) string {
	var es []string
	for i := 0; i < len(marks); i += 2 {
		at := strings.Index(text, marks[i+1])
		pre := newSaid(text[:at], nil)
		piece := newSaid(marks[i+1], nil)
		extra := ""
		if marks[i] == "text_mention" {
			extra = `,"user":{"id":123456}`
		}
		es = append(es, fmt.Sprintf(`{"type":%q,"offset":%d,"length":%d%s}`, marks[i], len(pre.units), len(piece.units), extra))
	}
	return "[" + strings.Join(es, ",") + "]"
}

func TestWordsMeantForTheBot(t *testing.T) {
	t.Parallel()
	type want struct {
		text      string
		addressed bool
		dropped   bool
	}
	for name, c := range map[string]struct {
		text  string
		marks []string
		want  want
	}{
		"talk":                        {"hello all", nil, want{text: "hello all"}},
		"mention in front":            {"@testbot fix it", []string{"mention", "@testbot"}, want{text: "fix it", addressed: true}},
		"mention in the middle":       {"please @TESTBOT fix it", []string{"mention", "@TESTBOT"}, want{text: "please fix it", addressed: true}},
		"mention at the end":          {"fix it @testbot", []string{"mention", "@testbot"}, want{text: "fix it", addressed: true}},
		"mention behind emoji":        {"👨‍👩‍👧😀 @testbot go", []string{"mention", "@testbot"}, want{text: "👨‍👩‍👧😀 go", addressed: true}},
		"named by a person's mention": {"hey Test do", []string{"text_mention", "Test"}, want{text: "hey do", addressed: true}},
		"longer name":                 {"@testbot2 hi", []string{"mention", "@testbot2"}, want{text: "@testbot2 hi"}},
		"not marked as a mention":     {"mail x@testbot now", nil, want{text: "mail x@testbot now"}},
		"two mentions":                {"@testbot and @other do", []string{"mention", "@testbot", "mention", "@other"}, want{text: "and @other do", addressed: true}},
		"command":                     {"/status", []string{"bot_command", "/status"}, want{text: "/status", addressed: true}},
		"command for us":              {"/Status@TestBot now", []string{"bot_command", "/Status@TestBot"}, want{text: "/status now", addressed: true}},
		"command for another":         {"/status@other now", []string{"bot_command", "/status@other"}, want{dropped: true}},
		"mention, then command":       {"@testbot /status", []string{"mention", "@testbot", "bot_command", "/status"}, want{text: "/status", addressed: true}},
		"command, then mention":       {"/status @testbot", []string{"bot_command", "/status", "mention", "@testbot"}, want{text: "/status", addressed: true}},
		"mention, then other's":       {"@testbot /status@other", []string{"mention", "@testbot"}, want{dropped: true}},
		"a path":                      {"/Users/Ann/x.go is broken", nil, want{text: "/Users/Ann/x.go is broken"}},
		"command, full-width space":   {"/new　你好", nil, want{text: "/new　你好", addressed: true}},
		"command without a space":     {"/ask，中文", nil, want{text: "/ask，中文"}},
		"only a mention":              {"@testbot", []string{"mention", "@testbot"}, want{dropped: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, field := range []string{"text", "caption"} {
				key := map[string]string{"text": "entities", "caption": "caption_entities"}[field]
				raw := wrap("message", fmt.Sprintf(`%s,%q:%s,%q:%s`, inGroup, field, jsonOf(t, c.text), key, ents(c.text, c.marks...)))
				m, ok := decodeOne(t, testBot, raw)
				got := want{text: m.Text, addressed: m.Addressed, dropped: !ok}
				if got != c.want {
					t.Errorf("%s: got %+v, want %+v", field, got, c.want)
				}
			}
		})
	}
}

func TestEntitiesOutsideTheTextAreIgnored(t *testing.T) {
	t.Parallel()
	for _, e := range []string{
		`{"type":"mention","offset":-1,"length":3}`, `{"type":"mention","offset":2,"length":900}`,
		`{"type":"mention","offset":9223372036854775807,"length":9223372036854775807}`, `{"type":"text_mention","offset":0,"length":2}`,
	} {
		m, ok := decodeOne(t, testBot, wrap("message", inGroup+`,"text":"hello","entities":[`+e+`]`))
		if !ok || m.Text != "hello" || m.Addressed {
			t.Errorf("%s: %+v", e, m)
		}
	}
}

func TestAReplyToTheBotMeansTheBot(t *testing.T) {
	t.Parallel()
	reply := func(from string) string {
		return inGroup + `,"text":"yes","reply_to_message":{"message_id":4,"date":1,"chat":{"id":-500,"type":"group"},` + from + `,"text":"shall I?"}`
	}
	m, _ := decodeOne(t, testBot, wrap("message", reply(`"from":{"id":123456,"is_bot":true}`)))
	if !m.Addressed || m.Reply.ID != "4" || m.Quote != "shall I?" || m.Source != (chat.Source{Kind: chat.SourceOwn}) {
		t.Errorf("reply to the bot: %+v", m)
	}
	m, _ = decodeOne(t, testBot, wrap("message", reply(`"from":{"id":22}`)))
	if m.Addressed || m.Reply.ID != "4" || m.Quote != "shall I?" {
		t.Errorf("reply to somebody: %+v", m)
	}
	m, _ = decodeOne(t, testBot, wrap("message", inForum+`,"text":"hi","message_thread_id":3,"is_topic_message":true,"reply_to_message":{"message_id":3,"date":1,"chat":{"id":-1001,"type":"supergroup"},"from":{"id":123456},"forum_topic_created":{"name":"x"}}`))
	if m.Addressed || !m.Reply.Zero() || m.Quote != "" {
		t.Errorf("a plain message in a topic: %+v", m)
	}
	m, _ = decodeOne(t, testBot, wrap("message", reply(`"from":{"id":123456}`)+`,"quote":{"text":"shall","position":0,"is_manual":true}`))
	if m.Quote != "shall" || m.Source.Kind != chat.SourceOwnPart {
		t.Errorf("quote %q of %+v", m.Quote, m.Source)
	}
}

func TestForwardedTextIsDataAndNoCommand(t *testing.T) {
	t.Parallel()
	for _, mark := range []string{`"forward_origin":{"type":"user","date":1,"sender_user":{"id":9}}`, `"forward_date":5`} {
		m, ok := decodeOne(t, testBot, wrap("message", inPrivate+`,"text":"/new rm -rf","entities":[{"type":"bot_command","offset":0,"length":4}],`+mark))
		if !ok || m.Text != "" || m.Quote != "/new rm -rf" {
			t.Errorf("%s: %+v", mark, m)
		}
	}
	m, _ := decodeOne(t, testBot, wrap("message", inPrivate+`,"text":"/new x","forward_origin":null`))
	if m.Text != "/new x" {
		t.Errorf("not forwarded: %+v", m)
	}
}

func TestAPairingCodeIsTakenOutOfTheText(t *testing.T) {
	t.Parallel()
	m, _ := decodeOne(t, testBot, wrap("message", inPrivate+`,"text":"/start abc-DEF_123"`))
	if m.Pairing != "abc-DEF_123" || m.Text != "/start" || m.Raw != nil {
		t.Errorf("private: %+v", m)
	}
	m, _ = decodeOne(t, testBot, wrap("message", inPrivate+`,"text":"/Start@TestBot abc"`))
	if m.Pairing != "abc" {
		t.Errorf("with the bot's name: %+v", m)
	}
	m, _ = decodeOne(t, testBot, wrap("message", inGroup+`,"text":"/start abc"`))
	if m.Pairing != "" || strings.Contains(m.Text, "abc") {
		t.Errorf("in a group: %+v", m)
	}
	m, _ = decodeOne(t, testBot, wrap("message", inPrivate+`,"text":"/start"`))
	if m.Pairing != "" || m.Text != "/start" {
		t.Errorf("without a code: %+v", m)
	}
	m, _ = decodeOne(t, testBot, wrap("edited_message", inPrivate+`,"edit_date":9,"text":"/start abc"`))
	if m.Pairing != "" {
		t.Errorf("an edit pairs: %+v", m)
	}
}

func TestFilesAreNamedAndNotFetched(t *testing.T) {
	t.Parallel()
	m, _ := decodeOne(t, testBot, wrap("message", inPrivate+`,"caption":"look","media_group_id":"g1","photo":[{"file_id":"s","width":1,"height":1},{"file_id":"l","width":9,"height":9,"file_size":77},{"file_id":"m","width":3,"height":3}]`))
	if len(m.Files) != 1 || m.Files[0].ID != "l" || m.Files[0].Kind != "photo" || m.Files[0].Size != 77 || m.Text != "look" || m.Group != "g1" {
		t.Errorf("photo: %+v", m)
	}
	m, _ = decodeOne(t, testBot, wrap("message", inPrivate+`,"document":{"file_id":"d","file_name":"../../etc/passwd\u0000\n","mime_type":"text/plain","file_size":-4}`))
	if len(m.Files) != 1 || m.Files[0].Name != "passwd" || m.Files[0].Size != 0 {
		t.Errorf("document: %+v", m.Files)
	}
	m, _ = decodeOne(t, testBot, wrap("message", inPrivate+`,"animation":{"file_id":"a"},"document":{"file_id":"a2"}`))
	if len(m.Files) != 1 || m.Files[0].ID != "a" {
		t.Errorf("animation: %+v", m.Files)
	}
	for kind, field := range map[chat.Media]string{"voice": "voice", "audio": "audio", "video": "video_note"} {
		m, _ = decodeOne(t, testBot, wrap("message", inPrivate+`,"`+field+`":{"file_id":"x"}`))
		if len(m.Files) != 1 || m.Files[0].Kind != kind || m.Files[0].Name == "" || m.Files[0].MIME == "" {
			t.Errorf("%s: %+v", field, m.Files)
		}
	}
}

func TestFileNamesAreHarmless(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a.go": "a.go", "..": "", ".": "", "": "", "/": "", `C:\x\y.txt`: "y.txt", "...bashrc": "bashrc",
		"r\u202etxt.exe": "rtxt.exe", "a/b/": "b", "中文 文件.md": "中文 文件.md",
	} {
		if got := cleanName(in); got != want {
			t.Errorf("cleanName(%q) = %q, want %q", in, got, want)
		}
	}
	long := cleanName(strings.Repeat("文", 500) + ".tar")
	if n := len([]rune(long)); n != 120 || !strings.HasSuffix(long, ".tar") {
		t.Errorf("%d runes: %s", n, long)
	}
}

func TestWhatIsNoMessage(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string][]byte{
		"service message":   wrap("message", inGroup+`,"new_chat_title":"x"`),
		"someone joined":    wrap("message", inGroup+`,"new_chat_members":[{"id":1}]`),
		"channel post":      wrap("channel_post", `"message_id":5,"date":1,"chat":{"id":-1009,"type":"channel"},"text":"news"`),
		"message of a chan": wrap("message", `"message_id":5,"date":1,"chat":{"id":-1009,"type":"channel"},"text":"news"`),
		"blank":             wrap("message", inGroup+`,"text":"   "`),
		"no chat":           wrap("message", `"message_id":5,"date":1,"text":"hi"`),
		"no id":             wrap("message", `"date":1,"chat":{"id":11,"type":"private"},"text":"hi"`),
		"unknown kind":      []byte(`{"update_id":1,"poll":{"id":"1"}}`),
		"nothing":           []byte(`{"update_id":1}`),
		"null message":      []byte(`{"update_id":1,"message":null}`),
		"inline button":     []byte(`{"update_id":1,"callback_query":{"id":"q","from":{"id":11},"inline_message_id":"i","data":"x"}}`),
		"game button":       []byte(`{"update_id":1,"callback_query":{"id":"q","from":{"id":11},"game_short_name":"g"}}`),
	} {
		if m, ok := decodeOne(t, testBot, raw); ok {
			t.Errorf("%s became %+v", name, m)
		}
	}
}

func TestAButtonPressKeepsItsTopicAndIsNoForeignNumber(t *testing.T) {
	t.Parallel()
	raw := []byte(`{"update_id":9,"callback_query":{"id":"q1","from":{"id":11,"first_name":"Ann"},"data":"ask:7:0","message":{"message_id":40,"date":5,"chat":{"id":-1001,"type":"supergroup"},"from":{"id":123456,"is_bot":true},"message_thread_id":77,"is_topic_message":true,"text":"allow?"}}}`)
	m, ok := decodeOne(t, testBot, raw)
	if !ok || m.Kind != chat.KindClick || m.Data != "ask:7:0" || m.Place.Thread != "77" || m.Ref.ID != "40" || m.Sender.ID != "11" || m.Sender.Bot || !m.Addressed {
		t.Errorf("click %+v", m)
	}
	if m.Ref.Num != 0 {
		t.Error("our own message's number would pass for another message's when its receipt is missing")
	}
	old := []byte(`{"update_id":9,"callback_query":{"id":"q1","from":{"id":11},"data":"x","message":{"message_id":40,"date":0,"chat":{"id":11,"type":"private"}}}}`)
	if m, ok = decodeOne(t, testBot, old); !ok || m.Place.Chat != "11" || m.Ref.ID != "40" || m.SentAt.Year() < 2020 {
		t.Errorf("click on an inaccessible message: %+v", m)
	}
}

func TestJoiningAndLeaving(t *testing.T) {
	t.Parallel()
	change := func(from, to string) []byte {
		return wrap("my_chat_member", `"chat":{"id":-500,"type":"group","title":"T"},"from":{"id":11},"date":7,"old_chat_member":`+from+`,"new_chat_member":`+to)
	}
	const (
		left, kicked, in, admin = `{"status":"left"}`, `{"status":"kicked"}`, `{"status":"member"}`, `{"status":"administrator"}`
		silent, limited         = `{"status":"restricted","is_member":true,"can_send_messages":false}`, `{"status":"restricted","is_member":true,"can_send_messages":true}`
	)
	for _, c := range []struct {
		from, to string
		want     chat.MessageKind
	}{
		{left, in, chat.KindJoined}, {kicked, in, chat.KindJoined}, {in, kicked, chat.KindLeft}, {admin, left, chat.KindLeft},
		{in, admin, chat.KindJoined}, {admin, in, ""}, {left, kicked, ""}, {in, silent, chat.KindLeft}, {silent, limited, chat.KindJoined}, {left, silent, ""},
	} {
		m, _ := decodeOne(t, testBot, change(c.from, c.to))
		if m.Kind != c.want {
			t.Errorf("%s → %s: %q, want %q", c.from, c.to, m.Kind, c.want)
		}
	}
}

func TestAnEditCarriesTheNewText(t *testing.T) {
	t.Parallel()
	m, ok := decodeOne(t, testBot, wrap("edited_message", inPrivate+`,"edit_date":1700000050,"text":"better"`))
	if !ok || m.Kind != chat.KindEdit || m.Text != "better" || m.Ref.ID != "5" || m.SentAt.Unix() != 1700000050 {
		t.Errorf("edit %+v", m)
	}
	n, _ := decodeOne(t, testBot, wrap("edited_message", inPrivate+`,"edit_date":1700000060,"text":"best"`))
	if m.Key == n.Key {
		t.Error("two edits share a key")
	}
}

func TestAGroupThatMovesIsNoticedFromEitherSide(t *testing.T) {
	t.Parallel()
	for from, raw := range map[string][]byte{
		"the old one": wrap("message", inGroup+`,"migrate_to_chat_id":-1000000000005`),
		"the new one": wrap("message", `"message_id":5,"date":1,"chat":{"id":-1000000000005,"type":"supergroup"},"from":{"id":1087968824,"is_bot":true},"migrate_from_chat_id":-500`),
	} {
		m, ok := decodeOne(t, testBot, raw)
		if !ok || m.Kind != chat.KindMoved || m.Place.Chat != "-500" || m.Moved == nil ||
			m.Moved.Chat != "-1000000000005" || m.Moved.Space != "-1000000000005" {
			t.Errorf("%s: %+v to %+v", from, m, m.Moved)
		}
	}
}

func TestWhatHappensToATopicIsNoMessageOfAPerson(t *testing.T) {
	t.Parallel()
	const at = inForum + `,"message_thread_id":77,"is_topic_message":true`
	for raw, want := range map[string]chat.MessageKind{
		at + `,"forum_topic_edited":{"name":"Plums"}`:              chat.KindRenamed,
		at + `,"forum_topic_edited":{"icon_custom_emoji_id":"5"}`:  "",
		at + `,"forum_topic_created":{"name":"x","icon_color":1}`:  "",
		at + `,"forum_topic_closed":{}`:                            "",
		at + `,"forum_topic_reopened":{}`:                          chat.KindReopened,
		inForum + `,"general_forum_topic_hidden":{}`:               "",
		inForum + `,"general_forum_topic_unhidden":{}`:             chat.KindReopened,
		inForum + `,"general_forum_topic_reopened":{}`:             chat.KindReopened,
		inForum + `,"new_chat_members":[{"id":5,"is_bot":false}]`:  "",
		inForum + `,"pinned_message":{"message_id":3,"text":"hi"}`: "",
	} {
		m, _ := decodeOne(t, testBot, wrap("message", raw))
		if m.Kind != want {
			t.Errorf("%s: %q, want %q", raw, m.Kind, want)
		}
		if want == chat.KindRenamed && (m.Place.Title != "Plums" || m.Place.Thread != "77") {
			t.Errorf("renamed %+v", m.Place)
		}
		if want != "" && !m.Kind.Fact() {
			t.Errorf("%s is taken for words", m.Kind)
		}
	}
}

func TestATopicOfTheServicesOwnNamingIsKnown(t *testing.T) {
	t.Parallel()
	threads := testBot
	threads.Topics = true
	d := newDecoder("main", threads)
	const at = inPrivate + `,"message_thread_id":9,"is_topic_message":true`
	say := func(raw string) chat.Place {
		got, err := d.take(wrap("message", raw))
		if err != nil {
			t.Fatal(err)
		}
		if len(got.msgs) == 0 {
			return chat.Place{}
		}
		return got.msgs[0].Place
	}
	made := at + `,"forum_topic_created":{"name":"New Chat","icon_color":1,"is_name_implicit":true}`
	if p := say(made); p.Chat != "" {
		t.Errorf("the making of a topic is a message: %+v", p)
	}
	if p := say(at + `,"text":"hi"`); p.Thread != "9" || !p.Nameless || p.Title != "New Chat" {
		t.Errorf("after its making was told: %+v", p)
	}
	d.made = nil
	with := `,"text":"hi","reply_to_message":{"message_id":9,"date":1,"chat":{"id":11,"type":"private"},"forum_topic_created":{"name":"New Chat","is_name_implicit":true}}`
	if p := say(at + with); !p.Nameless {
		t.Errorf("from what it answers: %+v", p)
	}
	if p := say(at + `,"text":"hi"`); p.Nameless || p.Title != "" {
		t.Errorf("nothing is known: %+v", p)
	}
}

func FuzzUpdate(f *testing.F) {
	for _, s := range []string{
		textUpdate(1, "hi"), `{"update_id":1,"callback_query":{"id":"q","from":{"id":1},"message":{"chat":{}},"data":"x"}}`,
		`{"update_id":1,"my_chat_member":{}}`, `[]`, `null`, `{"message":{"chat":{},"reply_to_message":{"reply_to_message":{}}}}`,
		string(wrap("message", inForum+`,"text":"@testbot 😀","entities":[{"type":"mention","offset":0,"length":8}]`)),
		string(wrap("message", inPrivate+`,"document":{"file_id":"a","file_name":"../x"},"quote":{"text":"q"}`)),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := newDecoder("main", testBot).take(raw)
		if err != nil {
			if strings.Contains(err.Error(), "panic") {
				t.Fatal(err)
			}
			return
		}
		for _, m := range got.msgs {
			if m.Kind == chat.KindMoved && m.Moved == nil {
				t.Errorf("moved to nowhere: %+v", m)
			}
			if m.Key == "" || m.Place.Chat == "" || m.Kind == "" || m.Place.Space == "" {
				t.Errorf("incomplete message %+v", m)
			}
			if m.Sender.ID == "" && !m.Sender.Bot {
				t.Errorf("somebody without an id counts as a person: %+v", m)
			}
			for _, file := range m.Files {
				if strings.ContainsAny(file.Name, "/\\\x00\n") || file.Name == "" {
					t.Errorf("file name %q", file.Name)
				}
			}
		}
	})
}

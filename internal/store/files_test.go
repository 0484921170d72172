package store

import (
	"slices"
	"testing"
	"time"

	"cligate/internal/chat"
)

// sent is a queued turn made of one message with these files.
func (l *ledger) sent(n int, files ...chat.FileRef) (chat.Turn, chat.Inbound) {
	l.t.Helper()
	in := message(n)
	in.Files = files
	ms := []chat.Inbound{in}
	ok[[]chat.Recorded](l.t)(l.Inbox().Record(l.t.Context(), "bot", "", ms))
	in = ms[0]
	q := ok[chat.Turn](l.t)(l.Turns().NewTurn(l.t.Context(), chat.NewTurn{
		Conversation: in.Conversation, Session: l.session(in).ID, Place: in.Place, Inbound: []int64{in.ID},
		Input: chat.Input{Pieces: []chat.Piece{{Inbound: in.ID, Text: in.Text, Files: slices.Clone(files)}}},
	}))
	return q, in
}

func TestWhatBecameOfFilesIsKeptWithTheirTurn(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	q, m := l.sent(1, chat.FileRef{ID: "a", Name: "a.txt"}, chat.FileRef{ID: "b", Kind: chat.MediaVoice})
	got := ok[chat.Input](t)(l.Runs().KeepFiles(ctx, q.ID, []chat.FileRef{{ID: "b", Kind: chat.MediaVoice, Heard: "buy milk"}, {ID: "z"}}))
	want := []chat.FileRef{{ID: "a", Name: "a.txt"}, {ID: "b", Kind: chat.MediaVoice, Heard: "buy milk"}}
	if !slices.Equal(got.Pieces[0].Files, want) {
		t.Errorf("files %+v", got.Pieces[0].Files)
	}
	again := ok[chat.Input](t)(l.Runs().KeepFiles(ctx, q.ID, nil))
	if !slices.Equal(again.Pieces[0].Files, want) || again.Text() != "text 1\n\nbuy milk" {
		t.Errorf("read again: %+v", again)
	}
	// A recap tells what was said, spoken or written.
	lines := ok[[]chat.Line](t)(l.History().Lines(ctx, m.Conversation, time.Time{}, 10))
	if len(lines) != 1 || lines[0].Text != "text 1\nbuy milk" {
		t.Errorf("history %+v", lines)
	}
	must(t, l.Turns().Withdraw(ctx, q.ID, nil))
	_, err := l.Runs().KeepFiles(ctx, q.ID, nil)
	wantCode(t, err, chat.Conflict)
	_, err = l.Runs().KeepFiles(ctx, q.ID, want)
	wantCode(t, err, chat.Conflict)
	_, err = l.Runs().KeepFiles(ctx, 999, nil)
	wantCode(t, err, chat.Missing)
}

func TestWhatAQuotationBringsStandsBehindItOnce(t *testing.T) {
	t.Parallel()
	l := openTest(t)
	ctx := t.Context()
	quote := chat.FileRef{ID: "q", Kind: chat.MediaQuote, Source: chat.Source{Kind: chat.SourceReply}}
	q, _ := l.sent(1, quote, chat.FileRef{ID: "own"})
	quote.Heard = "[photo: image]"
	photo := chat.FileRef{ID: "p", Kind: chat.MediaPhoto, Of: "q"}
	for range 2 {
		got := ok[chat.Input](t)(l.Runs().KeepFiles(ctx, q.ID, []chat.FileRef{quote, photo}))
		if want := []chat.FileRef{quote, photo, {ID: "own"}}; !slices.Equal(got.Pieces[0].Files, want) {
			t.Errorf("files %+v", got.Pieces[0].Files)
		}
	}
	photo.Path = "/x/image.png"
	got := ok[chat.Input](t)(l.Runs().KeepFiles(ctx, q.ID, []chat.FileRef{photo}))
	if fs := got.Fetched(); len(fs) != 1 || fs[0] != photo {
		t.Errorf("fetched %+v", fs)
	}
}

func TestAnEditKeepsWhatWasFetched(t *testing.T) {
	t.Parallel()
	photo := chat.FileRef{ID: "p", Kind: chat.MediaPhoto, Name: "photo_1.jpg", Size: 9}
	fetched, replied := photo, chat.FileRef{ID: "r", Name: "of the reply"}
	fetched.Path = "/srv/project/photo_1.jpg"
	for name, c := range map[string]struct{ now, want []chat.FileRef }{
		"the words only":            {nil, []chat.FileRef{fetched, replied}},
		"its file under another id": {[]chat.FileRef{{ID: "p2", Kind: chat.MediaPhoto, Name: "photo_1.jpg", Size: 9}}, []chat.FileRef{fetched, replied}},
		"another file":              {[]chat.FileRef{{ID: "n", Kind: chat.MediaPhoto, Name: "photo_1.jpg", Size: 10}}, []chat.FileRef{{ID: "n", Kind: chat.MediaPhoto, Name: "photo_1.jpg", Size: 10}, replied}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openTest(t)
			q, m := l.sent(1, photo, replied)
			ok[chat.Input](t)(l.Runs().KeepFiles(t.Context(), q.ID, []chat.FileRef{fetched}))
			ok[int64](t)(l.Inbox().Revise(t.Context(), m.Place.ID, m.Ref.ID, chat.Message{Text: "better", Files: c.now}))
			got := ok[chat.Turn](t)(l.Turns().TurnByID(t.Context(), q.ID)).Input.Pieces[0]
			if got.Text != "better" || !slices.Equal(got.Files, c.want) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

//go:build browser

// Package browser drives the chat page in a real browser, against the real
// server, web platform and ledger; only the agent behind them is a script.
package browser

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cligate/internal/chat"
	"cligate/internal/platform"
	platformweb "cligate/internal/platform/web"
	"cligate/internal/store"
	"cligate/internal/web"
	"cligate/internal/web/api"
)

// daemon is everything between the page and the agent, as short as it can be.
type daemon struct {
	t    *testing.T
	dir  string
	addr string
	mu   sync.Mutex
	db   *store.DB
	chat *platformweb.Adapter
	srv  *web.Server
	keys int
	stop func()
}

func (d *daemon) start() {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	must := func(err error) {
		if err != nil {
			d.t.Error(err)
		}
	}
	var err error
	d.db, err = store.Open(context.Background(), store.Config{Dir: d.dir, Ballast: -1, Log: log})
	must(err)
	d.chat, err = platformweb.New(d.db.WebChats(), platformweb.Config{Account: "web", Who: web.Who, Streams: 64}, log)
	must(err)
	d.srv, err = web.Open(context.Background(), web.Parts{Logins: d.db.Logins(), Pairing: &doorman{}, Status: fine{}, Chats: d.chat.Handler()},
		web.Config{Addr: d.addr, Socket: filepath.Join(d.dir, api.SocketName)}, log)
	must(err)
	d.addr = d.srv.Addr()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { must(d.srv.Run(ctx)) })
	wg.Go(func() { must(d.chat.Run(ctx, d)) })
	d.stop = sync.OnceFunc(func() { cancel(); wg.Wait(); must(d.db.Close()) })
}

// Receive implements platform.Inbound: record, then let the script answer.
func (d *daemon) Receive(ctx context.Context, b platform.Batch) ([]chat.Ack, error) {
	m := b.Messages[0]
	in := []chat.Inbound{{Message: m, Role: chat.RoleOwner, State: chat.InboundNew}}
	rs, err := d.db.Inbox().Record(ctx, b.Account, "", in)
	if err != nil {
		return nil, err
	}
	ack := chat.Ack{Inbound: rs[0].ID, Fresh: rs[0].Fresh}
	if !rs[0].Fresh {
		return []chat.Ack{ack}, nil
	}
	switch m.Kind {
	case chat.KindText:
		go d.answer(in[0].Place, m) // ends by itself; the test outlives it
	case chat.KindClick:
		if strings.HasPrefix(m.Data, "ask:") {
			ack.Toast = "allowed"
			ack.Replace = &chat.Reply{Kind: chat.ReplyAsk, Markdown: "May I run `make`?\n\n**Allowed**"}
			go d.final(in[0].Place, "ran it") // likewise
		}
	default: // it is recorded, and that is all
	}
	return []chat.Ack{ack}, nil
}

func (d *daemon) Cursor(context.Context, string) (string, error) { return "", nil }

func (d *daemon) answer(p chat.Place, m chat.Message) {
	switch {
	case strings.HasPrefix(m.Text, "stream"):
		d.streamed(p)
	case strings.HasPrefix(m.Text, "ask"):
		d.say(p, chat.OutAsk, chat.Reply{Kind: chat.ReplyAsk, Markdown: "May I run `make`?", Buttons: [][]chat.Button{{
			{Label: "Allow", Data: "ask:1:0", Style: "primary"}, {Label: "Deny", Data: "ask:1:1", Style: "danger"}}}})
	case strings.HasPrefix(m.Text, "rich"):
		d.final(p, rich)
	case strings.HasPrefix(m.Text, "evil"):
		d.final(p, evil)
	case strings.HasPrefix(m.Text, "look into"):
		d.looked(p)
	case strings.HasPrefix(m.Text, "silent"):
		_ = d.chat.Signal(context.Background(), p, m.Ref, chat.Signal{Kind: chat.SignalReact, Emoji: "😴"})
	default:
		d.final(p, "You said: "+m.Text)
	}
}

func (d *daemon) streamed(p chat.Place) {
	stop := [][]chat.Button{{{Label: "Stop", Data: "stop:1"}}}
	text := ""
	ref := d.say(p, chat.OutProgress, chat.Reply{Kind: chat.ReplyProgress, Markdown: "…", Buttons: stop})
	pace := time.NewTicker(80 * time.Millisecond)
	defer pace.Stop()
	for i := range 12 {
		<-pace.C
		text += fmt.Sprintf("word%d ", i)
		d.edit(p, ref, chat.OpEdit, chat.Reply{Kind: chat.ReplyProgress, Markdown: text, Buttons: stop})
	}
	d.final(p, text)
	d.edit(p, ref, chat.OpFinish, chat.Reply{Kind: chat.ReplyProgress, Markdown: "done in 1 s"})
}

// looked is a live message with panels, which grows while somebody looks into
// them.
func (d *daemon) looked(p chat.Place) {
	r := chat.Reply{Kind: chat.ReplyProgress, Markdown: "at work", Details: []chat.Panel{
		{Title: "Thinking", Lines: []string{"<script>window.pwned=6</script>", "first thought"}}, {Title: "Tools", Lines: []string{"ls -l"}},
	}}
	ref := d.say(p, chat.OutProgress, r)
	pace := time.NewTicker(150 * time.Millisecond)
	defer pace.Stop()
	for i := range 40 {
		<-pace.C
		r.Details[0].Lines = append(r.Details[0].Lines, fmt.Sprintf("thought %d", i))
		d.edit(p, ref, chat.OpEdit, r)
	}
	d.final(p, "looked")
	d.edit(p, ref, chat.OpFinish, chat.Reply{Kind: chat.ReplyProgress, Markdown: "done in 6 s"})
}

func (d *daemon) final(p chat.Place, md string) {
	d.say(p, chat.OutFinal, chat.Reply{Kind: chat.ReplyAnswer, Markdown: md})
}

// say stores a row and sends it, as the outbox does.
func (d *daemon) say(p chat.Place, class chat.OutClass, r chat.Reply) chat.Ref {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keys++
	ctx := context.Background()
	o := chat.Out{Key: fmt.Sprintf("%s/%d/%d", p.Chat, time.Now().UnixNano(), d.keys), Place: p, Class: class, Op: chat.OpPost, Part: d.chat.Render(r)[0]}
	if err := d.db.Outbox().Enqueue(ctx, []chat.Out{o}); err != nil {
		d.t.Error(err)
		return chat.Ref{}
	}
	o, err := d.db.Outbox().NextOut(ctx, p.Channel())
	if err != nil {
		d.t.Error(err)
		return chat.Ref{}
	}
	ref, err := d.chat.Send(ctx, o)
	if err == nil {
		err = d.db.Outbox().Sent(ctx, o.ID, ref)
	}
	if err != nil {
		d.t.Error(err)
	}
	return ref
}

func (d *daemon) edit(p chat.Place, ref chat.Ref, op chat.Op, r chat.Reply) {
	if _, err := d.chat.Send(context.Background(), chat.Out{Place: p, Class: chat.OutProgress, Op: op, Target: ref, Part: d.chat.Render(r)[0]}); err != nil {
		d.t.Error(err)
	}
}

type doorman struct{ let sync.Map }

func (*doorman) Invite(context.Context, api.InviteAsk, string) (api.Invite, error) {
	return api.Invite{}, nil
}

func (m *doorman) Pairs(context.Context) (api.Pairs, error) {
	p := api.Pairs{Grants: []chat.Grant{{ID: 1, Account: "bot", Person: "42", Role: chat.RoleOwner}}}
	if _, in := m.let.Load("7"); !in {
		p.Strangers = []chat.Stranger{{ID: 7, Account: "bot", Direct: true, Person: chat.Person{ID: "777", Name: "<b>Eve</b>"}}}
	}
	return p, nil
}

func (m *doorman) Approve(context.Context, api.Approval, string) error {
	m.let.Store("7", true)
	return nil
}

func (*doorman) Revoke(context.Context, int64, string) error { return nil }

type fine struct{}

func (fine) Status(context.Context) (api.Status, error) { return api.Status{}, nil }
func (fine) Doctor(context.Context) (api.Report, error) { return api.Report{}, nil }
func (fine) Healthy(context.Context) error              { return nil }

const rich = "# Heading\n\nSome **bold**, *italic*, `code` and a [link](https://example.com/a?b=1).\n\n" +
	"| name | size | note |\n|---|---:|---|\n| a.go | 12 | ok |\n| b.go | 1234 | a longer cell |\n\n" +
	"```go\nfunc main() {\n\tprintln(\"<hello>\")\n}\n```\n\n- one\n- two\n  - nested\n- [x] done\n\n> quoted\n\n1. first\n2. second\n"

const evil = "before <script>window.pwned=1</script> <img src=x onerror=\"window.pwned=2\"> [x](javascript:window.pwned=3) " +
	"<svg onload=window.pwned=4> ![p](https://evil.example/p.png)\n\n```\n</code></pre><script>window.pwned=5</script>\n```\n\nafter"

func TestPage(t *testing.T) {
	chromium := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil && chromium == "" {
			chromium = p
		}
	}
	if chromium == "" {
		t.Fatal("no Chromium: run .ci/install-browser")
	}
	d := &daemon{t: t, dir: t.TempDir(), addr: "127.0.0.1:0"}
	d.start()
	defer func() { d.stop() }()
	control := http.NewServeMux()
	control.HandleFunc("/link", func(w http.ResponseWriter, r *http.Request) {
		l, err := d.srv.NewLink(r.Context())
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write([]byte(l.URL))
	})
	control.HandleFunc("/restart", func(http.ResponseWriter, *http.Request) {
		d.stop()
		d.start()
	})
	control.HandleFunc("/stop", func(http.ResponseWriter, *http.Request) { d.stop() })
	control.HandleFunc("/start", func(http.ResponseWriter, *http.Request) { d.start() })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &httptest.Server{Listener: l, Config: &http.Server{Handler: control}}
	c.Start()
	defer c.Close()
	cmd := exec.CommandContext(t.Context(), "node", "--test", "page.test.mjs")
	cmd.Env = append(os.Environ(), "CHROMIUM="+chromium, "CONTROL="+c.URL)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
}

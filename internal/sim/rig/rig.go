// Package rig runs the real daemon as a real process in the midst of strict
// stand-ins: a Telegram server, a Feishu open platform, scripted agents, a web
// reader. Tests speak through chats, kill what they like, and hand what is left to the oracle.
//
//	r := rig.New(t, rig.Options{})
//	r.Start()
//	c := r.Chat(rig.Owner)
//	c.Say("say plum")
//	c.Await("plum")
//	r.Kill()
//	r.Start()
//	r.Rest()
//	r.Judge()
//
// Everything lies in one temporary directory. The daemon gets its configuration
// by its documented environment variables and by nothing else.
//
// Only tests use this package.
package rig

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cligate/internal/sim/oracle"
	"cligate/internal/sim/telegram"
)

// Owner is the Telegram user (and private chat) that may do everything.
const Owner = 1001

// Token is the bot's token in the stand-in of Telegram.
const Token = "4242:AAcanary-token-that-may-leak-nowhere"

// Bot is the bot's user name.
const Bot = "rig_bot"

// Limit is how long the rig waits for what must happen.
const Limit = 120 * time.Second

// Agents that a rig can run with.
const (
	Claude = "claude" // the stand-in, stream-json
	Demo   = "demo"   // the demo agent, ACP
)

// Options says what is different from the usual.
type Options struct {
	Agent      string // Claude (the default) or Demo
	NoTelegram bool   // the daemon has no bot there
	Feishu     Way    // how Feishu's events come; none: the daemon has no app there
	// Patience is how long Feishu waits for an acknowledgement, of presses too;
	// default: as long as the service does. A machine may be busier than a service
	// would be.
	Patience time.Duration
	Privacy  bool     // Telegram's privacy mode in groups
	Env      []string // NAME=value, more of the daemon's environment
	Owners   []int64  // default: Owner
}

// Rig is one daemon and everything around it.
type Rig struct {
	*Daemon
	book
	*feishuHouse
	Dir      string // of this rig
	Telegram *telegram.Server
	tb       testing.TB
	opts     Options

	mu    sync.Mutex
	said  []oracle.Said
	talks []*Talk
}

// New makes a rig; the daemon is not running yet.
func New(tb testing.TB, o Options) *Rig {
	tb.Helper()
	if o.Agent == "" {
		o.Agent = Claude
	}
	o.Patience = cmp.Or(o.Patience, 3*time.Second)
	if len(o.Owners) == 0 {
		o.Owners = []int64{Owner}
	}
	bin := Build(tb)
	r := &Rig{Dir: tb.TempDir(), tb: tb, opts: o}
	for _, d := range []string{"home", "work", "data"} {
		if err := os.MkdirAll(filepath.Join(r.Dir, d), 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	srv, err := telegram.New()
	if err != nil {
		tb.Fatal(err)
	}
	r.Telegram = srv
	r.book = book{data: r.DataDir(), tb: tb}
	srv.AddBot(Token, Bot, o.Privacy)
	for _, id := range o.Owners {
		srv.AddChat(id, telegram.Private, "Owner "+strconv.FormatInt(id, 10))
	}
	r.feishuHouse = openFeishu(r)
	r.Daemon = &Daemon{bin: bin.Daemon, dir: r.Dir, env: r.env(bin), tb: tb}
	tb.Cleanup(func() {
		r.hangUp()
		r.end()
		r.Orphans() // what dies with it may still write into folders that are to go
		srv.Close()
		r.leave()
	})
	return r
}

// env is the daemon's whole environment.
func (r *Rig) env(bin Binaries) []string {
	owners := make([]string, len(r.opts.Owners))
	for i, id := range r.opts.Owners {
		owners[i] = strconv.FormatInt(id, 10)
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(r.Dir, "home"), "TMPDIR=" + os.TempDir(), "LANG=C.UTF-8",
		"CLIGATE_DATA_DIR=" + r.DataDir(), "CLIGATE_WORKSPACE=" + filepath.Join(r.Dir, "work"),
		"CLIGATE_AGENT=" + r.opts.Agent, "CLIGATE_AGENTS_CLAUDE_COMMAND=" + bin.Claude,
		"CLIGATE_BURST_WINDOW=60ms", "CLIGATE_WEB_ADDR=off", "CLIGATE_LOG_LEVEL=debug", "CLIGATE_DRAIN_LIMIT=2s",
	}
	if !r.opts.NoTelegram {
		env = append(env, "CLIGATE_TELEGRAM_TOKEN="+Token, "CLIGATE_TELEGRAM_API_URL="+r.Telegram.URL,
			"CLIGATE_TELEGRAM_OWNERS="+strings.Join(owners, ","), "CLIGATE_TELEGRAM_POLL_TIMEOUT=5s")
	}
	env = append(env, r.feishuHouse.env()...)
	return append(env, r.opts.Env...)
}

// DataDir is the daemon's data directory.
func (r *Rig) DataDir() string { return filepath.Join(r.Dir, "data") }

// Home is the home directory of the daemon and its agents.
func (r *Rig) Home() string { return filepath.Join(r.Dir, "home") }

// Expect notes what must come of something that is said beside Talk.Put.
func (r *Rig) Expect(s oracle.Said) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, s)
}

// Again notes that a person asked to run the message with this key again.
func (r *Rig) Again(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.said, func(s oracle.Said) bool { return s.Key == key })
	if i < 0 {
		r.tb.Errorf("nothing was said under %s", key)
		return
	}
	r.said[i].Again++
}

// hangUp ends what talks do in the background.
func (r *Rig) hangUp() {
	r.mu.Lock()
	talks := r.talks
	r.mu.Unlock()
	for _, t := range talks {
		t.side.close()
	}
}

// Until waits until ok says so. It looks every few milliseconds and fails the
// test after Limit.
func (r *Rig) Until(what string, ok func() bool) {
	r.tb.Helper()
	if !r.Within(Limit, ok) {
		r.tb.Fatalf("waited in vain until %s (%s)\n%s\n%s", what, r.busy(), r.Story(), r.Tail())
	}
}

// Within waits until ok says so, at most for d, and reports whether it did.
func (r *Rig) Within(d time.Duration, ok func() bool) bool {
	end := time.NewTimer(d)
	defer end.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok() {
			return true
		}
		select {
		case <-end.C:
			return ok()
		case <-r.tb.Context().Done():
			return false
		case <-tick.C:
		}
	}
}

package telegram

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"cligate/internal/chat"
)

const (
	maxCommands    = 100
	maxDescription = 256 // runes
	// menuEvery is how often the menus are looked at beyond the start and the
	// times at which somebody's role changes.
	menuEvery = 10 * time.Minute
)

// Scope is whom a command menu is for. The service shows a person the menu of
// the narrowest scope that has one.
type Scope struct {
	Kind   ScopeKind
	Chat   string // of Chat and Member
	Person string // of Member
}

// ScopeKind is a kind of scope.
type ScopeKind string

// Kinds of scopes, the widest first, in the service's own words.
const (
	ScopeDefault    ScopeKind = "default"
	ScopePrivate    ScopeKind = "all_private_chats"
	ScopeGroups     ScopeKind = "all_group_chats"
	ScopeGroupAdmin ScopeKind = "all_chat_administrators"
	ScopeChat       ScopeKind = "chat"
	ScopeMember     ScopeKind = "chat_member"
)

// Menu is the command menu of one scope, by language; "" is the one for every
// other language.
type Menu struct {
	Scope    Scope
	Commands map[string][]Command
}

// menu keeps the command menus of the bot. The service remembers them, and
// limits strictly how often they may be set, so each is compared first and set
// only when it differs. No trouble with them touches receiving.
type menu struct {
	wire *wire
	log  *slog.Logger
	want func(context.Context) ([]Menu, error) // nil = the bot's menus are left alone
	kick chan struct{}                         // has room for one

	mu      sync.Mutex
	settled bool            // all were looked at once
	missing map[string]bool // chats that did not exist when their menu was to be set
}

func newMenu(w *wire, log *slog.Logger, want func(context.Context) ([]Menu, error)) *menu {
	return &menu{wire: w, log: log, want: want, kick: make(chan struct{}, 1), missing: map[string]bool{}}
}

type menuEntry struct {
	Command     string `json:"command"`
	Description string `json:"description"`
}

// menuKey is one menu at the service: a scope and a language.
type menuKey struct {
	scope Scope
	lang  string
}

func (s menuKey) params() params {
	p := params{}
	p.AddNonEmpty("language_code", s.lang)
	scope := map[string]any{"type": s.scope.Kind}
	for name, id := range map[string]string{"chat_id": s.scope.Chat, "user_id": s.scope.Person} {
		if id != "" {
			scope[name] = json.Number(id)
		}
	}
	if s.scope.Kind != ScopeDefault {
		p["scope"] = object(scope)
	}
	return p
}

// refresh has the menus looked at soon. It does not block.
func (m *menu) refresh() {
	select {
	case m.kick <- struct{}{}:
	default: // it will be
	}
}

// met says that chat exists. It does not block.
func (m *menu) met(chat string) {
	m.mu.Lock()
	was := m.missing[chat]
	delete(m.missing, chat)
	m.mu.Unlock()
	if was {
		m.refresh()
	}
}

// pending reports whether the menus are still to be looked at for the first time.
func (m *menu) pending() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.settled
}

// run keeps the menus up to date until ctx ends.
func (m *menu) run(ctx context.Context) {
	if m.want == nil {
		return
	}
	have := map[menuKey][32]byte{} // what is known to be there
	for ctx.Err() == nil {
		if wait := m.sync(ctx, have); wait > 0 {
			sleep(ctx, wait)
			continue
		}
		m.mu.Lock()
		m.settled = true
		m.mu.Unlock()
		t := time.NewTimer(menuEvery)
		select {
		case <-ctx.Done():
		case <-t.C:
		case <-m.kick:
		}
		t.Stop()
	}
}

// sync brings the menus up to date and returns how long the service asked to
// wait. Trouble is worth a warning only.
func (m *menu) sync(ctx context.Context, have map[menuKey][32]byte) (wait time.Duration) {
	menus, err := m.want(ctx)
	if err != nil {
		if ctx.Err() == nil {
			m.log.WarnContext(ctx, "command menus not known", "err", err)
		}
		return 0
	}
	wanted := map[menuKey]bool{}
	set := 0
	for _, one := range menus {
		for _, lang := range slices.Sorted(maps.Keys(one.Commands)) {
			s := menuKey{one.Scope, lang}
			wanted[s] = true
			changed, err := m.put(ctx, s, entries(one.Commands[lang]), have)
			if changed {
				set++
			}
			if wait = m.failed(ctx, s, err); wait > 0 || ctx.Err() != nil {
				return wait
			}
		}
	}
	for s := range have {
		if wanted[s] { // the others are of people who have lost their role
			continue
		}
		if _, err := m.wire.call(ctx, request{method: "deleteMyCommands", params: s.params()}); err != nil {
			if wait = m.failed(ctx, s, err); wait > 0 || ctx.Err() != nil {
				return wait
			}
			if !s.gone(err) {
				continue // it is still shown, and tried again
			}
		}
		delete(have, s)
		set++
	}
	if set > 0 {
		m.log.InfoContext(ctx, "command menus updated", "menus", set)
	}
	return 0
}

// put sets one menu unless it is there already.
func (m *menu) put(ctx context.Context, s menuKey, want []menuEntry, have map[menuKey][32]byte) (changed bool, err error) {
	sum := sha256.Sum256([]byte(object(want)))
	if have[s] == sum {
		return false, nil
	}
	var now []menuEntry
	if err := m.wire.decode(ctx, request{method: "getMyCommands", params: s.params()}, &now); err != nil {
		return false, err
	}
	if !slices.Equal(now, want) {
		p := s.params()
		p["commands"] = object(want)
		if _, err := m.wire.call(ctx, request{method: "setMyCommands", params: p}); err != nil {
			return false, err
		}
		changed = true
	}
	have[s] = sum
	return changed, nil
}

// gone reports whether the chat of a menu is not there for the bot.
func (s menuKey) gone(err error) bool {
	var r *refusal
	return s.scope.Chat != "" && errors.As(err, &r) && (r.Status == http.StatusBadRequest || r.Status == http.StatusForbidden)
}

// failed notes what went wrong with one menu and returns how long the service
// asked to wait.
func (m *menu) failed(ctx context.Context, s menuKey, err error) time.Duration {
	var r *refusal
	switch {
	case err == nil || ctx.Err() != nil:
		return 0
	case s.gone(err):
		// A person who never wrote, or is not in that group.
		m.mu.Lock()
		m.missing[s.scope.Chat] = true
		m.mu.Unlock()
		m.log.DebugContext(ctx, "command menu of a chat not set", "chat", s.scope.Chat, "err", err)
		return 0
	}
	m.log.WarnContext(ctx, "command menu not updated", "scope", string(s.scope.Kind), "language", s.lang, "err", err)
	if errors.As(err, &r) {
		return r.After
	}
	return 0
}

var commandName = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

// entries fits commands into what the service accepts.
func entries(cs []Command) []menuEntry {
	out := []menuEntry{}
	seen := map[string]bool{}
	for _, c := range cs {
		name := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(c.Name, "/"), "-", "_"))
		if len(out) == maxCommands || !commandName.MatchString(name) || seen[name] {
			continue
		}
		seen[name] = true
		text := chat.Clip(strings.Join(strings.Fields(c.Description), " "), maxDescription)
		if text == "" {
			text = name
		}
		out = append(out, menuEntry{Command: name, Description: text})
	}
	return out
}

package app

import (
	"context"
	"fmt"
	"slices"

	"cligate/internal/chat"
	"cligate/internal/command"
	"cligate/internal/config"
	"cligate/internal/platform/telegram"
)

// menuSource makes what an account asks for its command menus.
type menuSource func(account string, owners []string) func(context.Context) ([]telegram.Menu, error)

// groupsShown bounds the groups in which somebody has a menu of their own.
const groupsShown = 20

// menuLangs are the languages of the menus: the service's tag for a language,
// "" for all others, and ours.
var menuLangs = map[string]string{"": "en", "zh": "zh"}

// book makes menus of the commands.
type book struct{ set *command.Set }

func newBook(cfg config.Config) (book, error) {
	set, err := command.New(command.Deps{}, command.Config{Workspaces: workspaces(cfg)})
	if err != nil {
		return book{}, err
	}
	return book{set}, nil
}

// of is the menu of a role in one scope.
func (b book) of(s telegram.Scope, role chat.Role) telegram.Menu {
	m := telegram.Menu{Scope: s, Commands: map[string][]telegram.Command{}}
	for tag, lang := range menuLangs {
		m.Commands[tag] = nil
		for _, e := range b.set.Menu(lang, role) {
			m.Commands[tag] = append(m.Commands[tag], telegram.Command{Name: e.Name, Description: e.Help})
		}
	}
	return m
}

// few are the commands that a stranger sees.
var few = []string{"help", "whoami"}

// small is the menu of people who have no role.
func (b book) small(kind telegram.ScopeKind) telegram.Menu {
	m := b.of(telegram.Scope{Kind: kind}, chat.RoleViewer)
	for lang, cs := range m.Commands {
		m.Commands[lang] = slices.DeleteFunc(cs, func(c telegram.Command) bool { return !slices.Contains(few, c.Name) })
	}
	return m
}

// common are the menus of people of whom nothing is known: a few commands in
// private, and in a group, where people with a role come to the bot, what a
// member may do.
func (b book) common() []telegram.Menu {
	return []telegram.Menu{
		b.small(telegram.ScopeDefault),
		b.small(telegram.ScopePrivate),
		b.of(telegram.Scope{Kind: telegram.ScopeGroups}, chat.RoleMember),
		b.of(telegram.Scope{Kind: telegram.ScopeGroupAdmin}, chat.RoleMember),
	}
}

// commonMenus is the menuSource of a doctor without a ledger.
func commonMenus(cfg config.Config) menuSource {
	return func(string, []string) func(context.Context) ([]telegram.Menu, error) {
		return func(context.Context) ([]telegram.Menu, error) {
			b, err := newBook(cfg)
			if err != nil {
				return nil, err
			}
			return b.common(), nil
		}
	}
}

// menus implements menuSource over the ledger: beyond the common ones everybody
// with a role has the menu of that role where they have it.
func (a *App) menus(account string, owners []string) func(context.Context) ([]telegram.Menu, error) {
	return func(ctx context.Context) ([]telegram.Menu, error) {
		b, err := newBook(a.cfg)
		if err != nil {
			return nil, err
		}
		out := b.common()
		gs, err := a.db.People().Grants(ctx)
		if err != nil {
			return nil, fmt.Errorf("list grants: %w", err)
		}
		groups, err := a.db.People().Groups(ctx, account, groupsShown)
		if err != nil {
			return nil, fmt.Errorf("list groups: %w", err)
		}
		roles := map[telegram.Scope]chat.Role{}
		for _, g := range gs {
			switch {
			case g.Account != account || g.Person == "*":
			case g.Chat != "" && g.Role == chat.RoleMember: // has what all see
			case g.Chat == "":
				roles[telegram.Scope{Kind: telegram.ScopeChat, Chat: g.Person}] = g.Role
			default:
				roles[telegram.Scope{Kind: telegram.ScopeMember, Chat: g.Chat, Person: g.Person}] = g.Role
			}
		}
		for _, id := range owners { // everywhere
			roles[telegram.Scope{Kind: telegram.ScopeChat, Chat: id}] = chat.RoleOwner
			for _, g := range groups {
				roles[telegram.Scope{Kind: telegram.ScopeMember, Chat: g.Chat, Person: id}] = chat.RoleOwner
			}
		}
		for s, role := range roles {
			out = append(out, b.of(s, role))
		}
		return out, nil
	}
}

// refreshMenus has an account look at its menus again; "" = every account.
func (a *App) refreshMenus(account string) {
	for _, b := range a.bots {
		if t, ok := b.adapter.(*telegram.Adapter); ok && (account == "" || account == b.account) {
			t.RefreshMenus()
		}
	}
}

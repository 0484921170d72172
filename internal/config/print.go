package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const hidden = "[redacted]"

// Redacted returns a copy that may be printed and logged: secrets are
// replaced, values of environment entries too.
func (c Config) Redacted() Config {
	hide := func(s *string) {
		if *s != "" {
			*s = hidden
		}
	}
	env := func(entries *[]string) {
		out := make([]string, len(*entries))
		for i, e := range *entries {
			name, _, assigned := strings.Cut(e, "=")
			out[i] = name
			if assigned {
				out[i] = name + "=" + hidden
			}
		}
		*entries = out
	}
	hide(&c.Speech.Key)
	env(&c.Speech.Env)
	hide(&c.Telegram.Token)
	hide(&c.Telegram.Proxy)
	hide(&c.Telegram.WebhookSecret)
	bots := make([]NamedTelegram, len(c.TelegramBots))
	for i, b := range c.TelegramBots {
		hide(&b.Token)
		hide(&b.Proxy)
		hide(&b.WebhookSecret)
		bots[i] = b
	}
	c.TelegramBots = bots
	for _, s := range c.Feishu.secrets() {
		hide(s)
	}
	apps := make([]NamedFeishu, len(c.FeishuApps))
	for i, a := range c.FeishuApps {
		for _, s := range a.secrets() {
			hide(s)
		}
		apps[i] = a
	}
	c.FeishuApps = apps
	for _, a := range c.Agents.builtin() {
		env(&a.agent.Env)
	}
	more := make([]NamedAgent, len(c.Agents.More))
	for i, a := range c.Agents.More {
		env(&a.Env)
		more[i] = a
	}
	c.Agents.More = more
	return c
}

// Secrets returns the secret values in use, for redaction at the sinks.
func (c Config) Secrets() []string {
	out := []string{c.Telegram.Token, c.Telegram.Proxy, c.Telegram.WebhookSecret, c.Speech.Key}
	for _, b := range c.TelegramBots {
		out = append(out, b.Token, b.Proxy, b.WebhookSecret)
	}
	for _, f := range append([]NamedFeishu{{Feishu: c.Feishu}}, c.FeishuApps...) {
		for _, s := range f.secrets() {
			out = append(out, *s)
		}
	}
	env := slices.Clone(c.Speech.Env)
	for _, a := range c.Agents.builtin() {
		env = append(env, a.agent.Env...)
	}
	for _, a := range c.Agents.More {
		env = append(env, a.Env...)
	}
	for _, e := range env {
		if _, v, ok := strings.Cut(e, "="); ok && len(v) >= 8 {
			out = append(out, v)
		}
	}
	kept := out[:0]
	for _, s := range out {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return kept
}

// Print returns the effective configuration as YAML, without secrets.
func (c Config) Print() (string, error) {
	r := c.Redacted()
	body, err := yaml.Marshal(tree(reflect.ValueOf(r)))
	if err != nil {
		return "", fmt.Errorf("print configuration: %w", err)
	}
	return string(body), nil
}

// tree turns a section into ordered YAML under its configuration keys.
func tree(v reflect.Value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	t := v.Type()
	for i := range t.NumField() {
		name, opts, _ := strings.Cut(t.Field(i).Tag.Get("mapstructure"), ",")
		if name == "-" {
			continue
		}
		if opts == "squash" {
			n.Content = append(n.Content, tree(v.Field(i)).Content...)
			continue
		}
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, node(v.Field(i)))
	}
	return n
}

func node(v reflect.Value) *yaml.Node {
	switch {
	case v.Type() == durationType:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(v.Interface())}
	case v.Kind() == reflect.Struct:
		return tree(v)
	case v.Kind() == reflect.Slice:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Len() {
			n.Content = append(n.Content, node(v.Index(i)))
		}
		return n
	default:
		n := &yaml.Node{}
		if err := n.Encode(v.Interface()); err != nil {
			n = &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(v.Interface())}
		}
		return n
	}
}

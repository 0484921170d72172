package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"
)

// Error is all complaints about one configuration.
type Error struct {
	File string
	List []string
}

// Error implements error, one line per problem.
func (p *Error) Error() string {
	from := "the environment"
	if p.File != "" {
		from = p.File
	}
	return fmt.Sprintf("configuration (%s):\n  %s", from, strings.Join(p.List, "\n  "))
}

// Load reads the configuration from file, or, when file is empty, from the
// first of the usual places that has one, and from the environment. The error
// is an *Error with every problem that was found.
func Load(file string) (Config, error) {
	cfg := Default()
	v := viper.NewWithOptions(viper.KeyDelimiter("."))
	p := &Error{}
	if file == "" {
		file = find()
	} else if _, err := os.Stat(file); err != nil {
		p.List = append(p.List, fmt.Sprintf("%s: %v", file, errors.Unwrap(err)))
		return cfg, p
	}
	fields := keys()
	if file != "" {
		cfg.File, p.File = file, file
		v.SetConfigFile(file)
		v.SetConfigType("yaml")
		if err := v.ReadInConfig(); err != nil {
			p.List = append(p.List, "not valid YAML: "+err.Error())
			return cfg, p
		}
		bad, err := unknownInFile(file, fields)
		if err != nil {
			return cfg, err
		}
		p.List = append(p.List, bad...)
	}
	for _, f := range fields {
		if f.elem != nil {
			continue
		}
		if err := v.BindEnv(f.path, f.env()); err != nil {
			return cfg, fmt.Errorf("bind %s: %w", f.path, err)
		}
	}
	if err := v.Unmarshal(&cfg, viper.DecodeHook(decodeHook())); err != nil {
		p.List = append(p.List, plain(err)...)
	}
	cfg.Warnings = append(cfg.Warnings, strayEnv(fields, os.Environ())...)
	p.List = append(p.List, cfg.readSecrets()...)
	cfg.expand()
	p.List = append(p.List, cfg.check()...)
	if len(p.List) > 0 {
		return cfg, p
	}
	cfg.Warnings = append(cfg.Warnings, cfg.exposed()...)
	return cfg, nil
}

// unknownInFile looks at the file itself: viper forgets empty sections.
func unknownInFile(file string, fields []field) ([]string, error) {
	body, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	var raw map[string]any
	if err := yaml.Unmarshal(body, &raw); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return unknown(raw, fields, ""), nil
}

// find returns the first configuration file in the usual places.
func find() string {
	places := []string{"cligate.yaml"}
	if dir, err := os.UserConfigDir(); err == nil {
		places = append(places, filepath.Join(dir, "cligate", "cligate.yaml"))
	}
	places = append(places, "/etc/cligate/cligate.yaml")
	for _, p := range places {
		if st, err := os.Stat(p); err == nil && !st.IsDir() {
			return p
		}
	}
	return ""
}

func decodeHook() mapstructure.DecodeHookFunc {
	return mapstructure.ComposeDecodeHookFunc(
		duration,
		commaList,
	)
}

// duration reads a duration with its unit. A bare 0 stands for "off"; other
// bare numbers have no unit and are refused.
func duration(from, to reflect.Type, v any) (any, error) {
	if to != durationType || from == durationType {
		return v, nil
	}
	text := strings.TrimSpace(fmt.Sprint(v))
	if text == "0" {
		return time.Duration(0), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return nil, fmt.Errorf("%q is no duration with a unit: write 150ms, 5m, 6h", text)
	}
	return d, nil
}

// commaList splits "a, b" for lists of strings, as the environment gives them.
func commaList(from, to reflect.Type, v any) (any, error) {
	if from.Kind() != reflect.String || to != reflect.TypeFor[[]string]() {
		return v, nil
	}
	var out []string
	for _, s := range strings.Split(v.(string), ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out, nil
}

// plain turns a decoder's error into one line per problem.
func plain(err error) []string {
	var many interface{ Unwrap() []error }
	if errors.As(err, &many) {
		var out []string
		for _, e := range many.Unwrap() {
			out = append(out, plain(e)...)
		}
		return out
	}
	text := strings.TrimSpace(err.Error())
	text = strings.TrimPrefix(text, "decoding failed due to the following error(s):")
	return []string{strings.TrimSpace(strings.ReplaceAll(text, "\n", "; "))}
}

// internalEnv are variables of ours that are no configuration.
var internalEnv = []string{"CLIGATE_FAULT", "CLIGATE_RUNNER", "CLIGATE_CONFIG"}

// strayEnv finds CLIGATE_ variables that mean nothing. They are warnings, not
// errors: container platforms add variables named after a service.
func strayEnv(fields []field, environ []string) []string {
	known := map[string]bool{}
	for _, n := range internalEnv {
		known[n] = true
	}
	for _, f := range fields {
		known[f.env()] = f.elem == nil
	}
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "CLIGATE_") || known[name] || strings.HasPrefix(name, "CLIGATE_RUNNER") {
			continue
		}
		path := strings.ToLower(strings.TrimPrefix(name, "CLIGATE_"))
		flat := make([]field, 0, len(fields))
		for _, f := range fields {
			flat = append(flat, field{path: strings.ReplaceAll(f.path, ".", "_")})
		}
		hint := suggest(path, flat)
		if i := strings.Index(hint, "mean "); i >= 0 {
			hint = hint[:i+5] + "CLIGATE_" + strings.ToUpper(hint[i+5:len(hint)-2]) + "?)"
		}
		out = append(out, name+": not a setting"+hint)
	}
	return out
}

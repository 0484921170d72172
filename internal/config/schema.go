package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// field is one key that an operator can set.
type field struct {
	path   string // telegram.token
	typ    reflect.Type
	secret string       // "", "true", "env"
	elem   reflect.Type // of a list of sections; nil otherwise
}

// env is the environment variable of a scalar or list of scalars.
func (f field) env() string {
	return "CLIGATE_" + strings.ToUpper(strings.ReplaceAll(f.path, ".", "_"))
}

var durationType = reflect.TypeFor[time.Duration]()

// schema lists the keys of a section type, in the order of its fields.
func schema(t reflect.Type, prefix string) []field {
	var out []field
	for i := range t.NumField() {
		sf := t.Field(i)
		name, opts, _ := strings.Cut(sf.Tag.Get("mapstructure"), ",")
		if name == "-" {
			continue
		}
		path := prefix + name
		switch {
		case opts == "squash":
			out = append(out, schema(sf.Type, prefix)...)
		case sf.Type.Kind() == reflect.Struct:
			out = append(out, schema(sf.Type, path+".")...)
		case sf.Type.Kind() == reflect.Slice && sf.Type.Elem().Kind() == reflect.Struct:
			out = append(out, field{path: path, typ: sf.Type, elem: sf.Type.Elem()})
		default:
			out = append(out, field{path: path, typ: sf.Type, secret: sf.Tag.Get("secret")})
		}
	}
	return out
}

func keys() []field { return schema(reflect.TypeFor[Config](), "") }

// unknown reports the keys of m (as read from the file) that fields lack.
func unknown(m map[string]any, fields []field, prefix string) []string {
	var bad []string
	for _, k := range sortedKeys(m) {
		path := prefix + k
		i := slices.IndexFunc(fields, func(f field) bool { return f.path == path })
		if i >= 0 {
			if fields[i].elem != nil {
				bad = append(bad, unknownInList(m[k], fields[i].elem, path)...)
			}
			continue
		}
		isSection := slices.ContainsFunc(fields, func(f field) bool { return strings.HasPrefix(f.path, path+".") })
		sub, isMap := m[k].(map[string]any)
		switch {
		case isSection && isMap:
			bad = append(bad, unknown(sub, fields, path+".")...)
		case isSection && m[k] == nil: // an empty section
		case isSection:
			bad = append(bad, fmt.Sprintf("%s: is a section, not a value", path))
		default:
			bad = append(bad, fmt.Sprintf("%s: unknown key%s", path, suggest(path, fields)))
		}
	}
	return bad
}

func unknownInList(v any, elem reflect.Type, path string) []string {
	items, ok := v.([]any)
	if !ok {
		return nil // the decoder reports the wrong type
	}
	var bad []string
	for i, it := range items {
		at := fmt.Sprintf("%s[%d].", path, i)
		if m, ok := it.(map[string]any); ok {
			bad = append(bad, unknown(m, schema(elem, at), at)...)
		}
	}
	return bad
}

func sortedKeys(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// suggest names the nearest known key, when there is one.
func suggest(path string, fields []field) string {
	best, dist := "", 4
	name := path[strings.LastIndex(path, ".")+1:]
	if name == "require_mention" { // what others call it
		name = "listen"
	}
	for _, f := range fields {
		if section, _, ok := strings.Cut(f.path, "."); ok && distance(path, section) < dist {
			best, dist = section, distance(path, section)
		}
		if d := distance(path, f.path); d < dist {
			best, dist = f.path, d
		}
		// A right name in the wrong section.
		if _, leaf, _ := strings.Cut(f.path, "."); leaf != "" && leaf == name && dist > 1 {
			best, dist = f.path, 1
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// distance is the edit distance of a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		prev := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := prev
			if a[i] != b[j] {
				cost = 1 + min(prev, row[j], row[j+1])
			}
			prev, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

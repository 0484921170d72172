package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// planted are secrets put into every key that is marked as one.
type planted struct {
	values []string // where each stands is part of it
	files  []string // of those that may be read from a file
}

// into fills a section. Lists of sections get one more.
func (p *planted) into(v reflect.Value, at string) {
	for i := range v.NumField() {
		sf, f := v.Type().Field(i), v.Field(i)
		name, _, _ := strings.Cut(sf.Tag.Get("mapstructure"), ",")
		if name == "-" {
			continue
		}
		path := at + "-" + name
		canary := fmt.Sprintf("canary%s-%d", path, len(p.values))
		switch {
		case f.Kind() == reflect.Struct:
			p.into(f, path)
		case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
			p.into(f.Index(0), path)
		case sf.Tag.Get("secret") == "true":
			f.SetString(canary)
			p.values = append(p.values, canary)
			if file := v.FieldByName(sf.Name + "File"); file.IsValid() {
				file.SetString("/" + canary + "-file")
				p.files = append(p.files, file.String())
			}
		case sf.Tag.Get("secret") == "env":
			f.Set(reflect.ValueOf([]string{"NAME=" + canary, "INHERITED"}))
			p.values = append(p.values, canary)
		}
	}
}

func TestWhatIsMarkedAsASecretIsOneEverywhere(t *testing.T) {
	t.Parallel()
	c := Default()
	var p planted
	p.into(reflect.ValueOf(&c).Elem(), "")
	marked := 0
	for _, f := range keys() {
		fields := []field{f}
		if f.elem != nil {
			fields = schema(f.elem, "")
		}
		for _, f := range fields {
			if f.secret != "" {
				marked++
			}
		}
	}
	if marked == 0 || len(p.values) != marked {
		t.Fatalf("%d of %d secrets were planted", len(p.values), marked)
	}
	out, err := c.Print()
	if err != nil {
		t.Fatal(err)
	}
	known := c.Secrets()
	for _, v := range p.values {
		if slices.Contains(strings.Fields(strings.NewReplacer("NAME=", " ", `"`, " ").Replace(out)), v) {
			t.Errorf("printed: %s", v)
		}
		if !slices.Contains(known, v) {
			t.Errorf("not kept out of the log: %s", v)
		}
	}
	files := c.secretFiles()
	for _, f := range p.files {
		if !slices.Contains(files, f) {
			t.Errorf("not looked at whether others may change it: %s", f)
		}
	}
	after := planted{}
	again := Default()
	after.into(reflect.ValueOf(&again).Elem(), "")
	if !reflect.DeepEqual(c, again) {
		t.Error("to print the configuration changed it")
	}

	// Each alone in a file that others can read is remarked upon.
	for _, v := range p.values {
		c.File = filepath.Join(t.TempDir(), "cligate.yaml")
		if err := os.WriteFile(c.File, []byte("x: "+v+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(c.File, 0o644); err != nil {
			t.Fatal(err)
		}
		if n := len(c.exposed()); n == 0 {
			t.Errorf("open to others without a remark: %s", v)
		}
	}
}

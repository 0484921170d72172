package image

import (
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const root = "../../.."

func dockerfile(t *testing.T) []Stage {
	t.Helper()
	b, err := os.ReadFile(root + "/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	return Parse(string(b))
}

func TestTheImageIsWhatTheReadmePromises(t *testing.T) {
	t.Parallel()
	stages := dockerfile(t)
	if len(stages) != 2 {
		t.Fatalf("%d stages, want a build stage and a lean one", len(stages))
	}
	final := stages[1]
	if !strings.HasPrefix(final.From, "node:22") {
		t.Errorf("base %q: agents need Node 22 or newer", final.From)
	}
	if u := final.Last("USER"); u == "" || strings.HasPrefix(u, "0") || strings.HasPrefix(u, "root") {
		t.Errorf("user %q: must not be root", u)
	}
	if !slices.Contains(final.All("ARG"), "AGENTS=claude") {
		t.Errorf("args %q: AGENTS must default to claude", final.All("ARG"))
	}
	if h := final.Last("HEALTHCHECK"); !strings.Contains(h, `CMD ["cligate", "health"]`) {
		t.Errorf("health check %q", h)
	}
	if v := List(final.Last("VOLUME")); !slices.Equal(v, []string{"/data", "/work", "/home/cligate"}) {
		t.Errorf("volumes %q: state, work and the agents' home", v)
	}
	if e := List(final.Last("ENTRYPOINT")); !slices.Equal(e, []string{"cligate"}) {
		t.Errorf("entry point %q: signals must reach the daemon", e)
	}
	env := final.Env()
	if env["CLIGATE_DATA_DIR"] != "/data" || env["CLIGATE_WORKSPACE"] != "/work" || env["HOME"] != "/home/cligate" {
		t.Errorf("environment %v", env)
	}
	if all := strings.Join(final.All("RUN"), "\n"); !strings.Contains(all, " git") {
		t.Error("git is missing")
	}
}

func TestTheComposeFileKeepsSecretsInFilesAndTheRootReadOnly(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(root + "/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Services map[string]struct {
			Environment map[string]string
			Secrets     []string
			Ports       []string
			Volumes     []string
			ReadOnly    bool     `yaml:"read_only"`
			CapDrop     []string `yaml:"cap_drop"`
			SecurityOpt []string `yaml:"security_opt"`
		}
		Secrets map[string]struct{ File string }
		Volumes map[string]any
	}
	if err := yaml.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	s := c.Services["cligate"]
	if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
		t.Errorf("hardening: %+v", s)
	}
	for k, v := range s.Environment {
		if strings.Contains(k, "TOKEN") && (!strings.HasSuffix(k, "_FILE") || !strings.HasPrefix(v, "/run/secrets/")) {
			t.Errorf("%s=%s: a secret must be a file", k, v)
		}
	}
	for _, name := range s.Secrets {
		if c.Secrets[name].File == "" {
			t.Errorf("secret %s has no file", name)
		}
	}
	for _, p := range s.Ports {
		if !strings.HasPrefix(p, "127.0.0.1:") {
			t.Errorf("port %s is open to the world", p)
		}
	}
	for _, dir := range List(dockerfile(t)[1].Last("VOLUME")) {
		if !slices.ContainsFunc(s.Volumes, func(v string) bool { return strings.HasSuffix(v, ":"+dir) }) {
			t.Errorf("%s is in no volume", dir)
		}
	}
}

func TestThePinnedAgentsAreTheOnesThatAreTested(t *testing.T) {
	t.Parallel()
	img, err := os.ReadFile(root + "/.ci/image-agents")
	if err != nil {
		t.Fatal(err)
	}
	ci, err := os.ReadFile(root + "/.ci/install-agents")
	if err != nil {
		t.Fatal(err)
	}
	pins := 0
	for line := range strings.Lines(string(img)) {
		_, pin, ok := strings.Cut(line, "pkg=")
		if !ok {
			continue
		}
		pins++
		pin = strings.Fields(pin)[0]
		at := strings.LastIndexByte(pin, '@')
		if !slices.ContainsFunc(strings.Split(string(ci), "\n"), func(row string) bool {
			f := strings.Fields(row)
			return len(f) == 4 && f[2] == pin[:at] && f[3] == pin[at+1:]
		}) {
			t.Errorf("the image pins %s, which is not what is tested", pin)
		}
	}
	if pins < 7 {
		t.Errorf("the image pins %d agents", pins)
	}
}

package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

type object = map[string]any

// Retries is how often an agent may try again where that can be told; a
// failure that lasts is then told within a few seconds.
const Retries = 2

// configure writes what the agent reads in home, and returns what it reads in
// its environment.
func configure(t *testing.T, name, home, url string) []string {
	t.Helper()
	c := writer{t: t, home: home}
	switch name {
	case "claude":
		return append(anthropic(url), "ENABLE_TOOL_SEARCH=0")
	case "claude-agent-acp": // it passes the flag that root may use in a sandbox only
		return append(anthropic(url), "ENABLE_TOOL_SEARCH=0", "IS_SANDBOX=1")
	case "codex", "codex-acp":
		return c.codex(url)
	case "gemini":
		return c.gemini(url)
	case "qwen":
		return c.qwen(url)
	case "opencode":
		return c.opencode(url)
	case "pi":
		return c.pi(url)
	case "copilot":
		return []string{
			"COPILOT_PROVIDER_BASE_URL=" + url + "/v1", "COPILOT_PROVIDER_TYPE=openai", "COPILOT_PROVIDER_API_KEY=dummy",
			"COPILOT_MODEL=" + Large, "COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false",
		}
	}
	t.Fatalf("no configuration for %q", name)
	return nil
}

func anthropic(url string) []string {
	return []string{
		"ANTHROPIC_API_KEY=dummy", "ANTHROPIC_BASE_URL=" + url, "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
}

// writer writes configuration files below a home.
type writer struct {
	t    *testing.T
	home string
}

func (c writer) file(path, text string) {
	c.t.Helper()
	path = filepath.Join(c.home, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c writer) json(path string, v any) {
	c.t.Helper()
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		c.t.Fatal(err)
	}
	c.file(path, string(body))
}

func (c writer) codex(url string) []string {
	c.file(".codex/config.toml", fmt.Sprintf(`model = %q
model_provider = "mock"
check_for_update_on_startup = false

[model_providers.mock]
name = "mock"
base_url = "%s/v1"
env_key = "MOCK_KEY"
wire_api = "responses"
request_max_retries = %d
stream_max_retries = %d
stream_idle_timeout_ms = 60000

[analytics]
enabled = false
`, Large, url, Retries, Retries))
	return []string{"CODEX_HOME=" + filepath.Join(c.home, ".codex"), "MOCK_KEY=dummy"}
}

func (c writer) gemini(url string) []string {
	c.json(".gemini/settings.json", object{
		"security":  object{"auth": object{"selectedType": "gemini-api-key"}},
		"general":   object{"disableAutoUpdate": true, "disableUpdateNag": true, "enableAutoUpdate": false},
		"privacy":   object{"usageStatisticsEnabled": false},
		"telemetry": object{"enabled": false},
	})
	return []string{
		"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_CLI_NO_RELAUNCH=1", "NO_BROWSER=1",
	}
}

func (c writer) qwen(url string) []string {
	c.json(".qwen/settings.json", object{
		"security":  object{"auth": object{"selectedType": "openai"}},
		"general":   object{"disableAutoUpdate": true, "enableAutoUpdate": false},
		"model":     object{"name": Large},
		"privacy":   object{"usageStatisticsEnabled": false},
		"telemetry": object{"enabled": false},
	})
	return []string{"OPENAI_API_KEY=dummy", "OPENAI_BASE_URL=" + url + "/v1", "OPENAI_MODEL=" + Large}
}

func (c writer) opencode(url string) []string {
	m := func(name string) object {
		return object{
			"name": name, "tool_call": true, "reasoning": true, "attachment": true, "temperature": false,
			"modalities": object{"input": []string{"text", "image", "pdf"}, "output": []string{"text"}},
			"limit":      object{"context": 200000, "output": 32000}, "cost": object{"input": 1, "output": 2},
		}
	}
	c.json(".config/opencode/opencode.json", object{
		"$schema": "https://opencode.ai/config.json", "autoupdate": false, "share": "disabled",
		"model": "mock/" + Large, "small_model": "mock/" + Small,
		"provider": object{"mock": object{
			"npm": "@ai-sdk/openai-compatible", "name": "mock",
			"options": object{"baseURL": url + "/v1", "apiKey": "dummy"},
			"models":  object{Large: m("Mock large"), Small: m("Mock small")},
		}},
	})
	return []string{
		"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
		"OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
	}
}

func (c writer) pi(url string) []string {
	m := func(id, name string) object {
		return object{
			"id": id, "name": name, "reasoning": true, "input": []string{"text", "image"}, "contextWindow": 200000, "maxTokens": 32000,
			"cost": object{"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
		}
	}
	c.json(".pi/agent/models.json", object{"providers": object{"mock": object{
		"baseUrl": url + "/v1", "api": "openai-completions", "apiKey": "dummy",
		"models": []any{m(Large, "Mock large"), m(Small, "Mock small")},
	}}})
	c.json(".pi/agent/settings.json", object{"defaultProvider": "mock", "defaultModel": Large})
	return []string{"PI_OFFLINE=1", "PI_SKIP_VERSION_CHECK=1", "PI_TELEMETRY=0"}
}

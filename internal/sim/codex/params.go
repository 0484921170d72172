package codex

import (
	"encoding/json"
	"slices"
)

// params are those of any request.
type params struct {
	Client struct {
		Name string `json:"name"`
	} `json:"clientInfo"`
	Can struct {
		Experimental bool `json:"experimentalApi"`
	} `json:"capabilities"`

	Thread   string          `json:"threadId"`
	Turn     string          `json:"turnId"`
	Expected string          `json:"expectedTurnId"`
	Process  string          `json:"processId"`
	Dir      string          `json:"cwd"`
	Input    json.RawMessage `json:"input"`
	Model    string          `json:"model"`
	Effort   string          `json:"effort"`
	Approval string          `json:"approvalPolicy"`
	Sandbox  string          `json:"sandbox"`
	Reviewer string          `json:"approvalsReviewer"`
	Exclude  bool            `json:"excludeTurns"`
	Policy   *struct {
		Type string `json:"type"`
	} `json:"sandboxPolicy"`
	Collab *struct {
		Mode     string `json:"mode"`
		Settings struct {
			Model string `json:"model"`
		} `json:"settings"`
	} `json:"collaborationMode"`
}

var (
	approvals = []string{"", "untrusted", "on-request", "never"}
	sandboxes = []string{"", "read-only", "workspace-write", "danger-full-access"}
	policies  = []string{"readOnly", "workspaceWrite", "dangerFullAccess"}
	kinds     = []string{"text", "image", "localImage"}
)

type input struct {
	Type string `json:"type"`
	Text string `json:"text"`
	Path string `json:"path"`
}

func (p params) inputs() (in []input, ok bool) {
	if json.Unmarshal(p.Input, &in) != nil {
		return nil, false
	}
	return in, !slices.ContainsFunc(in, func(i input) bool { return !slices.Contains(kinds, i.Type) })
}

// check says why a request is not understood, as the real one does.
func (p params) check(method string) string {
	if !slices.Contains(approvals, p.Approval) {
		return "unknown variant `" + p.Approval + "`, expected one of `untrusted`, `on-request`, `granular`, `never`"
	}
	if !slices.Contains(sandboxes, p.Sandbox) {
		return "unknown variant `" + p.Sandbox + "`, expected one of `read-only`, `workspace-write`, `danger-full-access`"
	}
	if p.Policy != nil && !slices.Contains(policies, p.Policy.Type) {
		return "unknown variant `" + p.Policy.Type + "`"
	}
	if p.Collab != nil && (p.Collab.Mode != "plan" && p.Collab.Mode != "default" || p.Collab.Settings.Model == "") {
		return "missing field `model`"
	}
	switch method {
	case "thread/start", "thread/resume", "thread/fork":
		if p.Approval == "" || p.Sandbox == "" || p.Reviewer != "user" {
			breach(method + " without a stated mode")
		}
		if method != "thread/start" && !p.Exclude {
			breach(method + " asks for the whole history")
		}
	case "turn/start", "turn/steer":
		if len(p.Input) == 0 {
			return "missing field `input`"
		}
		if _, ok := p.inputs(); !ok {
			return "unknown variant in `input`"
		}
	}
	switch {
	case method == "account/read", method == "model/list", method == "thread/list", method == "thread/start":
	case p.Thread == "":
		return "missing field `threadId`"
	case method == "turn/steer" && p.Expected == "":
		return "missing field `expectedTurnId`"
	case method == "turn/interrupt" && p.Turn == "":
		return "missing field `turnId`"
	}
	return ""
}

package model

import (
	"encoding/json"
	"net/http"
	"strings"
)

// gemini is Google's generateContent API.
type gemini struct{}

type geminiRequest struct {
	Contents []geminiContent `json:"contents"`
	System   geminiContent   `json:"systemInstruction"`
	Tools    []struct {
		Functions []struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
			Schema     json.RawMessage `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	Config struct {
		MIMEType   string          `json:"responseMimeType"`
		Schema     json.RawMessage `json:"responseSchema"`
		JSONSchema json.RawMessage `json:"responseJsonSchema"`
	} `json:"generationConfig"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text         string `json:"text"`
	Thought      bool   `json:"thought"`
	FunctionCall *struct {
		Name string `json:"name"`
	} `json:"functionCall"`
	FunctionResponse *struct {
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
		Parts    []geminiPart    `json:"parts"`
	} `json:"functionResponse"`
	InlineData *struct {
		MIMEType string `json:"mimeType"`
	} `json:"inlineData"`
}

// read takes the model and the way to answer from the path:
// /v1beta/models/MODEL:streamGenerateContent.
func (gemini) read(r *http.Request, body []byte) (*call, error) {
	var in geminiRequest
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	if len(in.Contents) == 0 {
		return nil, bad("* GenerateContentRequest.contents: contents is not specified")
	}
	name, method, _ := strings.Cut(r.PathValue("call"), ":")
	c := &call{model: name, stream: method == "streamGenerateContent", size: len(body)}
	for _, p := range in.System.Parts {
		c.system += p.Text
	}
	for _, t := range in.Tools {
		for _, f := range t.Functions {
			params := f.Schema
			if params == nil {
				params = f.Parameters
			}
			c.tools = append(c.tools, newTool(f.Name, params))
		}
	}
	if in.Config.MIMEType == "application/json" {
		c.form = &schema{}
		for _, raw := range []json.RawMessage{in.Config.JSONSchema, in.Config.Schema} {
			if s := readSchema(raw); s != nil {
				c.form = s
			}
		}
	}
	return c, geminiContents(c, in.Contents)
}

// geminiContents adds the contents. The turn after a function call must give
// as many responses as there were calls.
func geminiContents(c *call, contents []geminiContent) error {
	open := 0
	for i, content := range contents {
		if len(content.Parts) == 0 {
			return bad("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty", i)
		}
		if content.Role != "user" && content.Role != "model" && content.Role != "function" && content.Role != "" {
			return bad("please use a valid role: user, model")
		}
		calls, gave := 0, 0
		for _, p := range content.Parts {
			switch {
			case p.FunctionCall != nil:
				calls++
			case p.FunctionResponse != nil:
				gave++
			}
			if content.Role == "model" {
				c.answered(p.Text)
			} else {
				geminiTake(c, p)
			}
		}
		if gave != open {
			return bad("please ensure that the number of function response parts is equal to the number of function call parts of the function call turn")
		}
		open = calls
	}
	if open > 0 {
		return bad("please ensure that function call turns are followed by function response turns")
	}
	return nil
}

func geminiTake(c *call, p geminiPart) {
	switch {
	case p.FunctionResponse != nil:
		for _, sub := range p.FunctionResponse.Parts {
			geminiTake(c, sub)
		}
		var said struct{ Output, Error string }
		if json.Unmarshal(p.FunctionResponse.Response, &said) == nil && said.Output+said.Error != "" {
			c.gave(said.Output + said.Error)
		} else {
			c.gave(string(p.FunctionResponse.Response))
		}
	case p.InlineData != nil:
		c.seen(p.InlineData.MIMEType)
	case p.Text != "" && !p.Thought:
		c.said(p.Text)
	}
}

// geminiErrors are the states of errors, and the usual words.
var geminiErrors = map[int][2]string{
	http.StatusBadRequest:          {"INVALID_ARGUMENT", "the request was malformed, as told"},
	http.StatusUnauthorized:        {"UNAUTHENTICATED", "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential."},
	http.StatusForbidden:           {"PERMISSION_DENIED", "The caller does not have permission"},
	http.StatusNotFound:            {"NOT_FOUND", "models/no-such-model is not found for API version v1beta, or is not supported for generateContent."},
	http.StatusTooManyRequests:     {"RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."},
	http.StatusInternalServerError: {"INTERNAL", "An internal error has occurred. Please retry."},
	http.StatusServiceUnavailable:  {"UNAVAILABLE", "The model is overloaded. Please try again later."},
}

func (gemini) refuse(status int, reason, text string) object {
	e, ok := geminiErrors[status]
	if !ok {
		e = geminiErrors[http.StatusServiceUnavailable]
	}
	details := []any{}
	switch reason {
	case reasonContext:
		text = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
	case reasonQuota:
		text = "You exceeded your current quota, please check your plan and billing details."
		details = append(details, object{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []any{
			object{"quotaMetric": "generativelanguage.googleapis.com/generate_requests", "quotaId": "GenerateRequestsPerDayPerProjectPerModel"}}})
	}
	return object{"error": object{"code": status, "message": or(text, e[1]), "status": e[0], "details": details}}
}

func (gemini) whole(id string, c *call, rep *reply) object {
	parts := make([]any, 0, len(rep.blocks))
	for i, b := range rep.blocks {
		parts = append(parts, geminiAnswer(id, i, b, b.whole()))
	}
	return geminiChunk(id, c, rep, parts, "STOP")
}

func geminiChunk(id string, c *call, rep *reply, parts []any, finish string) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	if finish != "" {
		candidate["finishReason"] = finish
	}
	return object{
		"responseId": id, "modelVersion": c.model, "candidates": []any{candidate},
		"usageMetadata": object{
			"promptTokenCount": c.tokens(), "candidatesTokenCount": rep.tokens(), "totalTokenCount": c.tokens() + rep.tokens(),
		},
	}
}

func geminiAnswer(id string, i int, b out, text string) object {
	switch b.kind {
	case toolBlock:
		return object{
			"functionCall":     object{"id": callID("call_", id, i), "name": b.tool, "args": b.input},
			"thoughtSignature": "c2lnbmF0dXJl",
		}
	case thinkingBlock:
		return object{"text": text, "thought": true}
	default:
		return object{"text": text}
	}
}

func (gemini) begin(id string, c *call, rep *reply) encoder {
	return &geminiStream{id: id, call: c, rep: rep}
}

// geminiStream is one streamed answer. A function call comes in one piece.
type geminiStream struct {
	id   string
	call *call
	rep  *reply
}

func (s *geminiStream) chunk(finish string, parts ...any) []event {
	return []event{{data: geminiChunk(s.id, s.call, s.rep, parts, finish)}}
}

func (s *geminiStream) start() []event { return nil }

func (s *geminiStream) open(int, out) []event { return nil }

func (s *geminiStream) delta(i int, b out, piece string) []event {
	if b.kind == toolBlock {
		return nil
	}
	return s.chunk("", geminiAnswer(s.id, i, b, piece))
}

func (s *geminiStream) shut(i int, b out) []event {
	if b.kind == toolBlock {
		return s.chunk("", geminiAnswer(s.id, i, b, ""))
	}
	return nil
}

func (s *geminiStream) end() []event { return s.chunk("STOP", object{"text": ""}) }

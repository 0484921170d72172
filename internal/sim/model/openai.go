package model

import "net/http"

// openAIFault is an error's type, code and usual words.
type openAIFault struct {
	kind, code, text string
}

var openAIErrors = map[int]openAIFault{
	http.StatusBadRequest:          {"invalid_request_error", "", "the request was malformed, as told"},
	http.StatusUnauthorized:        {"invalid_request_error", "invalid_api_key", "Incorrect API key provided: dummy. You can find your API key at https://platform.openai.com/account/api-keys."},
	http.StatusForbidden:           {"invalid_request_error", "", "You are not allowed to use this model."},
	http.StatusNotFound:            {"invalid_request_error", "model_not_found", "The model `no-such-model` does not exist or you do not have access to it."},
	http.StatusTooManyRequests:     {"requests", "rate_limit_exceeded", "Rate limit reached for requests per minute. Please try again in 1s."},
	http.StatusInternalServerError: {"server_error", "", "The server had an error while processing your request. Sorry about that!"},
	http.StatusServiceUnavailable:  {"server_error", "server_is_overloaded", "The engine is currently overloaded, please try again later."},
	529:                            {"server_error", "server_is_overloaded", "The engine is currently overloaded, please try again later."},
}

// openAIError is the error body that both of OpenAI's APIs share.
func openAIError(status int, reason, text string) object {
	f, ok := openAIErrors[status]
	if !ok {
		f = openAIErrors[http.StatusInternalServerError]
	}
	switch reason {
	case reasonContext:
		f.code, text = "context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input and try again."
	case reasonQuota:
		f.kind, f.code, text = "insufficient_quota", "insufficient_quota", "You exceeded your current quota, please check your plan and billing details."
	}
	var code any
	if f.code != "" {
		code = f.code
	}
	return object{"error": object{"message": or(text, f.text), "type": f.kind, "param": nil, "code": code}}
}

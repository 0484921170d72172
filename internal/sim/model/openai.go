package model

import "net/http"

// openAIError is the error body that both of OpenAI's APIs share.
func openAIError(status int, reason, text string) object {
	kind, code := "server_error", any(nil)
	switch status {
	case http.StatusBadRequest:
		kind = "invalid_request_error"
	case http.StatusUnauthorized:
		kind, code = "invalid_request_error", "invalid_api_key"
	case http.StatusNotFound:
		kind, code = "invalid_request_error", "model_not_found"
	case http.StatusTooManyRequests:
		kind, code = "requests", "rate_limit_exceeded"
	case 529, http.StatusServiceUnavailable:
		code = "server_is_overloaded"
	}
	switch reason {
	case reasonContext:
		code, text = "context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input and try again."
	case reasonQuota:
		kind, code, text = "insufficient_quota", "insufficient_quota", "You exceeded your current quota, please check your plan and billing details."
	case reasonModel:
		code, text = "model_not_found", "The model `no-such-model` does not exist or you do not have access to it."
	}
	return object{"error": object{"message": text, "type": kind, "param": nil, "code": code}}
}

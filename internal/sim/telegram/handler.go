package telegram

import "net/http"

// Handler is the server without its network, for callers in the same process
// that live in a bubble of fake time.
func Handler(s *Server) http.Handler { return http.HandlerFunc(s.serve) }

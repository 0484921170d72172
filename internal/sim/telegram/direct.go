package telegram

import (
	"errors"
	"time"
)

// Do carries out a call without a network: for tests that make a great many.
func (s *Server) Do(token, method string, values map[string]string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bots[token]
	if b == nil {
		return errors.New("Unauthorized")
	}
	_, no := request{s, b, params{values: values, files: map[string]upload{}}, &Call{At: time.Now()}}.dispatch(method)
	if no != nil {
		return errors.New(no.text)
	}
	return nil
}

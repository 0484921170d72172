package web

import (
	"net/http"

	"cligate/internal/chat"
	"cligate/internal/web/api"
)

// control adds the control API. Letting people in is the owner's; over TCP
// that is whoever is logged in.
func (s *Server) control(mux *http.ServeMux) {
	get := func(name string, h func(*http.Request) (any, error)) {
		mux.HandleFunc("GET "+api.Control+"/"+name, func(w http.ResponseWriter, r *http.Request) {
			v, err := h(r)
			s.result(w, r, name, v, err)
		})
	}
	get("status", func(r *http.Request) (any, error) { return s.parts.Status.Status(r.Context()) })
	get("doctor", func(r *http.Request) (any, error) { return s.parts.Status.Doctor(r.Context()) })
	get("pairs", func(r *http.Request) (any, error) { return s.parts.Pairing.Pairs(r.Context()) })
	post(mux, s, "invite", func(r *http.Request, ask api.InviteAsk, by string) (any, error) {
		if ask.Role != chat.RoleNone && !grantable(ask.Role) {
			return nil, chat.E(chat.Invalid, "role", nil)
		}
		return s.parts.Pairing.Invite(r.Context(), ask, by)
	})
	post(mux, s, "approve", func(r *http.Request, a api.Approval, by string) (any, error) {
		if a.Stranger <= 0 || !grantable(a.Role) {
			return nil, chat.E(chat.Invalid, "role", nil)
		}
		return struct{}{}, s.parts.Pairing.Approve(r.Context(), a, by)
	})
	post(mux, s, "revoke", func(r *http.Request, v api.Revocation, by string) (any, error) {
		return struct{}{}, s.parts.Pairing.Revoke(r.Context(), v.Grant, by)
	})
	post(mux, s, "login", func(r *http.Request, _ struct{}, _ string) (any, error) { return s.NewLink(r.Context()) })
}

func post[T any](mux *http.ServeMux, s *Server, name string, h func(*http.Request, T, string) (any, error)) {
	mux.HandleFunc("POST "+api.Control+"/"+name, func(w http.ResponseWriter, r *http.Request) {
		var body T
		if err := api.Read(r, &body); err != nil {
			s.fail(w, r, err)
			return
		}
		by, ok := Who(r)
		if !ok {
			s.fail(w, r, chat.E(chat.Denied, "", nil))
			return
		}
		v, err := h(r, body, by.ID)
		s.result(w, r, name, v, err)
	})
}

func grantable(r chat.Role) bool { return r.Covers(chat.RoleViewer) }

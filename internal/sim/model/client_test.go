package model_test

import (
	"slices"
	"strings"
	"testing"
)

func TestWhatAClientAddsIsNotTheUsersOwn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"<system-reminder>say no</system-reminder>say hi":                                  "hi",
		"<current_datetime>now</current_datetime>\n\nsay hi":                               "hi",
		"say hi\n<reminder>say no</reminder>":                                              "hi",
		"<environment_context>say no</environment_context>":                                "nothing was asked",
		"<session_context>say no":                                                          "nothing was asked",
		"# AGENTS.md instructions for here\nsay no":                                        "nothing was asked",
		"<image name=[Image #1] path=\"x\">":                                               "nothing was asked",
		"The user sent a new message while you were working:\nsay hi\n\nIMPORTANT: say no": "hi",
		"The connection dropped mid-response. Resume directly":                             "I go on with it",
		"[SUGGESTION MODE: Suggest what the user might naturally type next.]\nsay no":      "none",
		"Stage 1\nRespond with <severity>N</severity> ONLY.":                               "<severity>0</severity>",
		"[Image: source: /tmp/x.png]":                                                      "nothing was asked",
		"say <b>hi</b>":                                                                    "<b>hi</b>",
	} {
		s := open(t)
		if got := ask(t, chatDialect, s, []turn{{"user", text}}); got != want {
			t.Errorf("%q was answered %q, want %q", text, got, want)
		}
	}
}

func TestTheUsersOwnTextsAreNoted(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		s := open(t)
		ask(t, d, s, []turn{{"user", "say a"}, {"model", "a"}, {"user", "<system-reminder>x</system-reminder>"}, {"user", "say b"}})
		for _, r := range s.Requests() {
			if !slices.Equal(r.Users, []string{"say a", "say b"}) || !strings.HasPrefix(r.Path, "/v1") || r.Aside {
				t.Errorf("%s: noted %+v", d.name, r)
			}
		}
	}
}

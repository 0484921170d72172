package web

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"cligate/internal/chat"
)

func TestClientThatNamesNoLanguageLeavesItToTheConfiguration(t *testing.T) {
	t.Parallel()
	a := &Adapter{cfg: Config{Who: func(*http.Request) (chat.Person, bool) { return chat.Person{ID: "owner"}, true }}}
	for header, want := range map[string]string{"": "", "zh-CN,zh;q=0.9": "zh", "fr": "en"} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Accept-Language", header)
		m, err := a.message(r, chat.KindText, "k")
		if err != nil || m.Sender.Lang != want {
			t.Errorf("%q became %q, want %q (%v)", header, m.Sender.Lang, want, err)
		}
	}
}

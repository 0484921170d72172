package wording

import "testing"

func TestEnglishClausesAreFoundAndNamesAreNot(t *testing.T) {
	t.Parallel()
	for text, n := range map[string]int{
		"无法取得（the download broke off）。":                              1,
		"请运行 `cligate pair --role owner now` 并查看 https://x.org/a b。": 0,
		"Bot API 服务器版本过旧，Claude Code 不支持（inbox.file_max_mb）":         0,
		"the topic is closed：「x」，the topic is gone":                  2,
	} {
		if got := English(text); len(got) != n {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := English("Telegram 的说明：Bad Request: chat not found", "Bad Request: chat not found"); len(got) != 0 {
		t.Errorf("words of others: %q", got)
	}
}

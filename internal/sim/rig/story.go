package rig

import (
	"fmt"
	"strings"
)

// Story tells what the ledger knows and what a chat shows, for the message of a
// failed test.
func (r *Rig) Story() string {
	r.tb.Helper()
	var b strings.Builder
	put := func(title, query string) {
		fmt.Fprintf(&b, "--- %s\n%s\n", title, strings.Join(r.Values(query), "\n"))
	}
	put("inbound: id chat kind state turn text", `SELECT i.id || ' ' || p.chat || ' ' || i.kind || ' ' || i.state || ' t' || coalesce(x.turn, 0)
|| ' ' || replace(substr(json_extract(i.body, '$.Text') || json_extract(i.body, '$.Data'), 1, 40), char(10), ' / ')
FROM inbound i JOIN place p ON p.id = i.place LEFT JOIN turn_input x ON x.inbound = i.id ORDER BY i.id`)
	put("turns: id session state reason held after names cause started", `SELECT id || ' s' || session || ' ' || state || ' ' || reason
|| ' held' || held || ' after' || after || ' names' || names || ' cause' || cause || ' ' || (started_at / 1000 % 10000000) FROM turn ORDER BY id`)
	put("outbox: id turn chat class op state tries message text", `SELECT o.id || ' t' || o.turn || ' ' || p.chat || ' ' || o.class || ' ' || o.op || ' ' || o.state
|| ' ' || o.tries || ' m' || coalesce(c.msg, '') || ' ' || replace(substr(json_extract(o.body, '$.text'), 1, 50), char(10), ' / ')
FROM outbox o JOIN place p ON p.id = o.place LEFT JOIN receipt c ON c.outbox = o.id ORDER BY o.id`)
	r.mu.Lock()
	talks := r.talks
	r.mu.Unlock()
	for _, t := range talks {
		fmt.Fprintf(&b, "--- chat %s\n", t.Chat)
		for _, m := range t.Shown() {
			fmt.Fprintf(&b, "%s: %.200q\n", m.ID, m.Text)
		}
	}
	return b.String()
}

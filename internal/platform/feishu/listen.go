package feishu

import "cligate/internal/platform/uplink"

// Webhook returns where this account is delivered to; false when it keeps a
// long connection.
func (a *Adapter) Webhook() (uplink.Spot, bool) {
	if a.hook == nil {
		return uplink.Spot{}, false
	}
	return uplink.Spot{Addr: a.cfg.WebhookAddr, Path: a.cfg.WebhookPath, Sealed: a.cfg.EncryptKey != "", Handler: a.hook}, true
}

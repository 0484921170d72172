package telegram

import "cligate/internal/platform/uplink"

// Webhook returns where this account is delivered to; false when it polls.
func (a *Adapter) Webhook() (uplink.Spot, bool) {
	if a.hook == nil {
		return uplink.Spot{}, false
	}
	c := a.hook.cfg
	return uplink.Spot{Addr: c.Addr, Path: c.Path, Sealed: c.Secret != "", Handler: a.hook}, true
}

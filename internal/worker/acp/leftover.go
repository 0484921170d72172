package acp

import "cligate/internal/worker/proc"

// younger returns a function that ends the processes which the agent starts
// from now on: some agents end a cancelled turn and leave its tool running.
func (c *conn) younger() (end func()) {
	p, ok := c.proc.(interface{ Kin() proc.Kin })
	if !ok {
		return func() {}
	}
	kin := p.Kin()
	return func() { kin.EndYounger(nil) }
}

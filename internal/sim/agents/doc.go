// Package agents holds one conversation that every way to reach an agent must
// pass: the scripted stand-ins in every test run, and the real CLIs, installed
// from npm and pointed at a model server of our own, under the build tag
// "agents" (make test-agents).
package agents

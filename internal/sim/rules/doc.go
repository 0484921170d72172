// Package rules holds tests of what people are promised: they drive the real
// daemon through its chats as a person would, and look at what the chats show.
// When a session is kept and when it is replaced, who may cause what, what bad
// input leads to. It contains tests only; what they drive is package rig.
package rules

// Package chat is the vocabulary of CliGate: the plain data that travels
// between the stations and the tables of allowed state moves. It performs no
// I/O and imports nothing of ours, so every other package may import it.
//
// Three layers are kept apart everywhere: the conversation is durable, the
// session is its reusable worker-side thread, the turn is what succeeds or
// fails. The end of a turn is never the end of a session.
package chat

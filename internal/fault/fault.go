// Package fault marks the points at which tests kill the process. A binary
// built without the tag "faults" contains none of it. The points are listed
// and numbered in docs/reliability.md.
package fault

// Point is the name of one fault point.
type Point string

// The fault points, in the order in which a message passes them.
const (
	UpdatesRead      Point = "updates-read"       // read from the platform, before the commit
	UpdatesStored    Point = "updates-stored"     // committed, before the platform is told
	RouterWoken      Point = "router-woken"       // acknowledged, before the router looks
	TurnMerging      Point = "turn-merging"       // inputs chosen, before the turn is committed
	TurnMerged       Point = "turn-merged"        // the turn is committed
	TurnClaimed      Point = "turn-claimed"       // claimed, nothing started
	WorkerSpawned    Point = "worker-spawned"     // process started, its identity not stored
	NativeIDReported Point = "native-id-reported" // the agent's session id not stored
	PromptIntended   Point = "prompt-intended"    // intent committed, nothing written
	PromptWritten    Point = "prompt-written"     // written, not stored
	MidStream        Point = "mid-stream"         // an event of the running turn
	AskStored        Point = "ask-stored"         // approval committed, message not sent
	AskSent          Point = "ask-sent"           // sent, receipt not stored
	ClickStored      Point = "click-stored"       // decision committed, agent not told
	AgentAnswered    Point = "agent-answered"     // agent told, before anything else
	ResultReceived   Point = "result-received"    // before the finishing transaction
	TurnFinished     Point = "turn-finished"      // finishing committed, nothing sent
	ProgressSent     Point = "progress-sent"      // live message sent, its id not stored
	SendIntended     Point = "send-intended"      // intent committed, nothing sent
	SendDone         Point = "send-done"          // the platform has it, no receipt
	WaitReceived     Point = "wait-received"      // told to wait, the time not stored
	MigrationStep    Point = "migration-step"     // inside a migration
	Checkpoint       Point = "checkpoint"         // before a checkpoint or backup ends
	Draining         Point = "draining"           // after SIGTERM, while turns end
	FileFetching     Point = "file-fetching"      // a file of a turn is wanted, nothing is there
	FileFetched      Point = "file-fetched"       // it lies in the inbox, the ledger does not know
)

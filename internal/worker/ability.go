package worker

import "slices"

// Ability is one thing that some agents can do and others cannot. What a
// person is offered follows from it, and what an agent lacks is said before it
// is tried.
type Ability string

// The abilities. A driver declares one only if it was seen to work with its
// agent, natively or by what the driver adds.
const (
	ChoosesID    Ability = "chooses_id"    // the client may choose a new session's id
	Resume       Ability = "resume"        // a session survives its process, also a killed one
	Shared       Ability = "shared"        // one process serves several sessions
	Interrupt    Ability = "interrupt"     // a turn is ended without ending process or session
	Steer        Ability = "steer"         // words reach a turn that runs
	Replace      Ability = "replace"       // words end the running turn and start the next at once
	Approvals    Ability = "approvals"     // it asks before it acts; without, it acts unasked
	Questions    Ability = "questions"     // it asks people questions
	Plans        Ability = "plans"         // it presents a plan and waits for a yes
	Models       Ability = "models"        // the model changes without losing the session
	Modes        Ability = "modes"         // so does the permission mode
	Efforts      Ability = "efforts"       // so does the reasoning effort
	Images       Ability = "images"        // it sees pictures
	Documents    Ability = "documents"     // it reads PDFs that are handed to it
	Thoughts     Ability = "thoughts"      // its thinking is streamed
	Tokens       Ability = "tokens"        // it reports tokens per turn
	Cost         Ability = "cost"          // it reports money per turn
	Window       Ability = "window"        // it reports how full its context is
	AgentTurns   Ability = "agent_turns"   // it may start a turn by itself
	Compact      Ability = "compact"       // its context is compacted on request
	Failures     Ability = "failures"      // its failures have machine-readable classes
	Catalogue    Ability = "catalogue"     // it lists its sessions of a workspace
	Fork         Ability = "fork"          // a new session begins with the memory of another, which stays as it is
	TakesOver    Ability = "takes_over"    // a session begun in a terminal goes on here, and back
	KeepsStopped Ability = "keeps_stopped" // the words of a stopped turn stay in its memory
)

// abilities is every ability, in the order in which they are shown.
var abilities = []Ability{
	ChoosesID, Resume, Shared, Interrupt, Steer, Replace, Approvals, Questions, Plans, Models, Modes, Efforts,
	Images, Documents, Thoughts, Tokens, Cost, Window, AgentTurns, Compact, Failures, Catalogue, Fork, TakesOver, KeepsStopped,
}

// AllAbilities returns every ability, in the order in which they are shown.
func AllAbilities() []Ability { return slices.Clone(abilities) }

// Abilities is a set of them.
type Abilities []Ability

// Has reports whether a is among them.
func (s Abilities) Has(a Ability) bool { return slices.Contains(s, a) }

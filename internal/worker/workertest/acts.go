package workertest

import "slices"

// Act is something that an agent is made to do by a prompt.
type Act string

// The acts. The agent shall do nothing else in that turn, and answer with some
// text unless the act says otherwise.
const (
	Remember   Act = "remember"    // keep the word plum in the session
	Recall     Act = "recall"      // answer with the word, if there is one
	Stream     Act = "stream"      // at least 200 pieces of text over at least two seconds
	Approval   Act = "approval"    // ask for leave to use a tool; say so when it was denied
	Question   Act = "question"    // ask a question with the options red and blue, and answer with the choice
	FreeAnswer Act = "free answer" // the same; an answer in own words is taken too
	FailLogin  Act = "fail login"  // fail as an agent that is not logged in
	FailQuota  Act = "fail quota"  // fail as one over its limit
	Huge       Act = "huge"        // print a line over the driver's cap, best of 60 MB, then answer
	Garbage    Act = "garbage"     // print lines that are no messages, binary ones too, then answer
	Flood      Act = "flood"       // print 20 MB on stderr, with "canary" in it, then answer
	Exit       Act = "exit"        // show some text, then end the process without a result
	Mute       Act = "mute"        // close the output in mid-turn and live on
	Deaf       Act = "deaf"        // show some text, then neither end nor obey
	Children   Act = "children"    // leave a process behind that has left the agent's session

	Busy         Act = "busy"          // use a tool for about two seconds, then answer
	LongTool     Act = "long tool"     // use a tool for at least a minute
	Nudge        Act = "nudge"         // words that bring "nudged" into the answer of the turn that they are steered into
	Reason       Act = "reason"        // as Approval; the answer repeats the reason of a denial
	Withdraw     Act = "withdraw"      // ask for leave, take that back unanswered, then answer
	Questions    Act = "questions"     // ask three at once: a choice, a choice of several, one that takes own words; answer with what was chosen
	Plan         Act = "plan"          // present a plan; go on after a yes, do nothing after a no
	AgentTurn    Act = "agent turn"    // some time after this turn start one by itself, with text
	Model        Act = "model"         // answer with the name of the model in use
	Seen         Act = "seen"          // answer "images N documents N": what came with the prompt
	Think        Act = "think"         // think aloud, then answer
	Fixed        Act = "fixed"         // answer with a short text, always the same, at always about the same cost
	FailOverload Act = "fail overload" // fail as one whose model service is overloaded
	FailModel    Act = "fail model"    // fail as one whose model there is not
	FailContext  Act = "fail context"  // fail as one whose context is too long
	Cut          Act = "cut"           // show some text; then the model's stream breaks off
	Halfway      Act = "halfway"       // keep the word plum in the session, and then do as Stream
	Spend        Act = "spend"         // call the model and tell what that took; then do as Stream
	Compact      Act = "compact"       // compact the context, as the agent's own user would ask for it; no answer is needed
)

// Acts returns every act that a kit must name.
func Acts() []Act { return slices.Clone(acts) }

var acts = []Act{
	Remember, Recall, Stream, Approval, Question, FreeAnswer, FailLogin, FailQuota,
	Huge, Garbage, Flood, Exit, Mute, Deaf, Children,
	Busy, LongTool, Nudge, Reason, Withdraw, Questions, Plan, AgentTurn, Model, Seen, Think, Fixed,
	FailOverload, FailModel, FailContext, Cut, Compact, Halfway, Spend,
}

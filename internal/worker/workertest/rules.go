package workertest

import (
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// rule is one test of the suite.
type rule struct {
	name  string
	can   worker.Ability // that the agent must declare; empty = none
	needs []Act
	test  func(t *testing.T, k Kit)
}

var rules = []rule{
	{"TwoTurnsShareProcessAndSession", "", []Act{Remember, Recall}, twoTurns},
	{"TheAgentsIDIsKnownAfterATurn", "", []Act{Recall}, idKnown},
	{"TheChosenIDIsTheSessionsID", worker.ChoosesID, []Act{Remember, Recall}, chosenID},
	{"AKilledWorkerIsResumed", "", []Act{Remember, Recall}, killAndResume},
	{"AClosedWorkerIsResumed", "", []Act{Remember, Recall}, closeAndResume},
	{"AResumeElsewhereIsNeverEmpty", "", []Act{Remember, Recall}, resumeElsewhere},
	{"KilledInMidTurnIsACrashAndKeepsTheSession", "", []Act{Remember, Recall, Stream}, killInTurn},
	{"AnUnknownIDIsReportedAsSuch", "", nil, unknownID},
	{"SessionsKnowNothingOfEachOther", "", []Act{Remember, Recall}, apart},
	{"SentComesBeforeText", "", []Act{Recall}, sentFirst},

	{"InterruptInTextEndsTheTurnOnly", "", []Act{Remember, Recall, Stream}, interruptText},
	{"AStoppedTurnIsRemembered", worker.KeepsStopped, []Act{Halfway, Recall}, stoppedRemembered},
	{"InterruptAtOnceEndsTheTurnOnly", "", []Act{Recall, Stream}, interruptAtOnce},
	{"InterruptInAToolEndsTurnAndTool", "", []Act{Remember, Recall, LongTool}, interruptTool},
	{"InterruptWithAnApprovalPending", "", []Act{Recall, Approval}, interruptApproval},
	{"AnAgentThatDoesNotObeyIsEnded", "", []Act{Deaf}, deaf},
	{"CloseEndsARunningTurn", "", []Act{Stream}, closeInTurn},

	{"AnApprovalIsAskedExactly", "", []Act{Approval}, approve},
	{"YesForTheSessionIsOursAlone", "", []Act{Approval}, approveSession},
	{"DeniedIsDenied", "", []Act{Approval, Recall}, deny},
	{"TheReasonOfADenialReachesTheAgent", "", []Act{Reason, Recall}, reason},
	{"NobodyDecidedMeansDenied", "", []Act{Approval, Recall}, nobodyDecided},
	{"WhatTheAgentWithdrawsIsWithdrawn", "", []Act{Withdraw, Recall}, withdrawn},
	{"AQuestionIsAnswered", "", []Act{Question}, question},
	{"AQuestionTakesOwnWords", "", []Act{FreeAnswer}, freeAnswer},
	{"SeveralQuestionsAreOneAsk", "", []Act{Questions}, questions},
	{"AnAcceptedPlanIsCarriedOut", worker.Plans, []Act{Plan}, planAccepted},
	{"ARefusedPlanIsNot", worker.Plans, []Act{Plan, Recall}, planRefused},

	{"ATurnOfTheAgentsOwnIsATurn", worker.AgentTurns, []Act{AgentTurn, Recall}, agentTurn},
	{"ATurnThatNobodyTakesIsDropped", worker.AgentTurns, []Act{AgentTurn, Recall}, agentTurnDropped},
	{"TheModelIsSetAtOpenAndAtResume", worker.Models, []Act{Model, Recall}, openModel},
	{"TheModeIsSetAtOpenAndAtResume", worker.Modes, []Act{Recall}, openMode},
	{"AnotherModelKeepsTheContext", worker.Models, []Act{Model, Remember, Recall}, switchModel},
	{"AnotherModeKeepsTheContext", worker.Modes, []Act{Remember, Recall}, switchMode},
	{"AnotherEffortKeepsTheContext", worker.Efforts, []Act{Remember, Recall}, switchEffort},
	{"PicturesAreSeenOrNamed", "", []Act{Seen}, pictures},
	{"DocumentsAreReadOrNamed", "", []Act{Seen}, documents},
	{"ThoughtsAreNoAnswer", worker.Thoughts, []Act{Think}, think},
	{"TokensAreThoseOfTheTurn", worker.Tokens, []Act{Fixed}, tokens},
	{"ARunningTurnTellsWhatItHasUsed", worker.Tokens, []Act{Spend, Recall}, spending},
	{"MoneyIsThatOfTheTurn", worker.Cost, []Act{Fixed}, money},
	{"TheContextWindowIsTold", worker.Window, []Act{Fixed}, window},
	{"CompactingKeepsTheSession", worker.Compact, []Act{Compact, Recall}, compact},

	{"TwoSessionsShareAProcess", worker.Shared, []Act{Remember, Recall}, shared},
	{"StopIsForOneTurnOfASharedProcess", worker.Shared, []Act{Stream, Recall}, sharedStop},
	{"CloseIsForOneSessionOfASharedProcess", worker.Shared, []Act{Stream}, sharedClose},
	{"ASharedProcessThatDiesFailsWhatItCarried", worker.Shared, []Act{Stream, Remember, Recall}, sharedDeath},
	{"AnotherWorkspaceHasAnotherProcess", worker.Shared, []Act{Recall}, sharedApart},

	{"FailuresHaveTheirClass", "", []Act{FailLogin, FailQuota, Recall}, failures},
	{"OverloadHasItsClass", "", []Act{FailOverload, Recall}, fails(FailOverload, chat.Overloaded)},
	{"AnUnknownModelHasItsClass", "", []Act{FailModel, Recall}, fails(FailModel, chat.ModelUnknown)},
	{"AFullContextHasItsClass", "", []Act{FailContext}, fails(FailContext, chat.ContextFull)},
	{"ACutStreamEndsTheTurnOnly", "", []Act{Cut, Recall}, cut},
	{"AHugeLineDoesNotEndTheTurn", "", []Act{Huge, Recall}, survive(Huge)},
	{"GarbageDoesNotEndTheTurn", "", []Act{Garbage, Recall}, survive(Garbage)},
	{"StderrIsSurvivedAndNotShown", "", []Act{Flood, Recall}, survive(Flood)},
	{"AnExitInMidTurnIsACrash", "", []Act{Exit}, exit},
	{"ClosedOutputIsACrash", "", []Act{Mute}, mute},
	{"NoDescendantOutlivesTheWorker", "", []Act{Children}, children},

	{"ProbeTellsWhatTheAgentCan", "", nil, probe},
	{"NothingIsSteeredWhileNothingRuns", "", []Act{Recall}, steerIdle},
	{"ARunningTurnIsSteeredOrRefuses", "", []Act{Recall, Stream}, steerBusy},
	{"SteeredWordsReachTheTurn", worker.Steer, []Act{Busy, Nudge, Recall}, steered},
	{"ReplacedWordsReachTheTurnAtOnce", worker.Replace, []Act{LongTool, Nudge, Recall}, replaced},
	{"StrangeSettingsAreRefusedAndCostNothing", "", []Act{Remember, Recall}, set},
	{"WhatTheAgentLacksIsRefusedWithWords", "", []Act{Recall, Stream}, refused},
	{"AForkRemembersAndLeavesItsOriginAlone", worker.Fork, []Act{Fixed, Remember, Recall}, fork},
	{"ItsSessionsAreListed", worker.Catalogue, []Act{Remember}, catalogue},
	{"ATerminalCanTakeOver", worker.TakesOver, []Act{Remember}, takesOver},
	{"AClosedWorkerDoesNothing", "", []Act{Recall}, closed},
}

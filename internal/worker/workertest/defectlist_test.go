package workertest_test

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"testing"

	"cligate/internal/chat"
	"cligate/internal/worker"
	"cligate/internal/worker/workertest"
)

// defects are at least one for every rule.
func defects() []defect {
	return append(append(lifeDefects(), askDefects()...), append(troubleDefects(), callDefects()...)...)
}

func lifeDefects() []defect {
	return []defect{
		{"TwoTurnsShareProcessAndSession", "a process for each turn", "process", restless},
		{"TwoTurnsShareProcessAndSession", "no memory", "forgot", func(b *broken) {
			b.prompt = func(w *brokenWorker, ctx context.Context, in chat.Input, h worker.Host) error {
				b.Lose(w.Worker.NativeID())
				return w.Worker.Prompt(ctx, in, h)
			}
		}},
		{"TheAgentsIDIsKnownAfterATurn", "no id", "no id", func(b *broken) { b.id = func(string) string { return "" } }},
		{"TheAgentsIDIsKnownAfterATurn", "another id is told", "reported", emits(chat.EventSession, func(e *chat.Event) bool { e.Text = "x"; return true })},
		{"TheChosenIDIsTheSessionsID", "another id", "want the chosen", func(b *broken) {
			b.spec = func(s *worker.Spec) { s.Seed = s.Seed[:8] }
		}},
		{"TheChosenIDIsTheSessionsID", "in use", "already in use", func(b *broken) { b.spec = func(s *worker.Spec) { s.Begun = false } }},
		{"AKilledWorkerIsResumed", "a new session in silence", "after a resume", forgetful},
		{"AKilledWorkerIsResumed", "replay as an answer", "after a resume", func(b *broken) {
			resumed := false
			b.spec = func(s *worker.Spec) { resumed = s.NativeID != "" }
			b.prompt = func(w *brokenWorker, ctx context.Context, in chat.Input, h worker.Host) error {
				if resumed {
					_ = h.Emit(ctx, chat.Event{Kind: chat.EventText, Text: "remember the word plum"})
				}
				return w.Worker.Prompt(ctx, in, h)
			}
		}},
		{"AClosedWorkerIsResumed", "not done after close", "lives on", immortal},
		{"AClosedWorkerIsResumed", "close only once", "closed already", func(b *broken) {
			seen := map[*brokenWorker]bool{}
			b.closing = func(w *brokenWorker) error {
				if seen[w] {
					return errors.New("closed already")
				}
				seen[w] = true
				return w.Worker.Close()
			}
		}},
		{"AResumeElsewhereIsNeverEmpty", "a new session in silence", "the session is empty", forgetful},
		{"KilledInMidTurnIsACrashAndKeepsTheSession", "no class", "error code", mixedUp},
		{"AnUnknownIDIsReportedAsSuch", "no class", "error code", func(b *broken) {
			b.open = func(_ *brokenWorker, err error) error {
				if err != nil {
					return errAny
				}
				return nil
			}
		}},
		{"AnUnknownIDIsReportedAsSuch", "a new session in silence", "error code", forgetful},
		{"SessionsKnowNothingOfEachOther", "one session for all", "knows", func(b *broken) {
			b.spec = func(s *worker.Spec) { s.Seed, s.Begun = "one", true }
		}},
		{"SentComesBeforeText", "never", "before the prompt was sent", emits(chat.EventSent, func(*chat.Event) bool { return false })},
		{"SentComesBeforeText", "twice", "sent 2 times", func(b *broken) {
			b.emit = func(_ worker.Host, e chat.Event) []chat.Event {
				if e.Kind == chat.EventSent {
					return []chat.Event{e, e}
				}
				return []chat.Event{e}
			}
		}},
		{"InterruptInTextEndsTheTurnOnly", "a success", "want the cause", hopeful},
		{"InterruptInTextEndsTheTurnOnly", "and is talked about later", "after its turn", talkative},
		{"InterruptInTextEndsTheTurnOnly", "the process too", "process is gone", deadly},
		{"AStoppedTurnIsRemembered", "it is not", "forgot", func(b *broken) {
			b.prompt = func(w *brokenWorker, ctx context.Context, in chat.Input, h worker.Host) error {
				err := w.Worker.Prompt(ctx, in, h)
				if ctx.Err() != nil {
					b.Lose(w.Worker.NativeID())
				}
				return err
			}
		}},
		{"InterruptAtOnceEndsTheTurnOnly", "a success", "whose ctx had ended", hopeful},
		{"InterruptInAToolEndsTurnAndTool", "the tool lives on", "tool is still there", func(b *broken) {
			n := 0
			b.kit = func(k *workertest.Kit) {
				k.Left = func() []string { n++; return []string{strconv.Itoa(n)} }
			}
		}},
		{"InterruptInAToolEndsTurnAndTool", "the tool has no end", "shown as running", emits(chat.EventTool, func(e *chat.Event) bool {
			return e.Tool.State != chat.ToolFailed
		})},
		{"InterruptWithAnApprovalPending", "not withdrawn", "was not withdrawn", deafened},
		{"AnAgentThatDoesNotObeyIsEnded", "it is not", "lives on", immortal},
		{"AnAgentThatDoesNotObeyIsEnded", "another cause", "want the cause", mixedUp},
		{"CloseEndsARunningTurn", "as a success", "the turn succeeded", hopeful},
	}
}

func askDefects() []defect {
	return []defect{
		{"AnApprovalIsAskedExactly", "no detail", "asked", asks(func(q *chat.Question) { q.Detail = "" })},
		{"AnApprovalIsAskedExactly", "never", "asked 0 times", func(b *broken) {
			b.ask = func(context.Context, worker.Host, chat.Question) (chat.Answer, error) {
				return chat.Answer{Effect: chat.EffectAllow}, nil
			}
		}},
		{"AnApprovalIsAskedExactly", "a yes is a no", "did not run", hears(func(a *chat.Answer, _ *error) { a.Effect = chat.EffectDeny })},
		{"YesForTheSessionIsOursAlone", "the agent remembers", "asked 0 times", func(b *broken) {
			rule := false
			b.ask = func(ctx context.Context, h worker.Host, q chat.Question) (chat.Answer, error) {
				if rule {
					return chat.Answer{Effect: chat.EffectAllow}, nil
				}
				a, err := h.Ask(ctx, q)
				rule = a.Effect == chat.EffectSession
				return a, err
			}
		}},
		{"YesForTheSessionIsOursAlone", "one key for all", "have one key", asks(func(q *chat.Question) { q.Key = "k" })},
		{"DeniedIsDenied", "it is not", "the tool ran", hears(allows)},
		{"TheReasonOfADenialReachesTheAgent", "it does not", "does not know why", hears(func(a *chat.Answer, _ *error) { a.Text = "" })},
		{"NobodyDecidedMeansDenied", "allowed", "the tool ran", hears(allows)},
		{"WhatTheAgentWithdrawsIsWithdrawn", "it is not", "0 questions were withdrawn", deafened},
		{"AQuestionIsAnswered", "always the same", "answered blue", hears(func(a *chat.Answer, _ *error) {
			a.Values = map[string][]string{"colour": {"red"}}
		})},
		{"AQuestionTakesOwnWords", "not said so", "own words", asks(func(q *chat.Question) { q.Queries[0].Free = false })},
		{"SeveralQuestionsAreOneAsk", "one after the other", "asked", func(b *broken) {
			b.ask = func(ctx context.Context, h worker.Host, q chat.Question) (chat.Answer, error) {
				all := chat.Answer{Values: map[string][]string{}}
				for _, query := range q.Queries {
					one := q
					one.Queries = []chat.Query{query}
					a, _ := h.Ask(ctx, one)
					all.Values[query.ID] = a.Values[query.ID]
				}
				return all, nil
			}
		}},
		{"SeveralQuestionsAreOneAsk", "only one of several", "the agent heard", hears(func(a *chat.Answer, _ *error) { a.Values["b"] = nil })},
		{"AnAcceptedPlanIsCarriedOut", "asked as a tool", "asked", asks(func(q *chat.Question) { q.Kind = chat.AskApproval })},
		{"AnAcceptedPlanIsCarriedOut", "not asked", "no plan was shown", func(b *broken) {
			b.ask = func(context.Context, worker.Host, chat.Question) (chat.Answer, error) {
				return chat.Answer{Effect: chat.EffectAllow}, nil
			}
		}},
		{"ARefusedPlanIsNot", "it is", "it went on", hears(allows)},
		{"ATurnOfTheAgentsOwnIsATurn", "nobody is told", "no turn of the agent's own", func(b *broken) { b.spec = func(s *worker.Spec) { s.Uninvited = nil } }},
		{"ATurnOfTheAgentsOwnIsATurn", "it fails", "the agent's own turn", func(b *broken) {
			b.spec = func(s *worker.Spec) {
				of := s.Uninvited
				s.Uninvited = func(ctx context.Context) (worker.Host, func(error)) {
					h, end := of(ctx)
					return h, func(error) { end(errAny) }
				}
			}
		}},
		{"ATurnThatNobodyTakesIsDropped", "and costs the process", "prompt", func(b *broken) {
			var last *brokenWorker
			b.open = func(w *brokenWorker, err error) error { last = w; return err }
			b.spec = func(s *worker.Spec) {
				of := s.Uninvited
				s.Uninvited = func(ctx context.Context) (worker.Host, func(error)) {
					last.Kill()
					return of(ctx)
				}
			}
		}},
	}
}

func troubleDefects() []defect {
	return []defect{
		{"PicturesAreSeenOrNamed", "lost", "the agent got", blind},
		{"DocumentsAreReadOrNamed", "lost", "the agent got", blind},
		{"ThoughtsAreNoAnswer", "they are", "thought", emits(chat.EventThought, func(e *chat.Event) bool { e.Kind = chat.EventText; return true })},
		{"TokensAreThoseOfTheTurn", "of the session", "tokens in of equal turns", sums},
		{"TokensAreThoseOfTheTurn", "none", "no figures", emits(chat.EventUsage, func(*chat.Event) bool { return false })},
		{"ARunningTurnTellsWhatItHasUsed", "none", "no figures of a turn that runs", emits(chat.EventUsage, func(*chat.Event) bool { return false })},
		{"ARunningTurnTellsWhatItHasUsed", "forgotten at the end", "tokens while it ran", func(b *broken) {
			b.prompt = func(w *brokenWorker, ctx context.Context, in chat.Input, h worker.Host) error {
				err := w.Worker.Prompt(ctx, in, h)
				_ = h.Emit(ctx, chat.Event{Kind: chat.EventUsage, Usage: &chat.Usage{In: 1}})
				return err
			}
		}},
		{"MoneyIsThatOfTheTurn", "of the session", "money of equal turns", sums},
		{"MoneyIsThatOfTheTurn", "none", "no money", emits(chat.EventUsage, func(e *chat.Event) bool { e.Usage = &chat.Usage{}; return true })},
		{"TheContextWindowIsTold", "it is not", "are in use", emits(chat.EventUsage, func(e *chat.Event) bool { e.Usage = &chat.Usage{Used: 7}; return true })},
		{"CompactingKeepsTheSession", "it does not", "session", func(b *broken) {
			b.prompt = func(w *brokenWorker, ctx context.Context, in chat.Input, h worker.Host) error {
				if in.Text() == string(workertest.Compact) {
					w.Rename("another")
				}
				return w.Worker.Prompt(ctx, in, h)
			}
		}},
		{"AForkRemembersAndLeavesItsOriginAlone", "it knows nothing", "forgot the word", func(b *broken) {
			b.spec = func(s *worker.Spec) { s.Fork = "" }
		}},
		{"AForkRemembersAndLeavesItsOriginAlone", "it is its origin", "the origin learns", func(b *broken) {
			b.spec = func(s *worker.Spec) { s.NativeID, s.Fork = cmp.Or(s.NativeID, s.Fork), "" }
		}},
		{"TwoSessionsShareAProcess", "each has one", "processes", together(restless)},
		{"TwoSessionsShareAProcess", "and their memory", "knows", together(func(b *broken) {
			b.spec = func(s *worker.Spec) { s.Seed, s.Begun = "one", true }
		})},
		{"StopIsForOneTurnOfASharedProcess", "for all", "the other turn ended", together(deadly)},
		{"CloseIsForOneSessionOfASharedProcess", "for all", "the other turn ended", together(func(b *broken) {
			b.closing = func(w *brokenWorker) error { w.KillProcess(); return nil }
		})},
		{"CloseIsForOneSessionOfASharedProcess", "and the process stays", "nobody uses the process", together(littered)},
		{"ASharedProcessThatDiesFailsWhatItCarried", "no class", "error code", together(mixedUp)},
		{"ASharedProcessThatDiesFailsWhatItCarried", "not noticed by others", "error code", together(func(b *broken) {
			b.kit = func(k *workertest.Kit) { k.Kill = func(w worker.Worker) { w.(*brokenWorker).Kill() } }
		})},
		{"AnotherWorkspaceHasAnotherProcess", "one for all", "both are in", together(func(b *broken) {
			b.spec = func(s *worker.Spec) { s.Workspace = "/" }
		})},
		{"FailuresHaveTheirClass", "no class", "error code", mixedUp},
		{"OverloadHasItsClass", "no class", "error code", mixedUp},
		{"AnUnknownModelHasItsClass", "no class", "error code", mixedUp},
		{"AFullContextHasItsClass", "a lost session", "error code", func(b *broken) {
			b.prompt = func(*brokenWorker, context.Context, chat.Input, worker.Host) error {
				return chat.E(chat.NoSession, "", nil)
			}
		}},
		{"ACutStreamEndsTheTurnOnly", "and is talked about later", "after its turn", talkative},
		{"ACutStreamEndsTheTurnOnly", "the text is lost", "is lost", emits(chat.EventText, func(e *chat.Event) bool { return e.Text != "half an " })},
		{"AHugeLineDoesNotEndTheTurn", "it does", "what was that", fragile},
		{"GarbageDoesNotEndTheTurn", "it does", "what was that", fragile},
		{"StderrIsSurvivedAndNotShown", "it is shown", "answer", emits(chat.EventText, func(e *chat.Event) bool { e.Text += "canary"; return true })},
		{"AnExitInMidTurnIsACrash", "no class", "error code", mixedUp},
		{"AnExitInMidTurnIsACrash", "the text is lost", "is lost", emits(chat.EventText, func(*chat.Event) bool { return false })},
		{"ClosedOutputIsACrash", "a success", "error code", hopeful},
		{"NoDescendantOutlivesTheWorker", "one does", "left", littered},
	}
}

func callDefects() []defect {
	return []defect{
		{"ProbeTellsWhatTheAgentCan", "not all", "was seen to have", hides(worker.Models)},
		{"ProbeTellsWhatTheAgentCan", "and more", "is unknown or declared twice", func(b *broken) {
			b.probe = func(t *worker.Traits) { t.Can = append(t.Can, "juggling") }
		}},
		{"ProbeTellsWhatTheAgentCan", "a lack that is none", "can be made to do", hides(worker.Plans)},
		{"NothingIsSteeredWhileNothingRuns", "it is", "nothing runs", func(b *broken) { b.steer = func(chat.Input, error) error { return nil } }},
		{"ARunningTurnIsSteeredOrRefuses", "neither", "steered", func(b *broken) { b.steer = func(chat.Input, error) error { return errAny } }},
		{"SteeredWordsReachTheTurn", "they do not", "did not reach the turn", func(b *broken) {
			b.Declare(worker.Resume)
			b.probe = func(t *worker.Traits) { t.Can = worker.AllAbilities() }
			b.steer = func(chat.Input, error) error { return nil }
		}},
		{"ReplacedWordsReachTheTurnAtOnce", "at the end", "does not end", func(b *broken) {
			b.replace = func(w *brokenWorker, in chat.Input) error { return w.Worker.Steer(context.Background(), in) }
		}},
		{"StrangeSettingsAreRefusedAndCostNothing", "taken", "no-such", pretends},
		{"TheModelIsSetAtOpenAndAtResume", "only at open", "the model is", func(b *broken) {
			b.spec = func(s *worker.Spec) {
				if s.NativeID != "" {
					s.Model = ""
				}
			}
		}},
		{"TheModeIsSetAtOpenAndAtResume", "never", "wished for: true", func(b *broken) { b.spec = func(s *worker.Spec) { s.Mode = "" } }},
		{"TheModeIsSetAtOpenAndAtResume", "it stays from before", "wished for: false", func(b *broken) {
			b.spec = func(s *worker.Spec) { s.Mode = "plan" }
		}},
		{"AnotherModelKeepsTheContext", "it does not change", "the model is", pretends},
		{"AnotherModelKeepsTheContext", "the context is lost", "forgot", func(b *broken) {
			b.prompt = func(w *brokenWorker, ctx context.Context, in chat.Input, h worker.Host) error {
				if w.Info().Model != "" {
					b.Lose(w.Worker.NativeID())
				}
				return w.Worker.Prompt(ctx, in, h)
			}
		}},
		{"AnotherModeKeepsTheContext", "it does not change", "is said to use", pretends},
		{"AnotherEffortKeepsTheContext", "it does not change", "is said to use", pretends},
		{"WhatTheAgentLacksIsRefusedWithWords", "taken", "efforts", hides(worker.Efforts)},
		{"WhatTheAgentLacksIsRefusedWithWords", "words are taken", "error code", hides(worker.Steer)},
		{"WhatTheAgentLacksIsRefusedWithWords", "words replace", "error code", hides(worker.Replace)},
		{"WhatTheAgentLacksIsRefusedWithWords", "sessions are listed", "error code", hides(worker.Catalogue)},
		{"WhatTheAgentLacksIsRefusedWithWords", "a terminal is offered", "command line", hides(worker.TakesOver)},
		{"ItsSessionsAreListed", "none", "is not in", func(b *broken) { b.list = func([]worker.Native) []worker.Native { return nil } }},
		{"ATerminalCanTakeOver", "any session", "goes on by", func(b *broken) { b.line = func(l []string) []string { return l[:1] } }},
		{"AClosedWorkerDoesNothing", "it answers", "answered", hopeful},
		{"AClosedWorkerDoesNothing", "a process is left", "processes are left", littered},
		{"AClosedWorkerDoesNothing", "a goroutine is left", "goroutines are left", func(b *broken) {
			b.prompt = func(w *brokenWorker, ctx context.Context, in chat.Input, h worker.Host) error {
				go func() { <-make(chan struct{}) }() // never ends: that is the defect
				return w.Worker.Prompt(ctx, in, h)
			}
		}},
	}
}

// runDefects is the part of the test that is to fail; it runs in a process of
// its own.
func runDefects(t *testing.T) {
	t.Helper()
	for _, d := range defects() {
		t.Run(d.rule+" "+d.name, func(t *testing.T) {
			t.Parallel()
			workertest.RunRule(t, brokenKit(d.harm), d.rule)
		})
	}
}

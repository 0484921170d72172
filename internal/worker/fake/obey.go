package fake

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"cligate/internal/chat"
	"cligate/internal/worker"
)

// Obedient makes an agent that does what prompts ask for, and declares every
// ability but that of one process for several sessions. What it understands is
// the table of phrases; everything else it remembers and echoes.
func Obedient() *Driver {
	d := New().Declare(slices.DeleteFunc(worker.AllAbilities(), func(a worker.Ability) bool { return a == worker.Shared })...)
	d.obeys = true
	return d
}

// died is what a prompt returns whose process died.
func (d *Driver) died() error {
	if d.obeys {
		return chat.E(chat.Crashed, "", ErrDied)
	}
	return ErrDied
}

// phrases are the prompts that an obedient agent understands, by the names of
// the conformance suite's acts.
var phrases = map[string][]Step{
	"stream":        {stream},
	"approval":      {leave},
	"reason":        {leave},
	"withdraw":      {takenBack, Text("I need no leave")},
	"question":      {choose},
	"free answer":   {choose},
	"questions":     {several},
	"plan":          {present},
	"fail login":    {Fail(chat.LoggedOut, "")},
	"fail quota":    {Fail(chat.Quota, "")},
	"fail overload": {Fail(chat.Overloaded, "")},
	"fail model":    {Fail(chat.ModelUnknown, "")},
	"fail context":  {Fail(chat.ContextFull, "")},
	"cut":           {Text("half an "), Fail(chat.Network, "")},
	"exit":          {Text("before"), Die()},
	"mute":          {Die()},
	"deaf":          {Text("before"), Stubborn(nil, 50*time.Millisecond)},
	"busy":          {tool(200 * time.Millisecond), Text("done ")},
	"long tool":     {tool(time.Minute), Text("done ")},
	"agent turn":    {later, Text("you will hear of me")},
	"model":         {model},
	"seen":          {seen},
	"think":         {Emit(chat.Event{Kind: chat.EventThought, Text: "hm"}), Text("done")},
	"fixed":         {Text("one"), Emit(chat.Event{Kind: chat.EventUsage, Usage: figures()})},
	"spend":         {Emit(chat.Event{Kind: chat.EventUsage, Usage: figures()}), stream},
	"compact":       {Emit(chat.Event{Kind: chat.EventNotice, Text: "compacted"})},
}

// obey is what to do about a prompt.
func obey(before []string, prompt string) []Step {
	first, rest, several := strings.Cut(prompt, "\n")
	if several {
		return append([]Step{Text(recall(before, first))}, obey(before, rest)...)
	}
	if steps, ok := phrases[prompt]; ok {
		return steps
	}
	return []Step{Text(recall(before, prompt))}
}

func figures() *chat.Usage {
	return &chat.Usage{Model: "fake-large", In: 1000, Out: 20, CostUSD: 0.01, Window: 200_000, Used: 5000}
}

func stream(ctx context.Context, r *Running) error {
	for i := range 200 {
		if err := Text(fmt.Sprintf("tick %d ", i))(ctx, r); err != nil {
			return err
		}
		if err := Pause(time.Millisecond)(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// tool is a tool that takes that long. It ends with the turn, and says so.
func tool(d time.Duration) Step {
	return func(ctx context.Context, r *Running) error {
		id := r.worker.driver.nextID()
		if err := Tool(id, "sh", chat.ToolRunning)(ctx, r); err != nil {
			return err
		}
		state := chat.ToolDone
		err := Pause(d)(ctx, r)
		if err != nil {
			state = chat.ToolFailed
		}
		if bad := Tool(id, "sh", state)(context.WithoutCancel(ctx), r); bad != nil {
			return bad
		}
		return err
	}
}

// nextID is an id that was not used before.
func (d *Driver) nextID() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return fmt.Sprint("call-", len(d.seen.prompts))
}

// approval is a request for leave.
func (d *Driver) approval() chat.Question {
	return chat.Question{
		Key: d.nextID(), Kind: chat.AskApproval, Tool: "sh", Title: "run", Detail: "touch x",
		Options: []chat.Option{
			{ID: "y", Label: "Allow", Effect: chat.EffectAllow}, {ID: "s", Label: "Session", Effect: chat.EffectSession},
			{ID: "n", Label: "Deny", Effect: chat.EffectDeny},
		},
	}
}

func leave(ctx context.Context, r *Running) error {
	a, err := r.Ask(ctx, r.worker.driver.approval())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || a.Effect == chat.EffectDeny {
		return Text("denied: "+a.Text)(ctx, r)
	}
	return tool(0)(ctx, r)
}

func takenBack(ctx context.Context, r *Running) error {
	asking, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	_, _ = r.Ask(asking, r.worker.driver.approval()) // what is taken back has no answer
	return nil
}

// colours are the options of a question.
func colours() []chat.Option {
	return []chat.Option{
		{ID: "1", Label: "red", Effect: chat.EffectChoose}, {ID: "2", Label: "blue", Effect: chat.EffectChoose},
	}
}

func choose(ctx context.Context, r *Running) error {
	return answer(ctx, r, chat.Query{ID: "colour", Text: "Which colour?", Options: colours(), Free: true})
}

func several(ctx context.Context, r *Running) error {
	return answer(ctx, r,
		chat.Query{ID: "a", Text: "Which colour?", Options: colours()},
		chat.Query{ID: "b", Text: "Which colours?", Options: colours(), Multi: true},
		chat.Query{ID: "c", Text: "Which other?", Free: true})
}

// answer asks and repeats what was answered.
func answer(ctx context.Context, r *Running, queries ...chat.Query) error {
	a, err := r.Ask(ctx, chat.Question{Key: r.worker.driver.nextID(), Kind: chat.AskChoice, Title: "Colours", Queries: queries})
	if err != nil {
		return Text("nobody answered")(ctx, r)
	}
	var said []string
	for _, q := range slices.Sorted(maps.Keys(a.Values)) {
		for _, v := range a.Values[q] {
			for _, o := range colours() {
				if o.ID == v {
					v = o.Label
				}
			}
			said = append(said, v)
		}
	}
	return Text("you chose "+strings.Join(said, ", "))(ctx, r)
}

func present(ctx context.Context, r *Running) error {
	a, err := r.Ask(ctx, chat.Question{
		Key: r.worker.driver.nextID(), Kind: chat.AskPlan, Title: "Plan", Detail: "1. look\n2. leap",
		Options: []chat.Option{{ID: "go", Label: "Go", Effect: chat.EffectAllow}, {ID: "no", Label: "No", Effect: chat.EffectDeny}},
	})
	if err != nil || a.Effect == chat.EffectDeny {
		return Text("then not")(ctx, r)
	}
	if err := tool(0)(ctx, r); err != nil {
		return err
	}
	return Text("done")(ctx, r)
}

// later begins a turn of the agent's own after this one.
func later(ctx context.Context, r *Running) error {
	w := r.worker
	w.own.Go(func() { // Close waits for it
		select {
		case <-w.done:
		case <-time.After(50 * time.Millisecond):
			w.Uninvited(context.WithoutCancel(ctx), Text("here I am"))
		}
	})
	return nil
}

func model(ctx context.Context, r *Running) error {
	return Text("model: "+cmp.Or(r.worker.Info().Model, "fake-large"))(ctx, r)
}

func seen(ctx context.Context, r *Running) error {
	var images, documents int
	for _, f := range r.In.Fetched() {
		if _, err := os.Stat(f.Path); err != nil {
			continue
		}
		if strings.HasPrefix(f.MIME, "image/") {
			images++
		} else {
			documents++
		}
	}
	return Text(fmt.Sprintf("images %d documents %d", images, documents))(ctx, r)
}

// Sessions implements worker.Cataloguer.
func (d *Driver) Sessions(_ context.Context, workspace string) ([]worker.Native, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.can.Has(worker.Catalogue) {
		return nil, chat.E(chat.Unsupported, "", nil)
	}
	var list []worker.Native
	for id, prompts := range d.memory {
		if d.where[id] == workspace && len(prompts) > 0 {
			list = append(list, worker.Native{ID: id, Title: prompts[0], Used: time.Unix(int64(len(prompts)), 0)})
		}
	}
	return list, nil
}

// Terminal implements worker.Terminal.
func (d *Driver) Terminal(nativeID string) []string {
	if !d.abilities().Has(worker.TakesOver) {
		return nil
	}
	return []string{"fake", "--resume", nativeID}
}

// KillProcess ends the worker's process, and so every session in it.
func (w *Worker) KillProcess() {
	w.driver.mu.Lock()
	var all []*Worker
	for _, other := range w.driver.workers {
		if other.process == w.process {
			all = append(all, other)
		}
	}
	w.driver.mu.Unlock()
	for _, other := range all {
		other.Kill()
	}
}

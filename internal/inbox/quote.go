package inbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"cligate/internal/chat"
)

// Bounds of one quotation.
const (
	quoteBytes = 1 << 20 // as it comes from an adapter
	quoteWords = 8000    // characters that go into the prompt
	quoteFiles = 10      // that come with it
)

// quotation fetches the words of a quotation, and names what was attached to
// them. The words stay in the ledger; they are never fetched again.
func (t teller) quotation(ctx context.Context, f chat.FileRef) (chat.FileRef, []chat.FileRef) {
	if f.Heard != "" {
		return f, nil
	}
	var x chat.Excerpt
	err := t.persist(ctx, t.order, func() error {
		w := &bounded{limit: quoteBytes}
		if err := t.Source.Fetch(ctx, t.order.Turn.Place.Account, f, w); err != nil {
			return err
		}
		if err := json.Unmarshal(w.Bytes(), &x); err != nil {
			return fmt.Errorf("decode a quotation: %w", err)
		}
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return f, nil
	case err != nil:
		return t.unquoted(ctx, f, err), nil
	}
	f.Heard, f.Lost = chat.Clip(x.Text, quoteWords), ""
	if x.Name != "" {
		f.Source.Name = x.Name
	}
	if f.Heard == "" {
		f.Heard = "[no words]"
	}
	var more []chat.FileRef
	for _, a := range x.Files[:min(len(x.Files), quoteFiles)] {
		if a.Kind != chat.MediaQuote && a.ID != "" {
			a.Of = f.ID
			more = append(more, a)
		}
	}
	return f, more
}

// unquoted notes that a quotation cannot be had. What somebody pointed at is
// told to them; what only would have helped is not.
func (t teller) unquoted(ctx context.Context, f chat.FileRef, err error) chat.FileRef {
	t.log.WarnContext(ctx, "quotation not fetched", "turn", t.order.Turn.ID, "source", f.Source.Kind, "err", err)
	f.Lost = "it could not be read"
	key := "unquoted"
	if chat.CodeOf(err) == chat.Missing {
		f.Lost, key = "it is not there any more", "unquoted_gone"
	}
	if f.Source.Kind != chat.SourceTopic {
		t.tell(ctx, note{file: f, key: key, rest: true})
	}
	return f
}

// bounded is a buffer that takes no more than its limit.
type bounded struct {
	bytes.Buffer
	limit int
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		return 0, errors.New("the quotation is too long")
	}
	return b.Buffer.Write(p)
}

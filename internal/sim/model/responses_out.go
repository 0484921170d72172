package model

func (responses) refuse(status int, reason, text string) object {
	return openAIError(status, reason, text)
}

func (responses) whole(id string, c *call, rep *reply) object {
	r := responsesObject(id, c, "completed")
	items := make([]any, 0, len(rep.blocks))
	for i, b := range rep.blocks {
		items = append(items, responsesOutput(id, i, b, true))
	}
	r["output"], r["usage"] = items, object{
		"input_tokens": c.tokens(), "output_tokens": rep.tokens(), "total_tokens": c.tokens() + rep.tokens(),
		"input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0},
	}
	return r
}

func responsesObject(id string, c *call, status string) object {
	return object{
		"id": "resp_" + id, "object": "response", "created_at": created, "status": status, "model": c.model,
		"output": []any{}, "error": nil, "incomplete_details": nil, "usage": nil,
	}
}

// responsesOutput is one item of an answer, before or after its deltas.
func responsesOutput(id string, i int, b out, full bool) object {
	status, whole := "in_progress", ""
	if full {
		status, whole = "completed", b.whole()
	}
	switch b.kind {
	case customBlock:
		return object{"type": "custom_tool_call", "id": callID("ctc_", id, i), "call_id": callID("call_", id, i), "name": b.tool, "input": whole, "status": status}
	case toolBlock:
		item := object{"type": "function_call", "id": callID("fc_", id, i), "call_id": callID("call_", id, i), "name": b.tool, "arguments": whole, "status": status}
		if b.space != "" {
			item["namespace"] = b.space
		}
		return item
	case thinkingBlock:
		summary := []any{}
		if full {
			summary = append(summary, object{"type": "summary_text", "text": whole})
		}
		return object{"type": "reasoning", "id": callID("rs_", id, i), "summary": summary}
	default:
		content := []any{}
		if full {
			content = append(content, object{"type": "output_text", "text": whole, "annotations": []any{}})
		}
		return object{"type": "message", "id": callID("msg_", id, i), "role": "assistant", "status": status, "content": content}
	}
}

func (r responses) begin(id string, c *call, rep *reply) encoder {
	return &responsesStream{id: id, call: c, whole: r.whole(id, c, rep)}
}

// late tells a client whose conversation is too long only in the stream.
func (r responses) late(id string, c *call, f *failure) []event {
	if f.reason != reasonContext {
		return nil
	}
	s := &responsesStream{id: id, call: c}
	failed := responsesObject(id, c, "failed")
	failed["error"] = r.refuse(f.status, f.reason, "")["error"]
	return append(s.start(), s.event("response.failed", object{"response": failed}))
}

// responsesStream is one streamed response.
type responsesStream struct {
	id    string
	call  *call
	whole object
	seq   int
}

func (s *responsesStream) event(name string, data object) event {
	data["type"], data["sequence_number"] = name, s.seq
	s.seq++
	return event{name, data}
}

func (s *responsesStream) start() []event {
	return []event{
		s.event("response.created", object{"response": responsesObject(s.id, s.call, "in_progress")}),
		s.event("response.in_progress", object{"response": responsesObject(s.id, s.call, "in_progress")}),
	}
}

func (s *responsesStream) open(i int, b out) []event {
	events := []event{s.event("response.output_item.added", object{"output_index": i, "item": responsesOutput(s.id, i, b, false)})}
	switch b.kind {
	case textBlock:
		events = append(events, s.event("response.content_part.added", s.at(i, b, object{"content_index": 0, "part": object{"type": "output_text", "text": "", "annotations": []any{}}})))
	case thinkingBlock:
		events = append(events, s.event("response.reasoning_summary_part.added", s.at(i, b, object{"summary_index": 0, "part": object{"type": "summary_text", "text": ""}})))
	case toolBlock, customBlock: // they have no parts
	}
	return events
}

// at adds where in the response data belongs.
func (s *responsesStream) at(i int, b out, data object) object {
	data["output_index"], data["item_id"] = i, responsesOutput(s.id, i, b, false)["id"]
	return data
}

func (s *responsesStream) delta(i int, b out, piece string) []event {
	data := s.at(i, b, object{"delta": piece})
	switch b.kind {
	case toolBlock:
		return []event{s.event("response.function_call_arguments.delta", data)}
	case customBlock:
		return []event{s.event("response.custom_tool_call_input.delta", data)}
	case thinkingBlock:
		data["summary_index"] = 0
		return []event{s.event("response.reasoning_summary_text.delta", data)}
	default:
		data["content_index"] = 0
		return []event{s.event("response.output_text.delta", data)}
	}
}

func (s *responsesStream) shut(i int, b out) []event {
	var events []event
	switch b.kind {
	case toolBlock:
		events = append(events, s.event("response.function_call_arguments.done", s.at(i, b, object{"arguments": b.whole()})))
	case customBlock:
		events = append(events, s.event("response.custom_tool_call_input.done", s.at(i, b, object{"input": b.whole()})))
	case thinkingBlock:
		part := object{"type": "summary_text", "text": b.whole()}
		events = append(events,
			s.event("response.reasoning_summary_text.done", s.at(i, b, object{"summary_index": 0, "text": b.whole()})),
			s.event("response.reasoning_summary_part.done", s.at(i, b, object{"summary_index": 0, "part": part})))
	default:
		part := object{"type": "output_text", "text": b.whole(), "annotations": []any{}}
		events = append(events,
			s.event("response.output_text.done", s.at(i, b, object{"content_index": 0, "text": b.whole()})),
			s.event("response.content_part.done", s.at(i, b, object{"content_index": 0, "part": part})))
	}
	return append(events, s.event("response.output_item.done", object{"output_index": i, "item": responsesOutput(s.id, i, b, true)}))
}

func (s *responsesStream) end() []event {
	return []event{s.event("response.completed", object{"response": s.whole})}
}

// SPDX-License-Identifier: MIT

package llamad

import (
	"context"
	"io"
	"time"
)

// Delta is the part of an answer that arrived since the previous delta.  Reasoning and Call are used
// only if the request has Parse.
type Delta struct {
	Text, Reasoning string
	// Call is a piece of a tool call, or nil.
	Call *CallDelta
}

// Thinking returns d.Reasoning.
//
// Deprecated: use the field Reasoning.
func (d Delta) Thinking() string { return d.Reasoning }

// CallDelta is a piece of a tool call.
type CallDelta struct {
	// Index is the number of the tool call within the answer, from 0.
	Index int
	// ID and Name are set in the first piece of a call.
	ID, Name string
	// Arguments is a piece of JSON.
	Arguments string
	// Done is set in the last piece.  Complete then tells that the arguments are complete and valid
	// JSON.
	Done, Complete bool
}

// ToolCall is a tool call.
type ToolCall struct {
	ID, Name string
	// Arguments is a JSON object if Complete is true.
	Arguments string
	Complete  bool
}

// Answer is an answer, split into its parts.
type Answer struct {
	Text, Reasoning string
	ToolCalls       []ToolCall
	// Finish tells why the answer ended: "eog", "stop", "length", ...
	Finish string
	// Tokens are those of the answer, including reasoning and tool calls.
	Tokens []int32
	// Logprobs has, for each token, its log probability and then those of the most likely tokens, if
	// the request has Logprobs.
	Logprobs [][]TokenLogprob
	// Prompt has the tokens of the prompt, if the request has PromptTokens or PromptLogprobs.
	Prompt []Item
	// Seed is the random seed.
	Seed  int64
	Usage Usage
}

// Usage has numbers of tokens, and how long they took.
type Usage struct {
	PromptTokens, CompletionTokens int64
	// ForcedTokens is the part of CompletionTokens that needed no step of its own, because the
	// grammar allowed no alternative (jump-forward decoding).
	ForcedTokens int64
	// Prompt is the time from the first step to the first token, Completion from there to the end.
	Prompt, Completion time.Duration
}

// Thinking returns a.Reasoning.
//
// Deprecated: use the field Reasoning.
func (a Answer) Thinking() string { return a.Reasoning }

func (a *Answer) add(d Delta) {
	a.Text += d.Text
	a.Reasoning += d.Reasoning
	if d.Call == nil {
		return
	}
	for len(a.ToolCalls) <= d.Call.Index {
		a.ToolCalls = append(a.ToolCalls, ToolCall{})
	}
	c := &a.ToolCalls[d.Call.Index]
	c.Arguments += d.Call.Arguments
	if d.Call.Name != "" {
		c.ID, c.Name = d.Call.ID, d.Call.Name
	}
	c.Complete = c.Complete || d.Call.Complete
}

func (a *Answer) end(s *Stream) {
	a.Tokens, a.Seed = s.Tokens, s.Seed
	a.Logprobs, a.Prompt = s.Logprobs, s.Prompt
	if last := s.Last; last != nil {
		a.Finish = last.Finish
		a.Usage = Usage{last.NPrompt, last.NOut, last.NForced, time.Duration(last.PromptNS),
			time.Duration(last.OutNS)}
	}
}

// More tool calls in one answer are ignored.
const callsMax = 4096

func (s *Stream) delta(item Item) Delta {
	d := Delta{Text: s.text(item)}
	last := item.Kind == ItemDone
	if item.Kind == ItemReasoning {
		d.Reasoning = whole(&s.partReasoning, item.Text, false)
	} else if last {
		d.Reasoning = whole(&s.partReasoning, nil, true)
	}
	if item.Call < 0 || item.Call >= callsMax {
		return d
	}
	switch item.Kind {
	case ItemCall:
		d.Call = &CallDelta{Index: int(item.Call), ID: item.ID, Name: item.Name}
	case ItemArguments:
		d.Call = &CallDelta{Index: int(item.Call), Arguments: string(item.Text)}
	case ItemCallEnd:
		d.Call = &CallDelta{Index: int(item.Call), Done: true, Complete: item.Complete}
	}
	return d
}

// Delta waits for the next piece of an answer and returns io.EOF after the last one.
func (s *Stream) Delta(ctx context.Context) (Delta, error) {
	for {
		item, err := s.Next(ctx)
		if err != nil {
			return Delta{}, err
		}
		if d := s.delta(item); d != (Delta{}) {
			return d, nil
		}
	}
}

// Answer waits for the end and returns the rest of the answer.  If the request has Parse, the answer
// is split into text, reasoning and tool calls.
func (s *Stream) Answer(ctx context.Context) (Answer, error) {
	var a Answer
	for {
		d, err := s.Delta(ctx)
		if err == io.EOF {
			a.end(s)
			return a, nil
		}
		if err != nil {
			return a, err
		}
		a.add(d)
	}
}

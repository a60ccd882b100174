// SPDX-License-Identifier: MIT

package llamad

import (
	"context"
	"io"
)

// Delta is what came since the last one: of a generation with Parse, some text, some of a thought, or
// some of a call of a tool.
type Delta struct {
	Text, Thinking string
	// Call is nil when nothing of a call came.
	Call *CallDelta
}

// CallDelta is more of a call.
type CallDelta struct {
	// Index counts the calls of the answer, from 0.
	Index int
	// ID and Name come with the first one of a call.
	ID, Name string
	// Arguments is a piece of JSON.
	Arguments string
	// Done: the call is over; Complete: its arguments are whole, and JSON.
	Done, Complete bool
}

// ToolCall is a call of a tool.
type ToolCall struct {
	ID, Name string
	// Arguments is a JSON object when the call is complete.
	Arguments string
	Complete  bool
}

// Answer is what an answer consists of.
type Answer struct {
	Text, Thinking string
	ToolCalls      []ToolCall
}

func (a *Answer) add(d Delta) {
	a.Text += d.Text
	a.Thinking += d.Thinking
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

// Calls of a server are bounded; more are not believed.
const callsMax = 4096

func (s *Stream) delta(item Item) Delta {
	d := Delta{Text: s.text(item)}
	last := item.Kind == ItemDone
	if item.Kind == ItemThought {
		d.Thinking = whole(&s.thought, item.Text, false)
	} else if last {
		d.Thinking = whole(&s.thought, nil, true)
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

// Delta waits for the next piece of an answer; io.EOF behind the last one.
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

// Answer waits for the end and returns what was still to come of the answer, taken apart when the
// request has Parse.
func (s *Stream) Answer(ctx context.Context) (Answer, error) {
	var a Answer
	for {
		d, err := s.Delta(ctx)
		if err == io.EOF {
			return a, nil
		}
		if err != nil {
			return a, err
		}
		a.add(d)
	}
}

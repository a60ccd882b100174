// SPDX-License-Identifier: MIT

// Conformance is the driver of tests/client_conformance.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	llamad "github.com/llamad/llamad/bindings/go"
)

type call struct {
	URL       string  `json:"url"`
	Key       string  `json:"key"`
	Do        string  `json:"do"`
	Request   request `json:"request"`
	ID        string  `json:"id"`
	After     int64   `json:"after"`
	TimeoutMS int64   `json:"timeout_ms"`
	StopAfter int     `json:"stop_after"`
	Detach    bool    `json:"detach"`
}

type request struct {
	Model      string       `json:"model"`
	Prompt     *llamad.Text `json:"prompt"`
	N          *int64       `json:"n"`
	Temp       *float64     `json:"temp"`
	TopK       *int64       `json:"top_k"`
	TopP       *float64     `json:"top_p"`
	Seed       *int64       `json:"seed"`
	Stop       []llamad.Text
	Raw, Parse *bool
	JSONSchema *llamad.Text  `json:"json_schema"`
	LogitBias  [][2]float64  `json:"logit_bias"`
	Messages   []chatMessage `json:"messages"`
}

type chatMessage struct {
	Role    string
	Content llamad.Text
}

type result struct {
	State     string    `json:"state,omitempty"`
	Text      string    `json:"text"`
	Reasoning string    `json:"reasoning"`
	ToolCalls []calling `json:"tool_calls"`
	Tokens    []int32   `json:"tokens"`
	Finish    string    `json:"finish"`
	Error     *failure  `json:"error,omitempty"`
}

type calling struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Complete  bool   `json:"complete"`
}

type failure struct {
	Code    string `json:"code"`
	Text    string `json:"text"`
	RetryMS int64  `json:"retry_ms,omitempty"`
}

func main() {
	var c call
	if err := json.NewDecoder(os.Stdin).Decode(&c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx := context.Background()
	if c.TimeoutMS > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Duration(c.TimeoutMS)*time.Millisecond)
		defer stop()
	}
	var r result
	if err := c.run(ctx, &r); err != nil {
		r = result{Error: describe(err)}
	}
	if err := json.NewEncoder(os.Stdout).Encode(&r); err != nil {
		os.Exit(1)
	}
}

func describe(err error) *failure {
	var e *llamad.Error
	var lost *llamad.ConnError
	switch {
	case errors.As(err, &e):
		return &failure{e.Code, e.Text, e.RetryMS}
	case errors.Is(err, context.DeadlineExceeded):
		return &failure{"timeout", err.Error(), 0}
	case errors.As(err, &lost):
		return &failure{"io", err.Error(), 0}
	}
	return &failure{"", err.Error(), 0}
}

func (c *call) generate() *llamad.GenerateRequest {
	q := &c.Request
	g := &llamad.GenerateRequest{Model: q.Model, Prompt: q.Prompt, N: q.N, Temp: q.Temp, TopK: q.TopK,
		TopP: q.TopP, Seed: q.Seed, Stop: q.Stop, Raw: q.Raw, Parse: q.Parse, JsonSchema: q.JSONSchema}
	for _, b := range q.LogitBias {
		g.LogitBias = append(g.LogitBias, llamad.Bias{Token: int32(b[0]), Bias: b[1]})
	}
	for _, m := range q.Messages {
		g.Messages = append(g.Messages, llamad.ChatMessage{Role: m.Role, Content: m.Content})
	}
	return g
}

func (c *call) run(ctx context.Context, r *result) error {
	client, err := llamad.Dial(ctx, c.URL, llamad.WithKey(c.Key))
	if err != nil {
		return err
	}
	defer client.Close()
	var s *llamad.Stream
	switch c.Do {
	case "ping":
		p, err := client.Ping(ctx)
		r.State = p.State
		return err
	case "resume":
		id, err := llamad.ParseID(c.ID)
		if err != nil {
			return err
		}
		s = client.Resume(id, c.After)
	default:
		if s, err = client.Generate(ctx, c.generate()); err != nil {
			return err
		}
	}
	defer s.Close()
	return c.read(ctx, s, r)
}

// read collects the pieces of an answer, and leaves the stream where the case says so.
func (c *call) read(ctx context.Context, s *llamad.Stream, r *result) error {
	for {
		d, err := s.Delta(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		r.Text += d.Text
		r.Reasoning += d.Reasoning
		if d.Call != nil {
			r.piece(d.Call)
		}
		if c.StopAfter > 0 && len(s.Tokens) == c.StopAfter {
			if c.Detach {
				s.Detach()
			}
			break
		}
	}
	r.Tokens = s.Tokens
	if s.Last != nil {
		r.Finish = s.Last.Finish
	}
	return nil
}

func (r *result) piece(d *llamad.CallDelta) {
	for len(r.ToolCalls) <= d.Index {
		r.ToolCalls = append(r.ToolCalls, calling{})
	}
	t := &r.ToolCalls[d.Index]
	if d.Name != "" {
		t.ID, t.Name = d.ID, d.Name
	}
	t.Arguments += d.Arguments
	t.Complete = t.Complete || d.Complete
}

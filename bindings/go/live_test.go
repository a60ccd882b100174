// SPDX-License-Identifier: MIT

package llamad

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// These tests need a live daemon at LMD_TEST_URL with a model "full".  The file LMD_TEST_WANT contains
// its greedy continuation of LMD_TEST_PROMPT by LMD_TEST_N tokens.
func live(t *testing.T) (*Client, context.Context) {
	url := os.Getenv("LMD_TEST_URL")
	if url == "" {
		t.Skip("LMD_TEST_URL names no daemon")
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(stop)
	c, err := Dial(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, ctx
}

func request() *GenerateRequest {
	n, _ := strconv.ParseInt(os.Getenv("LMD_TEST_N"), 10, 64)
	return &GenerateRequest{Model: "full", Prompt: String(os.Getenv("LMD_TEST_PROMPT")), N: &n,
		Temp: Float(0)}
}

func long() *GenerateRequest {
	r := request()
	r.N, r.IgnoreEOG, r.LeaseMS = Int(100000), Bool(true), Int(60000)
	return r
}

func want(t *testing.T) string {
	b, err := os.ReadFile(os.Getenv("LMD_TEST_WANT"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

func text(t *testing.T, c *Client, ctx context.Context) (string, []int32) {
	s, err := c.Generate(ctx, request())
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.All(ctx)
	if err != nil {
		t.Fatal(err)
	}
	all = strings.ToValidUTF8(all, "\uFFFD")
	if !strings.HasSuffix(all, "\n") {
		all += "\n"
	}
	return all, s.Tokens
}

func TestGenerate(t *testing.T) {
	c, ctx := live(t)
	if got, _ := text(t, c, ctx); got != want(t) {
		t.Fatalf("%q, not %q", got, want(t))
	}
}

// A grammar forces one answer, which is split into its parts.
func TestAnswer(t *testing.T) {
	c, ctx := live(t)
	s, err := c.Generate(ctx, &GenerateRequest{Model: "full", Prompt: String("x"), Parse: Bool(true),
		ParseFormat: String("hermes"), Temp: Float(0), Grammar: String(
			`root ::= "<think>hm</think>So.<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>"`)})
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Answer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if a.Text != "So." || a.Reasoning != "hm" || a.Thinking() != "hm" || len(a.ToolCalls) != 1 {
		t.Fatalf("%+v", a)
	}
	call := a.ToolCalls[0]
	if call.Name != "f" || call.Arguments != `{"a": 1}` || !call.Complete || len(call.ID) != 9 {
		t.Fatalf("%+v", call)
	}
	if int64(len(s.Tokens)) != s.Last.NOut {
		t.Fatalf("%d tokens, not %d", len(s.Tokens), s.Last.NOut)
	}
	if s.Last.NForced < 1 {
		t.Fatalf("%d tokens without a choice", s.Last.NForced)
	}
}

// Greedy decoding takes the most likely token.
func TestLogprobs(t *testing.T) {
	c, ctx := live(t)
	a, err := c.Answer(ctx, &GenerateRequest{Model: "full", Prompt: String(os.Getenv("LMD_TEST_PROMPT")),
		N: Int(4), Temp: Float(0), Logprobs: Int(1), PromptTokens: Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Tokens) == 0 || len(a.Logprobs) != len(a.Tokens) || len(a.Prompt) == 0 {
		t.Fatalf("%d tokens, %d log probabilities, %d tokens of the prompt", len(a.Tokens),
			len(a.Logprobs), len(a.Prompt))
	}
	for i, l := range a.Logprobs {
		if len(l) != 2 || l[0].Token != a.Tokens[i] || l[0].Logprob != l[1].Logprob {
			t.Errorf("token %d: %v", i, l)
		}
	}
}

// All tokens but one are suppressed.
func TestSuppressTokens(t *testing.T) {
	c, ctx := live(t)
	var others []int32
	for id := int32(0); id < 96; id++ {
		if id != 'z'-32 {
			others = append(others, id)
		}
	}
	s, err := c.Generate(ctx, &GenerateRequest{Model: "full", Prompt: String("x"), N: Int(3),
		SuppressTokens: others})
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Answer(ctx)
	if err != nil || a.Text != "zzz" {
		t.Fatalf("%+v, %v", a, err)
	}
}

func TestApplyTemplate(t *testing.T) {
	c, ctx := live(t)
	r, err := c.ApplyTemplate(ctx, &ApplyTemplateRequest{Model: "full", Tokens: Bool(true),
		Template: String("{{ messages[0].content }}!"),
		Messages: []ChatMessage{{Role: "user", Content: "Hello"}}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Prompt != "Hello!" || int64(len(r.Tokens)) != r.NPrompt {
		t.Errorf("%+v", r)
	}
}

// A list that is empty but not nil takes the place of the list in the model's file.
func TestEmptySuppressTokens(t *testing.T) {
	c, ctx := live(t)
	text := func(list []int32) string {
		s, err := c.Generate(ctx, &GenerateRequest{Model: "suppress", Prompt: String("x"), N: Int(3),
			Temp: Float(0), IgnoreEOG: Bool(true), SuppressTokens: list})
		if err != nil {
			t.Fatal(err)
		}
		a, err := s.Answer(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return a.Text
	}
	if got := text(nil); got != "AAA" {
		t.Errorf("%q with the list of the file", got)
	}
	if got := text([]int32{}); got == "AAA" {
		t.Errorf("%q with an empty list", got)
	}
}

func TestEightAtOnce(t *testing.T) {
	c, ctx := live(t)
	var wg sync.WaitGroup
	for i := 0; i < 8; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			s, err := c.Generate(ctx, request())
			if err != nil {
				t.Error(err)
				return
			}
			all := ""
			for piece := range s.Chan(ctx) {
				if piece.Err != nil {
					t.Error(piece.Err)
				}
				all += piece.Text
			}
			if strings.TrimSuffix(strings.ToValidUTF8(all, "\uFFFD"), "\n") != strings.TrimSuffix(want(t), "\n") {
				t.Errorf("%q, not %q", all, want(t))
			}
		}()
	}
	wg.Wait()
}

func TestCancel(t *testing.T) {
	c, ctx := live(t)
	s, err := c.Generate(ctx, long())
	if err != nil {
		t.Fatal(err)
	}
	s.Hold(0)
	for i := 0; ; i++ {
		if _, err = s.Next(ctx); err != nil {
			break
		}
		if i == 2 {
			if err := s.Cancel(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !errors.Is(err, ErrCancelled) {
		t.Fatalf("%v, not cancelled", err)
	}
}

func TestPause(t *testing.T) {
	c, ctx := live(t)
	s, err := c.Generate(ctx, long())
	if err != nil {
		t.Fatal(err)
	}
	s.Hold(0)
	for i := 0; i < 6; i++ {
		if i == 2 {
			if left, err := s.Pause(ctx); err != nil || left <= 0 {
				t.Fatal(left, err)
			}
			if err := s.Unpause(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if _, err = s.Next(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Cancel(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestContextCancels(t *testing.T) {
	c, ctx := live(t)
	own, stop := context.WithCancel(ctx)
	s, err := c.Generate(own, long())
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.Next(own); err != nil {
		t.Fatal(err)
	}
	stop()
	for err == nil {
		_, err = s.Next(own)
	}
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	ends(t, c, ctx, s)
}

// The context of Generate governs the stream, also if nobody reads it.
func TestContextCancelsUnread(t *testing.T) {
	c, ctx := live(t)
	own, stop := context.WithCancel(ctx)
	s, err := c.Generate(own, long())
	if err != nil {
		t.Fatal(err)
	}
	stop()
	<-s.left
	if _, err := c.Resume(s.ID(), 0).Wait(ctx); !errors.Is(err, ErrCancelled) || !strings.Contains(err.Error(), "asked") {
		t.Fatalf("%v, not cancelled", err)
	}
	if _, err = s.Next(ctx); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrCancelled) {
		t.Fatalf("%v", err)
	}
}

func TestWholeAnswer(t *testing.T) {
	c, ctx := live(t)
	a, err := c.Answer(ctx, request())
	if err != nil {
		t.Fatal(err)
	}
	_, tokens := text(t, c, ctx)
	same(t, a.Tokens, tokens)
	if a.Finish == "" || a.Usage.CompletionTokens != int64(len(tokens)) || a.Usage.PromptTokens < 1 {
		t.Fatalf("%v %+v", a, a.Usage)
	}
	s, err := c.Generate(ctx, request())
	if err != nil {
		t.Fatal(err)
	}
	if got := s.String(); !strings.HasPrefix(got, "<Stream "+s.ID().String()[:8]) || !strings.HasSuffix(got, "item 0, open>") {
		t.Fatal(got)
	}
	if !strings.Contains(c.String(), ", llamad ") {
		t.Fatal(c)
	}
	info, err := c.Info(ctx, "full", true)
	if err != nil || len(info.Meta) == 0 {
		t.Fatal(info, err)
	}
	if metrics, err := c.Stats(ctx, ""); err != nil || len(metrics) == 0 {
		t.Fatal(metrics, err)
	}
}

// ends fails unless the daemon cancelled the generation of a stream.
func ends(t *testing.T, c *Client, ctx context.Context, s *Stream) {
	t.Helper()
	_, err := c.Resume(s.ID(), s.After()).Wait(ctx)
	if !errors.Is(err, ErrCancelled) || !strings.Contains(err.Error(), "asked") {
		t.Fatalf("%v, not cancelled", err)
	}
	if _, err = s.Next(ctx); !errors.Is(err, ErrCancelled) {
		t.Fatalf("%v of a stream that was left", err)
	}
}

func TestStartIsCancelled(t *testing.T) {
	c, ctx := live(t)
	before := map[ID]bool{}
	streams := func() (fresh []ID) {
		var r StreamsReply
		if err := c.Call(ctx, &StreamsRequest{}, &r); err != nil {
			t.Fatal(err)
		}
		for _, x := range r.Streams {
			if !before[x.ID] {
				before[x.ID] = true
				fresh = append(fresh, x.ID)
			}
		}
		return fresh
	}
	streams()
	own, stop := context.WithCancel(ctx)
	stop()
	if _, err := c.Generate(own, long()); err == nil {
		t.Skip("the answer was faster")
	} else if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	var fresh []ID
	for len(fresh) == 0 { // the request has not been answered yet
		fresh = streams()
	}
	if _, err := c.Resume(fresh[0], 0).Wait(ctx); !errors.Is(err, ErrCancelled) {
		t.Fatalf("%v, not cancelled", err)
	}
}

func TestClose(t *testing.T) {
	c, ctx := live(t)
	s, err := c.Generate(ctx, long())
	if err != nil {
		t.Fatal(err)
	}
	pieces := s.Hold(0).Chan(ctx)
	if piece := <-pieces; piece.Err != nil {
		t.Fatal(piece.Err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range pieces { // its goroutine may have one more
	}
	if s.Last == nil {
		ends(t, c, ctx, s)
	} else if s.Last.Reason != CancelReasonAsked {
		t.Fatalf("%+v", s.Last)
	}
	rest := c.Resume(s.ID(), 1<<40)
	if _, err := rest.Next(ctx); err == nil || errors.Is(err, io.EOF) {
		t.Fatalf("%v behind an item that never was", err)
	}
}

func TestDetach(t *testing.T) {
	c, ctx := live(t)
	s, err := c.Generate(ctx, request())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(ctx); err != nil {
		t.Fatal(err)
	}
	first := append([]int32(nil), s.Tokens...)
	rest := c.Resume(s.Detach())
	if _, err := s.Next(ctx); !errors.Is(err, ErrCancelled) {
		t.Fatalf("%v of a stream that was left", err)
	}
	if last, err := rest.Wait(ctx); err != nil || last.Kind != ItemDone {
		t.Fatal(last, err)
	}
	_, tokens := text(t, c, ctx)
	same(t, append(first, rest.Tokens...), tokens)
	if _, err := c.Resume(rest.ID(), rest.After()).Next(ctx); !errors.Is(err, io.EOF) {
		t.Fatalf("%v behind the end", err)
	}
}

func TestJobs(t *testing.T) {
	c, ctx := live(t)
	s, err := c.Reload(ctx, "full")
	if err != nil {
		t.Fatal(err)
	}
	if last, err := s.Wait(ctx); err != nil || last.Finish != FinishDone {
		t.Fatal(last, err)
	}
	models, err := c.Models(ctx)
	if err != nil || len(models) == 0 || models[0].Name != "full" {
		t.Fatal(models, err)
	}
}

func same(t *testing.T, got, want []int32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d tokens, not %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("token %d is %d, not %d", i, got[i], want[i])
		}
	}
}

func TestResumeAndReconnect(t *testing.T) {
	c, ctx := live(t)
	r := request()
	r.LeaseMS = Int(60000)
	s, err := c.Generate(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	s.Hold(0)
	if _, err = s.Next(ctx); err != nil {
		t.Fatal(err)
	}
	_ = c.conn.c.Close() // like a network failure
	first := append([]int32(nil), s.Tokens...)
	other, _ := live(t)
	rest := other.Resume(s.ID(), s.After())
	if _, err = rest.All(ctx); err != nil {
		t.Fatal(err)
	}
	_, tokens := text(t, c, ctx) // the first client reconnects
	same(t, append(first, rest.Tokens...), tokens)
}

func TestRefusals(t *testing.T) {
	c, ctx := live(t)
	s, err := c.Generate(ctx, &GenerateRequest{Model: "nothere", Prompt: String("x")})
	if err == nil {
		_, err = s.All(ctx)
	}
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "nothere") {
		t.Fatalf("%v", err)
	}
	hot := &GenerateRequest{Model: "full", Prompt: String("x"), Temp: Float(7.5)}
	if _, err = c.Generate(ctx, hot); !errors.Is(err, ErrInvalid) {
		t.Fatalf("%v", err)
	}
}

// SPDX-License-Identifier: MIT

package llamad

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Against a live daemon: LMD_TEST_URL, with a model "full" whose greedy continuation of
// LMD_TEST_PROMPT by LMD_TEST_N tokens stands in the file LMD_TEST_WANT.
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
	zero := 0.0
	return &GenerateRequest{Model: "full", Prompt: Prompt(os.Getenv("LMD_TEST_PROMPT")), N: &n, Temp: &zero}
}

func long() *GenerateRequest {
	r, n := request(), int64(100000)
	r.N, r.IgnoreEOG = &n, true
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
	// what runs for us in the daemon ends within a step
	for {
		var r StreamsReply
		if err := c.Call(ctx, &StreamsRequest{}, &r); err != nil {
			t.Fatal(err)
		}
		running := 0
		for _, x := range r.Streams {
			if x.ID == s.ID() && x.State == "running" {
				running++
			}
		}
		if running == 0 {
			break
		}
	}
}

func TestResumeAndReconnect(t *testing.T) {
	c, ctx := live(t)
	lease := int64(60000)
	r := request()
	r.LeaseMS = &lease
	s, err := c.Generate(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	s.Hold(0)
	if _, err = s.Next(ctx); err != nil {
		t.Fatal(err)
	}
	_ = c.conn.c.Close() // as a broken network does
	first := append([]int32(nil), s.Tokens...)
	other, _ := live(t)
	rest := other.Resume(s.ID(), s.After())
	if _, err = rest.All(ctx); err != nil {
		t.Fatal(err)
	}
	got := append(first, rest.Tokens...)
	_, tokens := text(t, c, ctx) // the first client connects again
	if len(got) != len(tokens) {
		t.Fatalf("%d tokens, not %d", len(got), len(tokens))
	}
	for i := range got {
		if got[i] != tokens[i] {
			t.Fatalf("token %d is %d, not %d", i, got[i], tokens[i])
		}
	}
}

func TestRefusals(t *testing.T) {
	c, ctx := live(t)
	s, err := c.Generate(ctx, &GenerateRequest{Model: "nothere", Prompt: Prompt("x")})
	if err == nil {
		_, err = s.All(ctx)
	}
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "nothere") {
		t.Fatalf("%v", err)
	}
	hot := 7.5
	if _, err = c.Generate(ctx, &GenerateRequest{Model: "full", Prompt: Prompt("x"), Temp: &hot}); !errors.Is(err, ErrInvalid) {
		t.Fatalf("%v", err)
	}
}

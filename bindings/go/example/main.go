// SPDX-License-Identifier: MIT

// Example streams an answer of llamad: example MODEL PROMPT [N [URL]].  Ctrl-C also cancels the
// generation in the daemon.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"

	llamad "github.com/llamad/llamad/bindings/go"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: example MODEL PROMPT [N [URL]]")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

func run(model, prompt string, rest []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	n, url := int64(32), ""
	if len(rest) > 0 {
		var err error
		if n, err = strconv.ParseInt(rest[0], 10, 64); err != nil {
			return err
		}
	}
	if len(rest) > 1 {
		url = rest[1]
	}
	c, err := llamad.Dial(ctx, url, llamad.WithName("example"))
	if err != nil {
		return err
	}
	defer c.Close()
	s, err := c.Generate(ctx, &llamad.GenerateRequest{
		Model: model, Prompt: llamad.String(prompt), N: llamad.Int(n), Temp: llamad.Float(0)})
	if err != nil {
		return err
	}
	for piece := range s.Chan(ctx) {
		if piece.Err != nil {
			return piece.Err
		}
		fmt.Print(piece.Text)
	}
	if s.Last != nil {
		fmt.Fprintf(os.Stderr, "\n%d tokens, %s\n", len(s.Tokens), s.Last.Finish)
	}
	return ctx.Err()
}

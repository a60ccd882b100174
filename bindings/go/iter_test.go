// SPDX-License-Identifier: MIT

//go:build go1.23

package llamad

import (
	"strings"
	"testing"
)

func TestPieces(t *testing.T) {
	c, ctx := live(t)
	s, err := c.Generate(ctx, request())
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for piece, err := range s.Pieces(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(piece)
	}
	got := strings.ToValidUTF8(all.String(), "\uFFFD")
	if strings.TrimSuffix(got, "\n") != strings.TrimSuffix(want(t), "\n") {
		t.Fatalf("%q, not %q", got, want(t))
	}
	if s, err = c.Generate(ctx, long()); err != nil {
		t.Fatal(err)
	}
	for _, err := range s.Hold(0).Pieces(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	ends(t, c, ctx, s)
}

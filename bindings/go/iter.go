// SPDX-License-Identifier: MIT

//go:build go1.23

package llamad

import (
	"context"
	"io"
	"iter"
)

// Pieces iterates over the pieces of text and, if the stream fails, finally the error.  Leaving the
// loop early cancels the stream.
func (s *Stream) Pieces(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for {
			text, err := s.Text(ctx)
			if err == io.EOF {
				return
			}
			if !yield(text, err) {
				_ = s.Close()
				return
			}
			if err != nil {
				return
			}
		}
	}
}

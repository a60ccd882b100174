// SPDX-License-Identifier: MIT

//go:build go1.23

package llamad

import (
	"context"
	"io"
	"iter"
)

// Pieces gives the pieces of text to a range loop, and at last the error, if any.  Leaving the loop
// cancels what has not ended.
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

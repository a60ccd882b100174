// SPDX-License-Identifier: MIT

package llamad

import (
	"context"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

const waitMS = 10000

// Stream is the items of a generation or a job.  One goroutine at a time.
type Stream struct {
	c       *Client
	id      ID
	after   int64
	hold    *int64
	pending []Item
	over    bool
	part    []byte // of a character whose rest is still to come

	// Tokens are those that came so far.
	Tokens []int32
	// Last is the final item: why it ended, and the counts.  Nil before.
	Last *Item
}

// Generate continues a prompt.
func (c *Client) Generate(ctx context.Context, req *GenerateRequest) (*Stream, error) {
	var r GenerateReply
	if err := c.Call(ctx, req, &r); err != nil {
		return nil, err
	}
	return &Stream{c: c, id: r.ID}, nil
}

// Load brings a model into memory; the stream ends when it is ready.
func (c *Client) Load(ctx context.Context, req *LoadRequest) (*Stream, error) {
	var r LoadReply
	if err := c.Call(ctx, req, &r); err != nil {
		return nil, err
	}
	return &Stream{c: c, id: r.ID}, nil
}

// Resume goes on with a stream behind its item number after.
func (c *Client) Resume(id ID, after int64) *Stream {
	return &Stream{c: c, id: id, after: after}
}

// ID names the stream for Resume.
func (s *Stream) ID() ID { return s.id }

// After is the number of the last item that came.
func (s *Stream) After() int64 { return s.after }

// Hold sets how long the server gathers items before it sends them; 0: each alone.
func (s *Stream) Hold(d time.Duration) *Stream {
	ms := d.Milliseconds()
	s.hold = &ms
	return s
}

// Next waits for an item; io.EOF behind the last one.  When ctx is cancelled, so is the stream.
func (s *Stream) Next(ctx context.Context) (Item, error) {
	if s.over {
		return Item{}, io.EOF
	}
	for len(s.pending) == 0 {
		var r NextReply
		wait := int64(waitMS)
		err := s.c.Call(ctx, &NextRequest{ID: s.id, After: s.after, WaitMS: &wait, HoldMS: s.hold}, &r)
		if err != nil {
			if ctx.Err() != nil {
				s.giveUp()
			}
			return Item{}, err
		}
		s.pending = r.Items
	}
	item := s.pending[0]
	s.pending = s.pending[1:]
	s.after = item.N
	switch item.Kind {
	case "token":
		s.Tokens = append(s.Tokens, item.Token)
	case "done":
		s.over = true
		s.Last = &item
	case "error":
		s.over = true
		return item, &Error{Code: item.Code, Text: string(item.Text)}
	case "cancelled":
		s.over = true
		return item, &Error{Code: "cancelled", Text: "cancelled: " + item.Reason}
	}
	return item, nil
}

// Text waits for the next piece of text, whole characters; io.EOF behind the last one.
func (s *Stream) Text(ctx context.Context) (string, error) {
	for {
		item, err := s.Next(ctx)
		if err != nil {
			return "", err
		}
		if piece := s.text(item); piece != "" {
			return piece, nil
		}
	}
}

// All waits for the end and returns what was still to come.
func (s *Stream) All(ctx context.Context) (string, error) {
	var all strings.Builder
	for {
		piece, err := s.Text(ctx)
		if err == io.EOF {
			return all.String(), nil
		}
		if err != nil {
			return all.String(), err
		}
		all.WriteString(piece)
	}
}

// Chan gives the pieces of text through a channel, which is closed at the end; the error, if any, is
// in the last value.
func (s *Stream) Chan(ctx context.Context) <-chan Piece {
	out := make(chan Piece)
	go func() {
		defer close(out)
		for {
			text, err := s.Text(ctx)
			if err == io.EOF {
				return
			}
			select {
			case out <- Piece{Text: text, Err: err}:
			case <-ctx.Done():
				s.giveUp()
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return out
}

// Piece is a value of Stream.Chan.
type Piece struct {
	Text string
	Err  error
}

func (s *Stream) text(item Item) string {
	b := append(s.part, item.Text...)
	n := len(b)
	if item.Kind != "done" {
		// keep an unfinished character back
		for i := 1; i <= utf8.UTFMax && i <= len(b); i++ {
			if utf8.RuneStart(b[len(b)-i]) {
				if !utf8.FullRune(b[len(b)-i:]) {
					n = len(b) - i
				}
				break
			}
		}
	}
	s.part = append([]byte(nil), b[n:]...)
	return string(b[:n])
}

// Cancel ends the work after the step that runs now.
func (s *Stream) Cancel(ctx context.Context) error {
	return s.c.Call(ctx, &CancelRequest{ID: s.id}, nil)
}

// Close cancels what has not ended.
func (s *Stream) Close() error {
	if !s.over {
		s.giveUp()
	}
	return nil
}

func (s *Stream) giveUp() {
	s.over = true
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
	defer stop()
	_ = s.Cancel(ctx) // else its lease ends it
}

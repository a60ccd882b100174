// SPDX-License-Identifier: MIT

package llamad

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

const waitMS = 10000

// Stream is the items of a generation or a job.  One goroutine at a time reads; Cancel and Close may
// be called from others.
type Stream struct {
	c       *Client
	id      ID
	after   int64
	hold    *int64
	pending []Item
	part    []byte       // of a character whose rest is still to come
	thought []byte       // likewise, of a thought
	over    atomic.Bool  // the final item came
	seen    atomic.Int64 // after, for Close
	left    chan struct{}
	leave   sync.Once

	// Seed is that of the random choices of a generation.
	Seed int64
	// Tokens are those that came so far.
	Tokens []int32
	// Last is the final item: why it ended, and the counts.  Nil before.
	Last *Item
}

func newStream(c *Client, id ID) *Stream {
	return &Stream{c: c, id: id, left: make(chan struct{})}
}

// start sends a request that is answered by a stream.  When ctx ends before the answer, the stream
// is cancelled as soon as it is known.
func (c *Client) start(ctx context.Context, req Request) (*Stream, error) {
	var r struct {
		ID   ID    `msgpack:"id"`
		Seed int64 `msgpack:"seed"`
	}
	call, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		defer stop()
		done <- c.Call(call, req, &r)
	}()
	select {
	case err := <-done:
		if err != nil {
			return nil, err
		}
		s := newStream(c, r.ID)
		s.Seed = r.Seed
		return s, nil
	case <-ctx.Done():
		go func() {
			time.AfterFunc(c.patience, stop)
			if <-done == nil {
				c.forget(r.ID, 0)
			}
		}()
		return nil, ctx.Err()
	}
}

// forget cancels a stream and reads its end, without which the server would keep it for a reader.
func (c *Client) forget(id ID, after int64) {
	c.tell(&CancelRequest{ID: id})
	c.tell(&NextRequest{ID: id, After: after, Max: Ptr(int64(LimitItems))})
}

// ID names the stream for Resume.
func (s *Stream) ID() ID { return s.id }

// After is the number of the last item that came.
func (s *Stream) After() int64 { return s.after }

// Hold sets how long the server gathers items before it sends them; 0: each alone.
func (s *Stream) Hold(d time.Duration) *Stream {
	s.hold = Ptr(d.Milliseconds())
	return s
}

// Next waits for an item; io.EOF behind the last one, ErrCancelled after Close or Detach.  When ctx
// is cancelled, so is the stream.
func (s *Stream) Next(ctx context.Context) (Item, error) {
	select {
	case <-s.left:
		return Item{}, &Error{Code: "cancelled", Text: "the stream was closed or detached"}
	default:
	}
	if s.over.Load() {
		return Item{}, io.EOF
	}
	for len(s.pending) == 0 {
		var r NextReply
		err := s.c.Call(ctx, &NextRequest{ID: s.id, After: s.after, WaitMS: Ptr(int64(waitMS)),
			HoldMS: s.hold}, &r)
		if err != nil {
			if ctx.Err() != nil {
				_ = s.Close()
			}
			return Item{}, err
		}
		if r.End && len(r.Items) == 0 { // resumed behind the last item
			s.over.Store(true)
			return Item{}, io.EOF
		}
		s.pending = r.Items
	}
	item := s.pending[0]
	s.pending = s.pending[1:]
	s.after = item.N
	s.seen.Store(item.N)
	switch item.Kind {
	case ItemToken:
		s.Tokens = append(s.Tokens, item.Token)
	case ItemDone:
		s.over.Store(true)
		s.Last = &item
	case ItemError:
		s.over.Store(true)
		s.Last = &item
		return item, &Error{Code: item.Code, Text: string(item.Text)}
	case ItemCancelled:
		s.over.Store(true)
		s.Last = &item
		return item, &Error{Code: "cancelled", Text: "cancelled: " + item.Reason}
	}
	return item, nil
}

// Wait waits for the end, that of a load, say, and returns the last item.
func (s *Stream) Wait(ctx context.Context) (Item, error) {
	for {
		_, err := s.Next(ctx)
		if errors.Is(err, io.EOF) && s.Last != nil {
			return *s.Last, nil
		}
		if err != nil {
			return Item{}, err
		}
	}
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
// in the last value.  Who stops reading before must cancel ctx or call Close.
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
			case <-s.left:
				return
			case <-ctx.Done():
				_ = s.Close()
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
	var said []byte
	if item.Kind == ItemToken || item.Kind == ItemText {
		said = item.Text
	}
	return whole(&s.part, said, item.Kind == ItemDone)
}

// whole gives what is whole characters of the bytes that came; the rest waits in part.
func whole(part *[]byte, more []byte, last bool) string {
	b := append(*part, more...)
	n := len(b)
	if !last {
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
	*part = append([]byte(nil), b[n:]...)
	return string(b[:n])
}

// Cancel ends the work after the step that runs now; reading on gives ErrCancelled.
func (s *Stream) Cancel(ctx context.Context) error {
	return s.c.Call(ctx, &CancelRequest{ID: s.id}, nil)
}

// Detach gives the stream up without cancelling it: Resume takes the result, on this connection or,
// when the stream has a lease, on another one.
func (s *Stream) Detach() (id ID, after int64) {
	s.leave.Do(func() { close(s.left) })
	return s.id, s.after
}

// Close cancels what has not ended.
func (s *Stream) Close() error {
	s.leave.Do(func() {
		if !s.over.Load() {
			close(s.left)
			s.c.forget(s.id, s.seen.Load())
		}
	})
	return nil
}

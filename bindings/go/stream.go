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

// Stream is the sequence of items of a generation or a job.  Only one goroutine at a time may read
// it; Cancel and Close may be called from others.
type Stream struct {
	c             *Client
	id            ID
	after         int64
	hold          *int64
	pending       []Item
	partText      []byte        // start of a UTF-8 character of the text
	partReasoning []byte        // start of a UTF-8 character of the reasoning
	over          atomic.Bool   // the final item has been received
	seen          atomic.Int64  // copy of after, for Close
	left          chan struct{} // closed when the stream is closed or detached before its end
	leave         sync.Once
	ended         chan struct{}   // closed at the final item
	ctx           context.Context // of the call that started the stream; nil after Resume

	// Seed is the random seed of a generation.
	Seed int64
	// Tokens are the tokens received so far.
	Tokens []int32
	// Logprobs has, for each token, its log probability and then those of the most likely tokens, if
	// the request has Logprobs.
	Logprobs [][]TokenLogprob
	// Prompt has the tokens of the prompt, if the request has PromptTokens or PromptLogprobs.
	Prompt []Item
	// Last is the final item, with the reason and the token counts.  It is nil until the stream ends.
	Last *Item
}

func newStream(c *Client, id ID) *Stream {
	return &Stream{c: c, id: id, left: make(chan struct{}), ended: make(chan struct{})}
}

// follow cancels the stream when ctx is cancelled.
func (s *Stream) follow(ctx context.Context) {
	s.ctx = ctx
	if ctx.Done() == nil {
		return
	}
	go func() {
		select {
		case <-ctx.Done():
			_ = s.Close()
		case <-s.left:
		case <-s.ended:
		}
	}()
}

// end notes that the final item has been received.
func (s *Stream) end() {
	if !s.over.Swap(true) {
		close(s.ended)
	}
}

// start sends a request whose reply is a stream, which is cancelled when ctx ends.  If ctx ends before
// the reply arrives, the stream is cancelled as soon as its id is known.
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
		s.follow(ctx)
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

// forget cancels a stream and reads its end, so that the server does not keep it for a reader.
func (c *Client) forget(id ID, after int64) {
	c.tell(&CancelRequest{ID: id})
	c.tell(&NextRequest{ID: id, After: &after, Max: Int(LimitItems)})
}

// ID returns the id of the stream, for Resume.
func (s *Stream) ID() ID { return s.id }

// After returns the number of the last item received.
func (s *Stream) After() int64 { return s.after }

// Hold sets the output batching delay: how long the server collects items before it sends them.  With
// 0 it sends each item at once.
func (s *Stream) Hold(d time.Duration) *Stream {
	s.hold = Ptr(d.Milliseconds())
	return s
}

// Next waits for an item.  It returns io.EOF after the last item, and ErrCancelled after Close or
// Detach.  If ctx or the context of the call that started the stream is cancelled, so is the stream.
func (s *Stream) Next(ctx context.Context) (Item, error) {
	select {
	case <-s.left:
		return Item{}, s.wasLeft()
	default:
	}
	if s.over.Load() {
		return Item{}, io.EOF
	}
	for len(s.pending) == 0 {
		var r NextReply
		err := s.c.Call(ctx, &NextRequest{ID: s.id, After: &s.after, WaitMS: Int(waitMS),
			HoldMS: s.hold}, &r)
		if err != nil {
			if ctx.Err() != nil {
				_ = s.Close()
			}
			return Item{}, err
		}
		if r.End && len(r.Items) == 0 { // resumed after the last item
			s.end()
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
		if len(item.Logprobs) > 0 {
			s.Logprobs = append(s.Logprobs, item.Logprobs)
		}
	case ItemPromptToken:
		s.Prompt = append(s.Prompt, item)
	case ItemDone:
		s.end()
		s.Last = &item
	case ItemError:
		s.end()
		s.Last = &item
		return item, &Error{Code: item.Code, Text: string(item.Text)}
	case ItemCancelled:
		s.end()
		s.Last = &item
		return item, &Error{Code: "cancelled", Text: "cancelled: " + item.Reason}
	}
	return item, nil
}

func (s *Stream) wasLeft() error {
	e := &Error{Code: "cancelled", Text: "the stream was closed or detached"}
	if s.ctx != nil && s.ctx.Err() != nil {
		e.Text, e.cause = "the context of the stream has ended: "+s.ctx.Err().Error(), s.ctx.Err()
	}
	return e
}

// Wait waits for the end, such as that of a load, and returns the last item.
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

// Text waits for the next piece of text and returns io.EOF after the last one.  It does not split
// UTF-8 characters.
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

// All waits for the end and returns the remaining text.
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

// Chan returns a channel of the pieces of text, which is closed at the end.  If the stream fails, the
// last value holds the error.  A caller that stops reading early must cancel ctx or call Close.
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
	var text []byte
	if item.Kind == ItemToken || item.Kind == ItemText {
		text = item.Text
	}
	return whole(&s.partText, text, item.Kind == ItemDone)
}

// whole returns the complete UTF-8 characters of part and more, and keeps the rest in part.
func whole(part *[]byte, more []byte, last bool) string {
	b := append(*part, more...)
	n := len(b)
	if !last {
		// keep back an incomplete character
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

// Cancel cancels the stream after the current step; further reads return ErrCancelled.
func (s *Stream) Cancel(ctx context.Context) error {
	return s.c.Call(ctx, &CancelRequest{ID: s.id}, nil)
}

// Pause pauses a generation after the current step.  It returns the time after which the generation is
// cancelled unless Unpause is called; read the stream meanwhile as often as its lease says.
func (s *Stream) Pause(ctx context.Context) (time.Duration, error) {
	var r PauseReply
	err := s.c.Call(ctx, &PauseRequest{ID: s.id}, &r)
	return time.Duration(r.LeftMS) * time.Millisecond, err
}

// Unpause lets a paused generation go on.
func (s *Stream) Unpause(ctx context.Context) error {
	return s.c.Call(ctx, &UnpauseRequest{ID: s.id}, nil)
}

// Detach releases the stream without cancelling it.  Pass the result to Resume, on this connection
// or, if the stream has a lease, on another one.
func (s *Stream) Detach() (id ID, after int64) {
	s.leave.Do(func() { close(s.left) })
	return s.id, s.after
}

// Close cancels the stream unless it has ended.
func (s *Stream) Close() error {
	s.leave.Do(func() {
		if !s.over.Load() {
			close(s.left)
			s.c.forget(s.id, s.seen.Load())
		}
	})
	return nil
}

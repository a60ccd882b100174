// SPDX-License-Identifier: MIT

// Package llamad talks to a running llamad.
//
//	c, err := llamad.Dial(ctx, "")
//	s, err := c.Generate(ctx, &llamad.GenerateRequest{Model: "smollm2", Prompt: llamad.Prompt("Once")})
//	for piece := range s.Chan(ctx) {
//		fmt.Print(piece.Text)
//	}
//
// Every request of docs/protocol.md can be sent with Client.Call and the types of this package.
package llamad

import (
	"context"
	"crypto/tls"
	"errors"
	"sync"
	"time"
)

var noDeadline time.Time

// Client is a connection that many goroutines may use.  A broken one is made again and the request
// repeated; requests that change something carry an id by which the server knows the repetition.
type Client struct {
	url       string
	name      string
	patience  time.Duration
	tlsConfig *tls.Config

	// Server is what the server said of itself.
	Server HelloReply

	mu     sync.Mutex
	conn   *conn
	closed bool
}

// Option changes how a client connects.
type Option func(*Client)

// WithTLS sets what tls+tcp trusts.
func WithTLS(c *tls.Config) Option { return func(l *Client) { l.tlsConfig = c } }

// WithName sets the name of the program in the server's log.
func WithName(name string) Option { return func(l *Client) { l.name = name } }

// WithPatience sets how long a broken connection is tried to be made again; 5 s without it.
func WithPatience(d time.Duration) Option { return func(l *Client) { l.patience = d } }

// Dial connects; url "" is DefaultURL.
func Dial(ctx context.Context, url string, opts ...Option) (*Client, error) {
	if url == "" {
		url = DefaultURL()
	}
	c := &Client{url: url, name: "go", patience: 5 * time.Second}
	for _, o := range opts {
		o(c)
	}
	if err := c.Call(ctx, &HelloRequest{Client: c.name}, &c.Server); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// Close ends the connection; streams that it alone reads end with it.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.conn != nil {
		c.conn.fail(errors.New("the client was closed"))
	}
	return nil
}

func (c *Client) connect(ctx context.Context) (*conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, &ConnError{c.url, errors.New("the client was closed")}
	}
	if c.conn == nil || c.conn.state() != nil {
		fresh, err := dial(ctx, c.url, c.tlsConfig)
		if err != nil {
			return nil, err
		}
		c.conn = fresh
	}
	return c.conn, nil
}

// Call sends a request and fills its reply (nil: it is not wanted).
func (c *Client) Call(ctx context.Context, req Request, reply any) error {
	body, err := packRequest(req)
	if err != nil {
		return err
	}
	end := time.Now().Add(c.patience)
	for connected := c.hadConn(); ; {
		var answer []byte
		conn, err := c.connect(ctx)
		if err == nil {
			connected = true
			answer, err = conn.exchange(ctx, body)
		}
		var lost *ConnError
		switch {
		case err == nil:
			return unpackReply(req, answer, reply)
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.As(err, &lost) || !connected || c.isClosed() || time.Now().After(end):
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *Client) hadConn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn != nil
}

func (c *Client) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Ping asks whether the server is there.
func (c *Client) Ping(ctx context.Context) (r PingReply, err error) {
	return r, c.Call(ctx, &PingRequest{}, &r)
}

// Models lists the registry.
func (c *Client) Models(ctx context.Context) ([]Model, error) {
	var r ModelsReply
	err := c.Call(ctx, &ModelsRequest{}, &r)
	return r.Models, err
}

// Ps lists the models in memory.
func (c *Client) Ps(ctx context.Context) ([]Resident, error) {
	var r PsReply
	err := c.Call(ctx, &PsRequest{}, &r)
	return r.Models, err
}

// Tokenize turns text into tokens.
func (c *Client) Tokenize(ctx context.Context, req *TokenizeRequest) ([]int32, error) {
	var r TokenizeReply
	err := c.Call(ctx, req, &r)
	return r.Tokens, err
}

// Prompt is a text for GenerateRequest.Prompt.
func Prompt(s string) *Text {
	t := Text(s)
	return &t
}

// SPDX-License-Identifier: MIT

// Package llamad is a client for llamad, a server for LLM inference.
//
//	c, err := llamad.Dial(ctx, "")
//	s, err := c.Generate(ctx, &llamad.GenerateRequest{Model: "smollm2",
//		Prompt: llamad.String("Why is the sky blue?"), N: llamad.Int(100), Temp: llamad.Float(0)})
//	for piece, err := range s.Pieces(ctx) {
//		fmt.Print(piece)
//	}
//
// Each field of a request that can be left out is a pointer or a slice, and nil leaves the server's
// default.  An empty list that is not nil is sent as an empty list.  String, Int, Float and Bool make the
// pointers.
//
// Every request of docs/protocol.md can be sent with Client.Call and the types of this package.
package llamad

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

const retryPause = 50 * time.Millisecond

var errClosed = errors.New("the client was closed")

// Client is a connection to llamad that many goroutines may share.  A lost connection is opened again
// and the request repeated; a request that changes something carries a request id, so that the server
// does not do it twice.
type Client struct {
	url       string
	hello     HelloRequest
	patience  time.Duration
	caFile    string
	tlsConfig *tls.Config
	dialing   chan struct{} // holds a value while a goroutine connects

	mu     sync.Mutex
	conn   *conn
	closed bool
	server HelloReply
}

// Option is an option of Dial.
type Option func(*Client)

// WithKey sets the secret of an API key for tcp and tls+tcp.  It defaults to the environment variable
// LLAMAD_KEY.
func WithKey(secret string) Option { return func(c *Client) { c.hello.Key = String(secret) } }

// WithCA names a PEM file of certificates that tls+tcp trusts.  It defaults to those of the system.
func WithCA(file string) Option { return func(c *Client) { c.caFile = file } }

// WithTLS sets the TLS configuration of tls+tcp.  WithCA is applied to a copy of it.
func WithTLS(config *tls.Config) Option { return func(c *Client) { c.tlsConfig = config } }

// WithName sets the name of the program for the server's log.
func WithName(name string) Option { return func(c *Client) { c.hello.Client = String(name) } }

// WithPatience sets how long to wait for a connection, and to retry after it was lost.  It defaults
// to 5 s.
func WithPatience(d time.Duration) Option { return func(c *Client) { c.patience = d } }

// Dial connects to a server.  The url is ipc://PATH, tcp://HOST:PORT or tls+tcp://HOST:PORT, or "" for
// DefaultURL.
func Dial(ctx context.Context, url string, opts ...Option) (*Client, error) {
	if url == "" {
		var err error
		if url, err = defaultURL(); err != nil {
			return nil, err
		}
	}
	c := &Client{url: url, patience: 5 * time.Second,
		hello: HelloRequest{Client: String("go"), Key: String(os.Getenv("LLAMAD_KEY"))}, dialing: make(chan struct{}, 1)}
	for _, o := range opts {
		o(c)
	}
	if err := c.trust(); err != nil {
		return nil, err
	}
	if _, err := c.connect(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Client) trust() error {
	if c.caFile == "" {
		return nil
	}
	pem, err := os.ReadFile(c.caFile)
	if err != nil {
		return &Error{Code: "invalid", Text: "certificates: " + err.Error()}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return &Error{Code: "invalid", Text: fmt.Sprintf("%s: the file contains no certificate", c.caFile)}
	}
	if c.tlsConfig == nil {
		c.tlsConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	c.tlsConfig = c.tlsConfig.Clone()
	c.tlsConfig.RootCAs = pool
	return nil
}

// Close closes the connection; streams without a lease are cancelled.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	conn := c.conn
	c.mu.Unlock()
	if conn != nil {
		conn.fail(errClosed)
	}
	return nil
}

// URL returns the address of the server.
func (c *Client) URL() string { return c.url }

// Server returns the server's reply to hello on the latest connection.
func (c *Client) Server() HelloReply {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server
}

// current returns the connection, which may be broken, or nil before the first one.
func (c *Client) current() (conn *conn, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn, c.closed
}

// connect returns a connection on which hello has succeeded.
func (c *Client) connect(ctx context.Context) (*conn, error) {
	select {
	case c.dialing <- struct{}{}:
		defer func() { <-c.dialing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	conn, closed := c.current()
	if closed {
		return nil, &ConnError{c.url, errClosed}
	}
	if conn != nil && conn.state() == nil {
		return conn, nil
	}
	limited, stop := context.WithTimeout(ctx, c.patience)
	defer stop()
	conn, err := dial(limited, c.url, c.tlsConfig)
	if err == nil {
		if err = c.sayHello(limited, conn); err != nil {
			conn.fail(err)
		}
	}
	if err != nil {
		if ctx.Err() != nil { // the cancellation closed the socket and caused err
			err = ctx.Err()
		} else if limited.Err() != nil {
			err = &ConnError{c.url, fmt.Errorf("timed out: no connection within %v", c.patience)}
		}
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		conn.fail(errClosed)
		return nil, &ConnError{c.url, errClosed}
	}
	c.conn = conn
	return conn, nil
}

func (c *Client) sayHello(ctx context.Context, conn *conn) error {
	hello := c.hello
	if conn.ipc {
		hello.Key = nil // keys are not used on unix sockets
	}
	body, err := packRequest(&hello)
	if err != nil {
		return err
	}
	var server HelloReply
	answer, err := conn.exchange(ctx, body)
	if err == nil {
		err = unpackReply(&hello, answer, &server)
	}
	if err != nil {
		return err
	}
	if server.VMin > VMax || server.VMax < VMin {
		return &Error{Code: "unsupported", Text: fmt.Sprintf(
			"%s speaks protocol versions %d to %d, this client speaks %d to %d", c.url, server.VMin,
			server.VMax, VMin, VMax)}
	}
	c.mu.Lock()
	c.server = server
	c.mu.Unlock()
	return nil
}

// Call sends a request and stores the reply in reply, which may be nil.
func (c *Client) Call(ctx context.Context, req Request, reply any) error {
	body, err := packRequest(req)
	if err != nil {
		return err
	}
	end := time.Now().Add(c.patience)
	for greeted := false; ; {
		conn, err := c.connect(ctx)
		if err == nil {
			var answer []byte
			if answer, err = conn.exchange(ctx, body); err == nil {
				err = unpackReply(req, answer, reply)
				var refused *Error
				if greeted || !errors.As(err, &refused) || !refused.hello {
					return err
				}
				greeted = true
				if err = c.sayHello(ctx, conn); err == nil {
					continue
				}
			}
		}
		var lost *ConnError
		if _, closed := c.current(); ctx.Err() != nil {
			return ctx.Err()
		} else if closed || !errors.As(err, &lost) || time.Now().After(end) {
			return err
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tell sends a request whose reply is not needed.  It does nothing without a connection.
func (c *Client) tell(req Request) {
	if conn, _ := c.current(); conn != nil {
		if body, err := packRequest(req); err == nil {
			conn.tell(body)
		}
	}
}

// String returns a pointer for the texts of requests.
func String(s string) *Text { return Ptr(Text(s)) }

// Int returns a pointer for the integers of requests.
func Int(n int64) *int64 { return &n }

// Float returns a pointer for the numbers of requests.
func Float(x float64) *float64 { return &x }

// Bool returns a pointer for the switches of requests.
func Bool(b bool) *bool { return &b }

// Ptr returns a pointer to v.
func Ptr[T any](v T) *T { return &v }

// Prompt returns String(s).
//
// Deprecated: use String.
func Prompt(s string) *Text { return String(s) }

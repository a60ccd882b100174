// SPDX-License-Identifier: MIT

// Package llamad talks to a running llamad.
//
//	c, err := llamad.Dial(ctx, "")
//	s, err := c.Generate(ctx, &llamad.GenerateRequest{Model: "smollm2", Prompt: llamad.Prompt("Once")})
//	for piece, err := range s.Pieces(ctx) {
//		fmt.Print(piece)
//	}
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

// Client is a connection that many goroutines may use.  A broken one is made again and the request
// repeated; requests that change something carry an id by which the server knows the repetition.
type Client struct {
	url       string
	hello     HelloRequest
	patience  time.Duration
	caFile    string
	tlsConfig *tls.Config
	dialing   chan struct{} // holds a value while somebody connects

	mu     sync.Mutex
	conn   *conn
	closed bool
	server HelloReply
}

// Option changes how a client connects.
type Option func(*Client)

// WithKey sets the secret that says on tcp and tls+tcp who asks; without it that in the environment
// variable LLAMAD_KEY counts.
func WithKey(secret string) Option { return func(c *Client) { c.hello.Key = secret } }

// WithCA names a file with the certificates, in PEM, that tls+tcp trusts instead of the system's.
func WithCA(file string) Option { return func(c *Client) { c.caFile = file } }

// WithTLS sets all that tls+tcp does; WithCA is put into a copy of it.
func WithTLS(config *tls.Config) Option { return func(c *Client) { c.tlsConfig = config } }

// WithName sets the name of the program in the server's log.
func WithName(name string) Option { return func(c *Client) { c.hello.Client = name } }

// WithPatience sets how long to wait for a connection, and to try again when it broke; 5 s without
// it.
func WithPatience(d time.Duration) Option { return func(c *Client) { c.patience = d } }

// Dial connects; url is ipc://PATH, tcp://HOST:PORT or tls+tcp://HOST:PORT, or "" for DefaultURL.
func Dial(ctx context.Context, url string, opts ...Option) (*Client, error) {
	if url == "" {
		var err error
		if url, err = defaultURL(); err != nil {
			return nil, err
		}
	}
	c := &Client{url: url, patience: 5 * time.Second,
		hello: HelloRequest{Client: "go", Key: os.Getenv("LLAMAD_KEY")}, dialing: make(chan struct{}, 1)}
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
		return &Error{Code: "invalid", Text: fmt.Sprintf("%s: there is no certificate in it", c.caFile)}
	}
	if c.tlsConfig == nil {
		c.tlsConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	c.tlsConfig = c.tlsConfig.Clone()
	c.tlsConfig.RootCAs = pool
	return nil
}

// Close ends the connection, and with it the streams without a lease.
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

// URL tells where the client connects.
func (c *Client) URL() string { return c.url }

// Server is what the server said of itself when it was last connected to.
func (c *Client) Server() HelloReply {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server
}

// current is the connection, broken or not; nil before the first one.
func (c *Client) current() (conn *conn, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn, c.closed
}

// connect gives a connection on which hello was said.
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
		if ctx.Err() != nil { // what it closed fails in some way of its own
			err = ctx.Err()
		} else if limited.Err() != nil {
			err = &ConnError{c.url, fmt.Errorf("no connection within %v", c.patience)}
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
		hello.Key = "" // it does not count there
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
			"%s speaks protocol versions %d to %d, this program %d to %d", c.url, server.VMin,
			server.VMax, VMin, VMax)}
	}
	c.mu.Lock()
	c.server = server
	c.mu.Unlock()
	return nil
}

// Call sends a request and fills its reply (nil: it is not wanted).
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

// tell sends a request whose reply nobody waits for, if there is a connection.
func (c *Client) tell(req Request) {
	if conn, _ := c.current(); conn != nil {
		if body, err := packRequest(req); err == nil {
			_, _ = conn.post(body, nil)
		}
	}
}

// Ptr gives the address of a value, for the optional fields of requests.
func Ptr[T any](v T) *T { return &v }

// Prompt is a text for GenerateRequest.Prompt.
func Prompt(s string) *Text { return Ptr(Text(s)) }

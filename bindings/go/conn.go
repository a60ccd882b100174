// SPDX-License-Identifier: MIT

package llamad

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	replyMax  = 64 << 20         // maximum length of a reply in bytes
	sendLimit = 30 * time.Second // the connection is closed if a write takes longer
	tellLimit = time.Second      // how long a request whose reply is not needed may delay its caller
)

var (
	handshakeReq = []byte{0, 'S', 'P', 0, 0, 0x30, 0, 0}
	handshakeRep = []byte{0, 'S', 'P', 0, 0, 0x31, 0, 0}
)

// DefaultURL returns the socket of the system's daemon if it exists, otherwise that of the user's
// daemon: in XDG_RUNTIME_DIR, or in /tmp/llamad-UID if that variable is not set.
func DefaultURL() string {
	url, _ := defaultURL()
	return url
}

// defaultURL fails if the folder in /tmp exists and is accessible to other users.
func defaultURL() (string, error) {
	const system = "/run/llamad/llamad.sock"
	own, uid := os.Getenv("XDG_RUNTIME_DIR"), os.Geteuid()
	_, err := os.Stat(system)
	if err == nil || (uid == 0 && !strings.HasPrefix(own, "/")) {
		return "ipc://" + system, nil
	}
	if strings.HasPrefix(own, "/") {
		return "ipc://" + own + "/llamad/llamad.sock", nil
	}
	folder := fmt.Sprintf("/tmp/llamad-%d", uid)
	return "ipc://" + folder + "/llamad.sock", checkPrivate(folder, uid)
}

// checkPrivate fails if the folder exists and is accessible to others: any user can create one in /tmp.
func checkPrivate(folder string, uid int) error {
	info, err := os.Lstat(folder)
	if err != nil {
		return nil
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !known || int(owner.Uid) != uid {
		return fmt.Errorf("%s: must be a folder of user %d with mode 0700", folder, uid)
	}
	return nil
}

// conn is a socket that speaks the REQ side of the SP protocol.  A frame is its length, preceded by a
// byte 1 on unix sockets, the number of the request, and the message.
type conn struct {
	url string
	ipc bool
	c   net.Conn

	sending sync.Mutex // held while a frame is written

	mu      sync.Mutex
	last    uint32
	waiters map[uint32]chan<- []byte
	broken  error
}

func dial(ctx context.Context, url string, tlsConfig *tls.Config) (*conn, error) {
	network, address, _ := strings.Cut(url, "://")
	c := &conn{url: url, ipc: network == "ipc", waiters: map[uint32]chan<- []byte{}}
	var d net.Dialer
	var err error
	switch {
	case network == "ipc" && address != "":
		c.c, err = d.DialContext(ctx, "unix", address)
	case network == "tcp":
		c.c, err = d.DialContext(ctx, "tcp", address)
	case network == "tls+tcp":
		c.c, err = (&tls.Dialer{Config: tlsConfig}).DialContext(ctx, "tcp", address)
	default:
		return nil, &Error{Code: "invalid", Text: fmt.Sprintf(
			"%q is not an address: use ipc://PATH, tcp://HOST:PORT or tls+tcp://HOST:PORT", url)}
	}
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) {
		err = fmt.Errorf("%w; is llamad running?", err)
	}
	if err == nil {
		err = c.greet(ctx)
	}
	if err != nil {
		return nil, &ConnError{url, err}
	}
	go c.receive()
	return c, nil
}

// greet exchanges the handshake of the SP protocol.
func (c *conn) greet(ctx context.Context) error {
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		select {
		case <-ctx.Done():
			_ = c.c.Close()
		case <-done:
		}
	}()
	defer func() { close(done); <-gone }()
	var got [8]byte
	_, err := c.c.Write(handshakeReq)
	if err == nil {
		_, err = io.ReadFull(c.c, got[:])
	}
	if err == nil && string(got[:]) != string(handshakeRep) {
		err = errors.New("the peer does not speak the protocol of llamad")
	}
	if err != nil {
		_ = c.c.Close()
	}
	return err
}

func (c *conn) receive() {
	for {
		number, body, err := c.readFrame()
		if err != nil {
			c.fail(err)
			return
		}
		c.mu.Lock()
		waiter := c.waiters[number]
		delete(c.waiters, number)
		c.mu.Unlock()
		if waiter != nil {
			waiter <- body
		}
	}
}

func (c *conn) readFrame() (uint32, []byte, error) {
	head := make([]byte, 9)
	if !c.ipc {
		head = head[1:]
	}
	if _, err := io.ReadFull(c.c, head); err != nil {
		return 0, nil, err
	}
	if c.ipc && head[0] != 1 {
		return 0, nil, fmt.Errorf("received a frame of type %d, expected 1", head[0])
	}
	n := binary.BigEndian.Uint64(head[len(head)-8:])
	if n < 4 || n > replyMax {
		return 0, nil, fmt.Errorf("received a frame of %d bytes, allowed are 4 to %d", n, replyMax)
	}
	payload := make([]byte, n)
	if _, err := io.ReadFull(c.c, payload); err != nil {
		return 0, nil, err
	}
	return binary.BigEndian.Uint32(payload) & 0x7fffffff, payload[4:], nil
}

// fail closes the connection and ends all waiting requests.  Only the first error is kept.
func (c *conn) fail(err error) {
	c.mu.Lock()
	if c.broken == nil {
		c.broken = &ConnError{c.url, err}
	}
	for number, waiter := range c.waiters {
		delete(c.waiters, number)
		close(waiter)
	}
	c.mu.Unlock()
	_ = c.c.Close()
}

func (c *conn) state() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

// register returns the number of a new request.  Its reply is sent to waiter; waiter is closed if the
// connection is lost.
func (c *conn) register(waiter chan<- []byte) (uint32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return 0, c.broken
	}
	c.last = c.last%0x7fffffff + 1
	if waiter != nil {
		c.waiters[c.last] = waiter
	}
	return c.last, nil
}

// send writes a request in a goroutine of its own, since the peer may have stopped to read.  The channel
// is closed when it has been written.
func (c *conn) send(number uint32, body []byte) <-chan struct{} {
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		if err := c.writeFrame(number, body); err != nil {
			c.fail(err)
		}
	}()
	return sent
}

// tell sends a request whose reply is not needed.  It may be the last one before the connection is
// closed, so tell waits until it has been written, but not for long.
func (c *conn) tell(body []byte) {
	if number, err := c.register(nil); err == nil {
		select {
		case <-c.send(number, body):
		case <-time.After(tellLimit):
		}
	}
}

func (c *conn) exchange(ctx context.Context, body []byte) ([]byte, error) {
	waiter := make(chan []byte, 1)
	number, err := c.register(waiter)
	if err != nil {
		return nil, err
	}
	c.send(number, body)
	select {
	case reply, ok := <-waiter:
		if !ok {
			return nil, c.state()
		}
		return reply, nil
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.waiters, number)
		c.mu.Unlock()
		return nil, ctx.Err()
	}
}

func (c *conn) writeFrame(number uint32, body []byte) error {
	frame := make([]byte, 0, 13+len(body))
	if c.ipc {
		frame = append(frame, 1)
	}
	frame = binary.BigEndian.AppendUint64(frame, uint64(len(body)+4))
	frame = binary.BigEndian.AppendUint32(frame, 0x80000000|number)
	c.sending.Lock()
	defer c.sending.Unlock()
	_ = c.c.SetWriteDeadline(time.Now().Add(sendLimit))
	_, err := c.c.Write(append(frame, body...))
	return err
}

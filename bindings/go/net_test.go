// SPDX-License-Identifier: MIT

package llamad

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

func TestPrivateFolder(t *testing.T) {
	uid := os.Geteuid()
	dir := filepath.Join(t.TempDir(), "llamad")
	if err := checkPrivate(dir, uid); err != nil {
		t.Error("a folder that does not exist:", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := checkPrivate(dir, uid); err != nil {
		t.Error(err)
	}
	if err := checkPrivate(dir, uid+1); err == nil {
		t.Error("another user's folder is accepted")
	}
	if err := os.Symlink(dir, dir+"-link"); err != nil {
		t.Fatal(err)
	}
	if err := checkPrivate(dir+"-link", uid); err == nil {
		t.Error("a symbolic link is accepted")
	}
	if err := os.Chmod(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := checkPrivate(dir, uid); err == nil {
		t.Error("a folder that others may enter is accepted")
	}
}

// A server that answers hello and ping like llamad and counts the requests.
type fakeServer struct {
	key           string
	hellos, pings atomic.Int32
	forget        atomic.Bool // the next ping fails as if no hello had been sent
	hangUp        atomic.Bool // the next ping closes the connection
}

func (f *fakeServer) serve(l net.Listener) {
	for {
		peer, err := l.Accept()
		if err != nil {
			return
		}
		go f.talk(peer)
	}
}

func (f *fakeServer) talk(peer net.Conn) {
	defer peer.Close()
	var greeting [8]byte
	if _, err := io.ReadFull(peer, greeting[:]); err != nil || string(greeting[:]) != string(handshakeReq) {
		return
	}
	if _, err := peer.Write(handshakeRep); err != nil {
		return
	}
	known := false
	side := &conn{c: peer}
	for {
		number, body, err := side.readFrame()
		if err != nil {
			return
		}
		var req struct {
			Op  string `msgpack:"op"`
			Key string `msgpack:"key"`
		}
		if err := msgpack.Unmarshal(body, &req); err != nil {
			return
		}
		denied := map[string]any{"code": "denied", "text": "no valid key"}
		reply := map[string]any{"v": 1, "op": req.Op}
		switch {
		case req.Op == "hello" && req.Key == f.key:
			f.hellos.Add(1)
			known = true
			reply["v_min"], reply["v_max"], reply["server"] = 1, 1, "fake"
		case req.Op == "hello":
			reply["error"] = denied
		case f.hangUp.Swap(false):
			return
		case f.forget.Swap(false) || !known:
			denied["hello"] = true
			reply["error"] = denied
		default:
			f.pings.Add(1)
			reply["state"] = "ready"
		}
		answer, err := msgpack.Marshal(reply)
		if err != nil || side.writeFrame(number, answer) != nil {
			return
		}
	}
}

// A peer that has stopped to read must not keep a call beyond its context.
func TestPeerThatDoesNotRead(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan struct{})
	defer close(done)
	go func() {
		peer, err := l.Accept()
		if err == nil {
			_, _ = peer.Write(handshakeRep)
			<-done
			_ = peer.Close()
		}
	}()
	ctx, stop := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer stop()
	c, err := dial(ctx, "tcp://"+l.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.fail(errClosed)
	ended := make(chan error)
	go func() {
		_, err := c.exchange(ctx, make([]byte, 15<<20))
		ended <- err
	}()
	select {
	case err = <-ended:
	case <-time.After(sendLimit / 2):
		t.Fatal("the call goes on after its context has ended")
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// listen starts a server on a free port; ca is a file with its certificate, or "" without TLS.
func listen(t *testing.T, withTLS bool) (f *fakeServer, url, ca string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	f = &fakeServer{key: "secret"}
	url = "tcp://" + l.Addr().String()
	if withTLS {
		var config *tls.Config
		config, ca = certificate(t)
		l = tls.NewListener(l, config)
		url = "tls+" + url
	}
	go f.serve(l)
	return f, url, ca
}

// certificate makes a self-signed certificate for 127.0.0.1.
func certificate(t *testing.T) (*tls.Config, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, file
}

func TestKeys(t *testing.T) {
	for _, withTLS := range []bool{false, true} {
		f, url, ca := listen(t, withTLS)
		ctx := context.Background()
		var opts []Option
		if withTLS {
			if _, err := Dial(ctx, url, WithKey("secret")); err == nil {
				t.Fatal("a stranger's certificate is trusted")
			}
			opts = append(opts, WithCA(ca))
		}
		if _, err := Dial(ctx, url, append(opts, WithKey("wrong"))...); !errors.Is(err, ErrDenied) {
			t.Fatalf("%v, not denied", err)
		}
		c, err := Dial(ctx, url, append(opts, WithKey("secret"))...)
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range []*atomic.Bool{nil, &f.forget, &f.hangUp, nil} {
			if event != nil {
				event.Store(true)
			}
			if r, err := c.Ping(ctx); err != nil || r.State != ServerStateReady {
				t.Fatal(r, err)
			}
		}
		if h, p := f.hellos.Load(), f.pings.Load(); h != 3 || p != 4 {
			t.Fatalf("%d times hello, %d pings", h, p)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		var lost *ConnError
		if _, err := c.Ping(ctx); !errors.As(err, &lost) {
			t.Fatalf("%v of a closed client", err)
		}
	}
}

func TestStrangers(t *testing.T) {
	ctx := context.Background()
	for _, url := range []string{"nonsense", "ipc://", "http://127.0.0.1:1"} {
		if _, err := Dial(ctx, url); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := Dial(ctx, "tls+tcp://127.0.0.1:1", WithCA("/nowhere")); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	nobody := "ipc://" + filepath.Join(t.TempDir(), "sock")
	if _, err := Dial(ctx, nobody); err == nil || !strings.Contains(err.Error(), "is llamad running?") {
		t.Error(err)
	}
	for greeting, want := range map[string]string{
		"HTTP/1.1":           "does not speak the protocol",
		"":                   "no connection within",
		string(handshakeRep): "no connection within",
		string(handshakeRep) + "\x00\xff\xff\xff\xff\xff\xff\xff": "a frame of",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func(greeting string) {
			peer, err := l.Accept()
			if err == nil {
				_, _ = peer.Write([]byte(greeting))
				_, _ = io.Copy(io.Discard, peer)
			}
		}(greeting)
		_, err = Dial(ctx, "tcp://"+l.Addr().String(), WithPatience(200*time.Millisecond))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %s", greeting, err, want)
		}
		_ = l.Close()
	}
}

func TestContextEndsTheWait(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = l.Accept()
		stop()
	}()
	if _, err := Dial(ctx, "tcp://"+l.Addr().String(), WithPatience(time.Hour)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// SPDX-License-Identifier: MIT

package llamad

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// TestLiveKeys needs a daemon that listens on LMD_TEST_TCP and LMD_TEST_TLS.  LMD_TEST_CA is its
// certificate for localhost, and LMD_TEST_KEY the secret of a user's key.
func TestLiveKeys(t *testing.T) {
	ca, key := os.Getenv("LMD_TEST_CA"), os.Getenv("LMD_TEST_KEY")
	if key == "" {
		t.Skip("LMD_TEST_KEY is no key")
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	for _, url := range []string{os.Getenv("LMD_TEST_TCP"), os.Getenv("LMD_TEST_TLS")} {
		c, err := Dial(ctx, url, WithKey(key), WithCA(ca))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		got, tokens := text(t, c, ctx)
		if got != want(t) || c.Server().Role != RoleUser {
			t.Fatalf("%q, not %q, as %s", got, want(t), c.Server().Role)
		}
		r := request()
		r.LeaseMS = Int(60000)
		s, err := c.Generate(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Hold(0).Next(ctx); err != nil {
			t.Fatal(err)
		}
		_ = c.conn.c.Close() // like a network failure
		if _, err := s.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		same(t, s.Tokens, tokens)
		if _, err := c.Load(ctx, &LoadRequest{Model: "full"}); !errors.Is(err, ErrDenied) {
			t.Fatalf("%v, not denied", err)
		}
		if _, err := Dial(ctx, url, WithKey("wrong"), WithCA(ca)); !errors.Is(err, ErrDenied) {
			t.Fatalf("%v, not denied", err)
		}
	}
	_, err := Dial(ctx, os.Getenv("LMD_TEST_TLS"), WithKey(key))
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Fatalf("%v of a stranger's certificate", err)
	}
}

// SPDX-License-Identifier: MIT

package llamad

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"testing"
)

const atOnce = 8

// The expected answers, from the file LMD_TEST_CASE_FILE.
type answerCase struct {
	Name         string  `json:"name"`
	Model        string  `json:"model"`
	Prompt       string  `json:"prompt"`
	N            int64   `json:"n"`
	AddSpecial   bool    `json:"add_special"`
	ParseSpecial bool    `json:"parse_special"`
	Tokens       []int32 `json:"tokens"`
	Finish       string  `json:"finish"`
	Hex          string  `json:"hex"`
	Messages     []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
}

func (c *answerCase) request() *GenerateRequest {
	r := &GenerateRequest{Model: c.Model, N: &c.N, Temp: Float(0)}
	for _, m := range c.Messages {
		r.Messages = append(r.Messages, ChatMessage{Role: m.Role, Content: Text(m.Content)})
	}
	if r.Messages == nil {
		r.Prompt, r.Raw = String(c.Prompt), Bool(true)
		r.AddSpecial, r.ParseSpecial = &c.AddSpecial, &c.ParseSpecial
	}
	return r
}

// TestCases runs each case against the daemon at LMD_TEST_URL, one after the other and then with eight
// clients at once.
func TestCases(t *testing.T) {
	file := os.Getenv("LMD_TEST_CASE_FILE")
	if file == "" {
		t.Skip("LMD_TEST_CASE_FILE names no cases")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []answerCase
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	t.Run("alone", func(t *testing.T) { askAll(t, cases, 1) })
	t.Run("at once", func(t *testing.T) { askAll(t, cases, atOnce) })
}

func askAll(t *testing.T, cases []answerCase, clients int) {
	todo := make(chan answerCase, len(cases))
	for _, c := range cases {
		todo <- c
	}
	close(todo)
	var wg sync.WaitGroup
	for i := 0; i < clients; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			client, err := Dial(context.Background(), os.Getenv("LMD_TEST_URL"))
			if err != nil {
				t.Error(err)
				return
			}
			defer client.Close()
			for c := range todo {
				askOne(t, client, c)
			}
		}()
	}
	wg.Wait()
}

func askOne(t *testing.T, client *Client, c answerCase) {
	ctx := context.Background()
	s, err := client.Generate(ctx, c.request())
	if err != nil {
		t.Errorf("%s: %v", c.Name, err)
		return
	}
	var text []byte
	for {
		item, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			return
		}
		text = append(text, item.Text...)
	}
	same := 0
	for same < len(s.Tokens) && same < len(c.Tokens) && s.Tokens[same] == c.Tokens[same] {
		same++
	}
	if same < len(s.Tokens) || same < len(c.Tokens) {
		t.Errorf("%s: %v behind %d tokens, not %v", c.Name, s.Tokens[same:], same, c.Tokens[same:])
	}
	if hex.EncodeToString(text) != c.Hex {
		t.Errorf("%s: bytes %x, not %s", c.Name, text, c.Hex)
	}
	if s.Last == nil || s.Last.Finish != c.Finish {
		t.Errorf("%s: ended by %+v, not %s", c.Name, s.Last, c.Finish)
	}
}

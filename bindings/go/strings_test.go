// SPDX-License-Identifier: MIT

package llamad

import (
	"fmt"
	"strings"
	"testing"
)

func TestStrings(t *testing.T) {
	for want, v := range map[string]fmt.Stringer{
		"<Model smollm2 ready, 98.4 MB>": Model{Name: "smollm2", State: ModelStateReady, Size: 98362432},
		"<Resident m ready on cpu, 1 GB>": Resident{Model: "m", State: ModelStateReady, Backend: "cpu",
			WeightBytes: 1000000000},
		"<Plugin a.so 1.0 loaded>":                  Plugin{File: "a.so", Version: "1.0", State: "loaded"},
		"<Stream generate of m running, 3 items>":   StreamInfo{Kind: "generate", Model: "m", State: "running", Last: 3},
		"<Key me of user>":                          Key{Label: "me", Role: RoleUser},
		"<Metric x 1.5>":                            Metric{Name: "x", Value: 1.5},
		`<Answer "Hello" 2 tokens, stop>`:           Answer{Text: "Hello", Tokens: []int32{1, 2}, Finish: FinishStop},
		`<Answer "" 0 tokens, calls f, unfinished>`: Answer{ToolCalls: []ToolCall{{Name: "f"}}},
	} {
		if got := v.String(); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	long := Answer{Text: strings.Repeat("ü", 50)}
	if got := long.String(); !strings.Contains(got, `"`+strings.Repeat("ü", 37)+`..."`) {
		t.Error(got)
	}
}

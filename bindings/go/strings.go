// SPDX-License-Identifier: MIT

package llamad

import "fmt"

// size returns a number of bytes for people, such as 98.4 MB.
func size(n int64) string {
	x := float64(n)
	for _, unit := range []string{"bytes", "kB", "MB"} {
		if x < 1000 {
			return fmt.Sprintf("%.3g %s", x, unit)
		}
		x /= 1000
	}
	return fmt.Sprintf("%.3g GB", x)
}

// String tells the model's name, state and size.
func (m Model) String() string {
	return fmt.Sprintf("<Model %s %s, %s>", m.Name, m.State, size(m.Size))
}

// String tells the model's name, state, backend and size.
func (r Resident) String() string {
	return fmt.Sprintf("<Resident %s %s on %s, %s>", r.Model, r.State, r.Backend, size(r.WeightBytes))
}

// String tells the plugin's name, version and state.
func (p Plugin) String() string {
	name := p.Name
	if name == "" {
		name = p.File
	}
	return fmt.Sprintf("<Plugin %s %s %s>", name, p.Version, p.State)
}

// String tells what the stream does.
func (s StreamInfo) String() string {
	return fmt.Sprintf("<Stream %s of %s %s, %d items>", s.Kind, s.Model, s.State, s.Last)
}

// String tells the key's label and role.
func (k Key) String() string { return fmt.Sprintf("<Key %s of %s>", k.Label, k.Role) }

// String tells the metric's name and value.
func (m Metric) String() string { return fmt.Sprintf("<Metric %s %g>", m.Name, m.Value) }

// String tells the beginning, the length and the end of the answer.
func (a Answer) String() string {
	text := []rune(a.Text)
	if len(text) > 40 {
		text = append(text[:37:37], []rune("...")...)
	}
	calls := ""
	for _, c := range a.ToolCalls {
		calls += ", calls " + c.Name
	}
	finish := a.Finish
	if finish == "" {
		finish = "unfinished"
	}
	return fmt.Sprintf("<Answer %q %d tokens%s, %s>", string(text), len(a.Tokens), calls, finish)
}

// String tells the id and the position in the stream.  Like After, it must not be called while another
// goroutine reads the stream.
func (s *Stream) String() string {
	how := "open"
	if s.Last != nil {
		how = s.Last.Kind
		if s.Last.Finish != "" {
			how = s.Last.Finish
		}
	}
	return fmt.Sprintf("<Stream %s item %d, %s>", s.id.String()[:8], s.after, how)
}

// String tells the address and the server.
func (c *Client) String() string {
	server := c.Server()
	if _, closed := c.current(); closed {
		return fmt.Sprintf("<Client %s, closed>", c.url)
	}
	return fmt.Sprintf("<Client %s, %s %s>", c.url, server.Server, server.Version)
}

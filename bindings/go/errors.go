// SPDX-License-Identifier: MIT

package llamad

import "fmt"

// Error is a refusal or failure that the server reported.
type Error struct {
	Code    string // "invalid", "notfound", "busy", ...
	Text    string // a sentence
	RetryMS int64  // a repetition before that time is pointless; 0: not said
}

func (e *Error) Error() string { return e.Text }

// Is compares codes, so that errors.Is(err, llamad.ErrNotFound) works.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Text == "" && t.Code == e.Code
}

// Codes to compare with by errors.Is.
var (
	ErrInvalid     = &Error{Code: "invalid"}
	ErrNotFound    = &Error{Code: "notfound"}
	ErrUnsupported = &Error{Code: "unsupported"}
	ErrBusy        = &Error{Code: "busy"}
	ErrCancelled   = &Error{Code: "cancelled"}
	ErrTimeout     = &Error{Code: "timeout"}
	ErrDenied      = &Error{Code: "denied"}
	ErrNoMemory    = &Error{Code: "nomem"}
)

// ConnError says that nobody answers, or that the connection broke.
type ConnError struct {
	URL string
	Err error
}

func (e *ConnError) Error() string { return fmt.Sprintf("%s: %v", e.URL, e.Err) }

// Unwrap returns what the network said.
func (e *ConnError) Unwrap() error { return e.Err }

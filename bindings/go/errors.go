// SPDX-License-Identifier: MIT

package llamad

import "fmt"

// Error is a refusal or failure that the server reported.
type Error struct {
	Code    string // "invalid", "notfound", "busy", ...
	Text    string // a sentence
	RetryMS int64  // a repetition before that time is pointless; 0: not said
	hello   bool   // the connection has said no hello with a valid key
}

func (e *Error) Error() string {
	if e.Text == "" {
		return e.Code
	}
	return e.Text
}

// Is compares codes, so that errors.Is(err, llamad.ErrNotFound) works.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Text == "" && t.Code == e.Code
}

// Codes to compare with by errors.Is.
var (
	// ErrNoMemory: memory, pages or a table ran out.
	ErrNoMemory = &Error{Code: "nomem"}
	// ErrInvalid: a field is outside its documented range, missing or unknown.
	ErrInvalid = &Error{Code: "invalid"}
	// ErrNotFound: a name or id is not known, or belongs to somebody else.
	ErrNotFound = &Error{Code: "notfound"}
	// ErrUnsupported: understood, but this server, model or device cannot do it.
	ErrUnsupported = &Error{Code: "unsupported"}
	// ErrCorrupt: a file or message contradicts itself.
	ErrCorrupt = &Error{Code: "corrupt"}
	// ErrBusy: try again after RetryMS; nothing was changed.
	ErrBusy = &Error{Code: "busy"}
	// ErrCancelled: ended because somebody asked, or because nobody read.
	ErrCancelled = &Error{Code: "cancelled"}
	// ErrTimeout: a deadline of the server passed; that of a context is context.DeadlineExceeded.
	ErrTimeout = &Error{Code: "timeout"}
	// ErrIO: the server's operating system refused.
	ErrIO = &Error{Code: "io"}
	// ErrDevice: a device failed or is lost.
	ErrDevice = &Error{Code: "device"}
	// ErrInternal: a bug of the server.
	ErrInternal = &Error{Code: "internal"}
	// ErrDenied: who asks may not; a role or a key is missing.
	ErrDenied = &Error{Code: "denied"}
)

// ConnError says that nobody answers, or that the connection broke.
type ConnError struct {
	URL string
	Err error
}

func (e *ConnError) Error() string { return fmt.Sprintf("%s: %v", e.URL, e.Err) }

// Unwrap returns what the network said.
func (e *ConnError) Unwrap() error { return e.Err }

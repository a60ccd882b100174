// SPDX-License-Identifier: MIT

package llamad

import "fmt"

// Error is an error that the server reported.
type Error struct {
	Code    string // "invalid", "notfound", "busy", ...
	Text    string // error message
	RetryMS int64  // do not retry before this much time has passed; 0 = not known
	hello   bool   // the connection is not authenticated with a valid key
	cause   error  // of a context
}

// Unwrap returns the error of the context that cancelled a stream, or nil.
func (e *Error) Unwrap() error { return e.cause }

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

// Errors for comparison with errors.Is.
var (
	// ErrNoMemory: out of memory, KV cache pages or table entries.
	ErrNoMemory = &Error{Code: "nomem"}
	// ErrInvalid: a field is missing, unknown or outside its documented range.
	ErrInvalid = &Error{Code: "invalid"}
	// ErrNotFound: the name or id does not exist, or belongs to another principal.
	ErrNotFound = &Error{Code: "notfound"}
	// ErrUnsupported: the request is valid, but this server, model or device does not support it.
	ErrUnsupported = &Error{Code: "unsupported"}
	// ErrCorrupt: a file or message is malformed.
	ErrCorrupt = &Error{Code: "corrupt"}
	// ErrBusy: the server is busy and changed nothing; retry after RetryMS.
	ErrBusy = &Error{Code: "busy"}
	// ErrCancelled: the stream was cancelled by a request, or because nobody read it.
	ErrCancelled = &Error{Code: "cancelled"}
	// ErrTimeout: a deadline in the server passed.  For a context it is context.DeadlineExceeded.
	ErrTimeout = &Error{Code: "timeout"}
	// ErrIO: an operating system call of the server failed.
	ErrIO = &Error{Code: "io"}
	// ErrDevice: a device failed or was lost.
	ErrDevice = &Error{Code: "device"}
	// ErrInternal: a bug in the server.
	ErrInternal = &Error{Code: "internal"}
	// ErrDenied: the client lacks the required role or a valid key.
	ErrDenied = &Error{Code: "denied"}
)

// ConnError reports that the server cannot be reached, or that the connection was lost.
type ConnError struct {
	URL string
	Err error
}

func (e *ConnError) Error() string { return fmt.Sprintf("%s: %v", e.URL, e.Err) }

// Unwrap returns the error of the network.
func (e *ConnError) Unwrap() error { return e.Err }

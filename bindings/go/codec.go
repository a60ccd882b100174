// SPDX-License-Identifier: MIT

package llamad

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"
)

// EncodeMsgpack writes a string if the text is valid UTF-8, otherwise bytes.
func (t Text) EncodeMsgpack(enc *msgpack.Encoder) error {
	if utf8.ValidString(string(t)) {
		return enc.EncodeString(string(t))
	}
	return enc.EncodeBytes([]byte(t))
}

// DecodeMsgpack accepts a string or bytes.
func (t *Text) DecodeMsgpack(dec *msgpack.Decoder) error {
	b, err := dec.DecodeBytes()
	*t = Text(b)
	return err
}

// EncodeMsgpack writes the 16 bytes.
func (id ID) EncodeMsgpack(enc *msgpack.Encoder) error { return enc.EncodeBytes(id[:]) }

// DecodeMsgpack reads the 16 bytes.
func (id *ID) DecodeMsgpack(dec *msgpack.Decoder) error {
	b, err := dec.DecodeBytes()
	if err != nil {
		return err
	}
	if len(b) != len(id) {
		return fmt.Errorf("an id of %d bytes, expected %d", len(b), len(id))
	}
	copy(id[:], b)
	return nil
}

// String returns 32 hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// ParseID is the inverse of ID.String.
func ParseID(s string) (id ID, err error) {
	b, err := hex.DecodeString(s)
	if err == nil && len(b) != len(id) {
		err = fmt.Errorf("an id of %d bytes, expected %d", len(b), len(id))
	}
	copy(id[:], b)
	return id, err
}

// emptyLists returns the keys of the lists that are empty but not nil.  The option omitempty leaves them
// out, but only nil means the default.
func emptyLists(req Request) (names []string) {
	v := reflect.Indirect(reflect.ValueOf(req))
	for i := 0; v.Kind() == reflect.Struct && i < v.NumField(); i++ {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("msgpack"), ",")
		if f := v.Field(i); f.Kind() == reflect.Slice && !f.IsNil() && f.Len() == 0 && name != "" {
			names = append(names, name)
		}
	}
	return names
}

// packRequest encodes a request with version, name and, unless it is idempotent, a request id.
func packRequest(req Request) ([]byte, error) {
	var body bytes.Buffer
	enc := msgpack.NewEncoder(&body)
	if err := enc.Encode(req); err != nil {
		return nil, fmt.Errorf("%s: %w", req.Op(), err)
	}
	var fields map[string]msgpack.RawMessage
	if err := msgpack.Unmarshal(body.Bytes(), &fields); err != nil {
		return nil, fmt.Errorf("%s: %w", req.Op(), err)
	}
	if fields == nil {
		fields = map[string]msgpack.RawMessage{}
	}
	for _, name := range emptyLists(req) {
		fields[name] = msgpack.RawMessage{0x90}
	}
	add := func(key string, value any) error {
		raw, err := msgpack.Marshal(value)
		fields[key] = raw
		return err
	}
	err := add("v", VMax)
	if err == nil {
		err = add("op", req.Op())
	}
	if err == nil && req.Changes() == "once" {
		var rid [16]byte
		if _, err = rand.Read(rid[:]); err == nil {
			err = add("rid", hex.EncodeToString(rid[:]))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", req.Op(), err)
	}
	return msgpack.Marshal(fields)
}

func unpackReply(req Request, body []byte, reply any) error {
	var head struct {
		Error *ErrorInfo `msgpack:"error"`
	}
	err := msgpack.Unmarshal(body, &head)
	if err == nil && head.Error != nil {
		e := &Error{Code: head.Error.Code, Text: head.Error.Text, hello: head.Error.Hello}
		if head.Error.RetryMS != nil {
			e.RetryMS = *head.Error.RetryMS
		}
		return e
	}
	if err == nil && reply != nil {
		err = msgpack.Unmarshal(body, reply)
	}
	if err != nil {
		return &Error{Code: "corrupt", Text: fmt.Sprintf("%s: the reply is malformed: %v", req.Op(), err)}
	}
	return nil
}

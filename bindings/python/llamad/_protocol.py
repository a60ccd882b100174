# SPDX-License-Identifier: MIT
"""What both clients share: addresses, SP frames, messages, errors.  No input or output here."""
from __future__ import annotations

import codecs
import dataclasses
import os
import struct
import uuid
from typing import Any, Optional, Type, Union

import msgpack

from . import _types as t

#: The longest reply that is accepted.
REPLY_MAX = 64 << 20

HANDSHAKE_REQ = b"\x00SP\x00\x00\x30\x00\x00"
HANDSHAKE_REP = b"\x00SP\x00\x00\x31\x00\x00"


class LlamadError(Exception):
    """A request was refused or failed.  `code` is the protocol's word, `retry_ms` says when to
    try again (None: not said)."""
    code = "internal"

    def __init__(self, text: str, retry_ms: Optional[int] = None):
        super().__init__(text)
        self.retry_ms = retry_ms


class NoMemory(LlamadError):
    code = "nomem"


class Invalid(LlamadError):
    code = "invalid"


class NotFound(LlamadError):
    code = "notfound"


class Unsupported(LlamadError):
    code = "unsupported"


class Corrupt(LlamadError):
    code = "corrupt"


class Busy(LlamadError):
    code = "busy"


class Cancelled(LlamadError):
    code = "cancelled"


class Timeout(LlamadError):
    code = "timeout"


class IOFailure(LlamadError):
    code = "io"


class DeviceError(LlamadError):
    code = "device"


class Internal(LlamadError):
    code = "internal"


class Denied(LlamadError):
    """A role or a key is missing."""
    code = "denied"


class ConnectionLost(IOFailure):
    """Nobody answers there, or the connection broke."""


_BY_CODE = {c.code: c for c in (NoMemory, Invalid, NotFound, Unsupported, Corrupt, Busy, Cancelled,
                                Timeout, IOFailure, DeviceError, Internal, Denied)}


def error(code: str, text: str, retry_ms: Optional[int] = None) -> LlamadError:
    return _BY_CODE.get(code, LlamadError)(text, retry_ms)


# ---- addresses ----

def default_url() -> str:
    """The socket of the system's daemon if it is there, else the user's own."""
    system = "/run/llamad/llamad.sock"
    own = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.exists(system) or not own.startswith("/"):
        return "ipc://" + system
    return f"ipc://{own}/llamad/llamad.sock"


@dataclasses.dataclass(frozen=True)
class Address:
    url: str
    path: Optional[str] = None  # of a unix socket
    host: str = ""
    port: int = 0
    tls: bool = False

    @classmethod
    def parse(cls, url: str) -> "Address":
        if url.startswith("ipc://") and len(url) > 6:
            return cls(url, path=url[6:])
        for scheme, tls in (("tcp://", False), ("tls+tcp://", True)):
            host, colon, port = url[len(scheme):].rpartition(":")
            if url.startswith(scheme) and colon and port.isdigit() and int(port) < 65536:
                return cls(url, host=host.strip("[]"), port=int(port), tls=tls)
        raise Invalid(f"{url!r} is no address: ipc://PATH, tcp://HOST:PORT or tls+tcp://HOST:PORT")


# ---- frames: u64 length, on unix sockets behind a byte 1; then u32 request id with its top bit ----

def frame(address: Address, request: int, body: bytes) -> bytes:
    head = struct.pack(">QI", len(body) + 4, 0x80000000 | request)
    return (b"\x01" if address.path else b"") + head + body


def frame_head_size(address: Address) -> int:
    return 9 if address.path else 8


def frame_length(address: Address, head: bytes) -> int:
    if address.path and head[0] != 1:
        raise ConnectionLost(f"{address.url}: a frame of type {head[0]}")
    n = struct.unpack(">Q", head[-8:])[0]
    if n < 4 or n > REPLY_MAX:
        raise ConnectionLost(f"{address.url}: a frame of {n} bytes, 4 to {REPLY_MAX} are possible")
    return n


def split_frame(payload: bytes) -> tuple[int, bytes]:
    return struct.unpack(">I", payload[:4])[0] & 0x7FFFFFFF, payload[4:]


# ---- messages ----

def pack_request(request: t.Message) -> bytes:
    """The bytes of a request; one that changes something gets a request id, so that it can be
    repeated when the connection broke."""
    message = {"v": t.V_MAX, "op": request.OP}
    if request.CHANGES == "once":
        message["rid"] = uuid.uuid4().hex
    message.update(request.to_map())
    return msgpack.packb(message, use_bin_type=True)


def unpack_reply(request: t.Message, body: bytes) -> t.Message:
    try:
        message = msgpack.unpackb(body, raw=False, strict_map_key=True, unicode_errors="replace")
        if not isinstance(message, dict):
            raise ValueError("it is no map")
        failed = message.get("error")
        if failed is None:
            return request.REPLY.from_map(message)
    except (ValueError, TypeError, KeyError, msgpack.UnpackException) as e:
        raise Corrupt(f"{request.OP}: the reply cannot be read: {e}") from None
    raise error(failed.get("code", "internal"), failed.get("text", ""), failed.get("retry_ms"))


def stream_id(id: Union[bytes, str]) -> bytes:
    raw = bytes.fromhex(id) if isinstance(id, str) else bytes(id)
    if len(raw) != 16:
        raise Invalid(f"an id of a stream has 16 bytes, this one {len(raw)}")
    return raw


class Cursor:
    """Position in a stream, and what is known of it so far."""

    def __init__(self, id: bytes, after: int, hold_ms: Optional[int]):
        self.id = id
        self.after = after
        self.hold_ms = hold_ms
        self.pending: list[t.Item] = []
        self.over = False
        self.tokens: list[int] = []
        self.done: Optional[t.DoneItem] = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def request(self, wait_ms: int) -> t.NextRequest:
        return t.NextRequest(id=self.id, after=self.after, wait_ms=wait_ms, hold_ms=self.hold_ms)

    def take(self, reply: t.NextReply) -> None:
        self.pending = list(reply.items)

    def pop(self) -> t.Item:
        """The next item; raises what it says when it is a failure."""
        item = self.pending.pop(0)
        self.after = item.n
        self.over = item.FINAL
        if isinstance(item, t.ErrorItem):
            raise error(item.code, item.text if isinstance(item.text, str) else
                        item.text.decode("utf-8", "replace"))
        if isinstance(item, t.CancelledItem):
            raise Cancelled(f"cancelled: {item.reason}")
        if isinstance(item, t.TokenItem):
            self.tokens.append(item.token)
        if isinstance(item, t.DoneItem):
            self.done = item
        return item

    def text(self, item: t.Item) -> str:
        """What can be shown of it."""
        raw = getattr(item, "text", b"")
        raw = raw.encode() if isinstance(raw, str) else raw
        return self._decoder.decode(raw, item.FINAL)


def generate_request(kind: Type[t.GenerateRequest], args: dict[str, Any]) -> t.GenerateRequest:
    known = {f.name for f in dataclasses.fields(kind)}
    for name in args:
        if name not in known:
            raise TypeError(f"generate() has no parameter {name!r}")
    return kind(**args)

# SPDX-License-Identifier: MIT
"""Code shared by both clients: addresses, SP frames, messages, cursors.  It does no I/O."""
from __future__ import annotations

import dataclasses
import os
import ssl
import stat
import struct
import uuid
from typing import Any, Optional, TypeVar, Union

import msgpack

from . import _types as t
from ._answer import Parts
from ._errors import (Cancelled, ConnectionLost, Corrupt, Invalid, LlamadError, Unsupported,
                      error)

#: Maximum length of a reply in bytes.
REPLY_MAX = 64 << 20

#: How long a request for the items of a stream waits in the server, in milliseconds.
WAIT_MS = 10000

#: Pause between two attempts to reconnect, in seconds.
RETRY_S = 0.05

HANDSHAKE_REQ = b"\x00SP\x00\x00\x30\x00\x00"
HANDSHAKE_REP = b"\x00SP\x00\x00\x31\x00\x00"

R = TypeVar("R", bound=t.Message)

# ---- addresses ----

def default_url() -> str:
    """The socket of the system's daemon if it exists, otherwise that of the user's daemon: in
    XDG_RUNTIME_DIR, or in /tmp/llamad-UID if that variable is not set.  Raises Invalid if the latter
    folder does not belong to the user or has another mode than 0700."""
    system = "/run/llamad/llamad.sock"
    own = os.environ.get("XDG_RUNTIME_DIR", "")
    uid = os.geteuid()
    if os.path.exists(system):
        return "ipc://" + system
    if own.startswith("/"):
        return f"ipc://{own}/llamad/llamad.sock"
    if uid == 0:
        return "ipc://" + system
    folder = f"/tmp/llamad-{uid}"
    check_private(folder, uid)
    return f"ipc://{folder}/llamad.sock"


def check_private(folder: str, uid: int) -> None:
    """Raises Invalid if the folder exists and is accessible to others: any user can create one in /tmp."""
    try:
        s = os.lstat(folder)
    except OSError:
        return
    if not stat.S_ISDIR(s.st_mode) or s.st_uid != uid or s.st_mode & 0o077:
        raise Invalid(f"{folder}: must be a folder of user {uid} with mode 0700")


@dataclasses.dataclass(frozen=True)
class Address:
    """A parsed URL."""
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
            host, _, port = url[len(scheme):].rpartition(":")
            if url.startswith(scheme) and host and port.isdecimal() and 0 < int(port) < 65536:
                if host.startswith("[") and host.endswith("]"):
                    host = host[1:-1]
                return cls(url, host=host, port=int(port), tls=tls)
        raise Invalid(f"{url!r} is not an address: use ipc://PATH, "
                      "tcp://HOST:PORT or tls+tcp://HOST:PORT")

    def key(self, secret: Optional[str]) -> str:
        """The secret to send with hello, by default that in LLAMAD_KEY in the environment.  It is
        empty for a unix socket, where keys are not used."""
        if self.path:
            return ""
        return os.environ.get("LLAMAD_KEY", "") if secret is None else secret

    def context(self, ca_file: Optional[str]) -> Optional[ssl.SSLContext]:
        """The TLS context, which trusts the certificates in ca_file or those of the system.
        Returns None unless the scheme is tls+tcp."""
        if not self.tls:
            return None
        try:
            return ssl.create_default_context(cafile=ca_file)
        except OSError as e:
            raise Invalid(f"ca_file {ca_file!r}: {e.strerror or e}") from None


# ---- frames: on unix sockets a byte 1; u64 length; u32 request number with its top bit set ----

def frame(address: Address, request: int, body: bytes) -> bytes:
    head = struct.pack(">QI", len(body) + 4, 0x80000000 | request)
    return (b"\x01" if address.path else b"") + head + body


def frame_head_size(address: Address) -> int:
    return 9 if address.path else 8


def frame_length(address: Address, head: bytes) -> int:
    if address.path and head[0] != 1:
        raise ConnectionLost(f"{address.url}: received a frame of type {head[0]}, expected 1")
    n = int.from_bytes(head[-8:], "big")
    if n < 4 or n > REPLY_MAX:
        raise ConnectionLost(f"{address.url}: received a frame of {n} bytes, "
                             f"allowed are 4 to {REPLY_MAX}")
    return n


def split_frame(payload: bytes) -> tuple[int, bytes]:
    return int.from_bytes(payload[:4], "big") & 0x7FFFFFFF, payload[4:]


# ---- messages ----

def pack_request(request: t.Request[R]) -> bytes:
    """The bytes of a request.  A request that is not idempotent gets a request id, so that it can
    be repeated after the connection was lost."""
    if not isinstance(request, t.Request):
        raise TypeError("call() takes a request such as llamad.types.StatusRequest(), not "
                        f"{type(request).__name__}")
    message: dict[str, Any] = {"v": t.V_MAX, "op": request.OP}
    if request.CHANGES == "once":
        message["rid"] = uuid.uuid4().hex
    message.update(request.to_map())
    try:
        body: bytes = msgpack.packb(message, use_bin_type=True)
    except (TypeError, ValueError, OverflowError) as e:
        raise Invalid(f"{request.OP}: {e}") from None
    return body


def unpack_reply(request: t.Request[R], body: bytes) -> R:
    """Parses a reply.  Raises the error that it contains, if any."""
    try:
        message = msgpack.unpackb(body, raw=False, strict_map_key=True, unicode_errors="replace")
        failed = message.get("error")
        if failed is None:
            reply: R = request.REPLY.from_map(message)
            return reply
        e = error(str(failed["code"]), str(failed["text"]), failed.get("retry_ms"))
        e.hello = failed.get("hello") is True
    except (ValueError, TypeError, KeyError, AttributeError, msgpack.UnpackException) as why:
        raise Corrupt(f"{request.OP}: the reply is malformed: {why}") from None
    raise e


def greeted(url: str, request: t.HelloRequest, body: bytes) -> t.HelloReply:
    """Parses the reply to hello.  Raises if it is an error or the versions do not match."""
    try:
        hello = unpack_reply(request, body)
    except LlamadError as e:
        e.hello = False  # another hello would not help
        raise
    if hello.v_min > t.V_MAX or hello.v_max < t.V_MIN:
        raise Unsupported(f"{url} speaks protocol versions {hello.v_min} to {hello.v_max}, this "
                          f"client speaks {t.V_MIN} to {t.V_MAX}")
    return hello


def stream_id(id: Union[bytes, str]) -> bytes:
    try:
        raw = bytes.fromhex(id) if isinstance(id, str) else bytes(id)
    except ValueError:
        raise Invalid(f"{id!r} is not a stream id: it must have 32 hexadecimal digits") from None
    if len(raw) != 16:
        raise Invalid(f"a stream id has 16 bytes, this one has {len(raw)}")
    return raw


def as_bytes(text: Union[bytes, str]) -> bytes:
    return text.encode() if isinstance(text, str) else text


class Cursor:
    """The position in a stream, and what has been received of it."""

    def __init__(self, id: bytes, after: int, hold_ms: Optional[int]):
        self.id = id
        self.after = after
        self.hold_ms = hold_ms
        self.pending: list[t.Item] = []
        self.over = False  # the stream has ended or was abandoned
        self.tokens: list[int] = []
        self.logprobs: list[list[t.TokenLogprob]] = []
        self.prompt: list[t.PromptTokenItem] = []
        self.done: Optional[t.DoneItem] = None
        self.parts = Parts()

    @property
    def state(self) -> str:
        """How far the stream is, for people."""
        how = self.done.finish if self.done else "over" if self.over else "open"
        return f"{self.id.hex()[:8]} item {self.after}, {how}"

    def request(self) -> t.NextRequest:
        return t.NextRequest(id=self.id, after=self.after, wait_ms=WAIT_MS, hold_ms=self.hold_ms)

    def farewell(self) -> list[bytes]:
        """The requests that abandon the stream: one cancels it, one reads its end so that the
        server does not keep it for a reader."""
        self.over = True
        return [pack_request(t.CancelRequest(id=self.id)),
                pack_request(t.NextRequest(id=self.id, after=self.after, max=t.LIMITS["items"]))]

    def take(self, reply: t.NextReply) -> None:
        self.pending = list(reply.items)
        if not self.pending and reply.end:  # resumed after the last item
            self.over = True

    def end(self) -> t.DoneItem:
        """The final item of a stream that has been read to the end."""
        if self.done is None:
            raise Cancelled("the stream was closed or detached, or its end was read before")
        return self.done

    def pop(self) -> t.Item:
        """Returns the next item.  Raises if it reports an error or a cancellation."""
        item = self.pending.pop(0)
        self.after = item.n
        self.over = self.over or item.FINAL
        if isinstance(item, t.ErrorItem):
            raise error(item.code, item.text)
        if isinstance(item, t.CancelledItem):
            raise Cancelled(f"cancelled: {item.reason}")
        if isinstance(item, t.TokenItem):
            self.tokens.append(item.token)
            if item.logprobs:
                self.logprobs.append(item.logprobs)
        if isinstance(item, t.PromptTokenItem):
            self.prompt.append(item)
        if isinstance(item, t.DoneItem):
            self.done = item
        return item


class Received:
    """What has been received of a stream: the part that Stream and AsyncStream share."""

    _cursor: Cursor

    @property
    def id(self) -> str:
        """The id of the stream for resume(), 32 hexadecimal digits; zeros before an AsyncStream
        has started."""
        return self._cursor.id.hex()

    @property
    def after(self) -> int:
        """Number of the last item received; resume() continues after it."""
        return self._cursor.after

    @property
    def tokens(self) -> list[int]:
        """The tokens received so far."""
        return self._cursor.tokens

    @property
    def done(self) -> Optional[t.DoneItem]:
        """The final item, with the reason and the token counts.  None until the stream ends."""
        return self._cursor.done

    @property
    def finish(self) -> Optional[str]:
        """Why the stream ended: "eog", "stop", "length", ...  None until then."""
        return self.done.finish if self.done else None

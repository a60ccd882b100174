# SPDX-License-Identifier: MIT
"""The client for threads."""
from __future__ import annotations

import socket
import ssl
import threading
import time
from typing import Any, Iterator, Optional, Union

from . import _protocol as p
from . import _types as t

WAIT_MS = 10000


class _Waiter:
    __slots__ = ("done", "body", "error")

    def __init__(self) -> None:
        self.done = threading.Event()
        self.body: Optional[bytes] = None
        self.error: Optional[Exception] = None


class _Connection:
    """One socket; a thread of its own hands replies to those who wait for them."""

    def __init__(self, address: p.Address, timeout: float, ca_file: Optional[str]):
        self.address = address
        self._lock = threading.Lock()
        self._waiters: dict[int, _Waiter] = {}
        self._last = 0
        self.broken: Optional[Exception] = None
        try:
            self._sock = self._connect(timeout, ca_file)
            self._sock.sendall(p.HANDSHAKE_REQ)
            if self._read(8) != p.HANDSHAKE_REP:
                raise p.ConnectionLost(f"{address.url}: who answers there speaks another protocol")
        except OSError as e:
            raise p.ConnectionLost(f"{address.url}: {e.strerror or e}; is llamad running?") from None
        self._sock.settimeout(None)
        self._thread = threading.Thread(target=self._receive, daemon=True, name="llamad")
        self._thread.start()

    def _connect(self, timeout: float, ca_file: Optional[str]) -> socket.socket:
        a = self.address
        if a.path:
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(timeout)
            s.connect(a.path)
            return s
        s = socket.create_connection((a.host, a.port), timeout)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if a.tls:
            s = ssl.create_default_context(cafile=ca_file).wrap_socket(s, server_hostname=a.host)
        return s

    def _read(self, n: int) -> bytes:
        out = bytearray()
        while len(out) < n:
            more = self._sock.recv(min(n - len(out), 1 << 20))
            if not more:
                raise p.ConnectionLost(f"{self.address.url}: the connection was closed")
            out += more
        return bytes(out)

    def _receive(self) -> None:
        try:
            while True:
                head = self._read(p.frame_head_size(self.address))
                number, body = p.split_frame(self._read(p.frame_length(self.address, head)))
                with self._lock:
                    waiter = self._waiters.pop(number, None)
                if waiter:
                    waiter.body = body
                    waiter.done.set()
        except (OSError, p.LlamadError) as e:
            self._break(e if isinstance(e, p.LlamadError) else
                        p.ConnectionLost(f"{self.address.url}: {e}"))

    def _break(self, e: Exception) -> None:
        with self._lock:
            self.broken = self.broken or e
            waiters, self._waiters = list(self._waiters.values()), {}
        for w in waiters:
            w.error = e
            w.done.set()

    def exchange(self, body: bytes, timeout: float) -> bytes:
        waiter = _Waiter()
        with self._lock:
            if self.broken:
                raise self.broken
            self._last = self._last % 0x7FFFFFFF + 1
            number = self._last
            self._waiters[number] = waiter
            try:
                self._sock.sendall(p.frame(self.address, number, body))
            except OSError as e:
                self.broken = p.ConnectionLost(f"{self.address.url}: {e}")
                self._waiters.pop(number, None)
                raise self.broken from None
        if not waiter.done.wait(timeout):
            with self._lock:
                self._waiters.pop(number, None)
            raise p.Timeout(f"{self.address.url}: no answer within {timeout:g} s")
        if waiter.error:
            raise waiter.error
        assert waiter.body is not None
        return waiter.body

    def close(self) -> None:
        self._break(p.ConnectionLost(f"{self.address.url}: the client was closed"))
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._sock.close()


class Stream:
    """The items of a generation or a job.  Iterating gives pieces of text; items() gives all.

    `tokens` grows as they come, `done` is the last item: why it ended, and the counts.  Leaving a
    `with` block, or close(), cancels what has not ended."""

    def __init__(self, client: "Client", id: bytes, after: int = 0,
                 hold_ms: Optional[int] = None):
        self._client = client
        self._cursor = p.Cursor(id, after, hold_ms)

    @property
    def id(self) -> str:
        return self._cursor.id.hex()

    @property
    def after(self) -> int:
        """Number of the last item that came: where another client can go on."""
        return self._cursor.after

    @property
    def tokens(self) -> list[int]:
        return self._cursor.tokens

    @property
    def done(self) -> Optional[t.DoneItem]:
        return self._cursor.done

    @property
    def finish(self) -> Optional[str]:
        return self.done.finish if self.done else None

    def items(self) -> Iterator[t.Item]:
        c = self._cursor
        while not c.over:
            while not c.pending:
                c.take(self._client.call(c.request(WAIT_MS), extra=WAIT_MS / 1000))
            yield c.pop()

    def __iter__(self) -> Iterator[str]:
        for item in self.items():
            piece = self._cursor.text(item)
            if piece:
                yield piece

    def text(self) -> str:
        """All that is still to come."""
        return "".join(self)

    def cancel(self) -> None:
        self._client.call(t.CancelRequest(id=self._cursor.id))

    def close(self) -> None:
        if not self._cursor.over:
            self._cursor.over = True
            try:
                self.cancel()
            except p.LlamadError:
                pass  # its lease ends it

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class Client:
    """A connection, usable by many threads.  A broken one is made again and the request repeated;
    requests that change something carry an id by which the server knows the repetition."""

    def __init__(self, url: Optional[str] = None, *, timeout: float = 30.0,
                 connect_timeout: float = 5.0, ca_file: Optional[str] = None,
                 name: str = "python"):
        self._address = p.Address.parse(url or p.default_url())
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._ca_file = ca_file
        self._name = name
        self._lock = threading.Lock()
        self._connection: Optional[_Connection] = None
        self._closed = False
        #: what the server said of itself
        self.server: t.HelloReply = self.call(t.HelloRequest(client=name))

    @property
    def url(self) -> str:
        return self._address.url

    def _connect(self) -> _Connection:
        with self._lock:
            if self._closed:
                raise p.ConnectionLost(f"{self.url}: the client was closed")
            if self._connection is None or self._connection.broken:
                if self._connection:
                    self._connection.close()
                self._connection = _Connection(self._address, self._connect_timeout,
                                               self._ca_file)
            return self._connection

    def call(self, request: t.Message, *, extra: float = 0.0) -> Any:
        """Sends any request of llamad.types and returns its reply."""
        body = p.pack_request(request)
        end = time.monotonic() + self._connect_timeout
        connected = False
        while True:
            try:
                c = self._connect()
                connected = True
                return p.unpack_reply(request, c.exchange(body, self._timeout + extra))
            except p.ConnectionLost:
                if self._closed or time.monotonic() >= end or \
                        (not connected and self._connection is None):
                    raise
                time.sleep(0.05)

    # -- text --

    def generate(self, *, hold_ms: Optional[int] = None, **params: Any) -> Stream:
        """Continues a prompt: generate(model=..., prompt=..., n=..., temp=...); parameters are the
        fields of llamad.types.GenerateRequest.  Iterate over the result."""
        request = p.generate_request(t.GenerateRequest, params)
        return Stream(self, self.call(request).id, hold_ms=hold_ms)

    def resume(self, id: Union[str, bytes], after: int = 0) -> Stream:
        """Goes on with a stream behind its item number `after`."""
        return Stream(self, p.stream_id(id), after)

    def tokenize(self, model: str, text: Union[str, bytes], **params: Any) -> list[int]:
        return self.call(t.TokenizeRequest(model=model, text=text, **params)).tokens

    def detokenize(self, model: str, tokens: list[int], **params: Any) -> bytes:
        return self.call(t.DetokenizeRequest(model=model, tokens=tokens, **params)).text

    # -- models --

    def models(self) -> list[t.Model]:
        return self.call(t.ModelsRequest()).models

    def ps(self) -> list[t.Resident]:
        return self.call(t.PsRequest()).models

    def add(self, name: str, path: str, **params: Any) -> Stream:
        return Stream(self, self.call(t.AddRequest(name=name, path=path, **params)).id)

    def rm(self, name: str) -> t.RmReply:
        return self.call(t.RmRequest(name=name))

    def load(self, model: str, **params: Any) -> Stream:
        return Stream(self, self.call(t.LoadRequest(model=model, **params)).id)

    def unload(self, model: str, **params: Any) -> Stream:
        return Stream(self, self.call(t.UnloadRequest(model=model, **params)).id)

    def reload(self, model: str) -> Stream:
        return Stream(self, self.call(t.ReloadRequest(model=model)).id)

    # -- server --

    def ping(self) -> t.PingReply:
        return self.call(t.PingRequest())

    def status(self) -> t.StatusReply:
        return self.call(t.StatusRequest())

    def plugins(self, factories: bool = False) -> list[t.Plugin]:
        return self.call(t.PluginsRequest(factories=factories)).plugins

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._connection:
                self._connection.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

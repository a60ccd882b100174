# SPDX-License-Identifier: MIT
"""A connection for threads: many threads have requests in flight on one socket."""
from __future__ import annotations

import collections
import socket
import ssl
import struct
import threading
import time
from typing import Optional, Union

from . import _protocol as p
from ._errors import ConnectionLost, Timeout, lost

#: The connection is closed if a send makes no progress for this many seconds, or for the time that the
#: request may take, if that is shorter.
SEND_S = 30


class Plain:
    """A socket with one reader and any number of writers.

    Messages are queued, and the thread that holds the lock sends all of them.  So messages stay
    whole and in order, and send() is safe to call anywhere, even if the garbage collector closes a
    stream in the middle of another send()."""

    def __init__(self, sock: socket.socket):
        self._sock = sock
        self._queue: collections.deque[bytes] = collections.deque()
        self._sending = threading.Lock()
        self._limited = False  # after the handshake

    def recv(self, n: int) -> bytes:
        return self._sock.recv(n)

    def send(self, data: bytes, limit: float = SEND_S) -> None:
        self._queue.append(data)
        self._flush(limit)

    def _flush(self, limit: float = SEND_S) -> None:
        while self._waits() and self._sending.acquire(blocking=False):
            try:
                if self._limited:
                    us = max(1000, int(min(limit, SEND_S) * 1000000))
                    self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO,
                                          struct.pack("ll", us // 1000000, us % 1000000))
                while self._waits():
                    self._sock.sendall(self._take())
            finally:
                self._sending.release()

    def _waits(self) -> bool:
        return bool(self._queue)

    def _take(self) -> bytes:
        return self._queue.popleft()

    def end_handshake(self) -> None:
        """Removes the time limit from reads; each send() sets one for writes."""
        self._sock.settimeout(None)
        self._limited = True

    def close(self) -> None:
        try:
            self._sock.shutdown(socket.SHUT_RDWR)  # wakes the reader
        except OSError:
            pass
        self._sock.close()


class Tls(Plain):
    """Plain with TLS.  A reader that waits inside OpenSSL would block writers, so OpenSSL only
    works in memory and all waiting on the socket is done outside it."""

    def __init__(self, sock: socket.socket, context: ssl.SSLContext, host: str):
        super().__init__(sock)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._cipher = threading.RLock()
        self._tls = context.wrap_bio(self._in, self._out, server_hostname=host)
        try:
            while not self._handshake_done():
                self._flush()
                self._feed()
        finally:
            self._flush()  # on failure this sends the TLS alert

    def _handshake_done(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def _feed(self) -> bool:
        """Waits for bytes.  Returns False if the peer has closed the connection."""
        data = self._sock.recv(1 << 16)
        with self._cipher:
            if data:
                self._in.write(data)
            else:
                self._in.write_eof()
        return bool(data)

    def recv(self, n: int) -> bytes:
        while True:
            try:
                with self._cipher:
                    return self._tls.read(n)
            except ssl.SSLWantReadError:
                self._flush()  # replies of the TLS protocol itself
                if not self._feed():
                    return b""
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return b""

    def _waits(self) -> bool:
        return bool(self._queue) or self._out.pending > 0

    def _take(self) -> bytes:
        with self._cipher:
            if self._queue:
                rest = memoryview(self._queue.popleft())
                while rest:
                    rest = rest[self._tls.write(rest):]
            return self._out.read()


def open_transport(a: p.Address, timeout: float,
                   context: Optional[ssl.SSLContext]) -> Union[Plain, Tls]:
    if a.path:
        sock = socket.socket(socket.AF_UNIX)
    else:
        sock = socket.create_connection((a.host, a.port), timeout)
    try:
        sock.settimeout(timeout)
        if a.path:
            sock.connect(a.path)
        else:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return Tls(sock, context, a.host) if context else Plain(sock)
    except BaseException:
        sock.close()
        raise


class _Waiter:
    __slots__ = ("done", "body")

    def __init__(self) -> None:
        self.done = threading.Event()
        self.body: Optional[bytes] = None


class Connection:
    """A connection; its own thread passes each reply to the request that waits for it."""

    def __init__(self, address: p.Address, timeout: float, context: Optional[ssl.SSLContext]):
        self.address = address
        self.broken = ""  # the reason once the connection is lost
        # Protects _waiters and _last.  Recursive: a garbage collection may call tell() meanwhile.
        self._lock = threading.RLock()
        self._waiters: dict[int, _Waiter] = {}
        self._last = 0
        try:
            self._transport = open_transport(address, timeout, context)
            try:
                self._greet()
            except BaseException:
                self._transport.close()
                raise
        except TimeoutError:
            raise ConnectionLost(f"{address.url}: timed out: no connection within {timeout:g} s") from None
        except OSError as e:
            raise lost(address.url, e) from None
        self._transport.end_handshake()
        threading.Thread(target=self._receive, daemon=True, name="llamad").start()

    def _greet(self) -> None:
        self._transport.send(p.HANDSHAKE_REQ)
        if self._read(8) != p.HANDSHAKE_REP:
            raise ConnectionLost(f"{self.address.url}: the peer does not speak the protocol of llamad")

    def _read(self, n: int) -> bytes:
        out = bytearray()
        while len(out) < n:
            more = self._transport.recv(min(n - len(out), 1 << 20))
            if not more:
                raise ConnectionLost(f"{self.address.url}: the connection was closed")
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
        except ConnectionLost as e:
            self._fail(str(e))
        except (OSError, ValueError) as e:  # ValueError: the socket was closed meanwhile
            self._fail(f"{self.address.url}: {e}")

    def _fail(self, why: str) -> None:
        with self._lock:
            self.broken = self.broken or why
            waiters, self._waiters = list(self._waiters.values()), {}
        for w in waiters:
            w.done.set()
        self._transport.close()

    def _post(self, body: bytes, waiter: Optional[_Waiter], limit: float = SEND_S) -> int:
        with self._lock:
            if self.broken:
                raise ConnectionLost(self.broken)
            self._last = self._last % 0x7FFFFFFF + 1
            number = self._last
            if waiter:
                self._waiters[number] = waiter
        try:
            self._transport.send(p.frame(self.address, number, body), limit)
        except (OSError, ValueError) as e:
            self._fail(f"{self.address.url}: {e}")
        return number

    def exchange(self, body: bytes, timeout: float) -> bytes:
        """Sends a request and returns the reply."""
        waiter = _Waiter()
        end = time.monotonic() + timeout
        number = self._post(body, waiter, timeout)
        try:
            if not waiter.done.wait(max(0.0, end - time.monotonic())):
                raise Timeout(f"{self.address.url}: timed out: no reply within {timeout:g} s")
        finally:
            with self._lock:
                self._waiters.pop(number, None)
        if waiter.body is None:
            raise ConnectionLost(self.broken)
        return waiter.body

    def tell(self, body: bytes) -> None:
        """Sends a request whose reply is not needed.  Does nothing if the connection is lost."""
        try:
            self._post(body, None)
        except ConnectionLost:
            pass

    def close(self) -> None:
        self._fail(f"{self.address.url}: the client was closed")

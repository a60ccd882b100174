# SPDX-License-Identifier: MIT
"""The client for asyncio; names and meaning as in _client."""
from __future__ import annotations

import asyncio
import ssl
from typing import Any, AsyncIterator, Generator, Optional, Union

from . import _protocol as p
from . import _types as t
from ._client import WAIT_MS


class _Connection:
    def __init__(self, address: p.Address, reader: asyncio.StreamReader,
                 writer: asyncio.StreamWriter):
        self.address = address
        self._reader, self._writer = reader, writer
        self._waiters: dict[int, asyncio.Future[bytes]] = {}
        self._last = 0
        self.broken: Optional[Exception] = None
        self._task = asyncio.get_running_loop().create_task(self._receive())

    @classmethod
    async def open(cls, a: p.Address, timeout: float, ca_file: Optional[str]) -> "_Connection":
        try:
            return await asyncio.wait_for(cls._open(a, ca_file), timeout)
        except asyncio.TimeoutError:
            raise p.ConnectionLost(f"{a.url}: no connection within {timeout:g} s") from None
        except asyncio.IncompleteReadError:
            raise p.ConnectionLost(f"{a.url}: the connection was closed") from None
        except OSError as e:
            raise p.ConnectionLost(f"{a.url}: {e.strerror or e}; is llamad running?") from None

    @classmethod
    async def _open(cls, a: p.Address, ca_file: Optional[str]) -> "_Connection":
        if a.path:
            reader, writer = await asyncio.open_unix_connection(a.path)
        else:
            context = ssl.create_default_context(cafile=ca_file) if a.tls else None
            reader, writer = await asyncio.open_connection(a.host, a.port, ssl=context)
        writer.write(p.HANDSHAKE_REQ)
        if await reader.readexactly(8) != p.HANDSHAKE_REP:
            writer.close()
            raise p.ConnectionLost(f"{a.url}: who answers there speaks another protocol")
        return cls(a, reader, writer)

    async def _receive(self) -> None:
        try:
            while True:
                head = await self._reader.readexactly(p.frame_head_size(self.address))
                payload = await self._reader.readexactly(p.frame_length(self.address, head))
                number, body = p.split_frame(payload)
                waiter = self._waiters.pop(number, None)
                if waiter and not waiter.done():
                    waiter.set_result(body)
        except (OSError, asyncio.IncompleteReadError, p.LlamadError) as e:
            self._break(e if isinstance(e, p.LlamadError) else
                        p.ConnectionLost(f"{self.address.url}: the connection was closed"))

    def _break(self, e: Exception) -> None:
        self.broken = self.broken or e
        waiters, self._waiters = list(self._waiters.values()), {}
        for w in waiters:
            if not w.done():
                w.set_exception(e)

    async def exchange(self, body: bytes, timeout: float) -> bytes:
        if self.broken:
            raise self.broken
        self._last = self._last % 0x7FFFFFFF + 1
        number = self._last
        waiter = asyncio.get_running_loop().create_future()
        self._waiters[number] = waiter
        try:
            self._writer.write(p.frame(self.address, number, body))
            await self._writer.drain()
            return await asyncio.wait_for(waiter, timeout)
        except asyncio.TimeoutError:
            raise p.Timeout(f"{self.address.url}: no answer within {timeout:g} s") from None
        except OSError as e:
            self._waiters.pop(number, None)  # nobody awaits it any more
            self._break(p.ConnectionLost(f"{self.address.url}: {e}"))
            raise self.broken from None  # type: ignore[misc]
        finally:
            self._waiters.pop(number, None)

    async def close(self) -> None:
        self._break(p.ConnectionLost(f"{self.address.url}: the client was closed"))
        self._task.cancel()
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:
            pass


class AsyncStream:
    """See Stream.  It starts when it is awaited, or with the first item."""

    def __init__(self, client: "AsyncClient", request: Optional[t.Message], id: bytes = bytes(16),
                 after: int = 0, hold_ms: Optional[int] = None):
        self._client = client
        self._request = request
        self._cursor = p.Cursor(id, after, hold_ms)

    async def _start(self) -> "AsyncStream":
        if self._request:
            request, self._request = self._request, None
            try:
                self._cursor.id = (await self._client.call(request)).id
            except BaseException:
                self._cursor.over = True  # there is nothing to cancel
                raise
        return self

    def __await__(self) -> Generator[Any, None, "AsyncStream"]:
        return self._start().__await__()

    @property
    def id(self) -> str:
        return self._cursor.id.hex()

    @property
    def after(self) -> int:
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

    async def items(self) -> AsyncIterator[t.Item]:
        await self._start()
        c = self._cursor
        while not c.over:
            while not c.pending:
                c.take(await self._client.call(c.request(WAIT_MS), extra=WAIT_MS / 1000))
            yield c.pop()

    async def __aiter__(self) -> AsyncIterator[str]:
        async for item in self.items():
            piece = self._cursor.text(item)
            if piece:
                yield piece

    async def text(self) -> str:
        return "".join([piece async for piece in self])

    async def cancel(self) -> None:
        await self._client.call(t.CancelRequest(id=self._cursor.id))

    async def close(self) -> None:
        if not self._cursor.over and not self._request:
            self._cursor.over = True
            try:
                await self.cancel()
            except p.LlamadError:
                pass

    async def __aenter__(self) -> "AsyncStream":
        return await self._start()

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


class AsyncClient:
    """See Client.  Connects with the first request, or with `async with`."""

    def __init__(self, url: Optional[str] = None, *, timeout: float = 30.0,
                 connect_timeout: float = 5.0, ca_file: Optional[str] = None,
                 name: str = "python"):
        self._address = p.Address.parse(url or p.default_url())
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._ca_file = ca_file
        self._name = name
        self._connection: Optional[_Connection] = None
        self._connecting = asyncio.Lock()
        self._closed = False
        self.server: Optional[t.HelloReply] = None

    @property
    def url(self) -> str:
        return self._address.url

    async def _connect(self) -> _Connection:
        async with self._connecting:
            if self._closed:
                raise p.ConnectionLost(f"{self.url}: the client was closed")
            if self._connection is None or self._connection.broken:
                if self._connection:
                    await self._connection.close()
                self._connection = await _Connection.open(self._address, self._connect_timeout,
                                                          self._ca_file)
            return self._connection

    async def call(self, request: t.Message, *, extra: float = 0.0) -> Any:
        body = p.pack_request(request)
        end = asyncio.get_running_loop().time() + self._connect_timeout
        connected = False
        while True:
            try:
                c = await self._connect()
                connected = True
                return p.unpack_reply(request, await c.exchange(body, self._timeout + extra))
            except p.ConnectionLost:
                if self._closed or asyncio.get_running_loop().time() >= end or \
                        (not connected and self._connection is None):
                    raise
                await asyncio.sleep(0.05)

    def generate(self, *, hold_ms: Optional[int] = None, **params: Any) -> AsyncStream:
        """async for piece in client.generate(model=..., prompt=...): ..."""
        return AsyncStream(self, p.generate_request(t.GenerateRequest, params), hold_ms=hold_ms)

    def resume(self, id: Union[str, bytes], after: int = 0) -> AsyncStream:
        return AsyncStream(self, None, p.stream_id(id), after)

    async def tokenize(self, model: str, text: Union[str, bytes], **params: Any) -> list[int]:
        return (await self.call(t.TokenizeRequest(model=model, text=text, **params))).tokens

    async def detokenize(self, model: str, tokens: list[int], **params: Any) -> bytes:
        return (await self.call(t.DetokenizeRequest(model=model, tokens=tokens, **params))).text

    async def models(self) -> list[t.Model]:
        return (await self.call(t.ModelsRequest())).models

    async def ps(self) -> list[t.Resident]:
        return (await self.call(t.PsRequest())).models

    def add(self, name: str, path: str, **params: Any) -> AsyncStream:
        return AsyncStream(self, t.AddRequest(name=name, path=path, **params))

    async def rm(self, name: str) -> t.RmReply:
        return await self.call(t.RmRequest(name=name))

    def load(self, model: str, **params: Any) -> AsyncStream:
        return AsyncStream(self, t.LoadRequest(model=model, **params))

    def unload(self, model: str, **params: Any) -> AsyncStream:
        return AsyncStream(self, t.UnloadRequest(model=model, **params))

    def reload(self, model: str) -> AsyncStream:
        return AsyncStream(self, t.ReloadRequest(model=model))

    async def ping(self) -> t.PingReply:
        return await self.call(t.PingRequest())

    async def status(self) -> t.StatusReply:
        return await self.call(t.StatusRequest())

    async def plugins(self, factories: bool = False) -> list[t.Plugin]:
        return (await self.call(t.PluginsRequest(factories=factories))).plugins

    async def close(self) -> None:
        self._closed = True
        if self._connection:
            await self._connection.close()

    async def __aenter__(self) -> "AsyncClient":
        self.server = await self.call(t.HelloRequest(client=self._name))
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

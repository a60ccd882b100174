# SPDX-License-Identifier: MIT
"""The client for asyncio, with the same interface as the synchronous one in _client."""
from __future__ import annotations

import asyncio
import ssl
from types import TracebackType
from typing import (TYPE_CHECKING, Any, AsyncGenerator, AsyncIterator, Coroutine, Generator, Literal,
                    Optional, Sequence, TypeVar, Union, overload)

from . import _params
from . import _protocol as p
from . import _types as t
from ._answer import Answer, Delta
from ._errors import ConnectionLost, LlamadError, Timeout, lost

if TYPE_CHECKING:
    from typing_extensions import Unpack

R = TypeVar("R", bound=t.Message)


class _Connection:
    """A connection; its own task passes each reply to the request that waits for it."""

    def __init__(self, address: p.Address, reader: asyncio.StreamReader,
                 writer: asyncio.StreamWriter):
        self.address = address
        self.broken = ""  # the reason once the connection is lost
        self._reader, self._writer = reader, writer
        self._waiters: dict[int, asyncio.Future[bytes]] = {}
        self._last = 0
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._receive())

    @classmethod
    async def open(cls, a: p.Address, timeout: float,
                   context: Optional[ssl.SSLContext]) -> "_Connection":
        try:
            return await asyncio.wait_for(cls._open(a, context), timeout)
        except asyncio.TimeoutError:
            raise ConnectionLost(f"{a.url}: timed out: no connection within {timeout:g} s") from None
        except asyncio.IncompleteReadError:
            raise ConnectionLost(f"{a.url}: the connection was closed") from None
        except OSError as e:
            raise lost(a.url, e) from None

    @classmethod
    async def _open(cls, a: p.Address, context: Optional[ssl.SSLContext]) -> "_Connection":
        if a.path:
            reader, writer = await asyncio.open_unix_connection(a.path)
        else:
            reader, writer = await asyncio.open_connection(a.host, a.port, ssl=context)
        try:
            writer.write(p.HANDSHAKE_REQ)
            if await reader.readexactly(8) != p.HANDSHAKE_REP:
                raise ConnectionLost(f"{a.url}: the peer does not speak the protocol of llamad")
        except BaseException:
            writer.close()
            raise
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
        except ConnectionLost as e:
            self._fail(str(e))
        except asyncio.IncompleteReadError:
            self._fail(f"{self.address.url}: the connection was closed")
        except OSError as e:
            self._fail(f"{self.address.url}: {e}")
        finally:
            self._writer.close()

    def _fail(self, why: str) -> None:
        self.broken = self.broken or why
        waiters, self._waiters = list(self._waiters.values()), {}
        for w in waiters:
            if not w.done():
                w.set_exception(ConnectionLost(self.broken))

    def _post(self, body: bytes) -> int:
        if self.broken:
            raise ConnectionLost(self.broken)
        self._last = self._last % 0x7FFFFFFF + 1
        self._writer.write(p.frame(self.address, self._last, body))
        return self._last

    async def exchange(self, body: bytes, timeout: float) -> bytes:
        """Sends a request and returns the reply."""
        waiter: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        number = self._post(body)
        self._waiters[number] = waiter
        try:
            return await asyncio.wait_for(waiter, timeout)
        except asyncio.TimeoutError:
            raise Timeout(f"{self.address.url}: timed out: no reply within {timeout:g} s") from None
        finally:
            self._waiters.pop(number, None)

    def tell(self, body: bytes) -> None:
        """Sends a request whose reply is not needed.  Does nothing if the connection is lost."""
        if not self.broken:
            self._post(body)

    def tell_later(self, body: bytes) -> None:
        """Like tell(), from any thread and for the garbage collector."""
        try:
            self._loop.call_soon_threadsafe(self.tell, body)
        except RuntimeError:  # the loop has ended, and the connection with it
            pass

    async def close(self) -> None:
        self._fail(f"{self.address.url}: the client was closed")
        self._task.cancel()
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:
            pass


class AsyncStream(p.Received):
    """Like Stream.  The request is sent when the stream is awaited, iterated over, or wait() is
    called."""

    #: Dropping the stream cancels it.
    _owned = False

    def __init__(self, client: "AsyncClient", request: Optional[t.Request[Any]],
                 id: bytes = bytes(16), after: int = 0, hold_ms: Optional[int] = None):
        self._client = client
        self._request = request
        self._owned = isinstance(request, t.GenerateRequest)
        self._cursor = p.Cursor(id, after, hold_ms)
        #: The random seed; None if it is not known.
        self.seed: Optional[int] = None

    async def _start(self) -> "AsyncStream":
        request, self._request = self._request, None
        if request is None:
            return self
        call = asyncio.ensure_future(self._client.call(request))
        try:
            reply = await asyncio.shield(call)
        except BaseException:
            self._cursor.over = True
            call.add_done_callback(self._unwanted)
            raise
        self._cursor.id = reply.id
        self.seed = getattr(reply, "seed", None)
        return self

    def _unwanted(self, call: asyncio.Future[Any]) -> None:
        """Cancels a stream whose creator was cancelled before the reply arrived."""
        if not call.cancelled() and call.exception() is None:
            self._cursor.id = call.result().id
            self._client._tell(self._cursor.farewell())

    def __await__(self) -> Generator[Any, None, "AsyncStream"]:
        return self._start().__await__()

    async def items(self) -> AsyncGenerator[t.Item, None]:
        """The items as they arrive: tokens, progress of a job, and the final item."""
        await self._start()
        c = self._cursor
        try:
            while not c.over:
                if c.pending:
                    yield c.pop()
                else:
                    c.take(await self._client._wait(c.request()))
        except LlamadError:
            raise
        except BaseException:  # the loop was left, or the task was cancelled
            self._abandon()
            raise

    async def __aiter__(self) -> AsyncIterator[str]:
        items = self.items()
        try:
            async for item in items:
                piece = self._cursor.parts.text(item)
                if piece:
                    yield piece
        finally:
            await items.aclose()

    async def text(self) -> str:
        """Waits for the end and returns the remaining text."""
        return "".join([piece async for piece in self])

    async def deltas(self) -> AsyncGenerator[Delta, None]:
        """The pieces of an answer; each has .text, .reasoning or .tool_calls.  Without the
        parameter parse there is only text."""
        items = self.items()
        try:
            async for item in items:
                delta = self._cursor.parts.delta(item)
                if delta:
                    yield delta
        finally:
            await items.aclose()

    async def answer(self) -> Answer:
        """Waits for the end and returns the rest of the answer.  With the parameter parse it is split
        into text, reasoning and tool calls."""
        a = Answer()
        async for delta in self.deltas():
            a.add(delta)
        c = self._cursor
        return a.end(c.tokens, self.done, self.seed, c.logprobs, c.prompt)

    async def wait(self) -> t.DoneItem:
        """Waits for the end, such as that of a load."""
        async for _ in self.items():
            pass
        return self._cursor.end()

    async def cancel(self) -> None:
        """Cancels the stream after the current step; further reads raise Cancelled."""
        await self._client.call(t.CancelRequest(id=self._cursor.id))

    async def pause(self) -> int:
        """Pauses the generation after the current step.  Returns after how many milliseconds it is
        cancelled unless unpause() is called; read it meanwhile as often as its lease says."""
        return (await self._client.call(t.PauseRequest(id=self._cursor.id))).left_ms

    async def unpause(self) -> bool:
        """Lets a paused generation go on.  Returns whether it was paused."""
        return (await self._client.call(t.UnpauseRequest(id=self._cursor.id))).was_paused

    def detach(self) -> tuple[str, int]:
        """Releases the stream without cancelling it.  Pass the result to resume()."""
        self._cursor.over = True
        return self.id, self.after

    def _abandon(self) -> None:
        started, self._request = self._request is None, None
        if not self._cursor.over:
            farewell = self._cursor.farewell()
            if started:
                self._client._tell(farewell)

    async def close(self) -> None:
        """Cancels the stream unless it has ended."""
        self._abandon()

    def __del__(self) -> None:
        connection = self._client._connection if self._owned else None
        if connection and self._request is None and not self._cursor.over:
            for body in self._cursor.farewell():
                connection.tell_later(body)

    def __repr__(self) -> str:
        return f"<AsyncStream {self._cursor.state}>"

    async def __aenter__(self) -> "AsyncStream":
        return await self._start()

    async def __aexit__(self, kind: Optional[type[BaseException]], e: Optional[BaseException],
                        tb: Optional[TracebackType]) -> None:
        await self.close()


class AsyncClient:
    """Like Client.  Connects on the first request or with `async with`, and must be used from the
    event loop that runs then."""

    def __init__(self, url: Optional[str] = None, *, key: Optional[str] = None,
                 ca_file: Optional[str] = None, timeout: float = 30.0,
                 connect_timeout: float = 5.0, name: str = "python"):
        self._address = p.Address.parse(url or p.default_url())
        self._context = self._address.context(ca_file)
        self._hello = t.HelloRequest(client=name, key=self._address.key(key))
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._connection: Optional[_Connection] = None
        self._connecting = asyncio.Lock()
        self._closed = False
        #: The server's reply to hello on the latest connection.
        self.server: Optional[t.HelloReply] = None

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._address.url

    # -- requests --

    async def _connect(self) -> _Connection:
        async with self._connecting:
            if self._closed:
                raise ConnectionLost(f"{self.url}: the client was closed")
            if self._connection is None or self._connection.broken:
                fresh = await _Connection.open(self._address, self._connect_timeout,
                                               self._context)
                try:
                    await self._say_hello(fresh)
                except BaseException:
                    await fresh.close()
                    raise
                self._connection = fresh
            return self._connection

    async def _say_hello(self, c: _Connection) -> None:
        body = await c.exchange(p.pack_request(self._hello), self._connect_timeout)
        self.server = p.greeted(self.url, self._hello, body)

    async def call(self, request: t.Request[R], *, timeout: Optional[float] = None) -> R:
        """Sends any request of llamad.types and returns its reply.  timeout: seconds to wait for
        the reply; defaults to the client's."""
        if timeout is None:
            timeout = self._timeout
        body = p.pack_request(request)
        now = asyncio.get_running_loop().time
        end = now() + self._connect_timeout
        greeted = False
        while True:
            try:
                c = await self._connect()
                return p.unpack_reply(request, await c.exchange(body, timeout))
            except ConnectionLost:
                if self._closed or self._connection is None or now() >= end:
                    raise
                await asyncio.sleep(p.RETRY_S)
            except LlamadError as e:
                if not e.hello or greeted:
                    raise
                greeted = True
                await self._say_hello(c)

    async def _wait(self, request: t.NextRequest) -> t.NextReply:
        return await self.call(request, timeout=self._timeout + p.WAIT_MS / 1000)

    def _tell(self, requests: list[bytes]) -> None:
        """Sends requests whose replies are not needed.  Does nothing without a connection."""
        if self._connection:
            for body in requests:
                self._connection.tell(body)

    # -- text --

    @overload
    def generate(self, model: str, prompt: Union[str, bytes, None] = None, *,
                 tokens: Optional[Sequence[int]] = None, messages: Optional[_params.Messages] = None,
                 hold_ms: Optional[int] = None, stream: Literal[True] = True,
                 **params: Unpack[t.GenerateParams]) -> AsyncStream: ...

    @overload
    def generate(self, model: str, prompt: Union[str, bytes, None] = None, *,
                 tokens: Optional[Sequence[int]] = None, messages: Optional[_params.Messages] = None,
                 hold_ms: Optional[int] = None, stream: Literal[False],
                 **params: Unpack[t.GenerateParams]) -> Coroutine[Any, Any, Answer]: ...

    def generate(self, model: str, prompt: Union[str, bytes, None] = None, *,
                 tokens: Optional[Sequence[int]] = None, messages: Optional[_params.Messages] = None,
                 hold_ms: Optional[int] = None, stream: bool = True,
                 **params: Unpack[t.GenerateParams]
                 ) -> Union[AsyncStream, Coroutine[Any, Any, Answer]]:
        """Like Client.generate:

            async for piece in client.generate(model, prompt, n=..., temp=...): ...

            answer = await client.generate(model, prompt, stream=False)"""
        s = AsyncStream(self, _params.generate_request("generate", model, prompt, tokens, messages,
                                                       params), hold_ms=hold_ms)
        return s if stream else s.answer()

    @overload
    def chat(self, model: str, messages: _params.Messages, *, hold_ms: Optional[int] = None,
             stream: Literal[True] = True, **params: Unpack[t.GenerateParams]) -> AsyncStream: ...

    @overload
    def chat(self, model: str, messages: _params.Messages, *, hold_ms: Optional[int] = None,
             stream: Literal[False],
             **params: Unpack[t.GenerateParams]) -> Coroutine[Any, Any, Answer]: ...

    def chat(self, model: str, messages: _params.Messages, *, hold_ms: Optional[int] = None,
             stream: bool = True, **params: Unpack[t.GenerateParams]
             ) -> Union[AsyncStream, Coroutine[Any, Any, Answer]]:
        """Like Client.chat:

            answer = await client.chat(model, messages, tools=..., stream=False)"""
        s = AsyncStream(self, _params.chat_request(model, messages, params), hold_ms=hold_ms)
        return s if stream else s.answer()

    def resume(self, id: Union[str, bytes], after: int = 0) -> AsyncStream:
        """Resumes a stream after its item number `after`."""
        return AsyncStream(self, None, p.stream_id(id), after)

    async def tokenize(self, model: str, text: Union[str, bytes],
                       **params: Unpack[t.TokenizeParams]) -> list[int]:
        """Converts text to tokens.  params: fields of llamad.types.TokenizeRequest."""
        return (await self.call(t.TokenizeRequest(model=model, text=text, **params))).tokens

    async def detokenize(self, model: str, tokens: Sequence[int],
                         **params: Unpack[t.DetokenizeParams]) -> bytes:
        """Converts tokens to text.  params: fields of llamad.types.DetokenizeRequest."""
        r = await self.call(t.DetokenizeRequest(model=model, tokens=list(tokens), **params))
        return p.as_bytes(r.text)

    async def apply_template(self, model: str, messages: _params.Messages,
                             **params: Unpack[t.ApplyTemplateParams]) -> t.ApplyTemplateReply:
        """Turns a conversation into the prompt that chat() would give the model.

        messages: as for chat().
        params: fields of llamad.types.ApplyTemplateRequest: template, tools, ...; with tokens=True
            the reply also has the prompt's tokens."""
        return await self.call(_params.apply_template_request(model, messages, params))

    async def embed(self, model: str, inputs: Union[str, bytes, Sequence[Union[str, bytes]]],
                    **params: Unpack[t.EmbedParams]) -> list[list[float]]:
        """Computes the embedding of each text.  params: fields of llamad.types.EmbedRequest."""
        texts = [inputs] if isinstance(inputs, (str, bytes)) else list(inputs)
        r = await self.call(t.EmbedRequest(model=model, inputs=texts, **params))
        return [e.vector for e in r.embeddings]

    async def rerank(self, model: str, query: Union[str, bytes], documents: Sequence[Union[str, bytes]],
                     **params: Unpack[t.RerankParams]) -> list[float]:
        """Scores each document by how well it answers the query; the model is a reranker.  params:
        fields of llamad.types.RerankRequest."""
        r = await self.call(t.RerankRequest(model=model, query=query, documents=list(documents), **params))
        return r.scores

    # -- models --

    async def models(self) -> list[t.Model]:
        """Lists the models in the registry."""
        out: list[t.Model] = []
        while True:
            r = await self.call(t.ModelsRequest(after=out[-1].name if out else ""))
            out += r.models
            if not r.more or not r.models:
                return out

    async def info(self, model: str, keys: bool = False) -> t.InfoReply:
        """Returns the metadata of a model file.  keys: include all metadata keys of the file."""
        return await self.call(t.InfoRequest(model=model, keys=keys))

    async def ps(self) -> list[t.Resident]:
        """Lists the models in memory."""
        return (await self.call(t.PsRequest())).models

    async def devices(self) -> list[t.Device]:
        """Lists the devices that models can run on."""
        return (await self.call(t.DevicesRequest())).devices

    def add(self, name: str, path: str, **params: Unpack[t.AddParams]) -> AsyncStream:
        """Adds a model file on the server to the registry; wait() for the result."""
        return AsyncStream(self, t.AddRequest(name=name, path=path, **params))

    async def rm(self, name: str) -> t.RmReply:
        """Removes a model or an alias from the registry."""
        return await self.call(t.RmRequest(name=name))

    def load(self, model: str, **params: Unpack[t.LoadParams]) -> AsyncStream:
        """Loads a model into memory; wait() until it is ready."""
        return AsyncStream(self, t.LoadRequest(model=model, **params))

    def unload(self, model: str, **params: Unpack[t.UnloadParams]) -> AsyncStream:
        """Unloads a model; wait() until it is gone."""
        return AsyncStream(self, t.UnloadRequest(model=model, **params))

    def reload(self, model: str) -> AsyncStream:
        """Loads a model again with the current plugins; wait() until it is ready."""
        return AsyncStream(self, t.ReloadRequest(model=model))

    # -- server --

    async def ping(self) -> t.PingReply:
        """Checks that the server is alive and returns its state."""
        return await self.call(t.PingRequest())

    async def status(self) -> t.StatusReply:
        """Returns a summary of the server's state."""
        return await self.call(t.StatusRequest())

    async def stats(self, model: Optional[str] = None) -> list[t.Metric]:
        """Returns the metrics of the server, or only those of a model."""
        return (await self.call(t.StatsRequest(model=model))).metrics

    async def plugins(self, factories: bool = False) -> list[t.Plugin]:
        """Lists the plugins that were found.  factories: include the factories of each."""
        return (await self.call(t.PluginsRequest(factories=factories))).plugins

    async def close(self) -> None:
        """Closes the connection; streams without a lease are cancelled."""
        self._closed = True
        if self._connection:
            await self._connection.close()

    def __repr__(self) -> str:
        how = "closed" if self._closed else "not connected"
        if self.server and not self._closed:
            how = f"{self.server.server} {self.server.version}"
        return f"<AsyncClient {self.url}, {how}>"

    async def __aenter__(self) -> "AsyncClient":
        await self._connect()
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], e: Optional[BaseException],
                        tb: Optional[TracebackType]) -> None:
        await self.close()

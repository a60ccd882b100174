# SPDX-License-Identifier: MIT
"""The client for threads."""
from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import (TYPE_CHECKING, Any, Iterator, Mapping, Optional, Sequence, TypeVar,
                    Union)

from . import _protocol as p
from . import _types as t
from ._answer import Answer, Delta
from ._errors import ConnectionLost, LlamadError
from ._net import Connection

if TYPE_CHECKING:
    from typing_extensions import Unpack

R = TypeVar("R", bound=t.Message)


class Stream:
    """The items of a generation or a job.  Iterating gives pieces of text, items() gives all.

    Leaving the loop early, close(), or leaving a `with` block cancels what has not ended; detach()
    does not.  A failure comes as an exception where the items do."""

    def __init__(self, client: "Client", id: bytes, after: int = 0,
                 hold_ms: Optional[int] = None, seed: Optional[int] = None):
        self._client = client
        self._cursor = p.Cursor(id, after, hold_ms)
        #: The seed of the random choices; None when it is not known.
        self.seed = seed

    @property
    def id(self) -> str:
        """What resume() takes, 32 hexadecimal digits."""
        return self._cursor.id.hex()

    @property
    def after(self) -> int:
        """Number of the last item that came: where resume() goes on."""
        return self._cursor.after

    @property
    def tokens(self) -> list[int]:
        """The tokens that came so far."""
        return self._cursor.tokens

    @property
    def done(self) -> Optional[t.DoneItem]:
        """The last item: why the stream ended, and counts.  None before."""
        return self._cursor.done

    @property
    def finish(self) -> Optional[str]:
        """Why it ended: "eog", "stop", "length", ...  None before."""
        return self.done.finish if self.done else None

    def items(self) -> Iterator[t.Item]:
        """The items as they come: tokens, progress of a job, and the one that says how it ended."""
        c = self._cursor
        try:
            while not c.over:
                if c.pending:
                    yield c.pop()
                else:
                    c.take(self._client._wait(c.request()))
        except LlamadError:
            raise
        except BaseException:  # the loop was left, or Ctrl-C
            self._abandon()
            raise

    def __iter__(self) -> Iterator[str]:
        for item in self.items():
            piece = self._cursor.parts.text(item)
            if piece:
                yield piece

    def text(self) -> str:
        """Waits for the end; all text that was still to come."""
        return "".join(self)

    def deltas(self) -> Iterator[Delta]:
        """The pieces of an answer: each has some .text, .thinking or .tool_calls.  Without parse
        all is text."""
        for item in self.items():
            delta = self._cursor.parts.delta(item)
            if delta:
                yield delta

    def answer(self) -> Answer:
        """Waits for the end; what was still to come of the answer, taken apart."""
        a = Answer()
        for delta in self.deltas():
            a.add(delta)
        return a

    def wait(self) -> t.DoneItem:
        """Waits for the end: that of a load, say."""
        for _ in self.items():
            pass
        return self._cursor.end()

    def cancel(self) -> None:
        """Ends the work after the step that is being computed; reading on raises Cancelled."""
        self._client.call(t.CancelRequest(id=self._cursor.id))

    def detach(self) -> tuple[str, int]:
        """Gives the stream up without cancelling it: resume() takes the result, on this connection
        or, when the stream has a lease, on another one."""
        self._cursor.over = True
        return self.id, self.after

    def _abandon(self) -> None:
        if not self._cursor.over:
            self._client._tell(self._cursor.farewell())

    def close(self) -> None:
        """Cancels what has not ended."""
        self._abandon()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, kind: Optional[type[BaseException]], e: Optional[BaseException],
                 tb: Optional[TracebackType]) -> None:
        self.close()


class Client:
    """A connection, usable by many threads.

    url: ipc://PATH, tcp://HOST:PORT or tls+tcp://HOST:PORT; without it default_url().
    key: the secret that says on tcp and tls+tcp who asks; without it that in the environment
        variable LLAMAD_KEY.
    ca_file: certificates that tls+tcp trusts; without it those of the system.
    timeout: seconds to wait for a reply, beyond what the request itself may wait.
    connect_timeout: seconds to wait for a connection, and to try again when it broke.
    name: of the program, for the server's log.

    A connection that broke is made again and the request repeated; requests that change something
    carry an id by which the server knows the repetition."""

    def __init__(self, url: Optional[str] = None, *, key: Optional[str] = None,
                 ca_file: Optional[str] = None, timeout: float = 30.0,
                 connect_timeout: float = 5.0, name: str = "python"):
        self._connection: Optional[Connection] = None
        self._address = p.Address.parse(url or p.default_url())
        self._context = self._address.context(ca_file)
        self._hello = t.HelloRequest(client=name, key=self._address.key(key))
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._lock = threading.Lock()
        self._closed = False
        #: What the server said of itself when it was last connected to.
        self.server: t.HelloReply
        self._connect()

    @property
    def url(self) -> str:
        """Where it connects."""
        return self._address.url

    # -- asking --

    def _connect(self) -> Connection:
        with self._lock:
            if self._closed:
                raise ConnectionLost(f"{self.url}: the client was closed")
            if self._connection is None or self._connection.broken:
                fresh = Connection(self._address, self._connect_timeout, self._context)
                try:
                    self._say_hello(fresh)
                except BaseException:
                    fresh.close()
                    raise
                self._connection = fresh
            return self._connection

    def _say_hello(self, c: Connection) -> None:
        body = c.exchange(p.pack_request(self._hello), self._connect_timeout)
        self.server = p.greeted(self.url, self._hello, body)

    def call(self, request: t.Request[R], *, timeout: Optional[float] = None) -> R:
        """Sends any request of llamad.types and returns its reply.  timeout: seconds to wait for
        it, instead of the client's."""
        if timeout is None:
            timeout = self._timeout
        body = p.pack_request(request)
        end = time.monotonic() + self._connect_timeout
        greeted = False
        while True:
            try:
                c = self._connect()
                return p.unpack_reply(request, c.exchange(body, timeout))
            except ConnectionLost:
                if self._closed or time.monotonic() >= end:
                    raise
                time.sleep(p.RETRY_S)
            except LlamadError as e:
                if not e.hello or greeted:
                    raise
                greeted = True
                self._say_hello(c)

    def _wait(self, request: t.NextRequest) -> t.NextReply:
        return self.call(request, timeout=self._timeout + p.WAIT_MS / 1000)

    def _tell(self, requests: list[bytes]) -> None:
        """Sends what nobody waits for; without a connection it is not needed."""
        c = self._connection
        if c:
            for body in requests:
                c.tell(body)

    # -- text --

    def generate(self, model: str, prompt: Union[str, bytes, None] = None, *,
                 tokens: Optional[Sequence[int]] = None,
                 messages: Optional[Sequence[p.MessageLike]] = None,
                 hold_ms: Optional[int] = None, **params: Unpack[t.GenerateParams]) -> Stream:
        """Answers a prompt, or a conversation; iterate over the result.

        prompt: what a user says, when the model has a chat template; what is continued, when it
        has none, or with raw=True.  tokens: what is continued.
        messages: a conversation: {"role": "user", "content": "..."}, ...
        hold_ms: how long the server gathers text before it sends it; 0: each token alone.
        params: fields of llamad.types.GenerateRequest: n, temp, top_k, seed, stop, ..."""
        r = self.call(p.generate_request(model, prompt, tokens, messages, params))
        return Stream(self, r.id, hold_ms=hold_ms, seed=r.seed)

    # tools here takes objects, too, and wins over that of the parameters
    def chat(self, model: str, messages: Sequence[p.MessageLike], *,  # type: ignore[misc]
             tools: Union[str, Sequence[Mapping[str, Any]], None] = None,
             hold_ms: Optional[int] = None, **params: Unpack[t.GenerateParams]) -> Stream:
        """Answers a conversation; the answer is taken apart: deltas() or answer() of the result.

        tools: what the model may call, a list of objects as a chat template takes them, or JSON.
        Add answer().message() to the messages, and for each call one of the role "tool"."""
        params.setdefault("parse", True)
        if tools is not None:
            params["tools"] = p.tools_text(tools)
        return self.generate(model, messages=messages, hold_ms=hold_ms, **params)

    def resume(self, id: Union[str, bytes], after: int = 0) -> Stream:
        """Goes on with a stream behind its item number `after`."""
        return Stream(self, p.stream_id(id), after)

    def tokenize(self, model: str, text: Union[str, bytes],
                 **params: Unpack[t.TokenizeParams]) -> list[int]:
        """The tokens of a text.  params: fields of llamad.types.TokenizeRequest."""
        return self.call(t.TokenizeRequest(model=model, text=text, **params)).tokens

    def detokenize(self, model: str, tokens: Sequence[int],
                   **params: Unpack[t.DetokenizeParams]) -> bytes:
        """The text of tokens.  params: fields of llamad.types.DetokenizeRequest."""
        r = self.call(t.DetokenizeRequest(model=model, tokens=list(tokens), **params))
        return p.as_bytes(r.text)

    # -- models --

    def models(self) -> list[t.Model]:
        """The models of the registry."""
        out: list[t.Model] = []
        while True:
            r = self.call(t.ModelsRequest(after=out[-1].name if out else ""))
            out += r.models
            if not r.more or not r.models:
                return out

    def ps(self) -> list[t.Resident]:
        """The models in memory."""
        return self.call(t.PsRequest()).models

    def add(self, name: str, path: str, **params: Unpack[t.AddParams]) -> Stream:
        """Puts a model file of the server into the registry; wait() for it."""
        return Stream(self, self.call(t.AddRequest(name=name, path=path, **params)).id)

    def rm(self, name: str) -> t.RmReply:
        """Takes a model or an alias out of the registry."""
        return self.call(t.RmRequest(name=name))

    def load(self, model: str, **params: Unpack[t.LoadParams]) -> Stream:
        """Brings a model into memory; wait() until it is ready."""
        return Stream(self, self.call(t.LoadRequest(model=model, **params)).id)

    def unload(self, model: str, **params: Unpack[t.UnloadParams]) -> Stream:
        """Takes a model out of memory; wait() for it."""
        return Stream(self, self.call(t.UnloadRequest(model=model, **params)).id)

    def reload(self, model: str) -> Stream:
        """Loads a model anew; wait() until it is ready."""
        return Stream(self, self.call(t.ReloadRequest(model=model)).id)

    # -- server --

    def ping(self) -> t.PingReply:
        """Is the server there, and in which state?"""
        return self.call(t.PingRequest())

    def status(self) -> t.StatusReply:
        """The state of the server in a few numbers."""
        return self.call(t.StatusRequest())

    def plugins(self, factories: bool = False) -> list[t.Plugin]:
        """The plugins that were found; factories: also what each offers."""
        return self.call(t.PluginsRequest(factories=factories)).plugins

    def close(self) -> None:
        """Ends the connection, and with it the streams without a lease."""
        self._closed = True
        if self._connection:
            self._connection.close()

    def __del__(self) -> None:
        connection: Optional[Connection] = getattr(self, "_connection", None)
        if connection:
            connection.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind: Optional[type[BaseException]], e: Optional[BaseException],
                 tb: Optional[TracebackType]) -> None:
        self.close()

# SPDX-License-Identifier: MIT
"""The synchronous client, which many threads may share."""
from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import (TYPE_CHECKING, Any, Iterator, Literal, Optional, Sequence, TypeVar, Union,
                    overload)

from . import _params
from . import _protocol as p
from . import _types as t
from ._answer import Answer, Delta
from ._errors import ConnectionLost, LlamadError
from ._net import Connection

if TYPE_CHECKING:
    from typing_extensions import Unpack

R = TypeVar("R", bound=t.Message)


class Stream(p.Received):
    """The items of a generation or a job.  Iterate over it for pieces of text, or over items()
    for everything.

    Leaving the loop early, close(), or leaving a `with` block cancels a stream that has not ended,
    and so does dropping a generation that nobody reads any more; detach() does not.  If the stream
    fails, reading it raises an exception."""

    #: Dropping the stream cancels it.
    _owned = False

    def __init__(self, client: "Client", id: bytes, after: int = 0,
                 hold_ms: Optional[int] = None, seed: Optional[int] = None, owned: bool = False):
        self._client = client
        self._owned = owned
        self._cursor = p.Cursor(id, after, hold_ms)
        #: The random seed; None if it is not known.
        self.seed = seed

    def items(self) -> Iterator[t.Item]:
        """The items as they arrive: tokens, progress of a job, and the final item."""
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
        """Waits for the end and returns the remaining text."""
        return "".join(self)

    def deltas(self) -> Iterator[Delta]:
        """The pieces of an answer; each has .text, .reasoning or .tool_calls.  Without the
        parameter parse there is only text."""
        for item in self.items():
            delta = self._cursor.parts.delta(item)
            if delta:
                yield delta

    def answer(self) -> Answer:
        """Waits for the end and returns the rest of the answer.  With the parameter parse it is split
        into text, reasoning and tool calls."""
        a = Answer()
        for delta in self.deltas():
            a.add(delta)
        c = self._cursor
        return a.end(c.tokens, self.done, self.seed, c.logprobs, c.prompt)

    def wait(self) -> t.DoneItem:
        """Waits for the end, such as that of a load."""
        for _ in self.items():
            pass
        return self._cursor.end()

    def cancel(self) -> None:
        """Cancels the stream after the current step; further reads raise Cancelled."""
        self._client.call(t.CancelRequest(id=self._cursor.id))

    def pause(self) -> int:
        """Pauses the generation after the current step.  Returns after how many milliseconds it is
        cancelled unless unpause() is called; read it meanwhile as often as its lease says."""
        return self._client.call(t.PauseRequest(id=self._cursor.id)).left_ms

    def unpause(self) -> bool:
        """Lets a paused generation go on.  Returns whether it was paused."""
        return self._client.call(t.UnpauseRequest(id=self._cursor.id)).was_paused

    def detach(self) -> tuple[str, int]:
        """Releases the stream without cancelling it.  Pass the result to resume(), on this
        connection or, if the stream has a lease, on another one."""
        self._cursor.over = True
        return self.id, self.after

    def _abandon(self) -> None:
        if not self._cursor.over:
            self._client._tell(self._cursor.farewell())

    def close(self) -> None:
        """Cancels the stream unless it has ended."""
        self._abandon()

    def __del__(self) -> None:
        if self._owned:
            try:
                self._abandon()
            except Exception:  # the interpreter ends, and the connection with it
                pass

    def __repr__(self) -> str:
        return f"<Stream {self._cursor.state}>"

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, kind: Optional[type[BaseException]], e: Optional[BaseException],
                 tb: Optional[TracebackType]) -> None:
        self.close()


class Client:
    """A connection to llamad.  Many threads may share it.

    url: ipc://PATH, tcp://HOST:PORT or tls+tcp://HOST:PORT; defaults to default_url().
    key: secret of an API key for tcp and tls+tcp; defaults to the environment variable LLAMAD_KEY.
    ca_file: trusted certificates for tls+tcp; defaults to those of the system.
    timeout: seconds to wait for a reply, in addition to the time that the request itself may wait.
    connect_timeout: seconds to wait for a connection, and to retry after it was lost.
    name: name of the program for the server's log.

    A lost connection is opened again and the request repeated; a request that changes something
    carries a request id, so that the server does not do it twice."""

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
        #: The server's reply to hello on the latest connection.
        self.server: t.HelloReply
        self._connect()

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._address.url

    # -- requests --

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
        the reply; defaults to the client's."""
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
        """Sends requests whose replies are not needed.  Does nothing without a connection."""
        c = self._connection
        if c:
            for body in requests:
                c.tell(body)

    # -- text --

    @overload
    def generate(self, model: str, prompt: Union[str, bytes, None] = None, *,
                 tokens: Optional[Sequence[int]] = None, messages: Optional[_params.Messages] = None,
                 hold_ms: Optional[int] = None, stream: Literal[True] = True,
                 **params: Unpack[t.GenerateParams]) -> Stream: ...

    @overload
    def generate(self, model: str, prompt: Union[str, bytes, None] = None, *,
                 tokens: Optional[Sequence[int]] = None, messages: Optional[_params.Messages] = None,
                 hold_ms: Optional[int] = None, stream: Literal[False],
                 **params: Unpack[t.GenerateParams]) -> Answer: ...

    def generate(self, model: str, prompt: Union[str, bytes, None] = None, *,
                 tokens: Optional[Sequence[int]] = None, messages: Optional[_params.Messages] = None,
                 hold_ms: Optional[int] = None, stream: bool = True,
                 **params: Unpack[t.GenerateParams]) -> Union[Stream, Answer]:
        """Generates text from a prompt or a conversation; iterate over the result.

        prompt: a user's message if the model has a chat template, unless raw=True; otherwise the
            text to continue.
        tokens: the prompt as tokens, used unchanged.
        messages: a conversation: {"role": "user", "content": "..."}, ...
        hold_ms: output batching delay, how long the server collects tokens before it sends them;
            0 = send each token at once.
        stream: False waits for the end and returns an Answer.
        params: fields of llamad.types.GenerateRequest: n, temp, top_k, seed, stop, ..., also under
            their names in llamad.types.ALIASES, such as max_tokens and temperature."""
        return self._start(_params.generate_request("generate", model, prompt, tokens, messages,
                                                    params), hold_ms, stream)

    @overload
    def chat(self, model: str, messages: _params.Messages, *, hold_ms: Optional[int] = None,
             stream: Literal[True] = True, **params: Unpack[t.GenerateParams]) -> Stream: ...

    @overload
    def chat(self, model: str, messages: _params.Messages, *, hold_ms: Optional[int] = None,
             stream: Literal[False], **params: Unpack[t.GenerateParams]) -> Answer: ...

    def chat(self, model: str, messages: _params.Messages, *, hold_ms: Optional[int] = None,
             stream: bool = True, **params: Unpack[t.GenerateParams]) -> Union[Stream, Answer]:
        """Answers a conversation.  Call deltas() or answer() of the result for text, reasoning and
        tool calls, or pass stream=False to get the answer itself.

        messages: {"role": "user", "content": "..."}, ..., or the text of one user's message.
        To continue, append the answer to the messages, and for each tool call a message with the
        role "tool"."""
        return self._start(_params.chat_request(model, messages, params), hold_ms, stream)

    def _start(self, request: t.GenerateRequest, hold_ms: Optional[int],
               stream: bool) -> Union[Stream, Answer]:
        r = self.call(request)
        s = Stream(self, r.id, hold_ms=hold_ms, seed=r.seed, owned=True)
        return s if stream else s.answer()

    def resume(self, id: Union[str, bytes], after: int = 0) -> Stream:
        """Resumes a stream after its item number `after`."""
        return Stream(self, p.stream_id(id), after)

    def tokenize(self, model: str, text: Union[str, bytes],
                 **params: Unpack[t.TokenizeParams]) -> list[int]:
        """Converts text to tokens.  params: fields of llamad.types.TokenizeRequest."""
        return self.call(t.TokenizeRequest(model=model, text=text, **params)).tokens

    def detokenize(self, model: str, tokens: Sequence[int],
                   **params: Unpack[t.DetokenizeParams]) -> bytes:
        """Converts tokens to text.  params: fields of llamad.types.DetokenizeRequest."""
        r = self.call(t.DetokenizeRequest(model=model, tokens=list(tokens), **params))
        return p.as_bytes(r.text)

    def apply_template(self, model: str, messages: _params.Messages,
                       **params: Unpack[t.ApplyTemplateParams]) -> t.ApplyTemplateReply:
        """Turns a conversation into the prompt that chat() would give the model.

        messages: as for chat().
        params: fields of llamad.types.ApplyTemplateRequest: template, tools, ...; with tokens=True
            the reply also has the prompt's tokens."""
        return self.call(_params.apply_template_request(model, messages, params))

    def embed(self, model: str, inputs: Union[str, bytes, Sequence[Union[str, bytes]]],
              **params: Unpack[t.EmbedParams]) -> list[list[float]]:
        """Computes the embedding of each text.  params: fields of llamad.types.EmbedRequest."""
        texts = [inputs] if isinstance(inputs, (str, bytes)) else list(inputs)
        r = self.call(t.EmbedRequest(model=model, inputs=texts, **params))
        return [e.vector for e in r.embeddings]

    def rerank(self, model: str, query: Union[str, bytes], documents: Sequence[Union[str, bytes]],
               **params: Unpack[t.RerankParams]) -> list[float]:
        """Scores each document by how well it answers the query; the model is a reranker.  params:
        fields of llamad.types.RerankRequest."""
        r = self.call(t.RerankRequest(model=model, query=query, documents=list(documents), **params))
        return r.scores

    # -- models --

    def models(self) -> list[t.Model]:
        """Lists the models in the registry."""
        out: list[t.Model] = []
        while True:
            r = self.call(t.ModelsRequest(after=out[-1].name if out else ""))
            out += r.models
            if not r.more or not r.models:
                return out

    def info(self, model: str, keys: bool = False) -> t.InfoReply:
        """Returns the metadata of a model file.  keys: include all metadata keys of the file."""
        return self.call(t.InfoRequest(model=model, keys=keys))

    def ps(self) -> list[t.Resident]:
        """Lists the models in memory."""
        return self.call(t.PsRequest()).models

    def devices(self) -> list[t.Device]:
        """Lists the devices that models can run on."""
        return self.call(t.DevicesRequest()).devices

    def add(self, name: str, path: str, **params: Unpack[t.AddParams]) -> Stream:
        """Adds a model file on the server to the registry; wait() for the result."""
        return Stream(self, self.call(t.AddRequest(name=name, path=path, **params)).id)

    def rm(self, name: str) -> t.RmReply:
        """Removes a model or an alias from the registry."""
        return self.call(t.RmRequest(name=name))

    def load(self, model: str, **params: Unpack[t.LoadParams]) -> Stream:
        """Loads a model into memory; wait() until it is ready."""
        return Stream(self, self.call(t.LoadRequest(model=model, **params)).id)

    def unload(self, model: str, **params: Unpack[t.UnloadParams]) -> Stream:
        """Unloads a model; wait() until it is gone."""
        return Stream(self, self.call(t.UnloadRequest(model=model, **params)).id)

    def reload(self, model: str) -> Stream:
        """Loads a model again with the current plugins; wait() until it is ready."""
        return Stream(self, self.call(t.ReloadRequest(model=model)).id)

    # -- server --

    def ping(self) -> t.PingReply:
        """Checks that the server is alive and returns its state."""
        return self.call(t.PingRequest())

    def status(self) -> t.StatusReply:
        """Returns a summary of the server's state."""
        return self.call(t.StatusRequest())

    def stats(self, model: Optional[str] = None) -> list[t.Metric]:
        """Returns the metrics of the server, or only those of a model."""
        return self.call(t.StatsRequest(model=model)).metrics

    def plugins(self, factories: bool = False) -> list[t.Plugin]:
        """Lists the plugins that were found.  factories: include the factories of each."""
        return self.call(t.PluginsRequest(factories=factories)).plugins

    def close(self) -> None:
        """Closes the connection; streams without a lease are cancelled."""
        self._closed = True
        if self._connection:
            self._connection.close()

    def __repr__(self) -> str:
        how = "closed" if self._closed else f"{self.server.server} {self.server.version}"
        return f"<Client {self.url}, {how}>"

    def __del__(self) -> None:
        connection: Optional[Connection] = getattr(self, "_connection", None)
        if connection:
            connection.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind: Optional[type[BaseException]], e: Optional[BaseException],
                 tb: Optional[TracebackType]) -> None:
        self.close()

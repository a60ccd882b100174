# SPDX-License-Identifier: MIT
# Made by build-aux/gen-proto from proto/schema.
"""Messages of llamad's protocol as dataclasses.

to_map() gives what msgpack packs, without what is None or has its default; from_map() takes
what msgpack unpacked, and passes over keys that it does not know."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, Mapping, TypedDict, TypeVar, Union

#: Versions of the protocol that this module speaks, and the latest addition that it knows.
V_MIN = 1
V_MAX = 1
REVISION = 3


M = TypeVar("M", bound="Message")
R = TypeVar("R", bound="Message")


class Message:
    """Base of all messages and types."""

    __slots__ = ()

    def to_map(self) -> dict[str, Any]:
        kind = getattr(self, "KIND", "")
        out: dict[str, Any] = {"kind": kind} if kind else {}
        for f in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            if value is None or ("default" in f.metadata and value == f.metadata["default"]):
                continue
            if isinstance(value, Message):
                value = value.to_map()
            elif isinstance(value, (list, tuple)):
                value = [v.to_map() if isinstance(v, Message) else v for v in value]
            out[f.metadata["wire"]] = value
        return out

    @classmethod
    def from_map(cls: type[M], m: Mapping[str, Any]) -> M:
        args = {}
        for f in dataclasses.fields(cls):  # type: ignore[arg-type]
            value = m.get(f.metadata["wire"])
            if value is None:
                continue
            make = f.metadata.get("make")
            if make is not None:
                of = globals()[make]
                many = f.metadata.get("many", False)
                value = [of.from_map(v) for v in value] if many else of.from_map(value)
            elif isinstance(value, str) and f.metadata.get("bytes", False):
                value = value.encode()
            args[f.name] = value
        return cls(**args)


class Request(Message, Generic[R]):
    """Base of all requests.  R: what answers it."""

    __slots__ = ()
    OP: ClassVar[str]
    ROLE: ClassVar[str]
    CHANGES: ClassVar[str]
    REPLY: ClassVar[Any]

#: What a principal may do.
Role = Literal["user", "admin"]
#: State of the server.
ServerState = Literal["starting", "ready", "draining"]
#: State of a model.
ModelState = Literal["absent", "loading", "ready", "draining", "unloading", "failed", "quarantined"]
#: How urgent a generation is.
Class = Literal["interactive", "normal", "batch"]
#: What of an answer is taken without asking the model, since the grammar leaves no choice.
Jump = Literal["token", "text", "off"]
#: Numbers between layers.
Activations = Literal["auto", "f32", "int8"]
#: Why a stream is done.
Finish = Literal["eog", "stop", "length", "context", "deadline", "shutdown", "done"]
#: Who cancelled a stream.
CancelReason = Literal["asked", "lease", "gone", "slow_reader", "unload"]
#: What a job is doing.
Phase = Literal["queued", "hash", "copy", "check", "load", "warm", "drain", "unload"]
#: What made a stream.
StreamKind = Literal["generate", "add", "load", "unload", "reload"]
#: State of a stream.
StreamState = Literal["waiting", "running", "ended"]
#: How a metric moves.
MetricKind = Literal["counter", "gauge"]
#: Kinds of failure.
ErrorCode = Literal["nomem", "invalid", "notfound", "unsupported", "corrupt", "busy", "cancelled", "timeout", "io", "device", "internal", "denied"]

#: Bounds of the protocol by name.
LIMITS: dict[str, int] = {
    "message_bytes": 16777216,
    "depth": 32,
    "message_values": 4194304,
    "message_keys": 262144,
    "map_keys": 128,
    "key_bytes": 64,
    "rid_bytes": 64,
    "secret_bytes": 256,
    "label_bytes": 63,
    "name_bytes": 128,
    "path_bytes": 4095,
    "sentence_bytes": 1024,
    "text_bytes": 16777216,
    "tokens": 2097152,
    "rows": 4096,
    "messages": 4096,
    "template_bytes": 1048576,
    "grammar_bytes": 262144,
    "stops": 16,
    "stop_bytes": 256,
    "biases": 1024,
    "samplers": 32,
    "output_max": 1073741824,
    "timeout_max": 86400000,
    "lease_min": 100,
    "lease_max": 600000,
    "wait_max": 600000,
    "hold_max": 10000,
    "items": 4096,
    "items_default": 256,
    "reply_text_bytes": 1048576,
}


@dataclass(kw_only=True)
class ChatMessage(Message):
    """One message of a conversation."""

    #: Who speaks: system, developer, user, assistant, tool or function.
    role: str = field(metadata={"wire": "role"})
    #: What is said.
    content: Union[str, bytes] = field(default='', metadata={"wire": "content", "default": ''})
    #: What an assistant thought before.
    reasoning: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "reasoning"})
    #: Name of the tool, or of who speaks.
    name: Union[str, None] = field(default=None, metadata={"wire": "name"})
    #: Calls of an assistant, a JSON array.
    tool_calls: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "tool_calls"})
    #: The call that a tool answers.
    tool_call_id: Union[str, None] = field(default=None, metadata={"wire": "tool_call_id"})


@dataclass(kw_only=True)
class Limit(Message):
    """One bound."""

    #: Its name.
    name: str = field(metadata={"wire": "name"})
    #: Its value. (at least 0)
    value: int = field(metadata={"wire": "value"})
    #: What is counted, where the name does not say.
    unit: str = field(default='', metadata={"wire": "unit", "default": ''})


@dataclass(kw_only=True)
class Label(Message):
    """A name with a value."""

    #: The name.
    name: str = field(metadata={"wire": "name"})
    #: The value.
    value: str = field(metadata={"wire": "value"})


@dataclass(kw_only=True)
class Model(Message):
    """A model of the registry."""

    #: Its name.
    name: str = field(metadata={"wire": "name"})
    #: Its other names.
    aliases: list[str] = field(default_factory=list, metadata={"wire": "aliases", "default": []})
    #: sha256: and 64 hexadecimal digits; empty while it is not known.
    digest: str = field(default='', metadata={"wire": "digest", "default": ''})
    #: Length of its files. (bytes, at least 0)
    size: int = field(metadata={"wire": "size"})
    #: Its architecture.
    arch: str = field(metadata={"wire": "arch"})
    #: Format of its files.
    format: str = field(default='', metadata={"wire": "format", "default": ''})
    #: Its first file; for admins.
    path: Union[str, None] = field(default=None, metadata={"wire": "path"})
    #: Its state.
    state: str = field(metadata={"wire": "state"})
    #: Why the state is failed or quarantined.
    reason: str = field(default='', metadata={"wire": "reason", "default": ''})


@dataclass(kw_only=True)
class Resident(Message):
    """A model that has a place in memory."""

    #: Its name, or its path.
    model: str = field(metadata={"wire": "model"})
    #: Its state.
    state: str = field(metadata={"wire": "state"})
    #: The backend that runs it.
    backend: str = field(metadata={"wire": "backend"})
    #: Number of the backend's device. (at least 0, at most 65535)
    device: int = field(metadata={"wire": "device"})
    #: Context of one session. (tokens, at least 0)
    n_ctx: int = field(metadata={"wire": "n_ctx"})
    #: Sessions at a time. (at least 0)
    n_seq: int = field(metadata={"wire": "n_seq"})
    #: Generations that run. (at least 0)
    active: int = field(metadata={"wire": "active"})
    #: Generations that wait. (at least 0)
    waiting: int = field(metadata={"wire": "waiting"})
    #: Memory of the weights. (bytes, at least 0)
    weight_bytes: int = field(metadata={"wire": "weight_bytes"})
    #: Memory of the sessions. (bytes, at least 0)
    kv_bytes: int = field(metadata={"wire": "kv_bytes"})
    #: Working memory. (bytes, at least 0)
    scratch_bytes: int = field(metadata={"wire": "scratch_bytes"})
    #: Time since it became ready. (ms, at least 0)
    loaded_ms: int = field(metadata={"wire": "loaded_ms"})
    #: Time since it last had work; 0 while it has. (ms, at least 0)
    idle_ms: int = field(metadata={"wire": "idle_ms"})
    #: It is unloaded after being idle so long; -1: never. (ms, at least -1)
    keep_alive_ms: int = field(metadata={"wire": "keep_alive_ms"})


@dataclass(kw_only=True)
class Meta(Message):
    """A key of a model file."""

    #: The key.
    key: str = field(metadata={"wire": "key"})
    #: Type of the value.
    type: str = field(metadata={"wire": "type"})
    #: The value as text; long ones are cut.
    value: Union[str, bytes] = field(metadata={"wire": "value"})


@dataclass(kw_only=True)
class TensorType(Message):
    """The tensors of one type."""

    #: The type, as q4_k.
    type: str = field(metadata={"wire": "type"})
    #: How many. (at least 0)
    tensors: int = field(metadata={"wire": "tensors"})
    #: Their elements. (at least 0)
    elements: int = field(metadata={"wire": "elements"})
    #: Their size. (bytes, at least 0)
    bytes: int = field(metadata={"wire": "bytes"})


@dataclass(kw_only=True)
class Factory(Message):
    """One thing that a plugin offers."""

    #: backend, arch, tokenizer or sampler.
    kind: str = field(metadata={"wire": "kind"})
    #: Its name.
    name: str = field(metadata={"wire": "name"})
    #: How well it runs here; 0: not at all. (at least -2147483648, at most 2147483647)
    score: int = field(metadata={"wire": "score"})
    #: Why the score is 0, or by what it is shadowed.
    reason: str = field(default='', metadata={"wire": "reason", "default": ''})


@dataclass(kw_only=True)
class Plugin(Message):
    """A plugin file that was found."""

    #: Its path.
    file: str = field(metadata={"wire": "file"})
    #: Its name; empty when it could not be read.
    name: str = field(metadata={"wire": "name"})
    #: What it offers.
    kinds: list[str] = field(metadata={"wire": "kinds"})
    #: Its version.
    version: str = field(metadata={"wire": "version"})
    #: The ABI it was built for, as 1.0.
    abi: str = field(metadata={"wire": "abi"})
    #: loaded, shadowed, refused or retired.
    state: str = field(metadata={"wire": "state"})
    #: Why it is not loaded.
    reason: str = field(metadata={"wire": "reason"})
    #: Counts the versions of the file. (at least 0)
    generation: int = field(metadata={"wire": "generation"})
    #: References on it. (at least 0)
    users: int = field(default=0, metadata={"wire": "users", "default": 0})
    #: What it offers, one by one; when asked for.
    factories: list[Factory] = field(default_factory=list, metadata={"wire": "factories", "default": [], "make": "Factory", "many": True})


@dataclass(kw_only=True)
class Stream(Message):
    """A stream as its owner sees it."""

    #: Its id.
    id: bytes = field(metadata={"wire": "id", "bytes": True})
    #: What made it.
    kind: str = field(metadata={"wire": "kind"})
    #: The model it works with.
    model: str = field(metadata={"wire": "model"})
    #: Its state.
    state: str = field(metadata={"wire": "state"})
    #: Request id of the request that made it.
    rid: str = field(default='', metadata={"wire": "rid", "default": ''})
    #: Number of its latest item; 0: none yet. (at least 0)
    last: int = field(metadata={"wire": "last"})
    #: Time since it was made. (ms, at least 0)
    age_ms: int = field(metadata={"wire": "age_ms"})
    #: Time without next after which it is cancelled. (ms, at least 0)
    lease_ms: int = field(metadata={"wire": "lease_ms"})


@dataclass(kw_only=True)
class Key(Message):
    """A key by which clients are known over TCP."""

    #: What it is called.
    label: str = field(metadata={"wire": "label"})
    #: What its clients may do.
    role: str = field(metadata={"wire": "role"})
    #: When it was made, counted from 1970-01-01 UTC. (ms, at least 0)
    created_ms: int = field(metadata={"wire": "created_ms"})
    #: Until when it is good, counted likewise; 0: until it is removed. (ms, at least 0)
    expires_ms: int = field(default=0, metadata={"wire": "expires_ms", "default": 0})
    #: That is over.
    expired: bool = field(default=False, metadata={"wire": "expired", "default": False})


@dataclass(kw_only=True)
class Error(Message):
    """Why a request was refused."""

    #: The kind of failure.
    code: str = field(metadata={"wire": "code"})
    #: A sentence that names the thing, the value and the bound.
    text: str = field(metadata={"wire": "text"})
    #: A repetition before that time is pointless. (ms, at least 0)
    retry_ms: Union[int, None] = field(default=None, metadata={"wire": "retry_ms"})
    #: This connection has said no hello with a valid key: to do that, and then to ask again, is
    #: the answer.
    hello: bool = field(default=False, metadata={"wire": "hello", "default": False})


@dataclass(kw_only=True)
class Metric(Message):
    """One number of the server."""

    #: Its name, as on the metrics page.
    name: str = field(metadata={"wire": "name"})
    #: How it moves.
    kind: str = field(metadata={"wire": "kind"})
    #: Its value.
    value: float = field(metadata={"wire": "value"})
    #: What it is about.
    labels: list[Label] = field(default_factory=list, metadata={"wire": "labels", "default": [], "make": "Label", "many": True})


@dataclass(kw_only=True)
class TokenItem(Message):
    """A generated token, and the text that can be shown since the last one."""

    KIND: ClassVar[str] = "token"
    FINAL: ClassVar[bool] = False
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})
    #: Its id.
    token: int = field(metadata={"wire": "token"})
    #: Bytes of the answer; whole UTF-8 characters as far as the tokens make them.
    text: bytes = field(default=b'', metadata={"wire": "text", "default": b'', "bytes": True})


@dataclass(kw_only=True)
class TextItem(Message):
    """More text, without a token."""

    KIND: ClassVar[str] = "text"
    FINAL: ClassVar[bool] = False
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})
    #: Bytes of the answer.
    text: bytes = field(metadata={"wire": "text", "bytes": True})


@dataclass(kw_only=True)
class ThoughtItem(Message):
    """More of what the model thinks; with parse."""

    KIND: ClassVar[str] = "thought"
    FINAL: ClassVar[bool] = False
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})
    #: Bytes of the thought.
    text: bytes = field(metadata={"wire": "text", "bytes": True})


@dataclass(kw_only=True)
class CallItem(Message):
    """The model calls a tool; its arguments follow. With parse."""

    KIND: ClassVar[str] = "call"
    FINAL: ClassVar[bool] = False
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})
    #: Counts the calls of the answer, from 0. (at least 0)
    call: int = field(metadata={"wire": "call"})
    #: The tool.
    name: str = field(metadata={"wire": "name"})
    #: What the model calls this call, or, where it does not, nine letters and digits.
    id: str = field(metadata={"wire": "id"})


@dataclass(kw_only=True)
class ArgumentsItem(Message):
    """More of the arguments of a call; together they are a JSON object, unless call_end says otherwise."""

    KIND: ClassVar[str] = "arguments"
    FINAL: ClassVar[bool] = False
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})
    #: The call. (at least 0)
    call: int = field(metadata={"wire": "call"})
    #: A piece of JSON.
    text: bytes = field(metadata={"wire": "text", "bytes": True})


@dataclass(kw_only=True)
class CallEndItem(Message):
    """The call is over."""

    KIND: ClassVar[str] = "call_end"
    FINAL: ClassVar[bool] = False
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})
    #: The call. (at least 0)
    call: int = field(metadata={"wire": "call"})
    #: Its arguments are whole, and JSON.
    complete: bool = field(metadata={"wire": "complete"})


@dataclass(kw_only=True)
class ProgressItem(Message):
    """How far a job is; only the latest one is kept."""

    KIND: ClassVar[str] = "progress"
    FINAL: ClassVar[bool] = False
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})
    #: What is being done.
    phase: str = field(metadata={"wire": "phase"})
    #: How much of it is done. (at least 0)
    done: int = field(metadata={"wire": "done"})
    #: How much it is; 0: not known. (at least 0)
    total: int = field(default=0, metadata={"wire": "total", "default": 0})


@dataclass(kw_only=True)
class DoneItem(Message):
    """The stream came to its end."""

    KIND: ClassVar[str] = "done"
    FINAL: ClassVar[bool] = True
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})
    #: Why.
    finish: str = field(metadata={"wire": "finish"})
    #: Length of the prompt. (tokens, at least 0)
    n_prompt: int = field(default=0, metadata={"wire": "n_prompt", "default": 0})
    #: Length of the answer. (tokens, at least 0)
    n_out: int = field(default=0, metadata={"wire": "n_out", "default": 0})
    #: From the first step to the first token. (ns, at least 0)
    prompt_ns: int = field(default=0, metadata={"wire": "prompt_ns", "default": 0})
    #: From there to the end. (ns, at least 0)
    out_ns: int = field(default=0, metadata={"wire": "out_ns", "default": 0})
    #: Tokens of the answer that took no step of their own, since the grammar left no choice.
    #: (tokens, at least 0)
    n_forced: int = field(default=0, metadata={"wire": "n_forced", "default": 0})


@dataclass(kw_only=True)
class ErrorItem(Message):
    """The stream failed."""

    KIND: ClassVar[str] = "error"
    FINAL: ClassVar[bool] = True
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})
    #: The kind of failure.
    code: str = field(metadata={"wire": "code"})
    #: A sentence that names the thing, the value and the bound.
    text: str = field(metadata={"wire": "text"})


@dataclass(kw_only=True)
class CancelledItem(Message):
    """The stream was cancelled."""

    KIND: ClassVar[str] = "cancelled"
    FINAL: ClassVar[bool] = True
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})
    #: By whom.
    reason: str = field(metadata={"wire": "reason"})


@dataclass(kw_only=True)
class UnknownItem(Message):
    """An item of a newer server."""

    KIND: ClassVar[str] = ""
    FINAL: ClassVar[bool] = False
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})


Item = Union[TokenItem, TextItem, ThoughtItem, CallItem, ArgumentsItem, CallEndItem, ProgressItem, DoneItem, ErrorItem, CancelledItem, UnknownItem]

_ITEMS: dict[str, Any] = {
    "token": TokenItem,
    "text": TextItem,
    "thought": ThoughtItem,
    "call": CallItem,
    "arguments": ArgumentsItem,
    "call_end": CallEndItem,
    "progress": ProgressItem,
    "done": DoneItem,
    "error": ErrorItem,
    "cancelled": CancelledItem,
}


class Item_:
    """Chooses the class of an item."""

    @staticmethod
    def from_map(m: Mapping[str, Any]) -> Item:
        item: Item = _ITEMS.get(m.get("kind", ""), UnknownItem).from_map(m)
        return item


@dataclass(kw_only=True)
class AddReply(Message):
    """Answer to add."""

    #: The job's stream.
    id: bytes = field(metadata={"wire": "id", "bytes": True})


@dataclass(kw_only=True)
class AddRequest(Request[AddReply]):
    """Puts a model file of the server into the registry; a job, whose stream ends when the row is there."""

    OP: ClassVar[str] = "add"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "once"
    REPLY: ClassVar[Any] = AddReply
    #: Its name from now on.
    name: str = field(metadata={"wire": "name"})
    #: A file or folder below the server's model folders.
    path: str = field(metadata={"wire": "path"})
    #: Copy it into the server's own store.
    copy: bool = field(default=False, metadata={"wire": "copy", "default": False})
    #: Refuse the file unless this is its digest.
    digest: Union[str, None] = field(default=None, metadata={"wire": "digest"})
    #: Put it in the place of the model of that name.
    replace: bool = field(default=False, metadata={"wire": "replace", "default": False})


class AddParams(TypedDict, total=False):
    """What add can do without."""

    #: Copy it into the server's own store.
    copy: bool
    #: Refuse the file unless this is its digest.
    digest: Union[str, None]
    #: Put it in the place of the model of that name.
    replace: bool


@dataclass(kw_only=True)
class AliasReply(Message):
    """Answer to alias."""

    #: The model that had it.
    before: Union[str, None] = field(default=None, metadata={"wire": "before"})


@dataclass(kw_only=True)
class AliasRequest(Request[AliasReply]):
    """Gives a model another name; an alias that exists moves to the model."""

    OP: ClassVar[str] = "alias"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = AliasReply
    #: The other name.
    alias: str = field(metadata={"wire": "alias"})
    #: The model.
    model: str = field(metadata={"wire": "model"})


@dataclass(kw_only=True)
class CancelReply(Message):
    """Answer to cancel."""

    #: It had ended already.
    ended: bool = field(metadata={"wire": "ended"})


@dataclass(kw_only=True)
class CancelRequest(Request[CancelReply]):
    """Ends a stream within one step; one that has ended is forgotten."""

    OP: ClassVar[str] = "cancel"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = CancelReply
    #: The stream.
    id: bytes = field(metadata={"wire": "id", "bytes": True})


@dataclass(kw_only=True)
class ConfigReloadReply(Message):
    """Answer to config_reload."""

    #: Keys that have new values.
    changed: list[str] = field(default_factory=list, metadata={"wire": "changed", "default": []})
    #: Keys whose new values count after a restart.
    restart: list[str] = field(default_factory=list, metadata={"wire": "restart", "default": []})


@dataclass(kw_only=True)
class ConfigReloadRequest(Request[ConfigReloadReply]):
    """Reads the configuration again and applies it as a whole, or refuses it as a whole."""

    OP: ClassVar[str] = "config_reload"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = ConfigReloadReply


@dataclass(kw_only=True)
class DetokenizeReply(Message):
    """Answer to detokenize."""

    #: The text; its bytes need not be UTF-8.
    text: bytes = field(metadata={"wire": "text", "bytes": True})


@dataclass(kw_only=True)
class DetokenizeRequest(Request[DetokenizeReply]):
    """Turns tokens into text."""

    OP: ClassVar[str] = "detokenize"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = DetokenizeReply
    #: The model, by name or alias, or for admins by path.
    model: str = field(metadata={"wire": "model"})
    #: The tokens.
    tokens: list[int] = field(metadata={"wire": "tokens"})
    #: Control tokens are written out.
    special: bool = field(default=True, metadata={"wire": "special", "default": True})


class DetokenizeParams(TypedDict, total=False):
    """What detokenize can do without."""

    #: Control tokens are written out.
    special: bool


@dataclass(kw_only=True)
class DrainReply(Message):
    """Answer to drain."""

    #: Generations that run. (at least 0)
    running: int = field(metadata={"wire": "running"})
    #: Generations that wait; they are refused when it drains. (at least 0)
    waiting: int = field(metadata={"wire": "waiting"})


@dataclass(kw_only=True)
class DrainRequest(Request[DrainReply]):
    """Takes no more work and finishes what runs, or takes work again."""

    OP: ClassVar[str] = "drain"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = DrainReply
    #: False: take work again.
    on: bool = field(default=True, metadata={"wire": "on", "default": True})


class DrainParams(TypedDict, total=False):
    """What drain can do without."""

    #: False: take work again.
    on: bool


@dataclass(kw_only=True)
class GenerateReply(Message):
    """Answer to generate."""

    #: The stream.
    id: bytes = field(metadata={"wire": "id", "bytes": True})
    #: The seed that is used. (at least 0)
    seed: int = field(metadata={"wire": "seed"})


@dataclass(kw_only=True)
class GenerateRequest(Request[GenerateReply]):
    """Continues a prompt; answers a stream at once, whose items are fetched with next."""

    OP: ClassVar[str] = "generate"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "once"
    REPLY: ClassVar[Any] = GenerateReply
    #: The model, by name or alias, or for admins by path; it is loaded when it is not in memory.
    model: str = field(metadata={"wire": "model"})
    #: What a user says to the model, when the model has a chat template; what is continued, when
    #: it has none, or with raw.
    prompt: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "prompt"})
    #: What is continued, as tokens; taken as they are.
    tokens: Union[list[int], None] = field(default=None, metadata={"wire": "tokens"})
    #: A conversation; an assistant's message at its end is the beginning of the answer.
    messages: Union[list[ChatMessage], None] = field(default=None, metadata={"wire": "messages", "make": "ChatMessage", "many": True})
    #: The prompt is plain text, also for models with a chat template.
    raw: bool = field(default=False, metadata={"wire": "raw", "default": False})
    #: Instead of the model's own chat template: the name of a variant of it or of a built-in one,
    #: or, with a { in it, the text of a template.
    template: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "template"})
    #: Further variables of the template, a JSON object.
    template_args: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "template_args"})
    #: Tools that the template tells the model about, a JSON array.
    tools: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "tools"})
    #: The items tell what the answer consists of: text, thoughts, and calls of tools.
    parse: bool = field(default=False, metadata={"wire": "parse", "default": False})
    #: How the model writes thoughts and calls: a name that llamactl debug parse --list prints;
    #: without it what its chat template says. With parse.
    parse_format: Union[str, None] = field(default=None, metadata={"wire": "parse_format"})
    #: Add the begin tokens that the model wants to the prompt.
    add_special: bool = field(default=True, metadata={"wire": "add_special", "default": True})
    #: Text of control tokens in the prompt becomes those tokens.
    parse_special: bool = field(default=False, metadata={"wire": "parse_special", "default": False})
    #: Length of the answer at most; -1: until the context is full; without it the server's
    #: default. (tokens, at least -1, at most 1073741824)
    n: Union[int, None] = field(default=None, metadata={"wire": "n"})
    #: The answer ends before the first of these texts.
    stop: list[Union[str, bytes]] = field(default_factory=list, metadata={"wire": "stop", "default": []})
    #: A grammar in GBNF that the answer follows.
    grammar: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "grammar"})
    #: A JSON schema that the answer follows; {}: any JSON. Not with grammar.
    json_schema: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "json_schema"})
    #: The grammar counts only from where the answer matches one of these regular expressions.
    grammar_triggers: list[Union[str, bytes]] = field(default_factory=list, metadata={"wire": "grammar_triggers", "default": []})
    #: What is taken without asking the model where the grammar leaves no choice.
    jump: str = field(default='token', metadata={"wire": "jump", "default": 'token'})
    #: Tokens at the end of the prompt that begin longer ones are taken back, and the model begins
    #: with their text in whichever tokens; the answer comes without that text.
    heal: bool = field(default=False, metadata={"wire": "heal", "default": False})
    #: Go on after tokens that end an answer.
    ignore_eog: bool = field(default=False, metadata={"wire": "ignore_eog", "default": False})
    #: Text of control tokens is part of the answer.
    special: bool = field(default=False, metadata={"wire": "special", "default": False})
    #: Of the random choices; without it the server takes one and tells it. (at least 0)
    seed: Union[int, None] = field(default=None, metadata={"wire": "seed"})
    #: The samplers in their order; then none of the parameters below counts.
    chain: Union[list[Union[str, Mapping[str, Any]]], None] = field(default=None, metadata={"wire": "chain"})
    #: Order of the samplers: default, temperature-first, letters as edskypmxt, or names with
    #: commas.
    order: Union[str, None] = field(default=None, metadata={"wire": "order"})
    #: Temperature; 0 takes the likeliest token. (at least 0, at most 5)
    temp: float = field(default=0.8, metadata={"wire": "temp", "default": 0.8})
    #: Only so many of the likeliest tokens; 0 or less: all. (at least -1, at most 2147483647)
    top_k: int = field(default=40, metadata={"wire": "top_k", "default": 40})
    #: Only the likeliest tokens that make up this probability; 1: all. (at least 0, at most 1)
    top_p: float = field(default=0.95, metadata={"wire": "top_p", "default": 0.95})
    #: Only tokens with this share of the best one's probability; 0: all. (at least 0, at most 1)
    min_p: float = field(default=0.05, metadata={"wire": "min_p", "default": 0.05})
    #: Only the most typical tokens that make up this probability; 1: all. (at least 0, at most 1)
    typical: float = field(default=1.0, metadata={"wire": "typical", "default": 1.0})
    #: Only tokens whose logit lies within so many deviations of the best; 0 or less: all. (at
    #: least -1, at most 100)
    top_n_sigma: float = field(default=-1.0, metadata={"wire": "top_n_sigma", "default": -1.0})
    #: Tokens that top_p, min_p, typical and xtc leave at least. (at least 0, at most 2147483647)
    min_keep: int = field(default=0, metadata={"wire": "min_keep", "default": 0})
    #: Window of the penalties; 0: off, -1: the context. (tokens, at least -1, at most 2147483647)
    repeat_last_n: int = field(default=64, metadata={"wire": "repeat_last_n", "default": 64})
    #: Divides the logits of tokens in the window; 1: off. (at least 0.01, at most 100)
    repeat_penalty: float = field(default=1.0, metadata={"wire": "repeat_penalty", "default": 1.0})
    #: Taken from a token's logit for each time it stands in the window. (at least -100, at most
    #: 100)
    frequency_penalty: float = field(default=0.0, metadata={"wire": "frequency_penalty", "default": 0.0})
    #: Taken from it once if it stands in the window. (at least -100, at most 100)
    presence_penalty: float = field(default=0.0, metadata={"wire": "presence_penalty", "default": 0.0})
    #: The temperature moves by so much with the entropy; 0: off. (at least 0, at most 5)
    dynatemp_range: float = field(default=0.0, metadata={"wire": "dynatemp_range", "default": 0.0})
    #: How the entropy counts there. (at least 0, at most 100)
    dynatemp_exponent: float = field(default=1.0, metadata={"wire": "dynatemp_exponent", "default": 1.0})
    #: How often the likeliest tokens are left out; 0: off. (at least 0, at most 1)
    xtc_probability: float = field(default=0.0, metadata={"wire": "xtc_probability", "default": 0.0})
    #: The probability from which on a token is likely there. (at least 0, at most 1)
    xtc_threshold: float = field(default=0.1, metadata={"wire": "xtc_threshold", "default": 0.1})
    #: Strength of the penalty on repeated sequences; 0: off. (at least 0, at most 100)
    dry_multiplier: float = field(default=0.0, metadata={"wire": "dry_multiplier", "default": 0.0})
    #: Its base. (at least 0, at most 100)
    dry_base: float = field(default=1.75, metadata={"wire": "dry_base", "default": 1.75})
    #: Repetitions up to this length are free. (tokens, at least 0, at most 2147483647)
    dry_allowed_length: int = field(default=2, metadata={"wire": "dry_allowed_length", "default": 2})
    #: Its window; -1: the context. (tokens, at least -1, at most 2147483647)
    dry_last_n: int = field(default=64, metadata={"wire": "dry_last_n", "default": 64})
    #: Texts that end a sequence; without it newline, colon, quote and asterisk.
    dry_breakers: Union[list[Union[str, bytes]], None] = field(default=None, metadata={"wire": "dry_breakers"})
    #: Version of mirostat; 0: off. (at least 0, at most 2)
    mirostat: int = field(default=0, metadata={"wire": "mirostat", "default": 0})
    #: The surprise it aims at. (at least 0, at most 100)
    mirostat_tau: float = field(default=5.0, metadata={"wire": "mirostat_tau", "default": 5.0})
    #: How fast it learns. (at least 0, at most 100)
    mirostat_eta: float = field(default=0.1, metadata={"wire": "mirostat_eta", "default": 0.1})
    #: Added to the logits of tokens.
    logit_bias: list[tuple[int, Union[float, bool]]] = field(default_factory=list, metadata={"wire": "logit_bias", "default": []})
    #: How urgent it is.
    class_: str = field(default='normal', metadata={"wire": "class", "default": 'normal'})
    #: Deadline of the whole, waiting included; without it the server's default. (ms, at least 1,
    #: at most 86400000)
    timeout_ms: Union[int, None] = field(default=None, metadata={"wire": "timeout_ms"})
    #: It is cancelled when no next came for so long; without it the server's default. (ms, at
    #: least 100, at most 600000)
    lease_ms: Union[int, None] = field(default=None, metadata={"wire": "lease_ms"})


class GenerateParams(TypedDict, total=False):
    """What generate can do without."""

    #: The prompt is plain text, also for models with a chat template.
    raw: bool
    #: Instead of the model's own chat template: the name of a variant of it or of a built-in one,
    #: or, with a { in it, the text of a template.
    template: Union[Union[str, bytes], None]
    #: Further variables of the template, a JSON object.
    template_args: Union[Union[str, bytes], None]
    #: Tools that the template tells the model about, a JSON array.
    tools: Union[Union[str, bytes], None]
    #: The items tell what the answer consists of: text, thoughts, and calls of tools.
    parse: bool
    #: How the model writes thoughts and calls: a name that llamactl debug parse --list prints;
    #: without it what its chat template says. With parse.
    parse_format: Union[str, None]
    #: Add the begin tokens that the model wants to the prompt.
    add_special: bool
    #: Text of control tokens in the prompt becomes those tokens.
    parse_special: bool
    #: Length of the answer at most; -1: until the context is full; without it the server's
    #: default. (tokens, at least -1, at most 1073741824)
    n: Union[int, None]
    #: The answer ends before the first of these texts.
    stop: list[Union[str, bytes]]
    #: A grammar in GBNF that the answer follows.
    grammar: Union[Union[str, bytes], None]
    #: A JSON schema that the answer follows; {}: any JSON. Not with grammar.
    json_schema: Union[Union[str, bytes], None]
    #: The grammar counts only from where the answer matches one of these regular expressions.
    grammar_triggers: list[Union[str, bytes]]
    #: What is taken without asking the model where the grammar leaves no choice.
    jump: str
    #: Tokens at the end of the prompt that begin longer ones are taken back, and the model begins
    #: with their text in whichever tokens; the answer comes without that text.
    heal: bool
    #: Go on after tokens that end an answer.
    ignore_eog: bool
    #: Text of control tokens is part of the answer.
    special: bool
    #: Of the random choices; without it the server takes one and tells it. (at least 0)
    seed: Union[int, None]
    #: The samplers in their order; then none of the parameters below counts.
    chain: Union[list[Union[str, Mapping[str, Any]]], None]
    #: Order of the samplers: default, temperature-first, letters as edskypmxt, or names with
    #: commas.
    order: Union[str, None]
    #: Temperature; 0 takes the likeliest token. (at least 0, at most 5)
    temp: float
    #: Only so many of the likeliest tokens; 0 or less: all. (at least -1, at most 2147483647)
    top_k: int
    #: Only the likeliest tokens that make up this probability; 1: all. (at least 0, at most 1)
    top_p: float
    #: Only tokens with this share of the best one's probability; 0: all. (at least 0, at most 1)
    min_p: float
    #: Only the most typical tokens that make up this probability; 1: all. (at least 0, at most 1)
    typical: float
    #: Only tokens whose logit lies within so many deviations of the best; 0 or less: all. (at
    #: least -1, at most 100)
    top_n_sigma: float
    #: Tokens that top_p, min_p, typical and xtc leave at least. (at least 0, at most 2147483647)
    min_keep: int
    #: Window of the penalties; 0: off, -1: the context. (tokens, at least -1, at most 2147483647)
    repeat_last_n: int
    #: Divides the logits of tokens in the window; 1: off. (at least 0.01, at most 100)
    repeat_penalty: float
    #: Taken from a token's logit for each time it stands in the window. (at least -100, at most
    #: 100)
    frequency_penalty: float
    #: Taken from it once if it stands in the window. (at least -100, at most 100)
    presence_penalty: float
    #: The temperature moves by so much with the entropy; 0: off. (at least 0, at most 5)
    dynatemp_range: float
    #: How the entropy counts there. (at least 0, at most 100)
    dynatemp_exponent: float
    #: How often the likeliest tokens are left out; 0: off. (at least 0, at most 1)
    xtc_probability: float
    #: The probability from which on a token is likely there. (at least 0, at most 1)
    xtc_threshold: float
    #: Strength of the penalty on repeated sequences; 0: off. (at least 0, at most 100)
    dry_multiplier: float
    #: Its base. (at least 0, at most 100)
    dry_base: float
    #: Repetitions up to this length are free. (tokens, at least 0, at most 2147483647)
    dry_allowed_length: int
    #: Its window; -1: the context. (tokens, at least -1, at most 2147483647)
    dry_last_n: int
    #: Texts that end a sequence; without it newline, colon, quote and asterisk.
    dry_breakers: Union[list[Union[str, bytes]], None]
    #: Version of mirostat; 0: off. (at least 0, at most 2)
    mirostat: int
    #: The surprise it aims at. (at least 0, at most 100)
    mirostat_tau: float
    #: How fast it learns. (at least 0, at most 100)
    mirostat_eta: float
    #: Added to the logits of tokens.
    logit_bias: list[tuple[int, Union[float, bool]]]
    #: How urgent it is.
    class_: str
    #: Deadline of the whole, waiting included; without it the server's default. (ms, at least 1,
    #: at most 86400000)
    timeout_ms: Union[int, None]
    #: It is cancelled when no next came for so long; without it the server's default. (ms, at
    #: least 100, at most 600000)
    lease_ms: Union[int, None]


@dataclass(kw_only=True)
class HelloReply(Message):
    """Answer to hello."""

    #: Name of the server's program.
    server: str = field(metadata={"wire": "server"})
    #: Version of the server's program.
    version: str = field(metadata={"wire": "version"})
    #: Oldest protocol version that it speaks. (at least 1, at most 65535)
    v_min: int = field(metadata={"wire": "v_min"})
    #: Newest protocol version that it speaks. (at least 1, at most 65535)
    v_max: int = field(metadata={"wire": "v_max"})
    #: It knows all ops and fields up to this since. (at least 1, at most 65535)
    revision: int = field(metadata={"wire": "revision"})
    #: Another one after each start of the server.
    boot: bytes = field(metadata={"wire": "boot", "bytes": True})
    #: What this client may do.
    role: str = field(metadata={"wire": "role"})
    #: Ops that this client may use, and words for optional parts of this server.
    features: list[str] = field(metadata={"wire": "features"})
    #: As op limits.
    limits: list[Limit] = field(default_factory=list, metadata={"wire": "limits", "default": [], "make": "Limit", "many": True})


@dataclass(kw_only=True)
class HelloRequest(Request[HelloReply]):
    """Says who the client is and learns what the server speaks; may be sent with any v."""

    OP: ClassVar[str] = "hello"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = HelloReply
    #: Name of the program, for the log.
    client: str = field(default='', metadata={"wire": "client", "default": ''})
    #: Version of the program.
    version: str = field(default='', metadata={"wire": "version", "default": ''})
    #: Secret of a key: says on tcp and tls+tcp who the client is, and counts for this connection.
    #: On the unix socket it is passed over.
    key: str = field(default='', metadata={"wire": "key", "default": ''})


class HelloParams(TypedDict, total=False):
    """What hello can do without."""

    #: Name of the program, for the log.
    client: str
    #: Version of the program.
    version: str
    #: Secret of a key: says on tcp and tls+tcp who the client is, and counts for this connection.
    #: On the unix socket it is passed over.
    key: str


@dataclass(kw_only=True)
class InfoReply(Message):
    """Answer to info."""

    #: Its row of the registry.
    model: Model = field(metadata={"wire": "model", "make": "Model"})
    #: Elements of all tensors. (at least 0)
    elements: int = field(metadata={"wire": "elements"})
    #: Size of all tensors. (bytes, at least 0)
    weight_bytes: int = field(metadata={"wire": "weight_bytes"})
    #: Context it was trained for; 0: not known. (tokens, at least 0)
    n_ctx_train: int = field(default=0, metadata={"wire": "n_ctx_train", "default": 0})
    #: Layers. (at least 0)
    n_layer: int = field(default=0, metadata={"wire": "n_layer", "default": 0})
    #: Width of a row. (at least 0)
    n_embd: int = field(default=0, metadata={"wire": "n_embd", "default": 0})
    #: Size of the vocabulary. (tokens, at least 0)
    n_vocab: int = field(default=0, metadata={"wire": "n_vocab", "default": 0})
    #: Its own chat template.
    chat_template: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "chat_template"})
    #: Tensors by type.
    types: list[TensorType] = field(metadata={"wire": "types", "make": "TensorType", "many": True})
    #: Keys of the file, when asked for.
    meta: list[Meta] = field(default_factory=list, metadata={"wire": "meta", "default": [], "make": "Meta", "many": True})
    #: Its place in memory, when it has one.
    resident: Union[Resident, None] = field(default=None, metadata={"wire": "resident", "make": "Resident"})


@dataclass(kw_only=True)
class InfoRequest(Request[InfoReply]):
    """Tells what a model file says."""

    OP: ClassVar[str] = "info"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = InfoReply
    #: The model, by name or alias, or for admins by path.
    model: str = field(metadata={"wire": "model"})
    #: Also the keys of the file.
    keys: bool = field(default=False, metadata={"wire": "keys", "default": False})


class InfoParams(TypedDict, total=False):
    """What info can do without."""

    #: Also the keys of the file.
    keys: bool


@dataclass(kw_only=True)
class KeyAddReply(Message):
    """Answer to key_add."""


@dataclass(kw_only=True)
class KeyAddRequest(Request[KeyAddReply]):
    """Makes a key of which the client alone knows the secret; on the unix socket only."""

    OP: ClassVar[str] = "key_add"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = KeyAddReply
    #: What the key is called; no other one has that label.
    label: str = field(metadata={"wire": "label"})
    #: SHA-256 of the secret in 64 lower-case hexadecimal digits; the secret is at random and has
    #: at least 128 bits.
    digest: str = field(metadata={"wire": "digest"})
    #: What its clients may do.
    role: str = field(default='user', metadata={"wire": "role", "default": 'user'})
    #: It is good until then, counted from 1970-01-01 UTC; 0: until it is removed. (ms, at least
    #: 0, at most 9000000000000)
    expires_ms: int = field(default=0, metadata={"wire": "expires_ms", "default": 0})


class KeyAddParams(TypedDict, total=False):
    """What key_add can do without."""

    #: What its clients may do.
    role: str
    #: It is good until then, counted from 1970-01-01 UTC; 0: until it is removed. (ms, at least
    #: 0, at most 9000000000000)
    expires_ms: int


@dataclass(kw_only=True)
class KeyRmReply(Message):
    """Answer to key_rm."""

    #: There was one.
    found: bool = field(metadata={"wire": "found"})


@dataclass(kw_only=True)
class KeyRmRequest(Request[KeyRmReply]):
    """Removes a key: its clients are strangers from then on, and their streams end unless they have a lease of their own; on the unix socket only."""

    OP: ClassVar[str] = "key_rm"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = KeyRmReply
    #: What the key is called.
    label: str = field(metadata={"wire": "label"})


@dataclass(kw_only=True)
class KeysReply(Message):
    """Answer to keys."""

    #: One row each.
    keys: list[Key] = field(metadata={"wire": "keys", "make": "Key", "many": True})


@dataclass(kw_only=True)
class KeysRequest(Request[KeysReply]):
    """Lists the keys, the oldest first; on the unix socket only."""

    OP: ClassVar[str] = "keys"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = KeysReply


@dataclass(kw_only=True)
class LimitsReply(Message):
    """Answer to limits."""

    #: One row each.
    limits: list[Limit] = field(metadata={"wire": "limits", "make": "Limit", "many": True})


@dataclass(kw_only=True)
class LimitsRequest(Request[LimitsReply]):
    """Lists the bounds of this server."""

    OP: ClassVar[str] = "limits"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = LimitsReply


@dataclass(kw_only=True)
class LoadReply(Message):
    """Answer to load."""

    #: The job's stream.
    id: bytes = field(metadata={"wire": "id", "bytes": True})


@dataclass(kw_only=True)
class LoadRequest(Request[LoadReply]):
    """Brings a model into memory; a job, whose stream tells the progress and ends when the model is ready."""

    OP: ClassVar[str] = "load"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "once"
    REPLY: ClassVar[Any] = LoadReply
    #: The model, by name or alias, or for admins by path.
    model: str = field(metadata={"wire": "model"})
    #: Context of one session; 0: the model's, or what memory holds. (tokens, at least 0, at most
    #: 1073741824)
    n_ctx: int = field(default=0, metadata={"wire": "n_ctx", "default": 0})
    #: Sessions at a time; 0: the server's choice. (at least 0, at most 4096)
    n_seq: int = field(default=0, metadata={"wire": "n_seq", "default": 0})
    #: Tokens of one step; 0: the server's choice. (tokens, at least 0, at most 65536)
    n_batch: int = field(default=0, metadata={"wire": "n_batch", "default": 0})
    #: The backend; auto: the best there is.
    backend: str = field(default='auto', metadata={"wire": "backend", "default": 'auto'})
    #: Number of the backend's device. (at least 0, at most 65535)
    device: int = field(default=0, metadata={"wire": "device", "default": 0})
    #: Threads of a CPU backend; 0: the server's choice. (at least 0, at most 4096)
    threads: int = field(default=0, metadata={"wire": "threads", "default": 0})
    #: Type of the cache, as f16; auto: what the device likes.
    kv_type: str = field(default='auto', metadata={"wire": "kv_type", "default": 'auto'})
    #: Numbers between layers.
    activations: str = field(default='auto', metadata={"wire": "activations", "default": 'auto'})
    #: Memory that it may take; 0: what the server has left. (bytes, at least 0)
    memory_limit: int = field(default=0, metadata={"wire": "memory_limit", "default": 0})
    #: Unload it after being idle so long; -1: never. (ms, at least -1, at most 86400000)
    keep_alive_ms: int = field(default=300000, metadata={"wire": "keep_alive_ms", "default": 300000})


class LoadParams(TypedDict, total=False):
    """What load can do without."""

    #: Context of one session; 0: the model's, or what memory holds. (tokens, at least 0, at most
    #: 1073741824)
    n_ctx: int
    #: Sessions at a time; 0: the server's choice. (at least 0, at most 4096)
    n_seq: int
    #: Tokens of one step; 0: the server's choice. (tokens, at least 0, at most 65536)
    n_batch: int
    #: The backend; auto: the best there is.
    backend: str
    #: Number of the backend's device. (at least 0, at most 65535)
    device: int
    #: Threads of a CPU backend; 0: the server's choice. (at least 0, at most 4096)
    threads: int
    #: Type of the cache, as f16; auto: what the device likes.
    kv_type: str
    #: Numbers between layers.
    activations: str
    #: Memory that it may take; 0: what the server has left. (bytes, at least 0)
    memory_limit: int
    #: Unload it after being idle so long; -1: never. (ms, at least -1, at most 86400000)
    keep_alive_ms: int


@dataclass(kw_only=True)
class ModelsReply(Message):
    """Answer to models."""

    #: One row each, by name.
    models: list[Model] = field(metadata={"wire": "models", "make": "Model", "many": True})
    #: There are further rows.
    more: bool = field(default=False, metadata={"wire": "more", "default": False})


@dataclass(kw_only=True)
class ModelsRequest(Request[ModelsReply]):
    """Lists the registry."""

    OP: ClassVar[str] = "models"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = ModelsReply
    #: Only this one, by name or alias.
    model: Union[str, None] = field(default=None, metadata={"wire": "model"})
    #: Only names behind this one, for the next page.
    after: str = field(default='', metadata={"wire": "after", "default": ''})
    #: Rows at most. (at least 1, at most 4096)
    max: int = field(default=4096, metadata={"wire": "max", "default": 4096})


class ModelsParams(TypedDict, total=False):
    """What models can do without."""

    #: Only this one, by name or alias.
    model: Union[str, None]
    #: Only names behind this one, for the next page.
    after: str
    #: Rows at most. (at least 1, at most 4096)
    max: int


@dataclass(kw_only=True)
class NextReply(Message):
    """Answer to next."""

    #: The stream.
    id: bytes = field(metadata={"wire": "id", "bytes": True})
    #: What lies behind the cursor, in order; none when the time is over.
    items: list[Item] = field(default_factory=list, metadata={"wire": "items", "default": [], "make": "Item_", "many": True})
    #: The next cursor: number of the last item here, or after. (at least 0)
    last: int = field(metadata={"wire": "last"})
    #: Nothing comes behind it.
    end: bool = field(default=False, metadata={"wire": "end", "default": False})


@dataclass(kw_only=True)
class NextRequest(Request[NextReply]):
    """Fetches the items of a stream behind a cursor; asking again gives the same items."""

    OP: ClassVar[str] = "next"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = NextReply
    #: The stream.
    id: bytes = field(metadata={"wire": "id", "bytes": True})
    #: Number of the last item that the client has; what lies before is forgotten. (at least 0)
    after: int = field(default=0, metadata={"wire": "after", "default": 0})
    #: Wait so long for an item; without it the server's default. (ms, at least 0, at most 600000)
    wait_ms: Union[int, None] = field(default=None, metadata={"wire": "wait_ms"})
    #: Gather items so long since the first unseen one, except at the start and the end of the
    #: stream; 0: each alone; without it the server's default. (ms, at least 0, at most 10000)
    hold_ms: Union[int, None] = field(default=None, metadata={"wire": "hold_ms"})
    #: Items at most. (at least 1, at most 4096)
    max: int = field(default=256, metadata={"wire": "max", "default": 256})


class NextParams(TypedDict, total=False):
    """What next can do without."""

    #: Number of the last item that the client has; what lies before is forgotten. (at least 0)
    after: int
    #: Wait so long for an item; without it the server's default. (ms, at least 0, at most 600000)
    wait_ms: Union[int, None]
    #: Gather items so long since the first unseen one, except at the start and the end of the
    #: stream; 0: each alone; without it the server's default. (ms, at least 0, at most 10000)
    hold_ms: Union[int, None]
    #: Items at most. (at least 1, at most 4096)
    max: int


@dataclass(kw_only=True)
class PingReply(Message):
    """Answer to ping."""

    #: State of the server.
    state: str = field(metadata={"wire": "state"})
    #: Time since its start. (ms, at least 0)
    uptime_ms: int = field(metadata={"wire": "uptime_ms"})


@dataclass(kw_only=True)
class PingRequest(Request[PingReply]):
    """Asks whether the server is there."""

    OP: ClassVar[str] = "ping"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = PingReply


@dataclass(kw_only=True)
class PluginsReply(Message):
    """Answer to plugins."""

    #: One row each.
    plugins: list[Plugin] = field(metadata={"wire": "plugins", "make": "Plugin", "many": True})


@dataclass(kw_only=True)
class PluginsRequest(Request[PluginsReply]):
    """Lists the plugins that were found."""

    OP: ClassVar[str] = "plugins"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = PluginsReply
    #: Also what each offers, one by one.
    factories: bool = field(default=False, metadata={"wire": "factories", "default": False})


class PluginsParams(TypedDict, total=False):
    """What plugins can do without."""

    #: Also what each offers, one by one.
    factories: bool


@dataclass(kw_only=True)
class PluginsReloadReply(Message):
    """Answer to plugins_reload."""

    #: Files that are new or were replaced.
    added: list[str] = field(default_factory=list, metadata={"wire": "added", "default": []})
    #: Files that are gone or were replaced.
    removed: list[str] = field(default_factory=list, metadata={"wire": "removed", "default": []})
    #: Files that are there and not usable, with the reason.
    refused: list[Plugin] = field(default_factory=list, metadata={"wire": "refused", "default": [], "make": "Plugin", "many": True})


@dataclass(kw_only=True)
class PluginsReloadRequest(Request[PluginsReloadReply]):
    """Looks at the plugin folders again; what is loaded after it uses what is there now."""

    OP: ClassVar[str] = "plugins_reload"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = PluginsReloadReply


@dataclass(kw_only=True)
class PsReply(Message):
    """Answer to ps."""

    #: One row each.
    models: list[Resident] = field(metadata={"wire": "models", "make": "Resident", "many": True})


@dataclass(kw_only=True)
class PsRequest(Request[PsReply]):
    """Lists the models in memory."""

    OP: ClassVar[str] = "ps"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = PsReply


@dataclass(kw_only=True)
class ReloadReply(Message):
    """Answer to reload."""

    #: The job's stream.
    id: bytes = field(metadata={"wire": "id", "bytes": True})


@dataclass(kw_only=True)
class ReloadRequest(Request[ReloadReply]):
    """Loads a model anew, with plugins as they are now; running streams end with the old one; a job."""

    OP: ClassVar[str] = "reload"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "once"
    REPLY: ClassVar[Any] = ReloadReply
    #: The model, by name or alias, or for admins by path.
    model: str = field(metadata={"wire": "model"})


@dataclass(kw_only=True)
class RmReply(Message):
    """Answer to rm."""

    #: It was an alias.
    alias: bool = field(metadata={"wire": "alias"})
    #: What was deleted from the server's own store. (bytes, at least 0)
    bytes: int = field(default=0, metadata={"wire": "bytes", "default": 0})


@dataclass(kw_only=True)
class RmRequest(Request[RmReply]):
    """Takes a model or an alias out of the registry; a model in memory must be unloaded first."""

    OP: ClassVar[str] = "rm"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "once"
    REPLY: ClassVar[Any] = RmReply
    #: The model or the alias.
    name: str = field(metadata={"wire": "name"})


@dataclass(kw_only=True)
class ShutdownReply(Message):
    """Answer to shutdown."""

    #: Generations that run. (at least 0)
    running: int = field(metadata={"wire": "running"})


@dataclass(kw_only=True)
class ShutdownRequest(Request[ShutdownReply]):
    """Drains, then ends the server."""

    OP: ClassVar[str] = "shutdown"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = ShutdownReply
    #: Streams that run longer are ended; without it the configured time. (ms, at least 0, at most
    #: 3600000)
    drain_ms: Union[int, None] = field(default=None, metadata={"wire": "drain_ms"})


class ShutdownParams(TypedDict, total=False):
    """What shutdown can do without."""

    #: Streams that run longer are ended; without it the configured time. (ms, at least 0, at most
    #: 3600000)
    drain_ms: Union[int, None]


@dataclass(kw_only=True)
class StatsReply(Message):
    """Answer to stats."""

    #: One row each.
    metrics: list[Metric] = field(metadata={"wire": "metrics", "make": "Metric", "many": True})


@dataclass(kw_only=True)
class StatsRequest(Request[StatsReply]):
    """Lists the numbers of the metrics page."""

    OP: ClassVar[str] = "stats"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = StatsReply
    #: Only those of this model.
    model: Union[str, None] = field(default=None, metadata={"wire": "model"})


class StatsParams(TypedDict, total=False):
    """What stats can do without."""

    #: Only those of this model.
    model: Union[str, None]


@dataclass(kw_only=True)
class StatusReply(Message):
    """Answer to status."""

    #: State of the server.
    state: str = field(metadata={"wire": "state"})
    #: Version of the server's program.
    version: str = field(metadata={"wire": "version"})
    #: Its process. (at least 0)
    pid: int = field(metadata={"wire": "pid"})
    #: Time since its start. (ms, at least 0)
    uptime_ms: int = field(metadata={"wire": "uptime_ms"})
    #: Models of the registry. (at least 0)
    models: int = field(metadata={"wire": "models"})
    #: Models in memory. (at least 0)
    resident: int = field(metadata={"wire": "resident"})
    #: Generations that run. (at least 0)
    running: int = field(metadata={"wire": "running"})
    #: Generations that wait. (at least 0)
    waiting: int = field(metadata={"wire": "waiting"})
    #: Streams of all clients, ended ones included. (at least 0)
    streams: int = field(metadata={"wire": "streams"})
    #: Connections. (at least 0)
    connections: int = field(metadata={"wire": "connections"})
    #: Memory that the models in memory take. (bytes, at least 0)
    memory_bytes: int = field(metadata={"wire": "memory_bytes"})
    #: Memory that they may take. (bytes, at least 0)
    memory_limit: int = field(metadata={"wire": "memory_limit"})


@dataclass(kw_only=True)
class StatusRequest(Request[StatusReply]):
    """Tells the state of the server in a few numbers."""

    OP: ClassVar[str] = "status"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = StatusReply


@dataclass(kw_only=True)
class StreamsReply(Message):
    """Answer to streams."""

    #: One row each.
    streams: list[Stream] = field(metadata={"wire": "streams", "make": "Stream", "many": True})


@dataclass(kw_only=True)
class StreamsRequest(Request[StreamsReply]):
    """Lists the client's own streams."""

    OP: ClassVar[str] = "streams"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = StreamsReply


@dataclass(kw_only=True)
class TokenizeReply(Message):
    """Answer to tokenize."""

    #: The tokens.
    tokens: list[int] = field(metadata={"wire": "tokens"})
    #: Bytes of each token, when asked for.
    pieces: list[bytes] = field(default_factory=list, metadata={"wire": "pieces", "default": []})


@dataclass(kw_only=True)
class TokenizeRequest(Request[TokenizeReply]):
    """Turns text into tokens."""

    OP: ClassVar[str] = "tokenize"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = TokenizeReply
    #: The model, by name or alias, or for admins by path.
    model: str = field(metadata={"wire": "model"})
    #: The text; any bytes.
    text: Union[str, bytes] = field(metadata={"wire": "text"})
    #: Add the begin and end tokens that the model wants.
    add_special: bool = field(default=True, metadata={"wire": "add_special", "default": True})
    #: Text of control tokens becomes those tokens.
    parse_special: bool = field(default=False, metadata={"wire": "parse_special", "default": False})
    #: Also the bytes of each token.
    pieces: bool = field(default=False, metadata={"wire": "pieces", "default": False})


class TokenizeParams(TypedDict, total=False):
    """What tokenize can do without."""

    #: Add the begin and end tokens that the model wants.
    add_special: bool
    #: Text of control tokens becomes those tokens.
    parse_special: bool
    #: Also the bytes of each token.
    pieces: bool


@dataclass(kw_only=True)
class UnloadReply(Message):
    """Answer to unload."""

    #: The job's stream.
    id: bytes = field(metadata={"wire": "id", "bytes": True})


@dataclass(kw_only=True)
class UnloadRequest(Request[UnloadReply]):
    """Takes a model out of memory when its streams have ended; a job."""

    OP: ClassVar[str] = "unload"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "once"
    REPLY: ClassVar[Any] = UnloadReply
    #: The model, by name or alias, or for admins by path.
    model: str = field(metadata={"wire": "model"})
    #: Cancel its streams instead of waiting for them.
    force: bool = field(default=False, metadata={"wire": "force", "default": False})


class UnloadParams(TypedDict, total=False):
    """What unload can do without."""

    #: Cancel its streams instead of waiting for them.
    force: bool


__all__ = [
    "Activations", "AddParams", "AddReply", "AddRequest", "AliasReply", "AliasRequest",
    "ArgumentsItem", "CallEndItem", "CallItem", "CancelReason", "CancelReply", "CancelRequest",
    "CancelledItem", "ChatMessage", "Class", "ConfigReloadReply", "ConfigReloadRequest",
    "DetokenizeParams", "DetokenizeReply", "DetokenizeRequest", "DoneItem", "DrainParams",
    "DrainReply", "DrainRequest", "Error", "ErrorCode", "ErrorItem", "Factory", "Finish",
    "GenerateParams", "GenerateReply", "GenerateRequest", "HelloParams", "HelloReply",
    "HelloRequest", "InfoParams", "InfoReply", "InfoRequest", "Item", "Item_", "Jump", "Key",
    "KeyAddParams", "KeyAddReply", "KeyAddRequest", "KeyRmReply", "KeyRmRequest", "KeysReply",
    "KeysRequest", "LIMITS", "Label", "Limit", "LimitsReply", "LimitsRequest", "LoadParams",
    "LoadReply", "LoadRequest", "Message", "Meta", "Metric", "MetricKind", "Model", "ModelState",
    "ModelsParams", "ModelsReply", "ModelsRequest", "NextParams", "NextReply", "NextRequest",
    "Phase", "PingReply", "PingRequest", "Plugin", "PluginsParams", "PluginsReloadReply",
    "PluginsReloadRequest", "PluginsReply", "PluginsRequest", "ProgressItem", "PsReply",
    "PsRequest", "REVISION", "ReloadReply", "ReloadRequest", "Request", "Resident", "RmReply",
    "RmRequest", "Role", "ServerState", "ShutdownParams", "ShutdownReply", "ShutdownRequest",
    "StatsParams", "StatsReply", "StatsRequest", "StatusReply", "StatusRequest", "Stream",
    "StreamKind", "StreamState", "StreamsReply", "StreamsRequest", "TensorType", "TextItem",
    "ThoughtItem", "TokenItem", "TokenizeParams", "TokenizeReply", "TokenizeRequest",
    "UnknownItem", "UnloadParams", "UnloadReply", "UnloadRequest", "V_MAX", "V_MIN"
]

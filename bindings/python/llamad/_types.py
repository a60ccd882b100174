# SPDX-License-Identifier: MIT
# Made by build-aux/gen-proto from proto/schema.
"""Messages of llamad's protocol as dataclasses.

to_map() returns a dict for msgpack and leaves out fields that are None or have their default;
from_map() takes a dict that msgpack unpacked and ignores keys that it does not know."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import (Any, ClassVar, Generic, Literal, Mapping, Protocol, Sequence, TypedDict, TypeVar,
                    Union)

#: Versions of the protocol that this module speaks, and the latest revision it knows.
V_MIN = 1
V_MAX = 1
REVISION = 14


M = TypeVar("M", bound="Message")
R = TypeVar("R", bound="Message")


class SchemaModel(Protocol):
    """A model of pydantic."""

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]: ...


def _size(n: float) -> str:
    """A number of bytes for people, such as 98 MB."""
    for unit in ("bytes", "kB", "MB"):
        if n < 1000:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} GB"


class Message:
    """Base of all messages and types."""

    __slots__ = ()

    def __repr__(self) -> str:
        shown = []
        for f in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            if f.repr and value is not None and value != f.metadata.get("default"):
                shown.append(f"{f.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

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
    """Base of all requests.  R is the type of the reply."""

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
#: Scheduling priority of a generation.
Class = Literal["interactive", "normal", "batch"]
#: What jump-forward decoding appends without running the model where the grammar allows no
#: alternative.
Jump = Literal["token", "text", "off"]
#: Data type of activations between layers.
Activations = Literal["auto", "f32", "int8", "int16"]
#: In which process a model's backend runs.
Isolation = Literal["auto", "off", "process"]
#: How the vectors of an input's tokens become one.
Pooling = Literal["auto", "none", "mean", "cls", "last", "rank"]
#: Where a default comes from.
DefaultSource = Literal["config", "model", "builtin"]
#: Why a stream ended.
Finish = Literal["eog", "stop", "length", "context", "deadline", "shutdown", "done"]
#: Why a stream was cancelled.
CancelReason = Literal["asked", "lease", "gone", "slow_reader", "unload", "paused"]
#: What a job is doing.
Phase = Literal["queued", "hash", "copy", "check", "load", "warm", "drain", "unload", "download"]
#: The op that created a stream.
StreamKind = Literal["generate", "add", "load", "unload", "reload", "pull"]
#: What has happened.
EventKind = Literal["load", "load_failed", "evict", "unload", "queue", "start", "end"]
#: State of a stream.
StreamState = Literal["waiting", "running", "ended"]
#: Kind of a metric.
MetricKind = Literal["counter", "gauge"]
#: Error codes.
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
    "inputs": 2048,
    "embeddings": 65536,
    "messages": 4096,
    "template_bytes": 1048576,
    "grammar_bytes": 262144,
    "stops": 16,
    "stop_bytes": 256,
    "biases": 1024,
    "logprobs": 32,
    "samplers": 32,
    "output_max": 1073741824,
    "timeout_max": 86400000,
    "lease_min": 100,
    "lease_max": 600000,
    "wait_max": 600000,
    "hold_max": 10000,
    "items": 4096,
    "items_default": 256,
    "session_name_bytes": 64,
    "session_piece_bytes": 4194304,
    "reply_text_bytes": 1048576,
}


@dataclass(kw_only=True, repr=False)
class Picture(Message):
    """A picture in a message."""

    #: A PNG or JPEG file; or its base64 text, also as a data: URI.
    data: bytes = field(metadata={"wire": "data", "bytes": True})
    #: The byte of the message's text before which it stands; more than its length = at the end.
    #: (at least 0, at most 16777216)
    at: int = field(default=0, metadata={"wire": "at", "default": 0})


@dataclass(kw_only=True, repr=False)
class Limit(Message):
    """One limit."""

    #: Its name.
    name: str = field(metadata={"wire": "name"})
    #: Its value. (at least 0)
    value: int = field(metadata={"wire": "value"})
    #: Its unit, unless the name implies it.
    unit: str = field(default='', metadata={"wire": "unit", "default": ''})


@dataclass(kw_only=True, repr=False)
class Label(Message):
    """A label of a metric."""

    #: The label's name.
    name: str = field(metadata={"wire": "name"})
    #: The label's value.
    value: str = field(metadata={"wire": "value"})


@dataclass(kw_only=True, repr=False)
class Model(Message):
    """A model in the registry."""

    #: Its name.
    name: str = field(metadata={"wire": "name"})
    #: Its aliases.
    aliases: list[str] = field(default_factory=list, metadata={"wire": "aliases", "default": []})
    #: sha256: and 64 hexadecimal digits; empty while unknown.
    digest: str = field(default='', metadata={"wire": "digest", "default": ''})
    #: Size of its files. (bytes, at least 0)
    size: int = field(metadata={"wire": "size"})
    #: Its architecture.
    arch: str = field(metadata={"wire": "arch"})
    #: Format of its files.
    format: str = field(default='', metadata={"wire": "format", "default": ''})
    #: Path of its first file. Reported to admins only.
    path: Union[str, None] = field(default=None, metadata={"wire": "path"})
    #: Its state.
    state: str = field(metadata={"wire": "state"})
    #: Why the state is failed or quarantined.
    reason: str = field(default='', metadata={"wire": "reason", "default": ''})
    #: When it was added, in seconds since 1970; 0 if unknown. (s, at least 0)
    added: int = field(default=0, metadata={"wire": "added", "default": 0})

    def __repr__(self) -> str:
        return f"<Model {self.name} {self.state}, {_size(self.size)}>"


@dataclass(kw_only=True, repr=False)
class Adapter(Message):
    """An adapter of a model."""

    #: Its name.
    name: str = field(metadata={"wire": "name"})
    #: Its file or folder; empty unless an admin asks.
    path: str = field(metadata={"wire": "path"})
    #: Multiplies the adapter's own scale. (at least -1e+06, at most 1e+06)
    scale: float = field(metadata={"wire": "scale"})
    #: It is in the configuration.
    configured: bool = field(metadata={"wire": "configured"})


@dataclass(kw_only=True, repr=False)
class AdapterSlot(Message):
    """Adapters in memory that apply together."""

    #: The names of their files with their scales, separated by commas.
    files: str = field(metadata={"wire": "files"})
    #: Requests that use it. (at least 0)
    users: int = field(metadata={"wire": "users"})
    #: Memory on each device; 0: it was loaded with the model. (bytes, at least 0)
    bytes: int = field(metadata={"wire": "bytes"})


@dataclass(kw_only=True, repr=False)
class Placement(Message):
    """What of a model is on one device."""

    #: The device, such as cpu0.
    device: str = field(metadata={"wire": "device"})
    #: Its first layer; -1 = none. (at least -1)
    first_layer: int = field(metadata={"wire": "first_layer"})
    #: Its last layer. (at least -1)
    last_layer: int = field(metadata={"wire": "last_layer"})
    #: Operations of a step. (at least 0)
    ops: int = field(metadata={"wire": "ops"})
    #: Memory of weights, beyond mapped files. (bytes, at least 0)
    weight_bytes: int = field(metadata={"wire": "weight_bytes"})
    #: Memory of keys, values and states. (bytes, at least 0)
    kv_bytes: int = field(metadata={"wire": "kv_bytes"})
    #: Working memory. (bytes, at least 0)
    scratch_bytes: int = field(metadata={"wire": "scratch_bytes"})
    #: The process that it is in, if it has one of its own (isolation); otherwise 0. (at least 0)
    pid: int = field(default=0, metadata={"wire": "pid", "default": 0})


@dataclass(kw_only=True, repr=False)
class MovedOps(Message):
    """Operations that run on another device than they were meant for."""

    #: The operation.
    op: str = field(metadata={"wire": "op"})
    #: How many of a step. (at least 0)
    n: int = field(metadata={"wire": "n"})
    #: The device that it was meant for.
    from_: str = field(metadata={"wire": "from"})
    #: The device that runs it.
    to: str = field(metadata={"wire": "to"})
    #: Why.
    reason: str = field(metadata={"wire": "reason"})


@dataclass(kw_only=True, repr=False)
class Device(Message):
    """A device."""

    #: Backend and index, such as cpu0.
    name: str = field(metadata={"wire": "name"})
    #: Its backend.
    backend: str = field(metadata={"wire": "backend"})
    #: Its index within the backend. (at least 0)
    index: int = field(metadata={"wire": "index"})
    #: What it is.
    description: str = field(metadata={"wire": "description"})
    #: Its memory; 0 = unknown. (bytes, at least 0)
    memory_total: int = field(metadata={"wire": "memory_total"})
    #: How much of it is free. (bytes, at least 0)
    memory_free: int = field(metadata={"wire": "memory_free"})
    #: What models take or are about to take, by estimate. (bytes, at least 0)
    memory_models: int = field(metadata={"wire": "memory_models"})
    #: Models that use it. (at least 0)
    models: int = field(metadata={"wire": "models"})
    #: idle, in use or lost.
    state: str = field(metadata={"wire": "state"})
    #: How often it was lost since the server started. (at least 0)
    losses: int = field(default=0, metadata={"wire": "losses", "default": 0})
    #: Time for which it stays closed because it was lost. (ms, at least 0)
    retry_ms: int = field(default=0, metadata={"wire": "retry_ms", "default": 0})
    #: queued: steps wait on the device; direct: a call returns when it is complete.
    queue: str = field(metadata={"wire": "queue"})
    #: host_memory, import, sampling, graphs, peer or buckets.
    features: list[str] = field(metadata={"wire": "features"})


@dataclass(kw_only=True, repr=False)
class Meta(Message):
    """A metadata key of a model file."""

    #: The key.
    key: str = field(metadata={"wire": "key"})
    #: Data type of the value.
    type: str = field(metadata={"wire": "type"})
    #: The value as text. Long values are cut.
    value: Union[str, bytes] = field(metadata={"wire": "value"})


@dataclass(kw_only=True, repr=False)
class TensorType(Message):
    """The tensors of one type."""

    #: The type, such as q4_k.
    type: str = field(metadata={"wire": "type"})
    #: Number of tensors. (at least 0)
    tensors: int = field(metadata={"wire": "tensors"})
    #: Number of elements. (at least 0)
    elements: int = field(metadata={"wire": "elements"})
    #: Size of the tensors. (bytes, at least 0)
    bytes: int = field(metadata={"wire": "bytes"})


@dataclass(kw_only=True, repr=False)
class DefaultValue(Message):
    """The value of a parameter in requests that do not set it."""

    #: The parameter of op generate.
    name: str = field(metadata={"wire": "name"})
    #: The value.
    value: float = field(metadata={"wire": "value"})
    #: Where it comes from.
    from_: str = field(metadata={"wire": "from"})


@dataclass(kw_only=True, repr=False)
class Setting(Message):
    """A value that an answer was computed with."""

    #: A parameter of op generate.
    name: str = field(metadata={"wire": "name"})
    #: The value; of a bool, 0 or 1.
    value: float = field(metadata={"wire": "value"})


@dataclass(kw_only=True, repr=False)
class Factory(Message):
    """One thing that a plugin provides."""

    #: backend, arch, tokenizer, sampler or format.
    kind: str = field(metadata={"wire": "kind"})
    #: Its name.
    name: str = field(metadata={"wire": "name"})
    #: How well it suits this machine; 0 = it cannot run here. (at least -2147483648, at most
    #: 2147483647)
    score: int = field(metadata={"wire": "score"})
    #: Why the score is 0, or which factory shadows this one.
    reason: str = field(default='', metadata={"wire": "reason", "default": ''})


@dataclass(kw_only=True, repr=False)
class Plugin(Message):
    """A plugin file that was found."""

    #: Its path.
    file: str = field(metadata={"wire": "file"})
    #: Its name; empty if it could not be read.
    name: str = field(metadata={"wire": "name"})
    #: Kinds of its factories.
    kinds: list[str] = field(metadata={"wire": "kinds"})
    #: Its version.
    version: str = field(metadata={"wire": "version"})
    #: The ABI version it was built for, such as 1.0.
    abi: str = field(metadata={"wire": "abi"})
    #: loaded, shadowed, refused or retired.
    state: str = field(metadata={"wire": "state"})
    #: Why it is not loaded.
    reason: str = field(metadata={"wire": "reason"})
    #: Version counter of the file, incremented on each replacement. (at least 0)
    generation: int = field(metadata={"wire": "generation"})
    #: Number of references to it. (at least 0)
    users: int = field(default=0, metadata={"wire": "users", "default": 0})
    #: Its factories, if requested.
    factories: list[Factory] = field(default_factory=list, metadata={"wire": "factories", "default": [], "make": "Factory", "many": True})

    def __repr__(self) -> str:
        return f"<Plugin {self.name or self.file} {self.version} {self.state}>"


@dataclass(kw_only=True, repr=False)
class InfillFile(Message):
    """A file beside the one that is infilled."""

    #: Its name.
    name: str = field(default='', metadata={"wire": "name", "default": ''})
    #: Its text.
    text: Union[str, bytes] = field(metadata={"wire": "text"})


@dataclass(kw_only=True, repr=False)
class TokenLogprob(Message):
    """A token and its log probability."""

    #: The token's id.
    token: int = field(metadata={"wire": "token"})
    #: Natural logarithm of its probability; -9999 if it is lower than that. (at least -9999, at
    #: most 0)
    logprob: float = field(metadata={"wire": "logprob"})
    #: Its bytes.
    text: bytes = field(default=b'', metadata={"wire": "text", "default": b'', "bytes": True})


@dataclass(kw_only=True, repr=False)
class Embedding(Message):
    """The embedding of an input or of one of its tokens."""

    #: Number of the input, from 0. (at least 0)
    input: int = field(metadata={"wire": "input"})
    #: Its numbers.
    vector: list[float] = field(metadata={"wire": "vector"})


@dataclass(kw_only=True, repr=False)
class Stream(Message):
    """A stream, as its owner sees it."""

    #: Its id.
    id: bytes = field(metadata={"wire": "id", "bytes": True})
    #: The op that created it.
    kind: str = field(metadata={"wire": "kind"})
    #: The model it uses.
    model: str = field(metadata={"wire": "model"})
    #: Its state.
    state: str = field(metadata={"wire": "state"})
    #: Request id of the request that created it.
    rid: str = field(default='', metadata={"wire": "rid", "default": ''})
    #: Number of its latest item; 0 if there is none yet. (at least 0)
    last: int = field(metadata={"wire": "last"})
    #: Time since it was created. (ms, at least 0)
    age_ms: int = field(metadata={"wire": "age_ms"})
    #: Time without next after which it is cancelled. (ms, at least 0)
    lease_ms: int = field(metadata={"wire": "lease_ms"})
    #: It is paused.
    paused: bool = field(default=False, metadata={"wire": "paused", "default": False})

    def __repr__(self) -> str:
        return f"<Stream {self.kind} of {self.model} {self.state}, {self.last} items>"


@dataclass(kw_only=True, repr=False)
class ServerEvent(Message):
    """Something that has happened."""

    #: Its number. (at least 1)
    n: int = field(metadata={"wire": "n"})
    #: When it happened, since 1970-01-01 UTC. (ms, at least 0)
    at_ms: int = field(metadata={"wire": "at_ms"})
    #: What it was.
    kind: str = field(metadata={"wire": "kind"})
    #: The model that it is about.
    model: str = field(default='', metadata={"wire": "model", "default": ''})
    #: Whose generation it is: uid:NUMBER or key:LABEL.
    principal: str = field(default='', metadata={"wire": "principal", "default": ''})
    #: The stream of the generation.
    id: Union[bytes, None] = field(default=None, metadata={"wire": "id", "bytes": True})
    #: queue: how many generations wait before it. (at least 0)
    position: int = field(default=0, metadata={"wire": "position", "default": 0})
    #: start and end: length of the prompt. (tokens, at least 0)
    n_prompt: int = field(default=0, metadata={"wire": "n_prompt", "default": 0})
    #: end: length of the answer. (tokens, at least 0)
    n_out: int = field(default=0, metadata={"wire": "n_out", "default": 0})
    #: The error, why a generation ended, or for which model another one makes way.
    text: str = field(default='', metadata={"wire": "text", "default": ''})


@dataclass(kw_only=True, repr=False)
class UsageRow(Message):
    """What a principal used of a model on one day."""

    #: The day as YYYY-MM-DD (UTC).
    date: str = field(metadata={"wire": "date"})
    #: 'key:' and the label of a key, or 'uid:' and the number of a user of this machine.
    principal: str = field(metadata={"wire": "principal"})
    #: The model by name.
    model: str = field(metadata={"wire": "model"})
    #: Requests: generations, embeddings and rerankings. (at least 0)
    n_request: int = field(metadata={"wire": "n_request"})
    #: Tokens of the prompts. (tokens, at least 0)
    n_prompt: int = field(metadata={"wire": "n_prompt"})
    #: How many of n_prompt were in the prefix cache. (tokens, at least 0)
    n_cached: int = field(metadata={"wire": "n_cached"})
    #: Tokens of the answers. (tokens, at least 0)
    n_out: int = field(metadata={"wire": "n_out"})
    #: Time that requests waited after their model was ready. (ms, at least 0)
    queue_ms: int = field(metadata={"wire": "queue_ms"})
    #: Time that requests ran, added up. (ms, at least 0)
    run_ms: int = field(metadata={"wire": "run_ms"})
    #: Processor time of the threads that tokenise texts, fill in templates and read grammars.
    #: (ms, at least 0)
    work_ms: int = field(metadata={"wire": "work_ms"})


@dataclass(kw_only=True, repr=False)
class Session(Message):
    """A saved session."""

    #: Its name.
    name: str = field(metadata={"wire": "name"})
    #: Name of the model that it was saved with; empty: its file is damaged.
    model: str = field(metadata={"wire": "model"})
    #: Its length. (tokens, at least 0)
    n_tokens: int = field(metadata={"wire": "n_tokens"})
    #: Size of its file. (bytes, at least 0)
    bytes: int = field(metadata={"wire": "bytes"})
    #: When it was saved, since 1970-01-01 UTC. (ms, at least 0)
    changed_ms: int = field(metadata={"wire": "changed_ms"})


@dataclass(kw_only=True, repr=False)
class Key(Message):
    """An API key that authenticates clients over TCP."""

    #: Its label.
    label: str = field(metadata={"wire": "label"})
    #: Role of the clients that use it.
    role: str = field(metadata={"wire": "role"})
    #: Creation time since 1970-01-01 UTC. (ms, at least 0)
    created_ms: int = field(metadata={"wire": "created_ms"})
    #: Expiry time since 1970-01-01 UTC; 0 = never. (ms, at least 0)
    expires_ms: int = field(default=0, metadata={"wire": "expires_ms", "default": 0})
    #: The key has expired.
    expired: bool = field(default=False, metadata={"wire": "expired", "default": False})
    #: Requests per minute; 0 = any number. (at least 0, at most 1000000000000)
    rpm: int = field(default=0, metadata={"wire": "rpm", "default": 0})
    #: Tokens per minute, of prompts and answers; 0 = any number. (tokens, at least 0, at most
    #: 1000000000000)
    tpm: int = field(default=0, metadata={"wire": "tpm", "default": 0})
    #: Tokens per day (UTC), of prompts and answers; 0 = any number. (tokens, at least 0, at most
    #: 1000000000000)
    tpd: int = field(default=0, metadata={"wire": "tpd", "default": 0})
    #: Names of the models that the key may use, or aliases; an empty list = all.
    models: list[str] = field(default_factory=list, metadata={"wire": "models", "default": []})

    def __repr__(self) -> str:
        return f"<Key {self.label} of {self.role}>"


@dataclass(kw_only=True, repr=False)
class Error(Message):
    """Why a request failed."""

    #: The kind of error.
    code: str = field(metadata={"wire": "code"})
    #: Error message that names the object, the value and the bound.
    text: str = field(metadata={"wire": "text"})
    #: Do not retry before this much time has passed. (ms, at least 0)
    retry_ms: Union[int, None] = field(default=None, metadata={"wire": "retry_ms"})
    #: This connection is not authenticated. Send hello with a valid key, then repeat the request.
    hello: bool = field(default=False, metadata={"wire": "hello", "default": False})


@dataclass(kw_only=True, repr=False)
class ChatMessage(Message):
    """One message of a conversation."""

    #: Role of the author: system, developer, user, assistant, tool or function.
    role: str = field(metadata={"wire": "role"})
    #: Text of the message.
    content: Union[str, bytes] = field(default='', metadata={"wire": "content", "default": ''})
    #: The assistant's reasoning before this message.
    reasoning: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "reasoning"})
    #: Name of the tool or of the author.
    name: Union[str, None] = field(default=None, metadata={"wire": "name"})
    #: Tool calls of the assistant, as a JSON array.
    tool_calls: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "tool_calls"})
    #: The tool call that a tool's message answers.
    tool_call_id: Union[str, None] = field(default=None, metadata={"wire": "tool_call_id"})
    #: Pictures in the text, in order. The model needs a vision tower.
    pictures: list[Picture] = field(default_factory=list, metadata={"wire": "pictures", "default": [], "make": "Picture", "many": True})


@dataclass(kw_only=True, repr=False)
class Metric(Message):
    """One metric of the server."""

    #: Its name, as on the metrics page.
    name: str = field(metadata={"wire": "name"})
    #: Counter or gauge.
    kind: str = field(metadata={"wire": "kind"})
    #: Its value.
    value: float = field(metadata={"wire": "value"})
    #: Its labels.
    labels: list[Label] = field(default_factory=list, metadata={"wire": "labels", "default": [], "make": "Label", "many": True})

    def __repr__(self) -> str:
        return f"<Metric {self.name} {self.value:g}>"


@dataclass(kw_only=True, repr=False)
class Resident(Message):
    """A model that is loaded, or being loaded, or will be loaded when its device can be opened again."""

    #: Its name or path.
    model: str = field(metadata={"wire": "model"})
    #: Its state.
    state: str = field(metadata={"wire": "state"})
    #: The backend that runs it.
    backend: str = field(metadata={"wire": "backend"})
    #: Index of the device within the backend. (at least 0, at most 65535)
    device: int = field(metadata={"wire": "device"})
    #: Context size of one sequence. (tokens, at least 0)
    n_ctx: int = field(metadata={"wire": "n_ctx"})
    #: Maximum number of concurrent sequences. (at least 0)
    n_seq: int = field(metadata={"wire": "n_seq"})
    #: Running generations. (at least 0)
    active: int = field(metadata={"wire": "active"})
    #: Queued generations. (at least 0)
    waiting: int = field(metadata={"wire": "waiting"})
    #: Memory of the weights. (bytes, at least 0)
    weight_bytes: int = field(metadata={"wire": "weight_bytes"})
    #: Memory of the KV cache. (bytes, at least 0)
    kv_bytes: int = field(metadata={"wire": "kv_bytes"})
    #: Free pages and slots of the KV cache whose contents later prompts can still use (prefix
    #: caching). (at least 0)
    cached: int = field(default=0, metadata={"wire": "cached", "default": 0})
    #: Pages of tokens that requests have pinned (pin_ms). (at least 0)
    pinned: int = field(default=0, metadata={"wire": "pinned", "default": 0})
    #: Steps that took longer than target_itl while running generations waited for the prompt of
    #: another request. (at least 0)
    late_steps: int = field(default=0, metadata={"wire": "late_steps", "default": 0})
    #: Device that chooses tokens if a request has only samplers that it knows; empty = the host
    #: does.
    sampling: str = field(default='', metadata={"wire": "sampling", "default": ''})
    #: Working memory. (bytes, at least 0)
    scratch_bytes: int = field(metadata={"wire": "scratch_bytes"})
    #: Time since it became ready. (ms, at least 0)
    loaded_ms: int = field(metadata={"wire": "loaded_ms"})
    #: Time since it last had work; 0 while it has work. (ms, at least 0)
    idle_ms: int = field(metadata={"wire": "idle_ms"})
    #: Idle time after which it is unloaded; -1 = never. (ms, at least -1)
    keep_alive_ms: int = field(metadata={"wire": "keep_alive_ms"})
    #: What runs on which device.
    placement: list[Placement] = field(default_factory=list, metadata={"wire": "placement", "default": [], "make": "Placement", "many": True})
    #: Names of its adapters, which requests can choose.
    adapters: list[str] = field(default_factory=list, metadata={"wire": "adapters", "default": []})
    #: Operations that run on another device than the others of their layers.
    moved: list[MovedOps] = field(default_factory=list, metadata={"wire": "moved", "default": [], "make": "MovedOps", "many": True})
    #: Time until a model whose device was lost is loaded again; 0: nothing is to be done, or it
    #: is being done. (ms, at least 0)
    retry_ms: int = field(default=0, metadata={"wire": "retry_ms", "default": 0})
    #: Why the state is failed.
    reason: str = field(default='', metadata={"wire": "reason", "default": ''})

    def __repr__(self) -> str:
        return f"<Resident {self.model} {self.state} on {self.backend}, {_size(self.weight_bytes)}>"


@dataclass(kw_only=True, repr=False)
class RunningGeneration(Message):
    """A generation that runs."""

    #: The model that runs it.
    model: str = field(metadata={"wire": "model"})
    #: Grows from generation to generation. (at least 0)
    number: int = field(metadata={"wire": "number"})
    #: Length of its prompt. (tokens, at least 0)
    n_prompt: int = field(metadata={"wire": "n_prompt"})
    #: Length of its answer so far; 0: its prompt is being computed. (tokens, at least 0)
    n_out: int = field(metadata={"wire": "n_out"})
    #: Its seed. (at least 0)
    seed: int = field(metadata={"wire": "seed"})
    #: Tokens are guessed ahead (speculative decoding).
    speculative: bool = field(default=False, metadata={"wire": "speculative", "default": False})
    #: As in the final item of a generation with report_settings.
    settings: list[Setting] = field(default_factory=list, metadata={"wire": "settings", "default": [], "make": "Setting", "many": True})


@dataclass(kw_only=True, repr=False)
class TokenItem(Message):
    """A generated token, with the text that has become available since the previous item."""

    KIND: ClassVar[str] = "token"
    FINAL: ClassVar[bool] = False
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})
    #: The token's id.
    token: int = field(metadata={"wire": "token"})
    #: Bytes of the answer. A multi-byte UTF-8 character is not split if the tokens complete it.
    text: bytes = field(default=b'', metadata={"wire": "text", "default": b'', "bytes": True})
    #: With logprobs: the log probabilities of this token and then of the most likely tokens in
    #: descending order, which may include it again.
    logprobs: list[TokenLogprob] = field(default_factory=list, metadata={"wire": "logprobs", "default": [], "make": "TokenLogprob", "many": True})


@dataclass(kw_only=True, repr=False)
class PromptTokenItem(Message):
    """A token of the prompt. Sent only with prompt_tokens or prompt_logprobs, before the answer."""

    KIND: ClassVar[str] = "prompt_token"
    FINAL: ClassVar[bool] = False
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})
    #: The token's id.
    token: int = field(metadata={"wire": "token"})
    #: Its bytes.
    text: bytes = field(default=b'', metadata={"wire": "text", "default": b'', "bytes": True})
    #: With prompt_logprobs: as for token; empty for the first token.
    logprobs: list[TokenLogprob] = field(default_factory=list, metadata={"wire": "logprobs", "default": [], "make": "TokenLogprob", "many": True})


@dataclass(kw_only=True, repr=False)
class TextItem(Message):
    """More text that does not belong to a token."""

    KIND: ClassVar[str] = "text"
    FINAL: ClassVar[bool] = False
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})
    #: Bytes of the answer.
    text: bytes = field(metadata={"wire": "text", "bytes": True})


@dataclass(kw_only=True, repr=False)
class ReasoningItem(Message):
    """More of the model's reasoning. Sent only with parse."""

    KIND: ClassVar[str] = "thought"
    FINAL: ClassVar[bool] = False
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})
    #: Bytes of the reasoning.
    text: bytes = field(metadata={"wire": "text", "bytes": True})


@dataclass(kw_only=True, repr=False)
class CallItem(Message):
    """A tool call begins; its arguments follow. Sent only with parse."""

    KIND: ClassVar[str] = "call"
    FINAL: ClassVar[bool] = False
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})
    #: Number of the tool call within the answer, from 0. (at least 0)
    call: int = field(metadata={"wire": "call"})
    #: Name of the tool.
    name: str = field(metadata={"wire": "name"})
    #: The id that the model gave the call or, if it gave none, nine letters and digits.
    id: str = field(metadata={"wire": "id"})


@dataclass(kw_only=True, repr=False)
class ArgumentsItem(Message):
    """More of a tool call's arguments. The pieces together are a JSON object unless call_end reports otherwise."""

    KIND: ClassVar[str] = "arguments"
    FINAL: ClassVar[bool] = False
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})
    #: Number of the tool call. (at least 0)
    call: int = field(metadata={"wire": "call"})
    #: A piece of JSON.
    text: bytes = field(metadata={"wire": "text", "bytes": True})


@dataclass(kw_only=True, repr=False)
class CallEndItem(Message):
    """A tool call has ended."""

    KIND: ClassVar[str] = "call_end"
    FINAL: ClassVar[bool] = False
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})
    #: Number of the tool call. (at least 0)
    call: int = field(metadata={"wire": "call"})
    #: The arguments are complete and valid JSON.
    complete: bool = field(metadata={"wire": "complete"})


@dataclass(kw_only=True, repr=False)
class ProgressItem(Message):
    """Progress of a job. Only the latest one is kept."""

    KIND: ClassVar[str] = "progress"
    FINAL: ClassVar[bool] = False
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})
    #: What the job is doing.
    phase: str = field(metadata={"wire": "phase"})
    #: Amount of work done. (at least 0)
    done: int = field(metadata={"wire": "done"})
    #: Total amount of work; 0 if unknown. (at least 0)
    total: int = field(default=0, metadata={"wire": "total", "default": 0})


@dataclass(kw_only=True, repr=False)
class DoneItem(Message):
    """The stream ended normally."""

    KIND: ClassVar[str] = "done"
    FINAL: ClassVar[bool] = True
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})
    #: Why it ended.
    finish: str = field(metadata={"wire": "finish"})
    #: Length of the prompt. (tokens, at least 0)
    n_prompt: int = field(default=0, metadata={"wire": "n_prompt", "default": 0})
    #: Length of the answer. (tokens, at least 0)
    n_out: int = field(default=0, metadata={"wire": "n_out", "default": 0})
    #: Time from the first step to the first token. (ns, at least 0)
    prompt_ns: int = field(default=0, metadata={"wire": "prompt_ns", "default": 0})
    #: Time from the first token to the end. (ns, at least 0)
    out_ns: int = field(default=0, metadata={"wire": "out_ns", "default": 0})
    #: Tokens of the answer that needed no step of their own because the grammar allowed no
    #: alternative (jump-forward decoding). (tokens, at least 0)
    n_forced: int = field(default=0, metadata={"wire": "n_forced", "default": 0})
    #: Tokens of the prompt that were not computed again, because they were in the prefix cache.
    #: (tokens, at least 0)
    n_cached: int = field(default=0, metadata={"wire": "n_cached", "default": 0})
    #: Speculative decoding: tokens that were guessed and verified. (tokens, at least 0)
    n_drafted: int = field(default=0, metadata={"wire": "n_drafted", "default": 0})
    #: How many of n_drafted were right; they are part of the answer. (tokens, at least 0)
    n_accepted: int = field(default=0, metadata={"wire": "n_accepted", "default": 0})
    #: Tokens of the answer that are reasoning; 0 if the answer was not parsed. (tokens, at least
    #: 0)
    n_reasoning: int = field(default=0, metadata={"wire": "n_reasoning", "default": 0})
    #: How often the context was full and tokens were dropped from its middle (context_shift). (at
    #: least 0)
    n_shift: int = field(default=0, metadata={"wire": "n_shift", "default": 0})
    #: Prefix cache: the first token of the prompt at which it differs from all prompts that are
    #: remembered; n_prompt if it does not. Tokens before it and after n_cached had been computed,
    #: but are no longer in memory. (tokens, at least 0)
    prefix_broke_at: int = field(default=0, metadata={"wire": "prefix_broke_at", "default": 0})
    #: Tokens of the prompt that pin_ms keeps in the prefix cache: whole pages, as far as the
    #: user's share reaches. (tokens, at least 0)
    n_pinned: int = field(default=0, metadata={"wire": "n_pinned", "default": 0})
    #: Length of the session that was saved; 0: none was. (tokens, at least 0)
    n_saved: int = field(default=0, metadata={"wire": "n_saved", "default": 0})
    #: Why the session of the request was not saved.
    session_error: Union[str, None] = field(default=None, metadata={"wire": "session_error"})
    #: With report_settings: the values in use of the sampling parameters, unless the request has
    #: a chain, and of n, context_shift, n_keep and n_discard.
    settings: list[Setting] = field(default_factory=list, metadata={"wire": "settings", "default": [], "make": "Setting", "many": True})


@dataclass(kw_only=True, repr=False)
class ErrorItem(Message):
    """The stream failed."""

    KIND: ClassVar[str] = "error"
    FINAL: ClassVar[bool] = True
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})
    #: The kind of error.
    code: str = field(metadata={"wire": "code"})
    #: Error message that names the object, the value and the bound.
    text: str = field(metadata={"wire": "text"})


@dataclass(kw_only=True, repr=False)
class CancelledItem(Message):
    """The stream was cancelled."""

    KIND: ClassVar[str] = "cancelled"
    FINAL: ClassVar[bool] = True
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})
    #: Why it was cancelled.
    reason: str = field(metadata={"wire": "reason"})


@dataclass(kw_only=True, repr=False)
class UnknownItem(Message):
    """An item of a kind that only newer versions know."""

    KIND: ClassVar[str] = ""
    FINAL: ClassVar[bool] = False
    #: Number of the item. (at least 1)
    n: int = field(metadata={"wire": "n"})


Item = Union[TokenItem, PromptTokenItem, TextItem, ReasoningItem, CallItem, ArgumentsItem, CallEndItem, ProgressItem, DoneItem, ErrorItem, CancelledItem, UnknownItem]

#: Deprecated name of ReasoningItem.
ThoughtItem = ReasoningItem

_ITEMS: dict[str, Any] = {
    "token": TokenItem,
    "prompt_token": PromptTokenItem,
    "text": TextItem,
    "thought": ReasoningItem,
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


@dataclass(kw_only=True, repr=False)
class AdapterSetReply(Message):
    """Reply to adapter_set."""

    #: The name existed.
    found: bool = field(metadata={"wire": "found"})


@dataclass(kw_only=True, repr=False)
class AdapterSetRequest(Request[AdapterSetReply]):
    """Gives an adapter a name that requests for a model can use, removes a name, or sets the adapters of requests that name none. Holds until the server ends; those of the configuration stay."""

    OP: ClassVar[str] = "adapter_set"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = AdapterSetReply
    #: The model by name or alias.
    model: str = field(metadata={"wire": "model"})
    #: The name; empty = no name changes.
    name: str = field(default='', metadata={"wire": "name", "default": ''})
    #: The file or PEFT folder of the adapter, an absolute path; empty = the name is removed.
    path: str = field(default='', metadata={"wire": "path", "default": ''})
    #: Multiplies the adapter's own scale. (at least -1e+06, at most 1e+06)
    scale: float = field(default=1.0, metadata={"wire": "scale", "default": 1.0})
    #: The adapters of requests that name none, as in op generate; empty = those of the
    #: configuration.
    chosen: Union[str, None] = field(default=None, metadata={"wire": "chosen"})


class AdapterSetParams(TypedDict, total=False):
    """Optional fields of adapter_set."""

    #: The name; empty = no name changes.
    name: str
    #: The file or PEFT folder of the adapter, an absolute path; empty = the name is removed.
    path: str
    #: Multiplies the adapter's own scale. (at least -1e+06, at most 1e+06)
    scale: float
    #: The adapters of requests that name none, as in op generate; empty = those of the
    #: configuration.
    chosen: Union[str, None]


@dataclass(kw_only=True, repr=False)
class AdaptersReply(Message):
    """Reply to adapters."""

    #: The adapters in the order of their numbers: those of the configuration, then those of op
    #: adapter_set.
    adapters: list[Adapter] = field(metadata={"wire": "adapters", "make": "Adapter", "many": True})
    #: The adapters of requests that name none: those that op adapter_set chose, or else the key
    #: adapter of the configuration.
    chosen: str = field(default='', metadata={"wire": "chosen", "default": ''})
    #: Further names stand for files in a folder.
    folder: bool = field(default=False, metadata={"wire": "folder", "default": False})
    #: What the loaded model has in memory.
    slots: list[AdapterSlot] = field(default_factory=list, metadata={"wire": "slots", "default": [], "make": "AdapterSlot", "many": True})
    #: How many were put into the running model. (at least 0)
    loaded: int = field(default=0, metadata={"wire": "loaded", "default": 0})
    #: How many made room for others. (at least 0)
    evicted: int = field(default=0, metadata={"wire": "evicted", "default": 0})


@dataclass(kw_only=True, repr=False)
class AdaptersRequest(Request[AdaptersReply]):
    """Lists the adapters of a model that have a name, without those of its folder, and what its slots have in memory."""

    OP: ClassVar[str] = "adapters"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = AdaptersReply
    #: The model by name or alias.
    model: str = field(metadata={"wire": "model"})


@dataclass(kw_only=True, repr=False)
class AddReply(Message):
    """Reply to add."""

    #: The stream of the job.
    id: bytes = field(metadata={"wire": "id", "bytes": True})


@dataclass(kw_only=True, repr=False)
class AddRequest(Request[AddReply]):
    """Adds a model file on the server to the registry. This is a job; its stream ends when the model is registered."""

    OP: ClassVar[str] = "add"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "once"
    REPLY: ClassVar[Any] = AddReply
    #: The model's name.
    name: str = field(metadata={"wire": "name"})
    #: A file or folder below one of the server's model folders.
    path: str = field(metadata={"wire": "path"})
    #: Copy the files into the server's own store.
    copy: bool = field(default=False, metadata={"wire": "copy", "default": False})
    #: Expected digest; the file is rejected if its digest differs.
    digest: Union[str, None] = field(default=None, metadata={"wire": "digest"})
    #: Replace the model that has this name.
    replace: bool = field(default=False, metadata={"wire": "replace", "default": False})


class AddParams(TypedDict, total=False):
    """Optional fields of add."""

    #: Copy the files into the server's own store.
    copy: bool
    #: Expected digest; the file is rejected if its digest differs.
    digest: Union[str, None]
    #: Replace the model that has this name.
    replace: bool


@dataclass(kw_only=True, repr=False)
class AliasReply(Message):
    """Reply to alias."""

    #: The model that the alias named before.
    before: Union[str, None] = field(default=None, metadata={"wire": "before"})


@dataclass(kw_only=True, repr=False)
class AliasRequest(Request[AliasReply]):
    """Gives a model another name. An existing alias is moved to the model."""

    OP: ClassVar[str] = "alias"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = AliasReply
    #: The additional name.
    alias: str = field(metadata={"wire": "alias"})
    #: The model.
    model: str = field(metadata={"wire": "model"})


@dataclass(kw_only=True, repr=False)
class ApplyTemplateReply(Message):
    """Reply to apply_template."""

    #: The prompt. Text that spells a control token is a control token only where the template
    #: wrote it. A picture is shown as <picture>.
    prompt: Union[str, bytes] = field(metadata={"wire": "prompt"})
    #: Length of the prompt, in which each row of a picture counts as a token. (tokens, at least
    #: 0)
    n_prompt: int = field(metadata={"wire": "n_prompt"})
    #: Its tokens, if requested.
    tokens: list[int] = field(default_factory=list, metadata={"wire": "tokens", "default": []})


@dataclass(kw_only=True, repr=False)
class ApplyTemplateRequest(Request[ApplyTemplateReply]):
    """Turns a conversation into the prompt that op generate would give the model."""

    OP: ClassVar[str] = "apply_template"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = ApplyTemplateReply
    #: The model by name or alias; admins may also give a path.
    model: str = field(metadata={"wire": "model"})
    #: The conversation. If the last message is the assistant's, it is the beginning of the
    #: answer.
    messages: list[ChatMessage] = field(metadata={"wire": "messages", "make": "ChatMessage", "many": True})
    #: Chat template to use in place of the model's own, as in op generate.
    template: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "template"})
    #: Additional variables for the template, as a JSON object.
    template_args: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "template_args"})
    #: Tools that the template presents to the model, as a JSON array.
    tools: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "tools"})
    #: Add the tokens that the model expects at the beginning of a prompt (BOS).
    add_special: bool = field(default=True, metadata={"wire": "add_special", "default": True})
    #: Include the tokens of the prompt; not together with pictures, which are no tokens.
    tokens: bool = field(default=False, metadata={"wire": "tokens", "default": False})


class ApplyTemplateParams(TypedDict, total=False):
    """Optional fields of apply_template."""

    #: Chat template to use in place of the model's own, as in op generate.
    template: Union[Union[str, bytes], None]
    #: Additional variables for the template, as a JSON object.
    template_args: Union[Union[str, bytes], None]
    #: Tools that the template presents to the model, as a JSON array.
    tools: Union[Union[str, bytes], None]
    #: Add the tokens that the model expects at the beginning of a prompt (BOS).
    add_special: bool
    #: Include the tokens of the prompt; not together with pictures, which are no tokens.
    tokens: bool


@dataclass(kw_only=True, repr=False)
class CancelReply(Message):
    """Reply to cancel."""

    #: The stream had already ended.
    ended: bool = field(metadata={"wire": "ended"})


@dataclass(kw_only=True, repr=False)
class CancelRequest(Request[CancelReply]):
    """Cancels a stream within one step of the model. A stream that has already ended is forgotten."""

    OP: ClassVar[str] = "cancel"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = CancelReply
    #: The stream.
    id: bytes = field(metadata={"wire": "id", "bytes": True})


@dataclass(kw_only=True, repr=False)
class ConfigReloadReply(Message):
    """Reply to config_reload."""

    #: Keys whose values changed.
    changed: list[str] = field(default_factory=list, metadata={"wire": "changed", "default": []})
    #: Keys whose new values take effect only after a restart.
    restart: list[str] = field(default_factory=list, metadata={"wire": "restart", "default": []})


@dataclass(kw_only=True, repr=False)
class ConfigReloadRequest(Request[ConfigReloadReply]):
    """Reads the configuration again. Either all of it takes effect or, on an error, none of it."""

    OP: ClassVar[str] = "config_reload"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = ConfigReloadReply


@dataclass(kw_only=True, repr=False)
class CreateReply(Message):
    """Reply to create."""

    #: The model that FROM names, without aliases.
    model: str = field(metadata={"wire": "model"})


@dataclass(kw_only=True, repr=False)
class CreateRequest(Request[CreateReply]):
    """Makes a name for a model with a system prompt, a template, parameters and messages of its own, which a Modelfile describes. An alias of that name, or what was created by it, is replaced."""

    OP: ClassVar[str] = "create"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = CreateReply
    #: The new name.
    name: str = field(metadata={"wire": "name"})
    #: The Modelfile; FROM names a model of the registry.
    modelfile: Union[str, bytes] = field(metadata={"wire": "modelfile"})


@dataclass(kw_only=True, repr=False)
class DetokenizeReply(Message):
    """Reply to detokenize."""

    #: The text. It is not necessarily valid UTF-8.
    text: bytes = field(metadata={"wire": "text", "bytes": True})


@dataclass(kw_only=True, repr=False)
class DetokenizeRequest(Request[DetokenizeReply]):
    """Converts tokens to text."""

    OP: ClassVar[str] = "detokenize"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = DetokenizeReply
    #: The model by name or alias; admins may also give a path.
    model: str = field(metadata={"wire": "model"})
    #: The tokens.
    tokens: list[int] = field(metadata={"wire": "tokens"})
    #: Include the text of control tokens.
    special: bool = field(default=True, metadata={"wire": "special", "default": True})


class DetokenizeParams(TypedDict, total=False):
    """Optional fields of detokenize."""

    #: Include the text of control tokens.
    special: bool


@dataclass(kw_only=True, repr=False)
class DevicesReply(Message):
    """Reply to devices."""

    #: The devices of all backends.
    devices: list[Device] = field(metadata={"wire": "devices", "make": "Device", "many": True})


@dataclass(kw_only=True, repr=False)
class DevicesRequest(Request[DevicesReply]):
    """Lists the devices that models can run on."""

    OP: ClassVar[str] = "devices"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = DevicesReply


@dataclass(kw_only=True, repr=False)
class DrainReply(Message):
    """Reply to drain."""

    #: Running generations. (at least 0)
    running: int = field(metadata={"wire": "running"})
    #: Queued generations. They fail when draining starts. (at least 0)
    waiting: int = field(metadata={"wire": "waiting"})


@dataclass(kw_only=True, repr=False)
class DrainRequest(Request[DrainReply]):
    """Stops accepting work and finishes the running generations, or accepts work again."""

    OP: ClassVar[str] = "drain"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = DrainReply
    #: False to accept work again.
    on: bool = field(default=True, metadata={"wire": "on", "default": True})


class DrainParams(TypedDict, total=False):
    """Optional fields of drain."""

    #: False to accept work again.
    on: bool


@dataclass(kw_only=True, repr=False)
class EmbedReply(Message):
    """Reply to embed."""

    #: The vectors, in the order of the inputs: one per input, or with the pooling none one per
    #: token.
    embeddings: list[Embedding] = field(metadata={"wire": "embeddings", "make": "Embedding", "many": True})
    #: Number of tokens of all inputs. (tokens, at least 0)
    n_prompt: int = field(metadata={"wire": "n_prompt"})


@dataclass(kw_only=True, repr=False)
class EmbedRequest(Request[EmbedReply]):
    """Computes embeddings: vectors that represent the meaning of texts."""

    OP: ClassVar[str] = "embed"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = EmbedReply
    #: The model by name or alias; admins may also give a path.
    model: str = field(metadata={"wire": "model"})
    #: The texts.
    inputs: Union[list[Union[str, bytes]], None] = field(default=None, metadata={"wire": "inputs"})
    #: A single input as tokens, used unchanged.
    tokens: Union[list[int], None] = field(default=None, metadata={"wire": "tokens"})
    #: How the vectors of an input's tokens become one.
    pooling: str = field(default='auto', metadata={"wire": "pooling", "default": 'auto'})
    #: Scale each vector to the Euclidean length 1.
    normalize: bool = field(default=True, metadata={"wire": "normalize", "default": True})
    #: Keep only this many numbers of each vector, for models that were trained for it; 0 = all.
    #: (at least 0, at most 1048576)
    dimensions: int = field(default=0, metadata={"wire": "dimensions", "default": 0})
    #: Cut inputs that are longer than the context; otherwise they are an error.
    truncate: bool = field(default=False, metadata={"wire": "truncate", "default": False})
    #: From now on, unload the model after it has been idle for this long; 0 = at once, -1 =
    #: never. (ms, at least -1, at most 86400000)
    keep_alive_ms: Union[int, None] = field(default=None, metadata={"wire": "keep_alive_ms"})


class EmbedParams(TypedDict, total=False):
    """Optional fields of embed."""

    #: How the vectors of an input's tokens become one.
    pooling: str
    #: Scale each vector to the Euclidean length 1.
    normalize: bool
    #: Keep only this many numbers of each vector, for models that were trained for it; 0 = all.
    #: (at least 0, at most 1048576)
    dimensions: int
    #: Cut inputs that are longer than the context; otherwise they are an error.
    truncate: bool
    #: From now on, unload the model after it has been idle for this long; 0 = at once, -1 =
    #: never. (ms, at least -1, at most 86400000)
    keep_alive_ms: Union[int, None]


@dataclass(kw_only=True, repr=False)
class EventsReply(Message):
    """Reply to events."""

    #: The events after the cursor, the oldest first. Empty if the wait timed out.
    events: list[ServerEvent] = field(metadata={"wire": "events", "make": "ServerEvent", "many": True})
    #: The next cursor. (at least 0)
    last: int = field(metadata={"wire": "last"})
    #: Events after the cursor that the server no longer has, including those that the client may
    #: not see. (at least 0)
    lost: int = field(default=0, metadata={"wire": "lost", "default": 0})


@dataclass(kw_only=True, repr=False)
class EventsRequest(Request[EventsReply]):
    """Fetches what has happened since a cursor: loads, unloads and evictions of models, and generations that waited, began and ended. Asking again returns the same events as long as the server keeps them. A user sees models that the user may use, and the user's own generations; an administrator sees all."""

    OP: ClassVar[str] = "events"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = EventsReply
    #: Number of the last event that the client has received. Numbers begin at 1 when the server
    #: starts. (at least 0)
    after: int = field(default=0, metadata={"wire": "after", "default": 0})
    #: Maximum time to wait for an event. (ms, at least 0, at most 600000)
    wait_ms: int = field(default=0, metadata={"wire": "wait_ms", "default": 0})
    #: Maximum number of events. (at least 1, at most 4096)
    max: int = field(default=256, metadata={"wire": "max", "default": 256})


class EventsParams(TypedDict, total=False):
    """Optional fields of events."""

    #: Number of the last event that the client has received. Numbers begin at 1 when the server
    #: starts. (at least 0)
    after: int
    #: Maximum time to wait for an event. (ms, at least 0, at most 600000)
    wait_ms: int
    #: Maximum number of events. (at least 1, at most 4096)
    max: int


@dataclass(kw_only=True, repr=False)
class GenerateReply(Message):
    """Reply to generate."""

    #: The stream.
    id: bytes = field(metadata={"wire": "id", "bytes": True})
    #: The seed in use. (at least 0)
    seed: int = field(metadata={"wire": "seed"})


@dataclass(kw_only=True, repr=False)
class GenerateRequest(Request[GenerateReply]):
    """Generates text from a prompt or a conversation. Replies at once with a stream; its items are fetched with next."""

    OP: ClassVar[str] = "generate"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "once"
    REPLY: ClassVar[Any] = GenerateReply
    #: The model by name or alias; admins may also give a path. It is loaded if it is not in
    #: memory.
    model: str = field(metadata={"wire": "model"})
    #: The prompt. If the model has a chat template, this is a user's message, unless raw is set;
    #: otherwise it is the text to continue.
    prompt: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "prompt"})
    #: The prompt as tokens, used unchanged.
    tokens: Union[list[int], None] = field(default=None, metadata={"wire": "tokens"})
    #: Infilling: the text after the gap; prompt is the text before it. Only for models with
    #: tokens for it.
    suffix: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "suffix"})
    #: Infilling: other files, which the model sees first. Only with suffix.
    infill_files: list[InfillFile] = field(default_factory=list, metadata={"wire": "infill_files", "default": [], "make": "InfillFile", "many": True})
    #: A conversation. If the last message is the assistant's, the model continues it.
    messages: Union[list[ChatMessage], None] = field(default=None, metadata={"wire": "messages", "make": "ChatMessage", "many": True})
    #: Use the prompt as plain text even if the model has a chat template.
    raw: bool = field(default=False, metadata={"wire": "raw", "default": False})
    #: Chat template to use in place of the model's own: the name of one of the model's variants
    #: or of a built-in template, or the text of a template if it contains a {.
    template: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "template"})
    #: Additional variables for the template, as a JSON object.
    template_args: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "template_args"})
    #: Tools for tool calling that the template presents to the model, as a JSON array.
    tools: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "tools"})
    #: The answer must be calls of this tool; an asterisk = of any of the tools. The arguments
    #: match the schemas of their tools. The calls are written in the format of the model, or as
    #: JSON if it has none whose text can be constrained. Requires tools and parse. Not together
    #: with grammar, json_schema, regex or structural_tag.
    required_call: Union[str, None] = field(default=None, metadata={"wire": "required_call"})
    #: With required_call: allow several calls.
    parallel_calls: bool = field(default=True, metadata={"wire": "parallel_calls", "default": True})
    #: Parse the answer: items distinguish text, reasoning and tool calls.
    parse: bool = field(default=False, metadata={"wire": "parse", "default": False})
    #: How the model marks reasoning and tool calls: a name from llamactl debug parse --list.
    #: Defaults to the format that the chat template uses. Only with parse.
    parse_format: Union[str, None] = field(default=None, metadata={"wire": "parse_format"})
    #: Add the tokens that the model expects at the beginning of a prompt (BOS).
    add_special: bool = field(default=True, metadata={"wire": "add_special", "default": True})
    #: Convert text that spells a control token in the prompt to that token.
    parse_special: bool = field(default=False, metadata={"wire": "parse_special", "default": False})
    #: Maximum length of the answer; -1 = until the context is full. Defaults to the server's
    #: setting. (tokens, at least -1, at most 1073741824)
    n: Union[int, None] = field(default=None, metadata={"wire": "n"})
    #: When the context is full, drop tokens from its middle and go on, instead of ending the
    #: answer with the reason context. The rest is computed again, as if the prompt had been so.
    #: An answer without a limit then ends at the server's. Defaults to the preset's value, or
    #: false.
    context_shift: Union[bool, None] = field(default=None, metadata={"wire": "context_shift"})
    #: With context_shift: how many tokens at the beginning stay, not counting a BOS token, which
    #: always does; -1 = the whole prompt. All but four tokens of the context can stay. Defaults
    #: to the preset's value, or 0. (tokens, at least -1, at most 2097152)
    n_keep: Union[int, None] = field(default=None, metadata={"wire": "n_keep"})
    #: With context_shift: how many tokens after those are dropped at a time; 0 = half of them.
    #: (tokens, at least 0, at most 2097152)
    n_discard: int = field(default=0, metadata={"wire": "n_discard", "default": 0})
    #: Passages of the prompt of at least so many tokens that the prefix cache knows at other
    #: positions, because something before them was edited, are not computed: their rows are moved
    #: to the new positions. That is an approximation. 0 = off. Refused for models whose rows
    #: cannot be moved, and with durable. Defaults to the preset's value, or 0. (tokens, at least
    #: 0, at most 2097152)
    cache_reuse: Union[int, None] = field(default=None, metadata={"wire": "cache_reuse"})
    #: Stop sequences. The answer ends before the first of them.
    stop: list[Union[str, bytes]] = field(default_factory=list, metadata={"wire": "stop", "default": []})
    #: Tokens that end the answer, which is what precedes them.
    stop_tokens: list[int] = field(default_factory=list, metadata={"wire": "stop_tokens", "default": []})
    #: The answer does not end by a stop token or an end-of-generation token before this length,
    #: unless the grammar allows nothing else. (tokens, at least 0, at most 1073741824)
    min_tokens: int = field(default=0, metadata={"wire": "min_tokens", "default": 0})
    #: Grammar in GBNF that constrains the answer (structured output).
    grammar: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "grammar"})
    #: JSON schema that constrains the answer (structured output); {} allows any JSON. Not
    #: together with grammar.
    json_schema: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "json_schema"})
    #: Regular expression that all of the answer matches (structured output). Not together with
    #: grammar or json_schema.
    regex: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "regex"})
    #: Structural tag that constrains parts of the answer, as JSON (structured output). Not
    #: together with grammar, json_schema or regex.
    structural_tag: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "structural_tag"})
    #: The grammar applies only after the answer has matched one of these regular expressions.
    grammar_triggers: list[Union[str, bytes]] = field(default_factory=list, metadata={"wire": "grammar_triggers", "default": []})
    #: Jump-forward decoding: what to append without running the model where the grammar allows no
    #: alternative.
    jump: str = field(default='token', metadata={"wire": "jump", "default": 'token'})
    #: Token healing: tokens at the end of the prompt that could be the start of longer tokens are
    #: removed, and the model generates their text again in tokens of its choice. That text is not
    #: part of the answer.
    heal: bool = field(default=False, metadata={"wire": "heal", "default": False})
    #: Continue after end-of-generation tokens.
    ignore_eog: bool = field(default=False, metadata={"wire": "ignore_eog", "default": False})
    #: Include the text of control tokens in the answer.
    special: bool = field(default=False, metadata={"wire": "special", "default": False})
    #: Report the log probability of each token, and those of this many most likely tokens. Then
    #: jump-forward decoding is off. (at least 0, at most 32)
    logprobs: Union[int, None] = field(default=None, metadata={"wire": "logprobs"})
    #: The log probabilities are those of the tokens that the samplers left, and not the model's
    #: own. Only with logprobs.
    sampled_probs: bool = field(default=False, metadata={"wire": "sampled_probs", "default": False})
    #: Send the tokens of the prompt as items before the answer.
    prompt_tokens: bool = field(default=False, metadata={"wire": "prompt_tokens", "default": False})
    #: Like prompt_tokens, each with its log probability and those of this many most likely
    #: tokens. The prompt is then computed separately. (at least 0, at most 32)
    prompt_logprobs: Union[int, None] = field(default=None, metadata={"wire": "prompt_logprobs"})
    #: Random seed. By default the server chooses one and reports it. (at least 0)
    seed: Union[int, None] = field(default=None, metadata={"wire": "seed"})
    #: The sampler chain, in order. The sampling parameters below are then ignored.
    chain: Union[list[Union[str, Mapping[str, Any]]], None] = field(default=None, metadata={"wire": "chain"})
    #: Order of the samplers: default, temperature-first, letters such as edskypmxt, or names
    #: separated by commas.
    order: Union[str, None] = field(default=None, metadata={"wire": "order"})
    #: Temperature; 0 = greedy, always the most likely token. Defaults to the value of the
    #: configuration or of the model, or 0.8. (at least 0, at most 5)
    temp: Union[float, None] = field(default=None, metadata={"wire": "temp"})
    #: Sample from the K most likely tokens; 0 or less = all. Defaults to the value of the
    #: configuration or of the model, or 40. (at least -1, at most 2147483647)
    top_k: Union[int, None] = field(default=None, metadata={"wire": "top_k"})
    #: Sample from the most likely tokens whose probabilities add up to this value; 1 = all.
    #: Defaults to the value of the configuration or of the model, or 0.95. (at least 0, at most
    #: 1)
    top_p: Union[float, None] = field(default=None, metadata={"wire": "top_p"})
    #: Drop tokens less likely than this fraction of the most likely token's probability; 0 = off.
    #: Defaults to the value of the configuration or of the model, or 0.05. (at least 0, at most
    #: 1)
    min_p: Union[float, None] = field(default=None, metadata={"wire": "min_p"})
    #: Locally typical sampling: keep the most typical tokens whose probabilities add up to this
    #: value; 1 = off. Defaults to the value of the configuration or of the model, or 1. (at least
    #: 0, at most 1)
    typical: Union[float, None] = field(default=None, metadata={"wire": "typical"})
    #: Keep tokens whose logits are within this many standard deviations of the highest logit; 0
    #: or less = off. Defaults to the value of the configuration or of the model, or -1. (at least
    #: -1, at most 100)
    top_n_sigma: Union[float, None] = field(default=None, metadata={"wire": "top_n_sigma"})
    #: Minimum number of tokens that typical, top_p, min_p and xtc keep. Defaults to the value of
    #: the configuration or of the model, or 0. (at least 0, at most 2147483647)
    min_keep: Union[int, None] = field(default=None, metadata={"wire": "min_keep"})
    #: Number of recent tokens that the repetition penalties look at; 0 = off, -1 = the whole
    #: context. Defaults to the value of the configuration or of the model, or 64. (tokens, at
    #: least -1, at most 2147483647)
    repeat_last_n: Union[int, None] = field(default=None, metadata={"wire": "repeat_last_n"})
    #: Repetition penalty: divides positive logits of recent tokens and multiplies negative ones;
    #: 1 = off. Defaults to the value of the configuration or of the model, or 1. (at least 0.01,
    #: at most 100)
    repeat_penalty: Union[float, None] = field(default=None, metadata={"wire": "repeat_penalty"})
    #: Subtracted from a recent token's logit for each time it occurred; 0 = off. Defaults to the
    #: value of the configuration or of the model, or 0. (at least -100, at most 100)
    frequency_penalty: Union[float, None] = field(default=None, metadata={"wire": "frequency_penalty"})
    #: Subtracted once from the logit of each recent token; 0 = off. Defaults to the value of the
    #: configuration or of the model, or 0. (at least -100, at most 100)
    presence_penalty: Union[float, None] = field(default=None, metadata={"wire": "presence_penalty"})
    #: Dynamic temperature: the entropy moves the temperature by at most this much in either
    #: direction; 0 = off. Defaults to the value of the configuration or of the model, or 0. (at
    #: least 0, at most 5)
    dynatemp_range: Union[float, None] = field(default=None, metadata={"wire": "dynatemp_range"})
    #: Dynamic temperature: exponent of the normalised entropy. Defaults to the value of the
    #: configuration or of the model, or 1. (at least 0, at most 100)
    dynatemp_exponent: Union[float, None] = field(default=None, metadata={"wire": "dynatemp_exponent"})
    #: XTC: probability with which the most likely tokens are removed; 0 = off. Defaults to the
    #: value of the configuration or of the model, or 0. (at least 0, at most 1)
    xtc_probability: Union[float, None] = field(default=None, metadata={"wire": "xtc_probability"})
    #: XTC: only tokens at least this likely are removed. Defaults to the value of the
    #: configuration or of the model, or 0.1. (at least 0, at most 1)
    xtc_threshold: Union[float, None] = field(default=None, metadata={"wire": "xtc_threshold"})
    #: DRY: strength of the penalty on repeated sequences; 0 = off. Defaults to the value of the
    #: configuration or of the model, or 0. (at least 0, at most 100)
    dry_multiplier: Union[float, None] = field(default=None, metadata={"wire": "dry_multiplier"})
    #: DRY: base of the penalty, which grows exponentially with the length of the repetition.
    #: Defaults to the value of the configuration or of the model, or 1.75. (at least 0, at most
    #: 100)
    dry_base: Union[float, None] = field(default=None, metadata={"wire": "dry_base"})
    #: DRY: repeated sequences up to this length are not penalised. Defaults to the value of the
    #: configuration or of the model, or 2. (tokens, at least 0, at most 2147483647)
    dry_allowed_length: Union[int, None] = field(default=None, metadata={"wire": "dry_allowed_length"})
    #: DRY: number of recent tokens to search for repetitions; 0 = off, -1 = the whole context.
    #: Defaults to the value of the configuration or of the model, or 64. (tokens, at least -1, at
    #: most 2147483647)
    dry_last_n: Union[int, None] = field(default=None, metadata={"wire": "dry_last_n"})
    #: DRY: texts that end a repeated sequence. Defaults to newline, colon, double quote and
    #: asterisk.
    dry_breakers: Union[list[Union[str, bytes]], None] = field(default=None, metadata={"wire": "dry_breakers"})
    #: Mirostat: version 1 or 2, which then chooses the token; 0 = off. Defaults to the value of
    #: the configuration or of the model, or 0. (at least 0, at most 2)
    mirostat: Union[int, None] = field(default=None, metadata={"wire": "mirostat"})
    #: Mirostat: target surprise of a token in bits. Defaults to the value of the configuration or
    #: of the model, or 5. (at least 0, at most 100)
    mirostat_tau: Union[float, None] = field(default=None, metadata={"wire": "mirostat_tau"})
    #: Mirostat: learning rate. Defaults to the value of the configuration or of the model, or
    #: 0.1. (at least 0, at most 100)
    mirostat_eta: Union[float, None] = field(default=None, metadata={"wire": "mirostat_eta"})
    #: Values added to the logits of given tokens; -inf forbids a token.
    logit_bias: list[tuple[int, Union[float, bool]]] = field(default_factory=list, metadata={"wire": "logit_bias", "default": []})
    #: Tokens that are never sampled. Defaults to those that the model's file names; an empty list
    #: allows all.
    suppress_tokens: Union[list[int], None] = field(default=None, metadata={"wire": "suppress_tokens"})
    #: Take the beginning of the prompt from the prefix cache if it was computed before, and let
    #: later requests find this one's. If false, the whole prompt is computed and nothing of it is
    #: found later.
    cache_prompt: bool = field(default=True, metadata={"wire": "cache_prompt", "default": True})
    #: The adapters (LoRA) of the model that the answer is computed with, at most 8, as
    #: NAME[:SCALE] separated by commas; empty = none. A name is one of the server's configuration
    #: or of its folder of adapters, or a number in the list; SCALE multiplies the adapter's own.
    #: Defaults to those of the preset. An adapter that is not in memory is loaded first. Requests
    #: with different adapters are computed together.
    adapter: Union[str, None] = field(default=None, metadata={"wire": "adapter"})
    #: For so long after the answer, what the prefix cache has of this prompt is the last thing
    #: that others may take. A user can pin a quarter of a model's memory for tokens. Only with
    #: cache_prompt. (ms, at least 0, at most 86400000)
    pin_ms: int = field(default=0, metadata={"wire": "pin_ms", "default": 0})
    #: A saved session of the client's own. What it has of the beginning of the prompt is not
    #: computed again, also after a restart of the server; at the end it is replaced by this
    #: prompt and answer. Its name has letters, digits, '.', '_' and '-', beginning with a letter
    #: or digit. Requires limit session_bytes.
    session: Union[str, None] = field(default=None, metadata={"wire": "session"})
    #: Speculative decoding: guess at most this many tokens at a time, from the prompt, the answer
    #: so far and the prediction, and verify them in one step; 0 = off. The answer stays the same.
    #: Fewer are guessed if that is faster. Defaults to the server's setting. (tokens, at least 0,
    #: at most 15)
    draft_max: Union[int, None] = field(default=None, metadata={"wire": "draft_max"})
    #: Speculative decoding: a text that much of the answer is expected to repeat, such as the
    #: file that it edits.
    prediction: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "prediction"})
    #: From now on, unload the model after it has been idle for this long; 0 = at once, -1 =
    #: never. (ms, at least -1, at most 86400000)
    keep_alive_ms: Union[int, None] = field(default=None, metadata={"wire": "keep_alive_ms"})
    #: The final item has the settings that the answer was computed with: those of the request,
    #: and for the others those of the model's section in the configuration, of the model's file,
    #: or built in.
    report_settings: bool = field(default=False, metadata={"wire": "report_settings", "default": False})
    #: Scheduling priority.
    class_: str = field(default='normal', metadata={"wire": "class", "default": 'normal'})
    #: Deadline of the whole request, including time in the queue. Defaults to the server's
    #: setting. (ms, at least 1, at most 86400000)
    timeout_ms: Union[int, None] = field(default=None, metadata={"wire": "timeout_ms"})
    #: Cancel the stream if no next arrives for this long. Defaults to the server's setting. (ms,
    #: at least 100, at most 600000)
    lease_ms: Union[int, None] = field(default=None, metadata={"wire": "lease_ms"})
    #: Write the stream to the server's state folder: if the server is stopped, killed or
    #: replaced, the generation goes on when it has started again, and next with the same id and
    #: cursor returns the same items. Only for models of the registry, and not together with
    #: prompt_tokens, prompt_logprobs, context_shift or a sampler that learns (mirostat,
    #: adaptive). The stream is kept for the server's durable_age_ms unless lease_ms is given.
    durable: bool = field(default=False, metadata={"wire": "durable", "default": False})


class GenerateParams(TypedDict, total=False):
    """Optional fields of generate."""

    #: Infilling: the text after the gap; prompt is the text before it. Only for models with
    #: tokens for it.
    suffix: Union[Union[str, bytes], None]
    #: Infilling: other files, which the model sees first. Only with suffix.
    infill_files: Union[list[InfillFile], None]
    #: Use the prompt as plain text even if the model has a chat template.
    raw: Union[bool, None]
    #: Chat template to use in place of the model's own: the name of one of the model's variants
    #: or of a built-in template, or the text of a template if it contains a {.
    template: Union[Union[str, bytes], None]
    #: Additional variables for the template, as a JSON object.
    template_args: Union[Union[str, bytes, Mapping[str, Any]], None]
    #: Tools for tool calling that the template presents to the model, as a JSON array.
    tools: Union[Union[str, bytes, Sequence[Mapping[str, Any]]], None]
    #: The answer must be calls of this tool; an asterisk = of any of the tools. The arguments
    #: match the schemas of their tools. The calls are written in the format of the model, or as
    #: JSON if it has none whose text can be constrained. Requires tools and parse. Not together
    #: with grammar, json_schema, regex or structural_tag.
    required_call: Union[str, None]
    #: With required_call: allow several calls.
    parallel_calls: Union[bool, None]
    #: Parse the answer: items distinguish text, reasoning and tool calls.
    parse: Union[bool, None]
    #: How the model marks reasoning and tool calls: a name from llamactl debug parse --list.
    #: Defaults to the format that the chat template uses. Only with parse.
    parse_format: Union[str, None]
    #: Add the tokens that the model expects at the beginning of a prompt (BOS).
    add_special: Union[bool, None]
    #: Convert text that spells a control token in the prompt to that token.
    parse_special: Union[bool, None]
    #: Maximum length of the answer; -1 = until the context is full. Defaults to the server's
    #: setting. (tokens, at least -1, at most 1073741824)
    n: Union[int, None]
    #: When the context is full, drop tokens from its middle and go on, instead of ending the
    #: answer with the reason context. The rest is computed again, as if the prompt had been so.
    #: An answer without a limit then ends at the server's. Defaults to the preset's value, or
    #: false.
    context_shift: Union[bool, None]
    #: With context_shift: how many tokens at the beginning stay, not counting a BOS token, which
    #: always does; -1 = the whole prompt. All but four tokens of the context can stay. Defaults
    #: to the preset's value, or 0. (tokens, at least -1, at most 2097152)
    n_keep: Union[int, None]
    #: With context_shift: how many tokens after those are dropped at a time; 0 = half of them.
    #: (tokens, at least 0, at most 2097152)
    n_discard: Union[int, None]
    #: Passages of the prompt of at least so many tokens that the prefix cache knows at other
    #: positions, because something before them was edited, are not computed: their rows are moved
    #: to the new positions. That is an approximation. 0 = off. Refused for models whose rows
    #: cannot be moved, and with durable. Defaults to the preset's value, or 0. (tokens, at least
    #: 0, at most 2097152)
    cache_reuse: Union[int, None]
    #: Stop sequences. The answer ends before the first of them.
    stop: Union[Union[str, bytes, Sequence[Union[str, bytes]]], None]
    #: Tokens that end the answer, which is what precedes them.
    stop_tokens: Union[list[int], None]
    #: The answer does not end by a stop token or an end-of-generation token before this length,
    #: unless the grammar allows nothing else. (tokens, at least 0, at most 1073741824)
    min_tokens: Union[int, None]
    #: Grammar in GBNF that constrains the answer (structured output).
    grammar: Union[Union[str, bytes], None]
    #: JSON schema that constrains the answer (structured output); {} allows any JSON. Not
    #: together with grammar.
    json_schema: Union[Union[str, bytes, Mapping[str, Any], type[SchemaModel], SchemaModel], None]
    #: Regular expression that all of the answer matches (structured output). Not together with
    #: grammar or json_schema.
    regex: Union[Union[str, bytes], None]
    #: Structural tag that constrains parts of the answer, as JSON (structured output). Not
    #: together with grammar, json_schema or regex.
    structural_tag: Union[Union[str, bytes, Mapping[str, Any]], None]
    #: The grammar applies only after the answer has matched one of these regular expressions.
    grammar_triggers: Union[list[Union[str, bytes]], None]
    #: Jump-forward decoding: what to append without running the model where the grammar allows no
    #: alternative.
    jump: Union[str, None]
    #: Token healing: tokens at the end of the prompt that could be the start of longer tokens are
    #: removed, and the model generates their text again in tokens of its choice. That text is not
    #: part of the answer.
    heal: Union[bool, None]
    #: Continue after end-of-generation tokens.
    ignore_eog: Union[bool, None]
    #: Include the text of control tokens in the answer.
    special: Union[bool, None]
    #: Report the log probability of each token, and those of this many most likely tokens. Then
    #: jump-forward decoding is off. (at least 0, at most 32)
    logprobs: Union[int, None]
    #: The log probabilities are those of the tokens that the samplers left, and not the model's
    #: own. Only with logprobs.
    sampled_probs: Union[bool, None]
    #: Send the tokens of the prompt as items before the answer.
    prompt_tokens: Union[bool, None]
    #: Like prompt_tokens, each with its log probability and those of this many most likely
    #: tokens. The prompt is then computed separately. (at least 0, at most 32)
    prompt_logprobs: Union[int, None]
    #: Random seed. By default the server chooses one and reports it. (at least 0)
    seed: Union[int, None]
    #: The sampler chain, in order. The sampling parameters below are then ignored.
    chain: Union[list[Union[str, Mapping[str, Any]]], None]
    #: Order of the samplers: default, temperature-first, letters such as edskypmxt, or names
    #: separated by commas.
    order: Union[str, None]
    #: Temperature; 0 = greedy, always the most likely token. Defaults to the value of the
    #: configuration or of the model, or 0.8. (at least 0, at most 5)
    temp: Union[float, None]
    #: Sample from the K most likely tokens; 0 or less = all. Defaults to the value of the
    #: configuration or of the model, or 40. (at least -1, at most 2147483647)
    top_k: Union[int, None]
    #: Sample from the most likely tokens whose probabilities add up to this value; 1 = all.
    #: Defaults to the value of the configuration or of the model, or 0.95. (at least 0, at most
    #: 1)
    top_p: Union[float, None]
    #: Drop tokens less likely than this fraction of the most likely token's probability; 0 = off.
    #: Defaults to the value of the configuration or of the model, or 0.05. (at least 0, at most
    #: 1)
    min_p: Union[float, None]
    #: Locally typical sampling: keep the most typical tokens whose probabilities add up to this
    #: value; 1 = off. Defaults to the value of the configuration or of the model, or 1. (at least
    #: 0, at most 1)
    typical: Union[float, None]
    #: Keep tokens whose logits are within this many standard deviations of the highest logit; 0
    #: or less = off. Defaults to the value of the configuration or of the model, or -1. (at least
    #: -1, at most 100)
    top_n_sigma: Union[float, None]
    #: Minimum number of tokens that typical, top_p, min_p and xtc keep. Defaults to the value of
    #: the configuration or of the model, or 0. (at least 0, at most 2147483647)
    min_keep: Union[int, None]
    #: Number of recent tokens that the repetition penalties look at; 0 = off, -1 = the whole
    #: context. Defaults to the value of the configuration or of the model, or 64. (tokens, at
    #: least -1, at most 2147483647)
    repeat_last_n: Union[int, None]
    #: Repetition penalty: divides positive logits of recent tokens and multiplies negative ones;
    #: 1 = off. Defaults to the value of the configuration or of the model, or 1. (at least 0.01,
    #: at most 100)
    repeat_penalty: Union[float, None]
    #: Subtracted from a recent token's logit for each time it occurred; 0 = off. Defaults to the
    #: value of the configuration or of the model, or 0. (at least -100, at most 100)
    frequency_penalty: Union[float, None]
    #: Subtracted once from the logit of each recent token; 0 = off. Defaults to the value of the
    #: configuration or of the model, or 0. (at least -100, at most 100)
    presence_penalty: Union[float, None]
    #: Dynamic temperature: the entropy moves the temperature by at most this much in either
    #: direction; 0 = off. Defaults to the value of the configuration or of the model, or 0. (at
    #: least 0, at most 5)
    dynatemp_range: Union[float, None]
    #: Dynamic temperature: exponent of the normalised entropy. Defaults to the value of the
    #: configuration or of the model, or 1. (at least 0, at most 100)
    dynatemp_exponent: Union[float, None]
    #: XTC: probability with which the most likely tokens are removed; 0 = off. Defaults to the
    #: value of the configuration or of the model, or 0. (at least 0, at most 1)
    xtc_probability: Union[float, None]
    #: XTC: only tokens at least this likely are removed. Defaults to the value of the
    #: configuration or of the model, or 0.1. (at least 0, at most 1)
    xtc_threshold: Union[float, None]
    #: DRY: strength of the penalty on repeated sequences; 0 = off. Defaults to the value of the
    #: configuration or of the model, or 0. (at least 0, at most 100)
    dry_multiplier: Union[float, None]
    #: DRY: base of the penalty, which grows exponentially with the length of the repetition.
    #: Defaults to the value of the configuration or of the model, or 1.75. (at least 0, at most
    #: 100)
    dry_base: Union[float, None]
    #: DRY: repeated sequences up to this length are not penalised. Defaults to the value of the
    #: configuration or of the model, or 2. (tokens, at least 0, at most 2147483647)
    dry_allowed_length: Union[int, None]
    #: DRY: number of recent tokens to search for repetitions; 0 = off, -1 = the whole context.
    #: Defaults to the value of the configuration or of the model, or 64. (tokens, at least -1, at
    #: most 2147483647)
    dry_last_n: Union[int, None]
    #: DRY: texts that end a repeated sequence. Defaults to newline, colon, double quote and
    #: asterisk.
    dry_breakers: Union[list[Union[str, bytes]], None]
    #: Mirostat: version 1 or 2, which then chooses the token; 0 = off. Defaults to the value of
    #: the configuration or of the model, or 0. (at least 0, at most 2)
    mirostat: Union[int, None]
    #: Mirostat: target surprise of a token in bits. Defaults to the value of the configuration or
    #: of the model, or 5. (at least 0, at most 100)
    mirostat_tau: Union[float, None]
    #: Mirostat: learning rate. Defaults to the value of the configuration or of the model, or
    #: 0.1. (at least 0, at most 100)
    mirostat_eta: Union[float, None]
    #: Values added to the logits of given tokens; -inf forbids a token.
    logit_bias: Union[Union[Mapping[int, float], Mapping[str, float], Sequence[tuple[int, Union[float, bool]]]], None]
    #: Tokens that are never sampled. Defaults to those that the model's file names; an empty list
    #: allows all.
    suppress_tokens: Union[list[int], None]
    #: Take the beginning of the prompt from the prefix cache if it was computed before, and let
    #: later requests find this one's. If false, the whole prompt is computed and nothing of it is
    #: found later.
    cache_prompt: Union[bool, None]
    #: The adapters (LoRA) of the model that the answer is computed with, at most 8, as
    #: NAME[:SCALE] separated by commas; empty = none. A name is one of the server's configuration
    #: or of its folder of adapters, or a number in the list; SCALE multiplies the adapter's own.
    #: Defaults to those of the preset. An adapter that is not in memory is loaded first. Requests
    #: with different adapters are computed together.
    adapter: Union[str, None]
    #: For so long after the answer, what the prefix cache has of this prompt is the last thing
    #: that others may take. A user can pin a quarter of a model's memory for tokens. Only with
    #: cache_prompt. (ms, at least 0, at most 86400000)
    pin_ms: Union[int, None]
    #: A saved session of the client's own. What it has of the beginning of the prompt is not
    #: computed again, also after a restart of the server; at the end it is replaced by this
    #: prompt and answer. Its name has letters, digits, '.', '_' and '-', beginning with a letter
    #: or digit. Requires limit session_bytes.
    session: Union[str, None]
    #: Speculative decoding: guess at most this many tokens at a time, from the prompt, the answer
    #: so far and the prediction, and verify them in one step; 0 = off. The answer stays the same.
    #: Fewer are guessed if that is faster. Defaults to the server's setting. (tokens, at least 0,
    #: at most 15)
    draft_max: Union[int, None]
    #: Speculative decoding: a text that much of the answer is expected to repeat, such as the
    #: file that it edits.
    prediction: Union[Union[str, bytes], None]
    #: From now on, unload the model after it has been idle for this long; 0 = at once, -1 =
    #: never. (ms, at least -1, at most 86400000)
    keep_alive_ms: Union[int, None]
    #: The final item has the settings that the answer was computed with: those of the request,
    #: and for the others those of the model's section in the configuration, of the model's file,
    #: or built in.
    report_settings: Union[bool, None]
    #: Scheduling priority.
    class_: Union[str, None]
    #: Deadline of the whole request, including time in the queue. Defaults to the server's
    #: setting. (ms, at least 1, at most 86400000)
    timeout_ms: Union[int, None]
    #: Cancel the stream if no next arrives for this long. Defaults to the server's setting. (ms,
    #: at least 100, at most 600000)
    lease_ms: Union[int, None]
    #: Write the stream to the server's state folder: if the server is stopped, killed or
    #: replaced, the generation goes on when it has started again, and next with the same id and
    #: cursor returns the same items. Only for models of the registry, and not together with
    #: prompt_tokens, prompt_logprobs, context_shift or a sampler that learns (mirostat,
    #: adaptive). The stream is kept for the server's durable_age_ms unless lease_ms is given.
    durable: Union[bool, None]
    #: Another name of temp, known from openai, ollama.
    temperature: Union[float, None]
    #: Another name of typical, known from ollama.
    typical_p: Union[float, None]
    #: Another name of repeat_penalty, known from transformers, vLLM.
    repetition_penalty: Union[float, None]
    #: Another name of n, known from openai.
    max_tokens: Union[int, None]
    #: Another name of n, known from openai.
    max_completion_tokens: Union[int, None]
    #: Another name of n, known from ollama.
    num_predict: Union[int, None]
    #: Another name of ignore_eog, known from llamactl, vLLM.
    ignore_eos: Union[bool, None]
    #: Another name of json_schema, known from openai.
    response_format: Union[Union[Mapping[str, Any], type[SchemaModel]], None]
    #: Another name of json_schema, known from ollama.
    format: Union[Union[str, Mapping[str, Any], type[SchemaModel]], None]
    #: Parameters as a dict, as ollama takes them.
    options: Union[Mapping[str, Any], None]
    #: With none, the tools are not presented to the model.
    tool_choice: Union[Literal["auto", "none"], None]


#: Other names of parameters of generate.
ALIASES: dict[str, str] = {
    "temperature": "temp",
    "typical_p": "typical",
    "repetition_penalty": "repeat_penalty",
    "max_tokens": "n",
    "max_completion_tokens": "n",
    "num_predict": "n",
    "ignore_eos": "ignore_eog",
    "response_format": "json_schema",
    "format": "json_schema",
}


@dataclass(kw_only=True, repr=False)
class HelloReply(Message):
    """Reply to hello."""

    #: Name of the server program.
    server: str = field(metadata={"wire": "server"})
    #: Version of the server program.
    version: str = field(metadata={"wire": "version"})
    #: Oldest protocol version that the server speaks. (at least 1, at most 65535)
    v_min: int = field(metadata={"wire": "v_min"})
    #: Newest protocol version that the server speaks. (at least 1, at most 65535)
    v_max: int = field(metadata={"wire": "v_max"})
    #: The server knows all ops and fields whose since is at most this number. (at least 1, at
    #: most 65535)
    revision: int = field(metadata={"wire": "revision"})
    #: Random id that changes with each start of the server.
    boot: bytes = field(metadata={"wire": "boot", "bytes": True})
    #: Role of this client.
    role: str = field(metadata={"wire": "role"})
    #: Ops that this client may use, and names of optional features of this server.
    features: list[str] = field(metadata={"wire": "features"})
    #: The limits, as in op limits.
    limits: list[Limit] = field(default_factory=list, metadata={"wire": "limits", "default": [], "make": "Limit", "many": True})


@dataclass(kw_only=True, repr=False)
class HelloRequest(Request[HelloReply]):
    """Identifies the client and reports what the server speaks. May be sent with any v."""

    OP: ClassVar[str] = "hello"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = HelloReply
    #: Name of the client program, for the log.
    client: str = field(default='', metadata={"wire": "client", "default": ''})
    #: Version of the client program.
    version: str = field(default='', metadata={"wire": "version", "default": ''})
    #: Secret of an API key, which authenticates this connection on tcp and tls+tcp. Ignored on
    #: the unix socket.
    key: str = field(default='', repr=False, metadata={"wire": "key", "default": ''})


class HelloParams(TypedDict, total=False):
    """Optional fields of hello."""

    #: Name of the client program, for the log.
    client: str
    #: Version of the client program.
    version: str
    #: Secret of an API key, which authenticates this connection on tcp and tls+tcp. Ignored on
    #: the unix socket.
    key: str


@dataclass(kw_only=True, repr=False)
class InfoReply(Message):
    """Reply to info."""

    #: The model's entry in the registry.
    model: Model = field(metadata={"wire": "model", "make": "Model"})
    #: Number of elements of all tensors. (at least 0)
    elements: int = field(metadata={"wire": "elements"})
    #: Size of all tensors. (bytes, at least 0)
    weight_bytes: int = field(metadata={"wire": "weight_bytes"})
    #: Context length of training; 0 if unknown. (tokens, at least 0)
    n_ctx_train: int = field(default=0, metadata={"wire": "n_ctx_train", "default": 0})
    #: Number of layers. (at least 0)
    n_layer: int = field(default=0, metadata={"wire": "n_layer", "default": 0})
    #: Embedding width. (at least 0)
    n_embd: int = field(default=0, metadata={"wire": "n_embd", "default": 0})
    #: Size of the vocabulary. (tokens, at least 0)
    n_vocab: int = field(default=0, metadata={"wire": "n_vocab", "default": 0})
    #: The chat template: that of the configuration, or the model's own.
    chat_template: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "chat_template"})
    #: Tensors by type.
    types: list[TensorType] = field(metadata={"wire": "types", "make": "TensorType", "many": True})
    #: Metadata keys of the file, if requested.
    meta: list[Meta] = field(default_factory=list, metadata={"wire": "meta", "default": [], "make": "Meta", "many": True})
    #: The loaded instance, if the model is in memory.
    resident: Union[Resident, None] = field(default=None, metadata={"wire": "resident", "make": "Resident"})
    #: The sampling parameters of requests that do not set them.
    defaults: list[DefaultValue] = field(default_factory=list, metadata={"wire": "defaults", "default": [], "make": "DefaultValue", "many": True})
    #: The system prompt of conversations without one, from the configuration or a Modelfile.
    system: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "system"})
    #: The Modelfile, if the name was made by op create.
    modelfile: Union[Union[str, bytes], None] = field(default=None, metadata={"wire": "modelfile"})
    #: What the chat template supports, if requested: system, tools, tool_calls,
    #: parallel_tool_calls, tool_results, reasoning, thinking_switch, parts, generation_prompt,
    #: strings.
    template_caps: list[str] = field(default_factory=list, metadata={"wire": "template_caps", "default": []})
    #: Paths of its files in their order, if it has several. Reported to admins only.
    files: list[str] = field(default_factory=list, metadata={"wire": "files", "default": []})
    #: It has a vision tower, so that it reads pictures; of a model that is not in memory: a file
    #: of one is configured or beside it.
    vision: bool = field(default=False, metadata={"wire": "vision", "default": False})


@dataclass(kw_only=True, repr=False)
class InfoRequest(Request[InfoReply]):
    """Returns the metadata of a model file."""

    OP: ClassVar[str] = "info"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = InfoReply
    #: The model by name or alias; admins may also give a path.
    model: str = field(metadata={"wire": "model"})
    #: Include the metadata keys of the file.
    keys: bool = field(default=False, metadata={"wire": "keys", "default": False})
    #: Include what the chat template supports.
    template_caps: bool = field(default=False, metadata={"wire": "template_caps", "default": False})


class InfoParams(TypedDict, total=False):
    """Optional fields of info."""

    #: Include the metadata keys of the file.
    keys: bool
    #: Include what the chat template supports.
    template_caps: bool


@dataclass(kw_only=True, repr=False)
class KeyAddReply(Message):
    """Reply to key_add."""


@dataclass(kw_only=True, repr=False)
class KeyAddRequest(Request[KeyAddReply]):
    """Adds an API key whose secret only the client knows. Only on the unix socket."""

    OP: ClassVar[str] = "key_add"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = KeyAddReply
    #: Label of the key, unique among all keys.
    label: str = field(metadata={"wire": "label"})
    #: SHA-256 of the secret as 64 lower-case hexadecimal digits. The secret must be random, with
    #: at least 128 bits.
    digest: str = field(metadata={"wire": "digest"})
    #: Role of the clients that use the key.
    role: str = field(default='user', metadata={"wire": "role", "default": 'user'})
    #: Expiry time since 1970-01-01 UTC; 0 = never. (ms, at least 0, at most 9000000000000)
    expires_ms: int = field(default=0, metadata={"wire": "expires_ms", "default": 0})
    #: Requests per minute; 0 = any number. (at least 0, at most 1000000000000)
    rpm: int = field(default=0, metadata={"wire": "rpm", "default": 0})
    #: Tokens per minute, of prompts and answers; 0 = any number. (tokens, at least 0, at most
    #: 1000000000000)
    tpm: int = field(default=0, metadata={"wire": "tpm", "default": 0})
    #: Tokens per day (UTC), of prompts and answers; 0 = any number. (tokens, at least 0, at most
    #: 1000000000000)
    tpd: int = field(default=0, metadata={"wire": "tpd", "default": 0})
    #: Names of the models that the key may use, or aliases; an empty list = all.
    models: list[str] = field(default_factory=list, metadata={"wire": "models", "default": []})


class KeyAddParams(TypedDict, total=False):
    """Optional fields of key_add."""

    #: Role of the clients that use the key.
    role: str
    #: Expiry time since 1970-01-01 UTC; 0 = never. (ms, at least 0, at most 9000000000000)
    expires_ms: int
    #: Requests per minute; 0 = any number. (at least 0, at most 1000000000000)
    rpm: int
    #: Tokens per minute, of prompts and answers; 0 = any number. (tokens, at least 0, at most
    #: 1000000000000)
    tpm: int
    #: Tokens per day (UTC), of prompts and answers; 0 = any number. (tokens, at least 0, at most
    #: 1000000000000)
    tpd: int
    #: Names of the models that the key may use, or aliases; an empty list = all.
    models: list[str]


@dataclass(kw_only=True, repr=False)
class KeyRmReply(Message):
    """Reply to key_rm."""

    #: The key existed.
    found: bool = field(metadata={"wire": "found"})


@dataclass(kw_only=True, repr=False)
class KeyRmRequest(Request[KeyRmReply]):
    """Removes an API key. Its connections are no longer authenticated, and their streams end unless they have a lease of their own. Only on the unix socket."""

    OP: ClassVar[str] = "key_rm"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = KeyRmReply
    #: Label of the key.
    label: str = field(metadata={"wire": "label"})


@dataclass(kw_only=True, repr=False)
class KeySetReply(Message):
    """Reply to key_set."""


@dataclass(kw_only=True, repr=False)
class KeySetRequest(Request[KeySetReply]):
    """Changes the quota of an API key, also for clients that are connected; fields that are missing stay as they are. Only on the unix socket."""

    OP: ClassVar[str] = "key_set"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = KeySetReply
    #: Label of the key.
    label: str = field(metadata={"wire": "label"})
    #: Requests per minute; 0 = any number. (at least 0, at most 1000000000000)
    rpm: Union[int, None] = field(default=None, metadata={"wire": "rpm"})
    #: Tokens per minute, of prompts and answers; 0 = any number. (tokens, at least 0, at most
    #: 1000000000000)
    tpm: Union[int, None] = field(default=None, metadata={"wire": "tpm"})
    #: Tokens per day (UTC), of prompts and answers; 0 = any number. (tokens, at least 0, at most
    #: 1000000000000)
    tpd: Union[int, None] = field(default=None, metadata={"wire": "tpd"})
    #: Names of the models that the key may use, or aliases; an empty list = all.
    models: Union[list[str], None] = field(default=None, metadata={"wire": "models"})


class KeySetParams(TypedDict, total=False):
    """Optional fields of key_set."""

    #: Requests per minute; 0 = any number. (at least 0, at most 1000000000000)
    rpm: Union[int, None]
    #: Tokens per minute, of prompts and answers; 0 = any number. (tokens, at least 0, at most
    #: 1000000000000)
    tpm: Union[int, None]
    #: Tokens per day (UTC), of prompts and answers; 0 = any number. (tokens, at least 0, at most
    #: 1000000000000)
    tpd: Union[int, None]
    #: Names of the models that the key may use, or aliases; an empty list = all.
    models: Union[list[str], None]


@dataclass(kw_only=True, repr=False)
class KeysReply(Message):
    """Reply to keys."""

    #: The keys.
    keys: list[Key] = field(metadata={"wire": "keys", "make": "Key", "many": True})


@dataclass(kw_only=True, repr=False)
class KeysRequest(Request[KeysReply]):
    """Lists the API keys, oldest first. Only on the unix socket."""

    OP: ClassVar[str] = "keys"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = KeysReply


@dataclass(kw_only=True, repr=False)
class LimitsReply(Message):
    """Reply to limits."""

    #: The limits.
    limits: list[Limit] = field(metadata={"wire": "limits", "make": "Limit", "many": True})


@dataclass(kw_only=True, repr=False)
class LimitsRequest(Request[LimitsReply]):
    """Lists the limits of this server."""

    OP: ClassVar[str] = "limits"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = LimitsReply


@dataclass(kw_only=True, repr=False)
class LoadReply(Message):
    """Reply to load."""

    #: The stream of the job.
    id: bytes = field(metadata={"wire": "id", "bytes": True})


@dataclass(kw_only=True, repr=False)
class LoadRequest(Request[LoadReply]):
    """Loads a model into memory. This is a job; its stream reports progress and ends when the model is ready."""

    OP: ClassVar[str] = "load"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "once"
    REPLY: ClassVar[Any] = LoadReply
    #: The model by name or alias; admins may also give a path.
    model: str = field(metadata={"wire": "model"})
    #: Context size of one sequence; 0 = the model's own, or what fits into memory. (tokens, at
    #: least 0, at most 1073741824)
    n_ctx: int = field(default=0, metadata={"wire": "n_ctx", "default": 0})
    #: Maximum number of concurrent sequences (continuous batching); 0 = chosen by the server. (at
    #: least 0, at most 4096)
    n_seq: int = field(default=0, metadata={"wire": "n_seq", "default": 0})
    #: Maximum number of tokens in one step; 0 = chosen by the server. (tokens, at least 0, at
    #: most 65536)
    n_batch: int = field(default=0, metadata={"wire": "n_batch", "default": 0})
    #: The backend; auto = the best one available.
    backend: str = field(default='auto', metadata={"wire": "backend", "default": 'auto'})
    #: Index of the device within the backend. (at least 0, at most 65535)
    device: int = field(default=0, metadata={"wire": "device", "default": 0})
    #: Threads of a CPU backend; 0 = chosen by the server. (at least 0, at most 4096)
    threads: int = field(default=0, metadata={"wire": "threads", "default": 0})
    #: Data type of the KV cache, such as f16; auto = the device's preference.
    kv_type: str = field(default='auto', metadata={"wire": "kv_type", "default": 'auto'})
    #: Data type of the keys in the KV cache; auto = kv_type.
    kv_type_k: str = field(default='auto', metadata={"wire": "kv_type_k", "default": 'auto'})
    #: Data type of the values in the KV cache; auto = kv_type.
    kv_type_v: str = field(default='auto', metadata={"wire": "kv_type_v", "default": 'auto'})
    #: Data type of activations between layers.
    activations: str = field(default='auto', metadata={"wire": "activations", "default": 'auto'})
    #: Maximum memory that the model may use; 0 = all that the server has left. (bytes, at least
    #: 0)
    memory_limit: int = field(default=0, metadata={"wire": "memory_limit", "default": 0})
    #: The devices to use, such as cuda0,cuda1; empty = backend and device.
    devices: str = field(default='', metadata={"wire": "devices", "default": ''})
    #: How many of the last layers run on these devices, the others run on the cpu: a number, all,
    #: or auto for as many as fit; empty = chosen by the server.
    gpu_layers: str = field(default='', metadata={"wire": "gpu_layers", "default": ''})
    #: Shares of the layers for each device, such as 3,1, or tensor or tensor:N: every device has
    #: a part of every layer; empty = by free memory.
    split: str = field(default='', metadata={"wire": "split", "default": ''})
    #: REGEX=DEVICE, separated by commas: operations whose weights match run on that device.
    override_tensor: str = field(default='', metadata={"wire": "override_tensor", "default": ''})
    #: Speculative decoding: name of a smaller model with the same vocabulary, which guesses
    #: tokens; nextn = the draft layers of the model itself; auto = those if it has any, otherwise
    #: the smallest model in memory that has the same vocabulary and at most a quarter of the
    #: weights; empty = none, or that of the configuration.
    draft_model: str = field(default='', metadata={"wire": "draft_model", "default": ''})
    #: File of the vision tower, which lets the model read pictures; empty = that of the
    #: configuration, or the file mmproj*.gguf beside the model.
    mmproj: str = field(default='', metadata={"wire": "mmproj", "default": ''})
    #: The process of the model's backend.
    isolation: str = field(default='auto', metadata={"wire": "isolation", "default": 'auto'})
    #: Threads of a CPU backend for steps of more than 16 tokens; 0 = as threads, or chosen by the
    #: server. (at least 0, at most 4096)
    threads_batch: int = field(default=0, metadata={"wire": "threads_batch", "default": 0})
    #: Processors that these threads run on, such as 0-7,16 or 0xff; empty = chosen by the server.
    cpus: str = field(default='', metadata={"wire": "cpus", "default": ''})
    #: Unload the model after it has been idle for this long; -1 = never. (ms, at least -1, at
    #: most 86400000)
    keep_alive_ms: int = field(default=300000, metadata={"wire": "keep_alive_ms", "default": 300000})


class LoadParams(TypedDict, total=False):
    """Optional fields of load."""

    #: Context size of one sequence; 0 = the model's own, or what fits into memory. (tokens, at
    #: least 0, at most 1073741824)
    n_ctx: int
    #: Maximum number of concurrent sequences (continuous batching); 0 = chosen by the server. (at
    #: least 0, at most 4096)
    n_seq: int
    #: Maximum number of tokens in one step; 0 = chosen by the server. (tokens, at least 0, at
    #: most 65536)
    n_batch: int
    #: The backend; auto = the best one available.
    backend: str
    #: Index of the device within the backend. (at least 0, at most 65535)
    device: int
    #: Threads of a CPU backend; 0 = chosen by the server. (at least 0, at most 4096)
    threads: int
    #: Data type of the KV cache, such as f16; auto = the device's preference.
    kv_type: str
    #: Data type of the keys in the KV cache; auto = kv_type.
    kv_type_k: str
    #: Data type of the values in the KV cache; auto = kv_type.
    kv_type_v: str
    #: Data type of activations between layers.
    activations: str
    #: Maximum memory that the model may use; 0 = all that the server has left. (bytes, at least
    #: 0)
    memory_limit: int
    #: The devices to use, such as cuda0,cuda1; empty = backend and device.
    devices: str
    #: How many of the last layers run on these devices, the others run on the cpu: a number, all,
    #: or auto for as many as fit; empty = chosen by the server.
    gpu_layers: str
    #: Shares of the layers for each device, such as 3,1, or tensor or tensor:N: every device has
    #: a part of every layer; empty = by free memory.
    split: str
    #: REGEX=DEVICE, separated by commas: operations whose weights match run on that device.
    override_tensor: str
    #: Speculative decoding: name of a smaller model with the same vocabulary, which guesses
    #: tokens; nextn = the draft layers of the model itself; auto = those if it has any, otherwise
    #: the smallest model in memory that has the same vocabulary and at most a quarter of the
    #: weights; empty = none, or that of the configuration.
    draft_model: str
    #: File of the vision tower, which lets the model read pictures; empty = that of the
    #: configuration, or the file mmproj*.gguf beside the model.
    mmproj: str
    #: The process of the model's backend.
    isolation: str
    #: Threads of a CPU backend for steps of more than 16 tokens; 0 = as threads, or chosen by the
    #: server. (at least 0, at most 4096)
    threads_batch: int
    #: Processors that these threads run on, such as 0-7,16 or 0xff; empty = chosen by the server.
    cpus: str
    #: Unload the model after it has been idle for this long; -1 = never. (ms, at least -1, at
    #: most 86400000)
    keep_alive_ms: int


@dataclass(kw_only=True, repr=False)
class ModelsReply(Message):
    """Reply to models."""

    #: The models, sorted by name.
    models: list[Model] = field(metadata={"wire": "models", "make": "Model", "many": True})
    #: There are more rows.
    more: bool = field(default=False, metadata={"wire": "more", "default": False})


@dataclass(kw_only=True, repr=False)
class ModelsRequest(Request[ModelsReply]):
    """Lists the models in the registry."""

    OP: ClassVar[str] = "models"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = ModelsReply
    #: List only this model, by name or alias.
    model: Union[str, None] = field(default=None, metadata={"wire": "model"})
    #: List only names after this one (for paging).
    after: str = field(default='', metadata={"wire": "after", "default": ''})
    #: Maximum number of rows. (at least 1, at most 4096)
    max: int = field(default=4096, metadata={"wire": "max", "default": 4096})


class ModelsParams(TypedDict, total=False):
    """Optional fields of models."""

    #: List only this model, by name or alias.
    model: Union[str, None]
    #: List only names after this one (for paging).
    after: str
    #: Maximum number of rows. (at least 1, at most 4096)
    max: int


@dataclass(kw_only=True, repr=False)
class NextReply(Message):
    """Reply to next."""

    #: The stream.
    id: bytes = field(metadata={"wire": "id", "bytes": True})
    #: The items after the cursor, in order. Empty if the wait timed out.
    items: list[Item] = field(default_factory=list, metadata={"wire": "items", "default": [], "make": "Item_", "many": True})
    #: The next cursor: number of the last item in this reply, or after if there is none. (at
    #: least 0)
    last: int = field(metadata={"wire": "last"})
    #: The stream has no more items.
    end: bool = field(default=False, metadata={"wire": "end", "default": False})


@dataclass(kw_only=True, repr=False)
class NextRequest(Request[NextReply]):
    """Fetches the items of a stream after a cursor. Asking again returns the same items."""

    OP: ClassVar[str] = "next"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = NextReply
    #: The stream.
    id: bytes = field(metadata={"wire": "id", "bytes": True})
    #: Number of the last item that the client has received. Items up to it may be forgotten. (at
    #: least 0)
    after: int = field(default=0, metadata={"wire": "after", "default": 0})
    #: Maximum time to wait for an item. Defaults to the server's setting. (ms, at least 0, at
    #: most 600000)
    wait_ms: Union[int, None] = field(default=None, metadata={"wire": "wait_ms"})
    #: Output batching delay: after the first unread item wait this long for more, except at the
    #: beginning and the end of the stream; 0 = send each item at once. Defaults to the server's
    #: setting. (ms, at least 0, at most 10000)
    hold_ms: Union[int, None] = field(default=None, metadata={"wire": "hold_ms"})
    #: Maximum number of items. (at least 1, at most 4096)
    max: int = field(default=256, metadata={"wire": "max", "default": 256})


class NextParams(TypedDict, total=False):
    """Optional fields of next."""

    #: Number of the last item that the client has received. Items up to it may be forgotten. (at
    #: least 0)
    after: int
    #: Maximum time to wait for an item. Defaults to the server's setting. (ms, at least 0, at
    #: most 600000)
    wait_ms: Union[int, None]
    #: Output batching delay: after the first unread item wait this long for more, except at the
    #: beginning and the end of the stream; 0 = send each item at once. Defaults to the server's
    #: setting. (ms, at least 0, at most 10000)
    hold_ms: Union[int, None]
    #: Maximum number of items. (at least 1, at most 4096)
    max: int


@dataclass(kw_only=True, repr=False)
class PauseReply(Message):
    """Reply to pause."""

    #: Time after which it is cancelled. Pausing again does not extend it. (ms, at least 0)
    left_ms: int = field(metadata={"wire": "left_ms"})


@dataclass(kw_only=True, repr=False)
class PauseRequest(Request[PauseReply]):
    """Pauses a generation after the current step of the model. It computes nothing until op unpause, and then has the answer that it would have had without the pause. It keeps its place among its user's generations and its deadline, must be read as often as its lease says, and is cancelled if it stays paused for longer than the limit pause_max. Its memory can be used by others; what they took is computed again. A durable stream is no longer paused after a restart."""

    OP: ClassVar[str] = "pause"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = PauseReply
    #: The stream.
    id: bytes = field(metadata={"wire": "id", "bytes": True})


@dataclass(kw_only=True, repr=False)
class PingReply(Message):
    """Reply to ping."""

    #: State of the server.
    state: str = field(metadata={"wire": "state"})
    #: Time since the server started. (ms, at least 0)
    uptime_ms: int = field(metadata={"wire": "uptime_ms"})


@dataclass(kw_only=True, repr=False)
class PingRequest(Request[PingReply]):
    """Checks that the server is alive."""

    OP: ClassVar[str] = "ping"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = PingReply


@dataclass(kw_only=True, repr=False)
class PluginsReply(Message):
    """Reply to plugins."""

    #: The plugins.
    plugins: list[Plugin] = field(metadata={"wire": "plugins", "make": "Plugin", "many": True})


@dataclass(kw_only=True, repr=False)
class PluginsRequest(Request[PluginsReply]):
    """Lists the plugin files that were found."""

    OP: ClassVar[str] = "plugins"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = PluginsReply
    #: Include the factories of each plugin.
    factories: bool = field(default=False, metadata={"wire": "factories", "default": False})


class PluginsParams(TypedDict, total=False):
    """Optional fields of plugins."""

    #: Include the factories of each plugin.
    factories: bool


@dataclass(kw_only=True, repr=False)
class PluginsReloadReply(Message):
    """Reply to plugins_reload."""

    #: Files that are new or were replaced.
    added: list[str] = field(default_factory=list, metadata={"wire": "added", "default": []})
    #: Files that are gone or were replaced.
    removed: list[str] = field(default_factory=list, metadata={"wire": "removed", "default": []})
    #: Files that cannot be used, with the reason.
    refused: list[Plugin] = field(default_factory=list, metadata={"wire": "refused", "default": [], "make": "Plugin", "many": True})


@dataclass(kw_only=True, repr=False)
class PluginsReloadRequest(Request[PluginsReloadReply]):
    """Scans the plugin folders again. Models that are loaded afterwards use the plugins found now."""

    OP: ClassVar[str] = "plugins_reload"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = PluginsReloadReply
    #: Accept a change of this file only: an absolute path as plugins reports it, or the name of a
    #: file in any plugin folder. Defaults to all files.
    file: Union[str, None] = field(default=None, metadata={"wire": "file"})


class PluginsReloadParams(TypedDict, total=False):
    """Optional fields of plugins_reload."""

    #: Accept a change of this file only: an absolute path as plugins reports it, or the name of a
    #: file in any plugin folder. Defaults to all files.
    file: Union[str, None]


@dataclass(kw_only=True, repr=False)
class PsReply(Message):
    """Reply to ps."""

    #: The models in memory.
    models: list[Resident] = field(metadata={"wire": "models", "make": "Resident", "many": True})
    #: With generations: those that run, by model and age.
    generations: list[RunningGeneration] = field(default_factory=list, metadata={"wire": "generations", "default": [], "make": "RunningGeneration", "many": True})


@dataclass(kw_only=True, repr=False)
class PsRequest(Request[PsReply]):
    """Lists the models in memory."""

    OP: ClassVar[str] = "ps"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = PsReply
    #: Also list the generations that run: the client's own, or everybody's for admins.
    generations: bool = field(default=False, metadata={"wire": "generations", "default": False})


class PsParams(TypedDict, total=False):
    """Optional fields of ps."""

    #: Also list the generations that run: the client's own, or everybody's for admins.
    generations: bool


@dataclass(kw_only=True, repr=False)
class PullReply(Message):
    """Reply to pull."""

    #: The stream of the job. Op streams reports the model's name.
    id: bytes = field(metadata={"wire": "id", "bytes": True})


@dataclass(kw_only=True, repr=False)
class PullRequest(Request[PullReply]):
    """Downloads a model from Hugging Face, a registry or a URL into the server's own store and adds it to the registry. This is a job; its stream ends when the model is registered. What has arrived before an interruption is kept, and the next pull of the same source continues there."""

    OP: ClassVar[str] = "pull"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "once"
    REPLY: ClassVar[Any] = PullReply
    #: A short name of the server's catalogue, hf:USER/REPO[@REVISION][:QUANTISATION or :FILE],
    #: ollama:NAME[:TAG], oci:HOST/REPO[:TAG], or a URL.
    source: str = field(metadata={"wire": "source"})
    #: The model's name. Defaults to the short name, to REPO:QUANTISATION without -GGUF, to
    #: NAME:TAG, or to the name of the file.
    name: Union[str, None] = field(default=None, metadata={"wire": "name"})
    #: Expected digest; what was downloaded is rejected if its digest differs.
    digest: Union[str, None] = field(default=None, metadata={"wire": "digest"})
    #: Replace the model that has this name.
    replace: bool = field(default=False, metadata={"wire": "replace", "default": False})
    #: Only find the files: the stream reports their size as the total of phase download, and
    #: nothing is transferred.
    dry_run: bool = field(default=False, metadata={"wire": "dry_run", "default": False})


class PullParams(TypedDict, total=False):
    """Optional fields of pull."""

    #: The model's name. Defaults to the short name, to REPO:QUANTISATION without -GGUF, to
    #: NAME:TAG, or to the name of the file.
    name: Union[str, None]
    #: Expected digest; what was downloaded is rejected if its digest differs.
    digest: Union[str, None]
    #: Replace the model that has this name.
    replace: bool
    #: Only find the files: the stream reports their size as the total of phase download, and
    #: nothing is transferred.
    dry_run: bool


@dataclass(kw_only=True, repr=False)
class RegistryBackupReply(Message):
    """Reply to registry_backup."""

    #: Path of the copy.
    path: str = field(metadata={"wire": "path"})
    #: Its size. (bytes, at least 0)
    size: int = field(metadata={"wire": "size"})


@dataclass(kw_only=True, repr=False)
class RegistryBackupRequest(Request[RegistryBackupReply]):
    """Writes a consistent copy of the registry into the state folder. Only on the unix socket."""

    OP: ClassVar[str] = "registry_backup"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = RegistryBackupReply
    #: Name of the file: letters, digits, '.', '_' and '-', ending in .backup. It must not exist.
    name: str = field(metadata={"wire": "name"})


@dataclass(kw_only=True, repr=False)
class RegistryRestoreReply(Message):
    """Reply to registry_restore."""

    #: Models in the registry now. (at least 0)
    models: int = field(metadata={"wire": "models"})
    #: Keys in the registry now. (at least 0)
    keys: int = field(metadata={"wire": "keys"})


@dataclass(kw_only=True, repr=False)
class RegistryRestoreRequest(Request[RegistryRestoreReply]):
    """Replaces all models, aliases and keys of the registry by those of a copy in the state folder, after checking it. Models in memory stay; clients whose key is not in the copy are disconnected. Only on the unix socket."""

    OP: ClassVar[str] = "registry_restore"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = RegistryRestoreReply
    #: Name of the file, as for registry_backup.
    name: str = field(metadata={"wire": "name"})


@dataclass(kw_only=True, repr=False)
class ReloadReply(Message):
    """Reply to reload."""

    #: The stream of the job.
    id: bytes = field(metadata={"wire": "id", "bytes": True})


@dataclass(kw_only=True, repr=False)
class ReloadRequest(Request[ReloadReply]):
    """Loads a model again with the current plugins. Running streams finish on the old instance. This is a job."""

    OP: ClassVar[str] = "reload"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "once"
    REPLY: ClassVar[Any] = ReloadReply
    #: The model by name or alias; admins may also give a path.
    model: str = field(metadata={"wire": "model"})


@dataclass(kw_only=True, repr=False)
class ReplayReply(Message):
    """Reply to replay."""

    #: The new stream.
    id: bytes = field(metadata={"wire": "id", "bytes": True})
    #: The seed in use. (at least 0)
    seed: int = field(metadata={"wire": "seed"})


@dataclass(kw_only=True, repr=False)
class ReplayRequest(Request[ReplayReply]):
    """Generates the answer of an earlier request again: the same prompt, with the model, seed, settings and adapters of that time. Replies like op generate. Only for requests that are kept: those of the same user that ended by themselves, were not durable, and are among the last of the server's limits replay_requests and replay_bytes. It fails if the model now has another digest. Op replay_info tells whether the two answers are the same."""

    OP: ClassVar[str] = "replay"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "once"
    REPLY: ClassVar[Any] = ReplayReply
    #: The stream of the earlier request.
    id: bytes = field(metadata={"wire": "id", "bytes": True})


@dataclass(kw_only=True, repr=False)
class ReplayInfoReply(Message):
    """Reply to replay_info."""

    #: The model as the request named it.
    model: str = field(metadata={"wire": "model"})
    #: sha256: and 64 hexadecimal digits of the model's file; empty if it was not known.
    model_digest: str = field(default='', metadata={"wire": "model_digest", "default": ''})
    #: The seed of the answer. (at least 0)
    seed: int = field(metadata={"wire": "seed"})
    #: Length of the prompt. (tokens, at least 0)
    n_prompt: int = field(metadata={"wire": "n_prompt"})
    #: Length of the answer. (tokens, at least 0)
    n_out: int = field(metadata={"wire": "n_out"})
    #: Why the answer ended.
    finish: str = field(metadata={"wire": "finish"})
    #: sha256: and 64 hexadecimal digits of the answer's tokens, 4 bytes each, the lowest first.
    #: Equal answers have equal digests.
    digest: str = field(metadata={"wire": "digest"})
    #: Memory that it takes of the limit replay_bytes. (bytes, at least 0)
    bytes: int = field(metadata={"wire": "bytes"})


@dataclass(kw_only=True, repr=False)
class ReplayInfoRequest(Request[ReplayInfoReply]):
    """Tells what is kept of a request that can be generated again with op replay."""

    OP: ClassVar[str] = "replay_info"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = ReplayInfoReply
    #: Its stream.
    id: bytes = field(metadata={"wire": "id", "bytes": True})


@dataclass(kw_only=True, repr=False)
class RerankReply(Message):
    """Reply to rerank."""

    #: The score of each document, in their order: the first output of the classifier. Higher is
    #: better.
    scores: list[float] = field(metadata={"wire": "scores"})
    #: Number of tokens of all pairs of query and document. (tokens, at least 0)
    n_prompt: int = field(metadata={"wire": "n_prompt"})


@dataclass(kw_only=True, repr=False)
class RerankRequest(Request[RerankReply]):
    """Scores how well documents answer a query, with the classifier of a reranker. Models without one refuse it."""

    OP: ClassVar[str] = "rerank"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = RerankReply
    #: The model by name or alias; admins may also give a path.
    model: str = field(metadata={"wire": "model"})
    #: The query.
    query: Union[str, bytes] = field(metadata={"wire": "query"})
    #: The documents.
    documents: list[Union[str, bytes]] = field(metadata={"wire": "documents"})
    #: Cut documents that are longer than the context allows; otherwise they are an error.
    truncate: bool = field(default=False, metadata={"wire": "truncate", "default": False})


class RerankParams(TypedDict, total=False):
    """Optional fields of rerank."""

    #: Cut documents that are longer than the context allows; otherwise they are an error.
    truncate: bool


@dataclass(kw_only=True, repr=False)
class RmReply(Message):
    """Reply to rm."""

    #: The name was an alias.
    alias: bool = field(metadata={"wire": "alias"})
    #: Size of the files deleted from the server's own store. (bytes, at least 0)
    bytes: int = field(default=0, metadata={"wire": "bytes", "default": 0})


@dataclass(kw_only=True, repr=False)
class RmRequest(Request[RmReply]):
    """Removes a model or an alias from the registry. A model in memory must be unloaded first."""

    OP: ClassVar[str] = "rm"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "once"
    REPLY: ClassVar[Any] = RmReply
    #: The model or alias.
    name: str = field(metadata={"wire": "name"})


@dataclass(kw_only=True, repr=False)
class SessionForkReply(Message):
    """Reply to session_fork."""

    #: Its length. (tokens, at least 0)
    n_tokens: int = field(metadata={"wire": "n_tokens"})
    #: Its size. (bytes, at least 0)
    bytes: int = field(metadata={"wire": "bytes"})


@dataclass(kw_only=True, repr=False)
class SessionForkRequest(Request[SessionForkReply]):
    """Copies a saved session, so that two conversations can go on from it."""

    OP: ClassVar[str] = "session_fork"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = SessionForkReply
    #: The session: letters, digits, '.', '_' and '-', beginning with a letter or digit.
    name: str = field(metadata={"wire": "name"})
    #: Name of the copy. A session of that name is replaced.
    to: str = field(metadata={"wire": "to"})


@dataclass(kw_only=True, repr=False)
class SessionReadReply(Message):
    """Reply to session_read."""

    #: The bytes; none: the end was reached.
    data: bytes = field(metadata={"wire": "data", "bytes": True})
    #: Size of the whole file. If it changes between two pieces, the session was saved meanwhile:
    #: begin anew. (bytes, at least 0)
    bytes: int = field(metadata={"wire": "bytes"})


@dataclass(kw_only=True, repr=False)
class SessionReadRequest(Request[SessionReadReply]):
    """Reads a piece of the file of a saved session, for session_write of another server."""

    OP: ClassVar[str] = "session_read"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = SessionReadReply
    #: The session: letters, digits, '.', '_' and '-', beginning with a letter or digit.
    name: str = field(metadata={"wire": "name"})
    #: The first byte to read. (bytes, at least 0)
    offset: int = field(default=0, metadata={"wire": "offset", "default": 0})
    #: How many bytes to read at most. (bytes, at least 1, at most 4194304)
    max: int = field(default=1048576, metadata={"wire": "max", "default": 1048576})


class SessionReadParams(TypedDict, total=False):
    """Optional fields of session_read."""

    #: The first byte to read. (bytes, at least 0)
    offset: int
    #: How many bytes to read at most. (bytes, at least 1, at most 4194304)
    max: int


@dataclass(kw_only=True, repr=False)
class SessionRmReply(Message):
    """Reply to session_rm."""

    #: It existed.
    found: bool = field(metadata={"wire": "found"})


@dataclass(kw_only=True, repr=False)
class SessionRmRequest(Request[SessionRmReply]):
    """Removes a saved session."""

    OP: ClassVar[str] = "session_rm"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = SessionRmReply
    #: The session: letters, digits, '.', '_' and '-', beginning with a letter or digit.
    name: str = field(metadata={"wire": "name"})


@dataclass(kw_only=True, repr=False)
class SessionWriteReply(Message):
    """Reply to session_write."""

    #: With last: the length of the session. (tokens, at least 0)
    n_tokens: int = field(default=0, metadata={"wire": "n_tokens", "default": 0})


@dataclass(kw_only=True, repr=False)
class SessionWriteRequest(Request[SessionWriteReply]):
    """Writes a piece of the file of a session that was read elsewhere. Pieces arrive in order; the last one checks the file and gives it its name."""

    OP: ClassVar[str] = "session_write"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = SessionWriteReply
    #: The session: letters, digits, '.', '_' and '-', beginning with a letter or digit.
    name: str = field(metadata={"wire": "name"})
    #: How many bytes were sent before; 0 begins anew. (bytes, at least 0)
    offset: int = field(metadata={"wire": "offset"})
    #: The bytes.
    data: bytes = field(metadata={"wire": "data", "bytes": True})
    #: The file is complete. A session of that name is replaced.
    last: bool = field(default=False, metadata={"wire": "last", "default": False})


class SessionWriteParams(TypedDict, total=False):
    """Optional fields of session_write."""

    #: The file is complete. A session of that name is replaced.
    last: bool


@dataclass(kw_only=True, repr=False)
class SessionsReply(Message):
    """Reply to sessions."""

    #: The sessions by name.
    sessions: list[Session] = field(metadata={"wire": "sessions", "make": "Session", "many": True})
    #: Their size. (bytes, at least 0)
    bytes: int = field(metadata={"wire": "bytes"})
    #: The size that they may have (limit session_bytes). (bytes, at least 0)
    max_bytes: int = field(metadata={"wire": "max_bytes"})


@dataclass(kw_only=True, repr=False)
class SessionsRequest(Request[SessionsReply]):
    """Lists the client's own saved sessions."""

    OP: ClassVar[str] = "sessions"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = SessionsReply


@dataclass(kw_only=True, repr=False)
class ShutdownReply(Message):
    """Reply to shutdown."""

    #: Running generations. (at least 0)
    running: int = field(metadata={"wire": "running"})


@dataclass(kw_only=True, repr=False)
class ShutdownRequest(Request[ShutdownReply]):
    """Drains the server, then stops it."""

    OP: ClassVar[str] = "shutdown"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = ShutdownReply
    #: Time that running streams are given to finish. Defaults to the server's setting. (ms, at
    #: least 0, at most 3600000)
    drain_ms: Union[int, None] = field(default=None, metadata={"wire": "drain_ms"})


class ShutdownParams(TypedDict, total=False):
    """Optional fields of shutdown."""

    #: Time that running streams are given to finish. Defaults to the server's setting. (ms, at
    #: least 0, at most 3600000)
    drain_ms: Union[int, None]


@dataclass(kw_only=True, repr=False)
class StatsReply(Message):
    """Reply to stats."""

    #: The metrics.
    metrics: list[Metric] = field(metadata={"wire": "metrics", "make": "Metric", "many": True})


@dataclass(kw_only=True, repr=False)
class StatsRequest(Request[StatsReply]):
    """Returns the server's metrics."""

    OP: ClassVar[str] = "stats"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = StatsReply
    #: Only metrics of this model.
    model: Union[str, None] = field(default=None, metadata={"wire": "model"})


class StatsParams(TypedDict, total=False):
    """Optional fields of stats."""

    #: Only metrics of this model.
    model: Union[str, None]


@dataclass(kw_only=True, repr=False)
class StatusReply(Message):
    """Reply to status."""

    #: State of the server.
    state: str = field(metadata={"wire": "state"})
    #: Version of the server program.
    version: str = field(metadata={"wire": "version"})
    #: Process id of the server. (at least 0)
    pid: int = field(metadata={"wire": "pid"})
    #: Time since the server started. (ms, at least 0)
    uptime_ms: int = field(metadata={"wire": "uptime_ms"})
    #: Models in the registry. (at least 0)
    models: int = field(metadata={"wire": "models"})
    #: Models in memory. (at least 0)
    resident: int = field(metadata={"wire": "resident"})
    #: Running generations. (at least 0)
    running: int = field(metadata={"wire": "running"})
    #: Queued generations. (at least 0)
    waiting: int = field(metadata={"wire": "waiting"})
    #: Streams of all clients, including ended ones. (at least 0)
    streams: int = field(metadata={"wire": "streams"})
    #: Open connections. (at least 0)
    connections: int = field(metadata={"wire": "connections"})
    #: Memory used by the models in memory. (bytes, at least 0)
    memory_bytes: int = field(metadata={"wire": "memory_bytes"})
    #: Memory that models may use in total. (bytes, at least 0)
    memory_limit: int = field(metadata={"wire": "memory_limit"})
    #: What an administrator should know, such as a damaged registry that was replaced.
    notice: Union[str, None] = field(default=None, metadata={"wire": "notice"})
    #: Addresses at which HTTP is served, as in the configuration: ADDR:PORT, tls:ADDR:PORT and,
    #: for clients on this machine, unix:/PATH.
    http: list[str] = field(default_factory=list, metadata={"wire": "http", "default": []})


@dataclass(kw_only=True, repr=False)
class StatusRequest(Request[StatusReply]):
    """Summarises the state of the server."""

    OP: ClassVar[str] = "status"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = StatusReply


@dataclass(kw_only=True, repr=False)
class StreamsReply(Message):
    """Reply to streams."""

    #: The streams.
    streams: list[Stream] = field(metadata={"wire": "streams", "make": "Stream", "many": True})


@dataclass(kw_only=True, repr=False)
class StreamsRequest(Request[StreamsReply]):
    """Lists the client's own streams."""

    OP: ClassVar[str] = "streams"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = StreamsReply


@dataclass(kw_only=True, repr=False)
class TokenizeReply(Message):
    """Reply to tokenize."""

    #: The tokens.
    tokens: list[int] = field(metadata={"wire": "tokens"})
    #: The bytes of each token, if requested.
    pieces: list[bytes] = field(default_factory=list, metadata={"wire": "pieces", "default": []})


@dataclass(kw_only=True, repr=False)
class TokenizeRequest(Request[TokenizeReply]):
    """Converts text to tokens."""

    OP: ClassVar[str] = "tokenize"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = TokenizeReply
    #: The model by name or alias; admins may also give a path.
    model: str = field(metadata={"wire": "model"})
    #: The text; any bytes.
    text: Union[str, bytes] = field(metadata={"wire": "text"})
    #: Add the begin and end tokens that the model expects (BOS, EOS).
    add_special: bool = field(default=True, metadata={"wire": "add_special", "default": True})
    #: Convert text that spells a control token to that token.
    parse_special: bool = field(default=False, metadata={"wire": "parse_special", "default": False})
    #: Include the bytes of each token.
    pieces: bool = field(default=False, metadata={"wire": "pieces", "default": False})
    #: From now on, unload the model after it has been idle for this long; 0 = at once, -1 =
    #: never. (ms, at least -1, at most 86400000)
    keep_alive_ms: Union[int, None] = field(default=None, metadata={"wire": "keep_alive_ms"})


class TokenizeParams(TypedDict, total=False):
    """Optional fields of tokenize."""

    #: Add the begin and end tokens that the model expects (BOS, EOS).
    add_special: bool
    #: Convert text that spells a control token to that token.
    parse_special: bool
    #: Include the bytes of each token.
    pieces: bool
    #: From now on, unload the model after it has been idle for this long; 0 = at once, -1 =
    #: never. (ms, at least -1, at most 86400000)
    keep_alive_ms: Union[int, None]


@dataclass(kw_only=True, repr=False)
class UnloadReply(Message):
    """Reply to unload."""

    #: The stream of the job.
    id: bytes = field(metadata={"wire": "id", "bytes": True})


@dataclass(kw_only=True, repr=False)
class UnloadRequest(Request[UnloadReply]):
    """Removes a model from memory once its streams have ended. This is a job."""

    OP: ClassVar[str] = "unload"
    ROLE: ClassVar[str] = "admin"
    CHANGES: ClassVar[str] = "once"
    REPLY: ClassVar[Any] = UnloadReply
    #: The model by name or alias; admins may also give a path.
    model: str = field(metadata={"wire": "model"})
    #: Cancel its streams instead of waiting for them.
    force: bool = field(default=False, metadata={"wire": "force", "default": False})


class UnloadParams(TypedDict, total=False):
    """Optional fields of unload."""

    #: Cancel its streams instead of waiting for them.
    force: bool


@dataclass(kw_only=True, repr=False)
class UnpauseReply(Message):
    """Reply to unpause."""

    #: It was paused; otherwise nothing has changed.
    was_paused: bool = field(metadata={"wire": "was_paused"})


@dataclass(kw_only=True, repr=False)
class UnpauseRequest(Request[UnpauseReply]):
    """Lets a generation go on that was paused with op pause."""

    OP: ClassVar[str] = "unpause"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "again"
    REPLY: ClassVar[Any] = UnpauseReply
    #: The stream.
    id: bytes = field(metadata={"wire": "id", "bytes": True})


@dataclass(kw_only=True, repr=False)
class UsageReply(Message):
    """Reply to usage."""

    #: The rows, the latest day first.
    usage: list[UsageRow] = field(metadata={"wire": "usage", "make": "UsageRow", "many": True})
    #: There are more rows: ask for fewer days, one principal or one model.
    more: bool = field(default=False, metadata={"wire": "more", "default": False})


@dataclass(kw_only=True, repr=False)
class UsageRequest(Request[UsageReply]):
    """Returns what was used per principal, model and day: all rows for admins, otherwise those of the client. Rows are kept for 400 days."""

    OP: ClassVar[str] = "usage"
    ROLE: ClassVar[str] = "user"
    CHANGES: ClassVar[str] = "no"
    REPLY: ClassVar[Any] = UsageReply
    #: Only this day and later ones, as YYYY-MM-DD (UTC).
    since: Union[str, None] = field(default=None, metadata={"wire": "since"})
    #: Only this principal: 'key:' and the label of a key, or 'uid:' and the number of a user of
    #: this machine.
    principal: Union[str, None] = field(default=None, metadata={"wire": "principal"})
    #: Only this model, by name.
    model: Union[str, None] = field(default=None, metadata={"wire": "model"})


class UsageParams(TypedDict, total=False):
    """Optional fields of usage."""

    #: Only this day and later ones, as YYYY-MM-DD (UTC).
    since: Union[str, None]
    #: Only this principal: 'key:' and the label of a key, or 'uid:' and the number of a user of
    #: this machine.
    principal: Union[str, None]
    #: Only this model, by name.
    model: Union[str, None]


__all__ = [
    "ALIASES", "Activations", "Adapter", "AdapterSetParams", "AdapterSetReply",
    "AdapterSetRequest", "AdapterSlot", "AdaptersReply", "AdaptersRequest", "AddParams",
    "AddReply", "AddRequest", "AliasReply", "AliasRequest", "ApplyTemplateParams",
    "ApplyTemplateReply", "ApplyTemplateRequest", "ArgumentsItem", "CallEndItem", "CallItem",
    "CancelReason", "CancelReply", "CancelRequest", "CancelledItem", "ChatMessage", "Class",
    "ConfigReloadReply", "ConfigReloadRequest", "CreateReply", "CreateRequest", "DefaultSource",
    "DefaultValue", "DetokenizeParams", "DetokenizeReply", "DetokenizeRequest", "Device",
    "DevicesReply", "DevicesRequest", "DoneItem", "DrainParams", "DrainReply", "DrainRequest",
    "EmbedParams", "EmbedReply", "EmbedRequest", "Embedding", "Error", "ErrorCode", "ErrorItem",
    "EventKind", "EventsParams", "EventsReply", "EventsRequest", "Factory", "Finish",
    "GenerateParams", "GenerateReply", "GenerateRequest", "HelloParams", "HelloReply",
    "HelloRequest", "InfillFile", "InfoParams", "InfoReply", "InfoRequest", "Isolation", "Item",
    "Item_", "Jump", "Key", "KeyAddParams", "KeyAddReply", "KeyAddRequest", "KeyRmReply",
    "KeyRmRequest", "KeySetParams", "KeySetReply", "KeySetRequest", "KeysReply", "KeysRequest",
    "LIMITS", "Label", "Limit", "LimitsReply", "LimitsRequest", "LoadParams", "LoadReply",
    "LoadRequest", "Message", "Meta", "Metric", "MetricKind", "Model", "ModelState",
    "ModelsParams", "ModelsReply", "ModelsRequest", "MovedOps", "NextParams", "NextReply",
    "NextRequest", "PauseReply", "PauseRequest", "Phase", "Picture", "PingReply", "PingRequest",
    "Placement", "Plugin", "PluginsParams", "PluginsReloadParams", "PluginsReloadReply",
    "PluginsReloadRequest", "PluginsReply", "PluginsRequest", "Pooling", "ProgressItem",
    "PromptTokenItem", "PsParams", "PsReply", "PsRequest", "PullParams", "PullReply",
    "PullRequest", "REVISION", "ReasoningItem", "RegistryBackupReply", "RegistryBackupRequest",
    "RegistryRestoreReply", "RegistryRestoreRequest", "ReloadReply", "ReloadRequest",
    "ReplayInfoReply", "ReplayInfoRequest", "ReplayReply", "ReplayRequest", "Request",
    "RerankParams", "RerankReply", "RerankRequest", "Resident", "RmReply", "RmRequest", "Role",
    "RunningGeneration", "SchemaModel", "ServerEvent", "ServerState", "Session",
    "SessionForkReply", "SessionForkRequest", "SessionReadParams", "SessionReadReply",
    "SessionReadRequest", "SessionRmReply", "SessionRmRequest", "SessionWriteParams",
    "SessionWriteReply", "SessionWriteRequest", "SessionsReply", "SessionsRequest", "Setting",
    "ShutdownParams", "ShutdownReply", "ShutdownRequest", "StatsParams", "StatsReply",
    "StatsRequest", "StatusReply", "StatusRequest", "Stream", "StreamKind", "StreamState",
    "StreamsReply", "StreamsRequest", "TensorType", "TextItem", "ThoughtItem", "TokenItem",
    "TokenLogprob", "TokenizeParams", "TokenizeReply", "TokenizeRequest", "UnknownItem",
    "UnloadParams", "UnloadReply", "UnloadRequest", "UnpauseReply", "UnpauseRequest",
    "UsageParams", "UsageReply", "UsageRequest", "UsageRow", "V_MAX", "V_MIN"
]

# SPDX-License-Identifier: MIT
"""Parameters of generate and chat as people write them: other names (_types.ALIASES), other forms, and
messages of a conversation.  Both clients use this module; it does no I/O."""
from __future__ import annotations

import difflib
import json
from typing import Any, Mapping, Optional, Protocol, Sequence, Union, runtime_checkable

from . import _types as t
from ._answer import Answer
from ._errors import Invalid, Unsupported


@runtime_checkable
class Dumps(Protocol):
    """A message of the packages openai and ollama, or another model of pydantic."""

    def model_dump(self) -> dict[str, Any]: ...


#: A message of a conversation: a ChatMessage, an Answer, or a mapping such as
#: {"role": "user", "content": "..."}.
MessageLike = Union[t.ChatMessage, Answer, Mapping[str, Any], Dumps]

#: A conversation, or the text of a user's message.
Messages = Union[str, Sequence[MessageLike]]

_NAMES = frozenset(t.GenerateParams.__annotations__)
_FIELDS = _NAMES & frozenset(t.GenerateRequest.__annotations__)

#: Keys of messages that other programs use, and ours.
_MESSAGE_KEYS = {"thinking": "reasoning", "reasoning_content": "reasoning", "tool_name": "name"}
_MESSAGE_FIELDS = frozenset(t.ChatMessage.__annotations__)


# ---- values ----

def _json(what: str, value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError) as e:
        raise Invalid(f"{what}: the value is not JSON: {e}") from None


def _schema(what: str, value: Any) -> Any:
    """JSON text of a schema: from text, a dict or a pydantic model."""
    if hasattr(value, "model_json_schema"):
        value = value.model_json_schema()
    return _json(what, value) if isinstance(value, Mapping) else value


def _format(what: str, value: Any) -> Any:
    """The format of ollama: "json", or a schema."""
    if value == "" or value is None:
        return None
    return "{}" if value == "json" else _schema(what, value)


def _response_format(what: str, value: Any) -> Any:
    """The response_format of openai.  Returns None if it allows any text."""
    if not isinstance(value, Mapping):
        return _schema(what, value)
    kind = value.get("type")
    if kind == "text":
        return None
    if kind == "json_object":
        return "{}"
    if kind == "json_schema":
        inner = value.get("json_schema", value)
        schema = inner.get("schema") if isinstance(inner, Mapping) else None
        if schema is None:
            raise Invalid(f"{what}: json_schema.schema is missing")
        return _schema(what, schema)
    raise Invalid(f"{what}: type {kind!r} is not known; use 'json_schema', 'json_object' or 'text'")


def _texts(what: str, value: Any) -> Any:
    return [value] if isinstance(value, (str, bytes)) else list(value)


def _tools(what: str, value: Any) -> Any:
    return value if isinstance(value, (str, bytes)) else _json(what, list(value))


def _object(what: str, value: Any) -> Any:
    return _json(what, value) if isinstance(value, Mapping) else value


def _bias(what: str, value: Any) -> Any:
    try:
        pairs = value.items() if isinstance(value, Mapping) else value
        return [(int(token), bias) for token, bias in pairs]
    except (TypeError, ValueError):
        raise Invalid(f"{what}: must be a dict from tokens to numbers or a list of pairs") from None


#: How a value is converted, by the name under which it was given.
_CONVERT = {"stop": _texts, "dry_breakers": _texts, "grammar_triggers": _texts, "tools": _tools,
            "template_args": _object, "structural_tag": _object, "json_schema": _schema,
            "format": _format, "response_format": _response_format, "logit_bias": _bias}


# ---- parameters ----

def _unknown(function: str, name: str) -> TypeError:
    near = difflib.get_close_matches(name, sorted(_NAMES), 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return TypeError(f"{function}() has no parameter {name!r}{hint}")


def _given(function: str, params: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The parameters in the order in which they were given, with those of `options` (ollama)."""
    out: list[tuple[str, Any]] = []
    for name, value in params.items():
        if name != "options":
            out.append((name, value))
        elif isinstance(value, Mapping):
            out += value.items()
        elif value is not None:
            raise Invalid(f"{function}: options must be a dict, not {type(value).__name__}")
    return out


def canonical(function: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of GenerateRequest from parameters under any of their names.  Raises TypeError for an
    unknown name, and Invalid if two names of one parameter have different values."""
    out: dict[str, Any] = {}
    without_tools = False
    source: dict[str, tuple[str, Any]] = {}
    for name, value in _given(function, params):
        field = t.ALIASES.get(name, name)
        if name == "tool_choice":
            without_tools = value == "none"
            if value not in (None, "auto", "none"):
                raise Unsupported(f"{function}: tool_choice={value!r}: must be 'auto' or 'none'")
            continue
        if field not in _FIELDS:
            raise _unknown(function, name)
        if value is None:
            continue
        wire = _CONVERT[name](f"{function}: {name}", value) if name in _CONVERT else value
        if wire is None:
            continue
        if field in out and out[field] != wire:
            before, other = source[field]
            raise Invalid(f"{function}: {before}={other!r} and {name}={value!r} are names of one "
                          "parameter and must have the same value")
        out[field] = wire
        source.setdefault(field, (name, value))
    if without_tools:
        out.pop("tools", None)
    return out


# ---- messages ----

def _content(what: str, value: Any) -> Union[str, bytes]:
    """The text of a message: text, or a list of parts such as {"type": "text", "text": "..."}."""
    if isinstance(value, (str, bytes)):
        return value
    if not isinstance(value, (list, tuple)):
        raise Invalid(f"{what}.content: must be text or a list of parts, not {type(value).__name__}")
    texts: list[str] = []
    for i, part in enumerate(value):
        if isinstance(part, str):
            texts.append(part)
            continue
        kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
        if kind not in ("text", "input_text", "output_text"):
            raise Unsupported(f"{what}.content[{i}]: a part of type {kind!r}; only 'text' is supported")
        text = part.get("text")
        if not isinstance(text, str):
            raise Invalid(f"{what}.content[{i}]: text is missing")
        texts.append(text)
    return "".join(texts)


def _calls(what: str, value: Any) -> Union[str, bytes]:
    """The tool calls of a message as JSON.  Arguments that are JSON text become objects."""
    if isinstance(value, (str, bytes)):
        return value
    calls = []
    for call in value:
        call = dict(call.model_dump() if isinstance(call, Dumps) else call)
        function = dict(call.get("function") or {})
        if isinstance(function.get("arguments"), str):
            try:
                function["arguments"] = json.loads(function["arguments"])
            except ValueError:
                raise Invalid(f"{what}.tool_calls: the arguments of {function.get('name')!r} are not "
                              "JSON") from None
        call["function"] = function
        calls.append(call)
    return _json(f"{what}.tool_calls", calls)


def message(m: MessageLike, what: str = "message") -> t.ChatMessage:
    """A message of a conversation."""
    if isinstance(m, t.ChatMessage):
        return m
    if isinstance(m, Answer):
        return m.message()
    given = m.model_dump() if isinstance(m, Dumps) else m
    if not isinstance(given, Mapping):
        raise Invalid(f"{what}: must be a dict such as {{'role': 'user', 'content': ...}}, "
                      f"not {type(m).__name__}")
    args: dict[str, Any] = {}
    for key, value in given.items():
        if value is None or value == []:
            continue
        field = _MESSAGE_KEYS.get(key, key)
        if field not in _MESSAGE_FIELDS:
            raise Invalid(f"{what}: the key {key!r} is not supported")
        args[field] = value
    if "role" not in args:
        raise Invalid(f"{what}: role is missing")
    if "content" in args:
        args["content"] = _content(what, args["content"])
    elif args["role"] != "assistant":
        raise Invalid(f"{what}: content is missing")
    if "tool_calls" in args:
        args["tool_calls"] = _calls(what, args["tool_calls"])
    return t.ChatMessage(**args)


def conversation(messages: Optional[Messages]) -> Optional[list[t.ChatMessage]]:
    if messages is None:
        return None
    if isinstance(messages, str):
        return [t.ChatMessage(role="user", content=messages)]
    if isinstance(messages, (bytes, Mapping)):
        raise Invalid("messages: must be a list of messages, or the text of one user's message")
    return [message(m, f"messages[{i}]") for i, m in enumerate(messages)]


def generate_request(function: str, model: str, prompt: Union[str, bytes, None],
                     tokens: Optional[Sequence[int]], messages: Optional[Messages],
                     params: Mapping[str, Any]) -> t.GenerateRequest:
    return t.GenerateRequest(model=model, prompt=prompt,
                             tokens=None if tokens is None else list(tokens),
                             messages=conversation(messages), **canonical(function, params))


def chat_request(model: str, messages: Messages, params: Mapping[str, Any]) -> t.GenerateRequest:
    return generate_request("chat", model, None, None, messages, {"parse": True, **params})


def apply_template_request(model: str, messages: Messages,
                           params: Mapping[str, Any]) -> t.ApplyTemplateRequest:
    wire: dict[str, Any] = {}
    for name, value in params.items():
        if name not in t.ApplyTemplateParams.__annotations__:
            raise TypeError(f"apply_template() has no parameter {name!r}")
        if value is not None:
            what = f"apply_template: {name}"
            wire[name] = _CONVERT[name](what, value) if name in _CONVERT else value
    return t.ApplyTemplateRequest(model=model, messages=conversation(messages) or [], **wire)

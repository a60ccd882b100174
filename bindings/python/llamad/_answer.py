# SPDX-License-Identifier: MIT
"""What an answer consists of: text, thoughts, and calls of tools."""
from __future__ import annotations

import codecs
import json
from dataclasses import dataclass, field
from typing import Any, Optional

from . import _types as t


@dataclass
class ToolCall:
    """A call of a tool."""

    #: By which a message of the tool names it.
    id: str = ""
    #: The tool.
    name: str = ""
    #: A JSON object, when the call is complete.
    arguments: str = ""
    #: The arguments are whole, and JSON.
    complete: bool = False

    def parsed(self) -> dict[str, Any]:
        """The arguments as a dict; ValueError when they are none."""
        value = json.loads(self.arguments)
        if not isinstance(value, dict):
            raise ValueError(f"{self.name}: the arguments are no object")
        return value


@dataclass
class ToolCallDelta:
    """More of a call of a tool."""

    #: Counts the calls of the answer, from 0.
    index: int
    #: These come with the first one of a call.
    id: str = ""
    name: str = ""
    #: A piece of JSON.
    arguments: str = ""
    #: The call is over: are its arguments whole, and JSON?  None before.
    complete: Optional[bool] = None


@dataclass
class Delta:
    """What came since the last one."""

    text: str = ""
    thinking: str = ""
    tool_calls: list[ToolCallDelta] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.text or self.thinking or self.tool_calls)


@dataclass
class Answer:
    """A whole answer, or what has come of it."""

    text: str = ""
    thinking: str = ""
    tool_calls: list[ToolCall] = field(default_factory=list)

    def add(self, d: Delta) -> None:
        self.text += d.text
        self.thinking += d.thinking
        for c in d.tool_calls:
            while len(self.tool_calls) <= c.index:
                self.tool_calls.append(ToolCall())
            call = self.tool_calls[c.index]
            call.id = c.id or call.id
            call.name = c.name or call.name
            call.arguments += c.arguments
            call.complete = call.complete or bool(c.complete)

    def message(self) -> t.ChatMessage:
        """For the conversation: what the assistant said, thought and called."""
        calls = [{"id": c.id, "type": "function",
                  "function": {"name": c.name, "arguments": c.parsed()}}
                 for c in self.tool_calls if c.complete]
        return t.ChatMessage(role="assistant", content=self.text,
                             reasoning=self.thinking or None,
                             tool_calls=json.dumps(calls) if calls else None)


#: Calls of a server are bounded; more are not believed.
CALLS_MAX = 4096


class Parts:
    """Items become deltas; characters come whole."""

    def __init__(self) -> None:
        new = codecs.getincrementaldecoder("utf-8")
        self._text, self._thinking = new("replace"), new("replace")

    def text(self, item: t.Item) -> str:
        raw = item.text if isinstance(item, (t.TokenItem, t.TextItem)) else b""
        return self._text.decode(raw, item.FINAL)

    def delta(self, item: t.Item) -> Delta:
        thought = item.text if isinstance(item, t.ThoughtItem) else b""
        d = Delta(self.text(item), self._thinking.decode(thought, item.FINAL))
        if isinstance(item, (t.CallItem, t.ArgumentsItem, t.CallEndItem)) and item.call < CALLS_MAX:
            call = ToolCallDelta(item.call)
            if isinstance(item, t.CallItem):
                call.id, call.name = item.id, item.name
            elif isinstance(item, t.ArgumentsItem):
                call.arguments = item.text.decode("utf-8", "replace")
            else:
                call.complete = item.complete
            d.tool_calls.append(call)
        return d

# SPDX-License-Identifier: MIT
"""The parts of an answer: text, reasoning and tool calls."""
from __future__ import annotations

import codecs
import json
from dataclasses import dataclass, field
from typing import Any, Optional, Sequence

from . import _types as t


@dataclass
class ToolCall:
    """A tool call."""

    #: Its id; the tool's message repeats it as tool_call_id.
    id: str = ""
    #: Name of the tool.
    name: str = ""
    #: A JSON object if complete is true.
    arguments: str = ""
    #: The arguments are complete and valid JSON.
    complete: bool = False

    def parsed(self) -> dict[str, Any]:
        """The arguments as a dict.  Raises ValueError if they are not a JSON object."""
        value = json.loads(self.arguments)
        if not isinstance(value, dict):
            raise ValueError(f"{self.name}: the arguments are not a JSON object")
        return value


@dataclass
class ToolCallDelta:
    """A piece of a tool call."""

    #: Number of the tool call within the answer, from 0.
    index: int
    #: Id and name are set in the first piece of a call.
    id: str = ""
    name: str = ""
    #: A piece of JSON.
    arguments: str = ""
    #: Set in the last piece: whether the arguments are complete and valid JSON.
    complete: Optional[bool] = None


@dataclass
class Delta:
    """The part of an answer that arrived since the previous delta."""

    text: str = ""
    reasoning: str = ""
    tool_calls: list[ToolCallDelta] = field(default_factory=list)

    @property
    def thinking(self) -> str:
        """Deprecated name of reasoning."""
        return self.reasoning

    def __bool__(self) -> bool:
        return bool(self.text or self.reasoning or self.tool_calls)


@dataclass
class Usage:
    """Numbers of tokens, and how long they took."""

    #: Length of the prompt in tokens.
    prompt_tokens: int = 0
    #: Length of the answer in tokens.
    completion_tokens: int = 0
    #: The part of completion_tokens that needed no step of its own, because the grammar allowed no
    #: alternative (jump-forward decoding).
    forced_tokens: int = 0
    #: Seconds from the first step to the first token.
    prompt_seconds: float = 0.0
    #: Seconds from the first token to the end.
    completion_seconds: float = 0.0

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    @classmethod
    def of(cls, done: t.DoneItem) -> "Usage":
        return cls(done.n_prompt, done.n_out, done.n_forced, done.prompt_ns / 1e9, done.out_ns / 1e9)


@dataclass(repr=False)
class Answer:
    """An answer, as far as it has been received.  str() of it is its text."""

    text: str = ""
    reasoning: str = ""
    tool_calls: list[ToolCall] = field(default_factory=list)
    #: Why it ended: "eog", "stop", "length", ...  None until then.
    finish: Optional[str] = None
    #: Its tokens, those of reasoning and tool calls included.
    tokens: list[int] = field(default_factory=list)
    #: With the parameter logprobs, for each token: its log probability, then those of the most
    #: likely tokens.
    logprobs: list[list[t.TokenLogprob]] = field(default_factory=list)
    #: The tokens of the prompt, with the parameter prompt_tokens or prompt_logprobs.
    prompt: list[t.PromptTokenItem] = field(default_factory=list)
    #: Numbers of tokens, and how long they took.
    usage: Usage = field(default_factory=Usage)
    #: The random seed; None if it is not known.
    seed: Optional[int] = None

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        calls = "".join(f", calls {c.name}" for c in self.tool_calls)
        return f"<Answer {shortened(self.text)} {len(self.tokens)} tokens{calls}, " \
               f"{self.finish or 'unfinished'}>"

    @property
    def thinking(self) -> str:
        """Deprecated name of reasoning."""
        return self.reasoning

    def end(self, tokens: list[int], done: Optional[t.DoneItem], seed: Optional[int],
            logprobs: Sequence[list[t.TokenLogprob]] = (),
            prompt: Sequence[t.PromptTokenItem] = ()) -> "Answer":
        """Fills in what is known at the end of the stream."""
        self.tokens, self.seed = list(tokens), seed
        self.logprobs, self.prompt = list(logprobs), list(prompt)
        if done:
            self.finish, self.usage = done.finish, Usage.of(done)
        return self

    def add(self, d: Delta) -> None:
        self.text += d.text
        self.reasoning += d.reasoning
        for c in d.tool_calls:
            while len(self.tool_calls) <= c.index:
                self.tool_calls.append(ToolCall())
            call = self.tool_calls[c.index]
            call.id = c.id or call.id
            call.name = c.name or call.name
            call.arguments += c.arguments
            call.complete = call.complete or bool(c.complete)

    def message(self) -> t.ChatMessage:
        """The answer as an assistant's message, to continue the conversation."""
        calls = [{"id": c.id, "type": "function",
                  "function": {"name": c.name, "arguments": c.parsed()}}
                 for c in self.tool_calls if c.complete]
        return t.ChatMessage(role="assistant", content=self.text,
                             reasoning=self.reasoning or None,
                             tool_calls=json.dumps(calls) if calls else None)


def shortened(text: str) -> str:
    """The beginning of a text in quotation marks, for one line."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


#: More tool calls in one answer are ignored.
CALLS_MAX = 4096


class Parts:
    """Converts items to deltas, without splitting UTF-8 characters."""

    def __init__(self) -> None:
        new = codecs.getincrementaldecoder("utf-8")
        self._text, self._reasoning = new("replace"), new("replace")

    def text(self, item: t.Item) -> str:
        raw = item.text if isinstance(item, (t.TokenItem, t.TextItem)) else b""
        return self._text.decode(raw, item.FINAL)

    def delta(self, item: t.Item) -> Delta:
        reasoning = item.text if isinstance(item, t.ReasoningItem) else b""
        d = Delta(self.text(item), self._reasoning.decode(reasoning, item.FINAL))
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

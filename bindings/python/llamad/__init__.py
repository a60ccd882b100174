# SPDX-License-Identifier: MIT
"""Client for llamad, a server for LLM inference.

    import llamad

    with llamad.Client() as c:
        for piece in c.generate("smollm2", "Why is the sky blue?", max_tokens=100):
            print(piece, end="", flush=True)

A conversation with tool calling; the answer is split into text, reasoning and tool calls:

        answer = c.chat("qwen3", "What is the weather in Rome?", tools=tools, stream=False)
        answer.text, answer.reasoning, answer.tool_calls, answer.finish, answer.usage

AsyncClient has the same interface with `await` and `async for`.  Every request of docs/protocol.md
can be sent with call() and the classes of llamad.types.  The only dependency is msgpack.
"""
from . import types
from ._answer import Answer, Delta, ToolCall, ToolCallDelta, Usage
from ._aio import AsyncClient, AsyncStream
from ._client import Client, Stream
from ._errors import (Busy, Cancelled, ConnectionLost, Corrupt, Denied, DeviceError, Internal,
                      Invalid, IOFailure, LlamadError, NoMemory, NotFound, Timeout, Unsupported)
from ._protocol import default_url

__all__ = ["Answer", "AsyncClient", "AsyncStream", "Client", "Delta", "Stream", "ToolCall",
           "ToolCallDelta", "Usage", "types", "default_url", "LlamadError",
           "ConnectionLost", "Busy", "Cancelled", "Corrupt", "Denied", "DeviceError", "Internal",
           "Invalid", "IOFailure", "NoMemory", "NotFound", "Timeout", "Unsupported"]

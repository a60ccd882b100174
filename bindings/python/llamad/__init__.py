# SPDX-License-Identifier: MIT
"""Client for llamad, a server for LLM inference.

    import llamad

    with llamad.Client() as c:
        for piece in c.generate(model="smollm2", prompt="Once upon a time", n=40):
            print(piece, end="", flush=True)

A conversation with tool calling; the answer is split into text, reasoning and tool calls:

        answer = c.chat("qwen3", [{"role": "user", "content": "Weather?"}], tools=tools).answer()
        answer.text, answer.reasoning, answer.tool_calls

AsyncClient has the same interface with `await` and `async for`.  Every request of docs/protocol.md
can be sent with call() and the classes of llamad.types.  The only dependency is msgpack.
"""
from . import types
from ._answer import Answer, Delta, ToolCall, ToolCallDelta
from ._aio import AsyncClient, AsyncStream
from ._client import Client, Stream
from ._errors import (Busy, Cancelled, ConnectionLost, Corrupt, Denied, DeviceError, Internal,
                      Invalid, IOFailure, LlamadError, NoMemory, NotFound, Timeout, Unsupported)
from ._protocol import default_url

__all__ = ["Answer", "AsyncClient", "AsyncStream", "Client", "Delta", "Stream", "ToolCall",
           "ToolCallDelta", "types", "default_url", "LlamadError",
           "ConnectionLost", "Busy", "Cancelled", "Corrupt", "Denied", "DeviceError", "Internal",
           "Invalid", "IOFailure", "NoMemory", "NotFound", "Timeout", "Unsupported"]

# SPDX-License-Identifier: MIT
"""Talk to a running llamad.

    import llamad

    with llamad.Client() as c:
        for piece in c.generate(model="smollm2", prompt="Once upon a time", n=40):
            print(piece, end="", flush=True)

AsyncClient is the same with `await` and `async for`.  Every request of docs/protocol.md can be
sent with call() and the classes of llamad.types.  Needs the package msgpack and nothing else.
"""
from . import _types as types
from ._aio import AsyncClient, AsyncStream
from ._client import Client, Stream
from ._errors import (Busy, Cancelled, ConnectionLost, Corrupt, Denied, DeviceError, Internal,
                      Invalid, IOFailure, LlamadError, NoMemory, NotFound, Timeout, Unsupported)
from ._protocol import default_url

__all__ = ["AsyncClient", "AsyncStream", "Client", "Stream", "types", "default_url", "LlamadError",
           "ConnectionLost", "Busy", "Cancelled", "Corrupt", "Denied", "DeviceError", "Internal",
           "Invalid", "IOFailure", "NoMemory", "NotFound", "Timeout", "Unsupported"]

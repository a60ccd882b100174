# SPDX-License-Identifier: MIT
"""Exceptions: one class for each error code of the protocol."""
from __future__ import annotations

import ssl
from typing import Optional


class LlamadError(Exception):
    """A request failed.  The text of the exception is an error message for humans."""

    #: The error code of the protocol.
    code = "internal"

    def __init__(self, text: str, retry_ms: Optional[int] = None):
        super().__init__(text)
        #: Do not retry before this many milliseconds have passed; None if the server did not say.
        self.retry_ms = retry_ms
        #: The connection is not authenticated with a valid key.
        self.hello = False


class NoMemory(LlamadError):
    """Out of memory, KV cache pages or table entries."""
    code = "nomem"


class Invalid(LlamadError):
    """A parameter is missing, unknown or outside its documented range."""
    code = "invalid"


class NotFound(LlamadError):
    """The name or id does not exist, or belongs to another principal."""
    code = "notfound"


class Unsupported(LlamadError):
    """The request is valid, but this server, model or device does not support it."""
    code = "unsupported"


class Corrupt(LlamadError):
    """A file or message is malformed."""
    code = "corrupt"


class Busy(LlamadError):
    """The server is busy and changed nothing; retry after `retry_ms`."""
    code = "busy"


class Cancelled(LlamadError):
    """The stream was cancelled by a request, or because nobody read it."""
    code = "cancelled"


class Timeout(LlamadError):
    """A deadline passed."""
    code = "timeout"


class IOFailure(LlamadError):
    """An operating system call failed."""
    code = "io"


class DeviceError(LlamadError):
    """A device failed or was lost."""
    code = "device"


class Internal(LlamadError):
    """A bug in the server."""
    code = "internal"


class Denied(LlamadError):
    """The client lacks the required role or a valid key."""
    code = "denied"


class ConnectionLost(IOFailure):
    """The server cannot be reached, or the connection was lost."""


_BY_CODE = {c.code: c for c in (NoMemory, Invalid, NotFound, Unsupported, Corrupt, Busy, Cancelled,
                                Timeout, IOFailure, DeviceError, Internal, Denied)}


def error(code: str, text: str, retry_ms: Optional[int] = None) -> LlamadError:
    """Returns the exception for an error code.  Newer servers may send codes unknown here."""
    e = _BY_CODE.get(code, LlamadError)(text, retry_ms)
    e.code = code
    return e


def lost(url: str, e: OSError) -> ConnectionLost:
    """Converts an error of the operating system to ConnectionLost."""
    text = getattr(e, "verify_message", "") or e.strerror or str(e)
    if isinstance(e, ssl.SSLCertVerificationError):
        return ConnectionLost(f"{url}: the certificate is not trusted: {text}")
    if isinstance(e, (FileNotFoundError, ConnectionRefusedError)):
        text += "; is llamad running?"
    return ConnectionLost(f"{url}: {text}")

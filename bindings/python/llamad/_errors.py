# SPDX-License-Identifier: MIT
"""What can go wrong: one class for each word of the protocol."""
from __future__ import annotations

import ssl
from typing import Optional


class LlamadError(Exception):
    """A request was refused or failed; the text is a sentence for a human."""

    #: The protocol's word for it.
    code = "internal"

    def __init__(self, text: str, retry_ms: Optional[int] = None):
        super().__init__(text)
        #: To ask again before that time is pointless; None: not said.
        self.retry_ms = retry_ms
        #: The connection has said no hello with a valid key.
        self.hello = False


class NoMemory(LlamadError):
    """Memory, pages or a table ran out."""
    code = "nomem"


class Invalid(LlamadError):
    """A parameter is outside its documented range, missing or unknown."""
    code = "invalid"


class NotFound(LlamadError):
    """A name or id is not known, or belongs to somebody else."""
    code = "notfound"


class Unsupported(LlamadError):
    """Understood, but this server, model or device cannot do it."""
    code = "unsupported"


class Corrupt(LlamadError):
    """A file or message contradicts itself."""
    code = "corrupt"


class Busy(LlamadError):
    """Try again after `retry_ms`; nothing was changed."""
    code = "busy"


class Cancelled(LlamadError):
    """Ended because somebody asked, or because nobody read."""
    code = "cancelled"


class Timeout(LlamadError):
    """A deadline passed."""
    code = "timeout"


class IOFailure(LlamadError):
    """The operating system refused."""
    code = "io"


class DeviceError(LlamadError):
    """A device failed or is lost."""
    code = "device"


class Internal(LlamadError):
    """A bug of the server."""
    code = "internal"


class Denied(LlamadError):
    """Who asks may not: a role or a key is missing."""
    code = "denied"


class ConnectionLost(IOFailure):
    """Nobody answers there, or the connection broke."""


_BY_CODE = {c.code: c for c in (NoMemory, Invalid, NotFound, Unsupported, Corrupt, Busy, Cancelled,
                                Timeout, IOFailure, DeviceError, Internal, Denied)}


def error(code: str, text: str, retry_ms: Optional[int] = None) -> LlamadError:
    """The exception for a word of the protocol; a newer server may have words of its own."""
    e = _BY_CODE.get(code, LlamadError)(text, retry_ms)
    e.code = code
    return e


def lost(url: str, e: OSError) -> ConnectionLost:
    """What the operating system says, as a sentence."""
    text = getattr(e, "verify_message", "") or e.strerror or str(e)
    if isinstance(e, ssl.SSLCertVerificationError):
        return ConnectionLost(f"{url}: the certificate is not trusted: {text}")
    if isinstance(e, (FileNotFoundError, ConnectionRefusedError)):
        text += "; is llamad running?"
    return ConnectionLost(f"{url}: {text}")

# SPDX-License-Identifier: MIT
"""Messages of llamad's protocol as dataclasses: requests, replies, items and their parts.

    from llamad.types import StatusRequest

    client.call(StatusRequest())

docs/protocol.md describes each field."""
from ._types import *
from ._types import __all__ as __all__

# SPDX-License-Identifier: MIT
"""Messages of llamad's protocol as dataclasses: requests, replies, items and what they contain.

    from llamad.types import StatusRequest

    client.call(StatusRequest())

docs/protocol.md says what each field means."""
from ._types import *
from ._types import __all__ as __all__

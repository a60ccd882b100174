#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Streams an answer of llamad: stream.py MODEL PROMPT [N [URL]]"""
import sys

import llamad


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    model, prompt = sys.argv[1:3]
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 32
    url = sys.argv[4] if len(sys.argv) > 4 else None
    try:
        with llamad.Client(url, name="stream.py") as client:
            stream = client.generate(model=model, prompt=prompt, n=n, temp=0)
            for piece in stream:
                sys.stdout.write(piece)
                sys.stdout.flush()
    except llamad.LlamadError as e:
        print(f"stream.py: {e}", file=sys.stderr)
        return 1
    print(f"\n{len(stream.tokens)} tokens, {stream.finish}", file=sys.stderr)
    return 0


sys.exit(main())
